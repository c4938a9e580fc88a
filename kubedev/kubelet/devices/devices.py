"""What the device manager knows: the devices there are, the pods that hold them, the plugins that offer them.

The state is a value. Its mappings are never changed in place: every function of this room returns a new
state. Source: `pkg/kubelet/cm/devicemanager/manager.go: ManagerImpl`, `pod_devices.go`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from kubedev.api.messages import ContainerAllocateResponse, Device
from kubedev.kubelet.devices.endpoint import Endpoint

__all__ = [
    "NODE_WITHOUT_TOPOLOGY",
    "ContainerDevices",
    "DeviceAllocateInfo",
    "DeviceManagerState",
    "DevicesPerNUMA",
    "Ids",
    "PodDevices",
    "Written",
    "allocated_by",
    "by_numa_node",
    "container_devices",
    "get_allocatable_devices",
    "get_devices",
    "insert",
    "is_device_plugin_resource",
    "mark_resource_unhealthy",
    "write_checkpoint",
]

Ids = frozenset[str]
DevicesPerNUMA = Mapping[int, tuple[str, ...]]

# Under this node stand devices whose plugin named none.
NODE_WITHOUT_TOPOLOGY = -1


@dataclass(frozen=True, slots=True)
class DeviceAllocateInfo:
    """What one container holds of one resource: ids under each of their NUMA nodes, and Allocate's answer."""

    device_ids: DevicesPerNUMA
    alloc_resp: ContainerAllocateResponse

    @property
    def devices(self) -> Ids:
        """The ids, wherever they are."""
        return frozenset().union(*self.device_ids.values())


ContainerDevices = Mapping[str, DeviceAllocateInfo]  # by resource
PodDevices = Mapping[str, Mapping[str, ContainerDevices]]  # by pod uid, then by container


@dataclass(frozen=True, slots=True)
class Written:
    """What was last written to the checkpoint file: the state's own values of that moment."""

    pod_devices: PodDevices
    healthy_devices: Mapping[str, Ids]


@dataclass(frozen=True, slots=True)
class DeviceManagerState:
    """The device manager as a value. All mappings are by resource name, if nothing else is said.

    `allocated_devices` is what allocation looks at: the records' devices, and those marked for a container
    whose Allocate is under way. `devices_to_reuse`, by pod uid, are the devices of finished init containers.
    `connections` are plugins by the number of their connection; `clients` says for each resource which one
    registered last, `endpoints` which one is in force. (Numbers below 0 are plugins that are known from the
    checkpoint only.) `running` are the containers, by pod uid, that ran when the kubelet started.
    `checkpoint` is the file: None if there is none, a text if it was found there, else what was written.
    """

    all_devices: Mapping[str, Mapping[str, Device]] = field(default_factory=dict)
    healthy_devices: Mapping[str, Ids] = field(default_factory=dict)
    unhealthy_devices: Mapping[str, Ids] = field(default_factory=dict)
    allocated_devices: Mapping[str, Ids] = field(default_factory=dict)
    pod_devices: PodDevices = field(default_factory=dict)
    devices_to_reuse: Mapping[str, Mapping[str, Ids]] = field(default_factory=dict)
    connections: Mapping[int, Endpoint] = field(default_factory=dict)
    clients: Mapping[str, int] = field(default_factory=dict)
    endpoints: Mapping[str, int] = field(default_factory=dict)
    running: Mapping[str, Ids] = field(default_factory=dict)
    sources_ready: bool = True
    checkpoint: str | Written | None = None
    read_error: str | None = None
    switches: Ids = frozenset()

    def endpoint(self, resource: str) -> Endpoint | None:
        """The plugin that is asked for devices of this resource."""
        client = self.endpoints.get(resource)
        return None if client is None else self.connections[client]

    def free(self, resource: str) -> Ids:
        """The healthy devices of a resource that nobody has, and that are not marked for anybody."""
        taken = self.allocated_devices.get(resource, frozenset())
        return self.healthy_devices.get(resource, frozenset()) - taken


