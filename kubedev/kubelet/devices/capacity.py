"""ListAndWatch in, capacity and allocatable out.

Capacity is all devices of a resource, allocatable the healthy ones, whether or not a pod holds them. When a
plugin stops, its devices are unhealthy at once; capacity stays for five minutes, and falls to 0 at the first
question after that.

Source: `pkg/kubelet/cm/devicemanager/manager.go: genericDeviceUpdateCallback, GetCapacity,
sanitizeNodeAllocatable, ShouldResetExtendedResourceCapacity`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kubedev.api.messages import HEALTHY, UNHEALTHY, Device, DevicePluginOptions
from kubedev.kubelet.devices.devices import DeviceManagerState, Ids, PodDevices, write_checkpoint
from kubedev.kubelet.devices.endpoint import Endpoint
from kubedev.kubelet.devices.registration import grace_period_over

__all__ = [
    "CHECKPOINT_FILE",
    "Capacity",
    "CapacityLine",
    "allocated_resources_status",
    "get_capacity",
    "list_and_watch",
    "pods_to_update",
    "sanitize_node_allocatable",
    "should_reset_extended_resource_capacity",
    "update_plugin_resources",
    "with_plugin",
]

# The device manager's checkpoint, a file in the plugin directory.
CHECKPOINT_FILE = "kubelet_internal_checkpoint"


@dataclass(frozen=True, slots=True)
class CapacityLine:
    """How one resource's numbers came about: counts of devices, and what becomes of its plugin.

    `plugin` is `active`, `stopped` (within the grace period, devices still count), `expired` (the resource is
    deleted), or `missing` (deleted too: there are devices but no plugin, which should not happen).
    """

    resource: str
    healthy: int
    unhealthy: int
    plugin: Literal["active", "stopped", "expired", "missing"]


@dataclass(frozen=True, slots=True)
class Capacity:
    """The answer to GetCapacity, in numbers of devices. `deleted` resources get a 0 in the node's status.

    A plugin that stopped before its first list has a capacity of 0 and no allocatable at all.
    """

    capacity: Mapping[str, int]
    allocatable: Mapping[str, int]
    deleted: tuple[str, ...]
    lines: tuple[CapacityLine, ...]


def list_and_watch(state: DeviceManagerState, resource: str, devices: Sequence[Device]) -> DeviceManagerState:
    """A complete list came and replaces the one before it. Of two devices with one id the last counts.

    Any health but `Healthy` is unhealthy. An id listed both ways is counted twice, as in Kubernetes.
    """
    healthy = frozenset(device.id for device in devices if device.health == HEALTHY)
    unhealthy = frozenset(device.id for device in devices if device.health != HEALTHY)
    state = replace(
        state,
        all_devices={**state.all_devices, resource: {device.id: device for device in devices}},
        healthy_devices={**state.healthy_devices, resource: healthy},
        unhealthy_devices={**state.unhealthy_devices, resource: unhealthy},
    )
    return write_checkpoint(state)


def with_plugin(
    state: DeviceManagerState, resource: str, devices: Sequence[Device], *, preferred: bool = False
) -> DeviceManagerState:
    """The state when a plugin is connected and has sent its list; `preferred` if it has a preference to ask for."""
    number = state.endpoints.get(resource, len(state.endpoints) + 1)
    socket = f"{resource.rpartition('/')[2]}.sock"
    options = DevicePluginOptions(get_preferred_allocation_available=preferred)
    plugin = Endpoint(resource, socket, "connected", options)
    return replace(
        list_and_watch(state, resource, devices),
        connections={**state.connections, number: plugin},
        clients={**state.clients, resource: number},
        endpoints={**state.endpoints, resource: number},
    )


def get_capacity(state: DeviceManagerState, now: float) -> tuple[DeviceManagerState, Capacity]:
    """Count the devices of every resource, and forget those whose plugin has been stopped for too long."""
    resources = sorted(state.healthy_devices.keys() | state.unhealthy_devices.keys())
    lines = tuple(_line(state, resource, now) for resource in resources)
    kept = [line for line in lines if line.plugin in ("active", "stopped")]
    deleted = tuple(line.resource for line in lines if line.plugin in ("expired", "missing"))
    answer = Capacity(
        {line.resource: line.healthy + line.unhealthy for line in kept},
        {line.resource: line.healthy for line in kept if line.resource in state.healthy_devices},
        deleted,
        lines,
    )
    return (_forget(state, deleted) if deleted else state), answer


def _line(state: DeviceManagerState, resource: str, now: float) -> CapacityLine:
    healthy = len(state.healthy_devices.get(resource, ()))
    unhealthy = len(state.unhealthy_devices.get(resource, ()))
    endpoint = state.endpoint(resource)
    if endpoint is None:
        return CapacityLine(resource, healthy, unhealthy, "missing")
    if endpoint.stop_grace_period_expired(now):
        return CapacityLine(resource, healthy, unhealthy, "expired")
    return CapacityLine(resource, healthy, unhealthy, "stopped" if endpoint.stopped else "active")


def _forget(state: DeviceManagerState, resources: Collection[str]) -> DeviceManagerState:
    """Forget resources but for what pods hold of them."""
    for resource in resources:
        state = grace_period_over(state, resource)
    state = replace(
        state,
        healthy_devices={r: ids for r, ids in state.healthy_devices.items() if r not in resources},
        unhealthy_devices={r: ids for r, ids in state.unhealthy_devices.items() if r not in resources},
    )
    return write_checkpoint(state)


def update_plugin_resources(
    state: DeviceManagerState, pod_uid: str, allocatable: Mapping[str, int]
) -> Mapping[str, int]:
    """What the kubelet's own fit check is to take for allocatable when it looks at this pod.

    A pod that holds devices is looked at with `sanitize_node_allocatable`, any other with what the node says.
    """
    return sanitize_node_allocatable(state, allocatable) if pod_uid in state.pod_devices else allocatable


def sanitize_node_allocatable(state: DeviceManagerState, allocatable: Mapping[str, int]) -> Mapping[str, int]:
    """Allocatable, raised to what is allocated: running pods are to fit still when a plugin fails."""
    raised = {
        resource: len(devices)
        for resource, devices in state.allocated_devices.items()
        if allocatable.get(resource, -1) < len(devices)
    }
    return {**allocatable, **raised}


def should_reset_extended_resource_capacity(file_names: Collection[str], switches: Ids = frozenset()) -> bool:
    """Whether the node looks like a new machine, so that extended resources are set to 0 at start.

    `file_names` are those in the plugin directory. In v1.32 any file but a hidden one counts as a checkpoint,
    kubelet.sock too; with the switch 126943 only the checkpoint does.
    """
    if "126943" in switches:
        return CHECKPOINT_FILE not in file_names
    return all(name.startswith(".") for name in file_names)


# Health in the pod's status: the feature gate, here switch, ResourceHealthStatus


def pods_to_update(state: DeviceManagerState, resource: str, devices: Sequence[Device]) -> tuple[str, ...]:
    """The pods whose status a list changes, asked before it is applied: always none without the switch.

    A device that is new counts as changed, since it may have been away. Kubernetes looks for the holder of an
    id under any resource and takes one; with us the first one in order.
    """
    if "ResourceHealthStatus" not in state.switches:
        return ()
    known = state.all_devices.get(resource, {})
    changed = {d.id for d in devices if d.id not in known or known[d.id].health != d.health}
    holders = _holders(state.pod_devices)
    return tuple(sorted({holders[device] for device in changed if device in holders}))


def _holders(pods: PodDevices) -> dict[str, str]:
    holders: dict[str, str] = {}
    for pod_uid in sorted(pods):
        for resources in pods[pod_uid].values():
            for info in resources.values():
                for device in info.devices:
                    holders.setdefault(device, pod_uid)
    return holders


def allocated_resources_status(
    state: DeviceManagerState,
    pod_uid: str,
    container: str,
    before: Mapping[str, Mapping[str, str]] | None = None,
) -> Mapping[str, Mapping[str, str]]:
    """The health of each device of a container, by resource and id, for its status: empty without the switch.

    What stood there `before` of other resources remains. A device that its plugin no longer lists counts as healthy.
    Init containers are not looked at. (`manager.go: UpdateAllocatedResourcesStatus`)
    """
    if "ResourceHealthStatus" not in state.switches:
        return before or {}
    resources = state.pod_devices.get(pod_uid, {}).get(container, {})
    now = {
        resource: {id_: _health(state, resource, id_) for id_ in sorted(info.devices)}
        for resource, info in sorted(resources.items())
        if info.device_ids
    }
    return {**(before or {}), **now}


def _health(state: DeviceManagerState, resource: str, device: str) -> str:
    known = state.all_devices.get(resource, {}).get(device)
    return HEALTHY if known is None or known.health == HEALTHY else UNHEALTHY
