"""A driver of claims without its socket: it offers a plugin's devices in a slice, and prepares those that are claimed.

It offers the healthy ones of the devices that the plugin lists, with what is known of each; a real driver answers
NodePrepareResources, here that is a function.

Source: `k8s.io/dynamic-resource-allocation/kubeletplugin`, `kubernetes-sigs/dra-example-driver`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kubedev.api.claims import DeviceResult
from kubedev.api.messages import HEALTHY
from kubedev.api.messages import Device as ListedDevice
from kubedev.api.objects import OwnerReference
from kubedev.api.quantity import Quantity
from kubedev.api.resource_slices import BasicDevice, Device, DeviceAttribute, ResourcePool, ResourceSlice
from kubedev.deviceplugin.plugin import PluginError, variable_name

__all__ = ["Value", "described", "driver_name", "offered", "prepared", "resource_slice"]

Value = bool | int | str
"""What an attribute is given as: true or false, a whole number, or a text."""


def driver_name(resource: str) -> str:
    """The driver of the devices of a resource: `example.com/gpu` has `gpu.example.com`."""
    domain, _, kind = resource.partition("#")[0].rpartition("/")
    return f"{kind}.{domain}" if domain else kind


def described(
    devices: Sequence[ListedDevice],
    attributes: Mapping[str, Value | Sequence[Value]],
    capacity: Mapping[str, str | Sequence[str]],
) -> tuple[Device, ...]:
    """Devices with what is known of them; a list has one value for each device, in their order.

    The NUMA node of a device that has one is its attribute `numa`. Raises PluginError, and QuantityError.
    """
    found = []
    for number, device in enumerate(devices):
        values: dict[str, Value] = {"numa": device.numa_nodes[0]} if device.numa_nodes else {}
        values |= {name: one_of(name, given, number, len(devices)) for name, given in attributes.items()}
        amounts = {
            name: Quantity.parse(one_of(name, given, number, len(devices)))
            for name, given in capacity.items()
        }
        basic = BasicDevice({name: attribute(value) for name, value in values.items()}, amounts)
        found.append(Device(device.id, basic))
    return tuple(found)


def one_of(name: str, given: object, number: int, count: int) -> Any:
    """The value of one device: the one that all have, or its own."""
    if isinstance(given, str | int):
        return given
    values = tuple(given) if isinstance(given, Sequence) else ()
    if len(values) != count:
        raise PluginError(f"expected one value of {name}, or {count}, one for each device; got {given!r}")
    return values[number]


def attribute(value: Value) -> DeviceAttribute:
    """A value as an attribute."""
    kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "string"
    return DeviceAttribute(kind, value)


def offered(devices: Sequence[Device], listed: Sequence[ListedDevice]) -> tuple[Device, ...]:
    """The devices that can be claimed now: those that the plugin lists as healthy."""
    healthy = {device.id for device in listed if device.health == HEALTHY}
    return tuple(device for device in devices if device.name in healthy)


def resource_slice(node: str, driver: str, devices: tuple[Device, ...], generation: int) -> ResourceSlice:
    """The one slice of a node's pool; it goes with its node."""
    owner = OwnerReference("Node", node, node, "v1", controller=True)
    pool = ResourcePool(node, generation, 1)
    return ResourceSlice(f"{node}-{driver}", driver, pool, node, devices=devices, owner_references=(owner,))


def prepared(
    driver: str, claim: str, results: Sequence[DeviceResult]
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """The CDI names of a claim's devices, and the variables that the driver's CDI file adds to a container.

    `claim` is the pod's name for it: device d0 of `gpu.example.com`, claimed as `mine`, is
    `k8s.gpu.example.com/gpu=d0`, and gives `KUBEDEV_GPU_EXAMPLE_COM_MINE=d0`.
    """
    kind = driver.partition(".")[0]
    names = tuple(f"k8s.{driver}/{kind}={one.device}" for one in results)
    variable = variable_name(f"{driver}/{claim}")
    return names, ((variable, ",".join(one.device for one in results)),)