# Pods and their devices


def insert(
    pods: PodDevices, pod_uid: str, container: str, resource: str, info: DeviceAllocateInfo
) -> PodDevices:
    """The records with one more, in place of an older one of the same container and resource."""
    containers = pods.get(pod_uid, {})
    resources = {**containers.get(container, {}), resource: info}
    return {**pods, pod_uid: {**containers, container: resources}}


def container_devices(pods: PodDevices, pod_uid: str, container: str, resource: str) -> Ids | None:
    """What a container holds of a resource; None if there is no record, which differs from no device."""
    info = pods.get(pod_uid, {}).get(container, {}).get(resource)
    return None if info is None else info.devices


def allocated_by(pods: PodDevices) -> Mapping[str, Ids]:
    """All devices in the records, by resource. (`pod_devices.go: devices`)"""
    allocated: dict[str, Ids] = {}
    for containers in pods.values():
        for resources in containers.values():
            for resource, info in resources.items():
                allocated[resource] = allocated.get(resource, frozenset()) | info.devices
    return allocated


def by_numa_node(devices: Mapping[str, Device], ids: Collection[str]) -> DevicesPerNUMA:
    """The ids under each of their NUMA nodes; one on two nodes stands under both."""
    nodes: dict[int, list[str]] = {}
    for device in sorted(ids):
        on = devices[device].numa_nodes if device in devices else None
        for node in on or (NODE_WITHOUT_TOPOLOGY,):
            nodes.setdefault(node, []).append(device)
    return {node: tuple(under) for node, under in nodes.items()}


def get_devices(
    state: DeviceManagerState, pod_uid: str, container: str
) -> Mapping[str, Mapping[str, Device]]:
    """A container's devices by resource and id, with the NUMA nodes of its record; health says nothing here.

    Source: `manager.go: GetDevices`.
    """
    resources = state.pod_devices.get(pod_uid, {}).get(container, {})
    return {resource: _with_nodes(info.device_ids) for resource, info in resources.items() if info.device_ids}


def _with_nodes(device_ids: DevicesPerNUMA) -> dict[str, Device]:
    nodes: dict[str, tuple[int, ...]] = {}
    for node in sorted(device_ids):
        for device in device_ids[node]:
            known = nodes.setdefault(device, ())
            if node != NODE_WITHOUT_TOPOLOGY and node not in known:
                nodes[device] = (*known, node)
    return {device: Device(device, numa_nodes=on or None) for device, on in nodes.items()}


# Resources and their devices


def is_device_plugin_resource(state: DeviceManagerState, resource: str) -> bool:
    """Whether a plugin offers this resource, or some pod holds devices of it: else nothing is allocated."""
    return resource in state.healthy_devices or resource in state.allocated_devices


def get_allocatable_devices(state: DeviceManagerState) -> Mapping[str, Mapping[str, Device]]:
    """The healthy devices, free or not. (`manager.go: GetAllocatableDevices`)"""
    return {
        resource: {id_: device for id_, device in state.all_devices[resource].items() if id_ in healthy}
        for resource, healthy in state.healthy_devices.items()
        if resource in state.all_devices
    }


def mark_resource_unhealthy(state: DeviceManagerState, resource: str) -> DeviceManagerState:
    """All healthy devices of a resource become unhealthy; who holds them keeps them."""
    healthy, unhealthy = dict(state.healthy_devices), dict(state.unhealthy_devices)
    unhealthy[resource] = unhealthy.get(resource, frozenset()) | healthy.get(resource, frozenset())
    if resource in healthy:
        healthy[resource] = frozenset()
    return replace(state, healthy_devices=healthy, unhealthy_devices=unhealthy)


def write_checkpoint(state: DeviceManagerState) -> DeviceManagerState:
    """The state whose checkpoint file says what its records and healthy devices are now."""
    return replace(state, checkpoint=Written(state.pod_devices, state.healthy_devices))
