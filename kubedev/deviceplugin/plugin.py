"""A device plugin without its socket: which devices it has, and what it answers.

A plugin serves one resource of one node. It lists its devices, says which are healthy, and answers the
kubelet's four questions. It never decides who gets a device: the kubelet does, and the plugin only says what
a container needs in order to use it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kubedev.api.messages import (
    HEALTHY,
    UNHEALTHY,
    AllocateRequest,
    AllocateResponse,
    Answer,
    ContainerAllocateResponse,
    Device,
    DevicePluginOptions,
    DeviceSpec,
    Empty,
    Mount,
    PreferredAllocationRequest,
    PreferredAllocationResponse,
    PreStartContainerRequest,
    Request,
    RpcError,
)
from kubedev.deviceplugin.preference import preferred_allocation

__all__ = [
    "OPTIONS",
    "Plugin",
    "PluginError",
    "answer",
    "container_answer",
    "make_devices",
    "obey",
    "set_count",
    "set_health",
    "set_listed",
    "variable_name",
]


OPTIONS = DevicePluginOptions(get_preferred_allocation_available=True)


MAX_DEVICES = 1_000_000


class PluginError(ValueError):
    """A command to the plugin that it cannot follow; the text says what was expected."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """The state of a plugin: the resource it serves, its devices, and what it wants to be asked.

    `numa` is the number of NUMA nodes that its devices are spread over; by default as many as those it has lie on.
    `endpoint` is the name of its socket, by default one made of its resource; `left_out` are devices that its list
    leaves out for now. One that does not register again stays unknown to a kubelet that restarts.
    """

    resource: str
    devices: tuple[Device, ...] = ()
    options: DevicePluginOptions = OPTIONS
    numa: int = -1
    endpoint: str = ""
    registers_again: bool = True
    left_out: tuple[Device, ...] = ()

    def __post_init__(self) -> None:
        if self.numa < 0:
            nodes = {node for device in self.devices for node in device.numa_nodes or ()}
            object.__setattr__(self, "numa", len(nodes))

    @property
    def kind(self) -> str:
        """The part of the resource's name behind the slash, for example `gpu`."""
        return self.resource.rpartition("/")[2]


