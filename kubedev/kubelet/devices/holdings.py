"""Who holds which device: the device manager's records as rows, which tables, checks and graphs are made of."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kubedev.kubelet.devices.devices import NODE_WITHOUT_TOPOLOGY, DeviceManagerState

__all__ = ["DeviceCondition", "Holding", "condition_of", "who_holds", "without_record"]

DeviceCondition = Literal["healthy", "unhealthy", "not listed"]
"""A device that is held and in the plugin's last list no more is a third thing: `not listed`."""


@dataclass(frozen=True, slots=True)
class Holding:
    """One device of one container. `numa_nodes` are those of the record, which outlives the plugin's list."""

    pod_uid: str
    container: str
    resource: str
    device: str
    numa_nodes: tuple[int, ...]
    condition: DeviceCondition


def condition_of(state: DeviceManagerState, resource: str, device: str) -> DeviceCondition:
    """What the plugin's last list says of a device."""
    if device in state.healthy_devices.get(resource, ()):
        return "healthy"
    return "unhealthy" if device in state.unhealthy_devices.get(resource, ()) else "not listed"


def who_holds(state: DeviceManagerState) -> Iterator[Holding]:
    """The devices in the records, sorted by device within a container's resource. A device may be in two of them:
    an ended init container's record keeps what the pod's later containers use.

    Source: `pkg/kubelet/cm/devicemanager/pod_devices.go: podDevices`.
    """
    for pod_uid, containers in state.pod_devices.items():
        for container, resources in containers.items():
            for resource, info in resources.items():
                for device in sorted(info.devices):
                    nodes = (n for n, ids in sorted(info.device_ids.items()) if device in ids)
                    on = tuple(node for node in nodes if node != NODE_WITHOUT_TOPOLOGY)
                    condition = condition_of(state, resource, device)
                    yield Holding(pod_uid, container, resource, device, on, condition)


def without_record(state: DeviceManagerState) -> Iterator[tuple[str, str]]:
    """Devices that are taken though no record has them, as (resource, device): an Allocate under way, or one that
    came to nothing after they were marked. (`manager.go: allocatedDevices` beside `podDevices`)
    """
    recorded = {(holding.resource, holding.device) for holding in who_holds(state)}
    for resource, ids in sorted(state.allocated_devices.items()):
        yield from ((resource, device) for device in sorted(ids) if (resource, device) not in recorded)