def make_devices(count: int, numa: int = 0) -> tuple[Device, ...]:
    """Devices d0 to d(count-1), spread in blocks over `numa` NUMA nodes; with 0 they have no topology."""
    if count < 0 or numa < 0:
        raise PluginError(f"the numbers of devices and NUMA nodes are 0 or more, not {count} and {numa}")
    if count > MAX_DEVICES:
        raise PluginError(
            f"expected at most {MAX_DEVICES} devices, got {count}: no kubelet takes a list of so many"
        )
    return tuple(Device(f"d{i}", HEALTHY, (i * numa // count,) if numa else None) for i in range(count))


def set_health(plugin: Plugin, device_id: str, healthy: bool) -> Plugin:
    """The plugin after one of its devices turned healthy or unhealthy."""
    if device_id not in {device.id for device in plugin.devices}:
        raise PluginError(f"{device_id!r} is no device of this plugin; it has {_shown(plugin.devices)}")
    health = HEALTHY if healthy else UNHEALTHY
    return replace(
        plugin, devices=tuple(replace(d, health=health) if d.id == device_id else d for d in plugin.devices)
    )


def set_listed(plugin: Plugin, device_id: str, listed: bool) -> Plugin:
    """The plugin after its list leaves a device out, or has it again, at the end; all that share the id go together.
    Where it is so already, nothing changes. Raises PluginError for a device that it does not have.
    """
    known = tuple(sorted((*plugin.devices, *plugin.left_out), key=lambda device: device.id))
    moved = tuple(
        device for device in (plugin.left_out if listed else plugin.devices) if device.id == device_id
    )
    if device_id not in {device.id for device in known}:
        raise PluginError(f"{device_id!r} is no device of this plugin; it has {_shown(known)}")
    devices = tuple(device for device in plugin.devices if device not in moved)
    left_out = tuple(device for device in plugin.left_out if device not in moved)
    if listed:
        return replace(plugin, devices=(*devices, *moved), left_out=left_out)
    return replace(plugin, devices=devices, left_out=(*left_out, *moved))


def set_count(plugin: Plugin, count: int) -> Plugin:
    """The plugin with `count` devices, spread anew over its NUMA nodes; those that stay keep their health."""
    health = {device.id: device.health for device in plugin.devices}
    devices = make_devices(count, plugin.numa)
    return replace(plugin, devices=tuple(replace(d, health=health.get(d.id, HEALTHY)) for d in devices))


def obey(plugin: Plugin, command: str) -> Plugin:
    """The plugin after a command: `unhealthy ID`, `healthy ID`, `set COUNT`, `leave-out ID` or `list ID`.

    Raises PluginError.
    """
    match command.strip().split(maxsplit=1):
        case ["healthy" | "unhealthy" as health, device_id]:
            return set_health(plugin, device_id, health == "healthy")
        case ["leave-out" | "list" as what, device_id]:
            return set_listed(plugin, device_id, what == "list")
        case ["set", count] if count.isdecimal():
            return set_count(plugin, int(count))
    raise PluginError(
        f"{command.strip()!r} is no command; there are: healthy ID, unhealthy ID, set COUNT, stop"
    )


def answer(plugin: Plugin, request: Request) -> Answer:
    """What the plugin answers to a request of the kubelet; ListAndWatch is its devices, sent at each change.

    An unknown device id is refused with code Unknown: what a plugin in Go sends when it returns an error.
    """
    match request:
        case PreferredAllocationRequest(containers):
            preferences = (preferred_allocation(plugin.devices, container) for container in containers)
            return PreferredAllocationResponse(tuple(p.device_ids for p in preferences))
        case AllocateRequest(containers):
            ids = [device_id for container in containers for device_id in container]
            return _unknown(plugin, ids) or AllocateResponse(
                tuple(container_answer(plugin, container) for container in containers)
            )
        case PreStartContainerRequest(ids):
            return _unknown(plugin, ids) or Empty()
        case _:
            return plugin.options


def container_answer(plugin: Plugin, device_ids: tuple[str, ...]) -> ContainerAllocateResponse:
    """What a container needs in order to use these devices: environment, mounts, device nodes, annotations.

    `example.com/gpu` with d0 and d3 gives `KUBEDEV_EXAMPLE_COM_GPU=d0,d3`, /dev/gpu0 and /dev/gpu3, and the
    driver's files; every resource of `nvidia.com` gives NVIDIA_VISIBLE_DEVICES as well, which NVIDIA's runtime reads.
    """
    ids = ",".join(device_ids)
    envs = [(variable_name(plugin.resource), ids)]
    if plugin.resource.startswith("nvidia.com/"):
        envs.append(("NVIDIA_VISIBLE_DEVICES", ids))
    nodes = [f"/dev/{plugin.kind}{device_id.removeprefix('d')}" for device_id in device_ids]
    return ContainerAllocateResponse(
        envs=tuple(envs),
        mounts=(Mount(f"/usr/local/{plugin.kind}", f"/opt/{plugin.kind}", read_only=True),),
        devices=tuple(DeviceSpec(node, node, "rw") for node in nodes),
        annotations=((f"{plugin.resource}.devices", ids),),
    )


def variable_name(resource: str) -> str:
    """The variable that names a container's devices of a resource; two resources never have the same.

    Letters become capitals, the dots of the domain and the slash `_`. What else there is is spelled in small letters,
    which stand for nothing else: `a.com/b-c` gives `KUBEDEV_A_COM_B_dash_C`.
    """
    domain, _, kind = resource.partition("/")
    place = "_".join("".join(map(_spelled, label)) for label in domain.split("."))
    return f"KUBEDEV_{place}_{''.join(map(_spelled, kind))}"


_SPELLED = {"-": "_dash_", "_": "_low_", ".": "_dot_", "/": "_slash_"}


def _spelled(char: str) -> str:
    if char.isascii() and (char.isdigit() or char.islower()):
        return char.upper()
    return _SPELLED.get(char) or (
        f"_cap_{char}" if char.isascii() and char.isupper() else f"_u{ord(char):x}_"
    )


def _unknown(plugin: Plugin, device_ids: Iterable[str]) -> RpcError | None:
    known = {device.id for device in plugin.devices}
    for device_id in device_ids:
        if device_id not in known:
            return RpcError(
                "Unknown", f"unknown device {device_id!r}: {plugin.resource} has {_shown(plugin.devices)}"
            )
    return None


def _shown(devices: tuple[Device, ...]) -> str:
    if not devices:
        return "no devices"
    return devices[0].id if len(devices) == 1 else f"{devices[0].id} to {devices[-1].id}"
