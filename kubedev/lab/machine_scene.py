"""From a kubelet's machine to what the picture of its NUMA nodes shows."""

from collections.abc import Mapping

from kubedev.api.names import MEMORY
from kubedev.kubelet.devices.holdings import who_holds
from kubedev.kubelet.kubelet_state import KubeletState
from kubedev.views.catalogue import say
from kubedev.views.numa import CpuView, NumaBoard, NumaNodeView, numa_part
from kubedev.views.part import Part
from kubedev.views.path_state import DeviceView, ResourceView
from kubedev.views.style import DeviceState

__all__ = ["device_views", "machine_board", "machine_part"]


def machine_part(
    kubelet: KubeletState, mask: int | None = None, clicks: Mapping[str, str] | None = None
) -> Part:
    """The machine with a mask laid over it; `clicks` is what a click on a device does."""
    return numa_part(machine_board(kubelet, mask), clicks)


def machine_board(kubelet: KubeletState, mask: int | None = None) -> NumaBoard:
    """The machine as its picture wants it."""
    cpus = kubelet.cpus
    details = cpus.policy.topology.details.infos if cpus.policy else {}
    owners = {
        cpu: uid for uid, containers in cpus.assignments.items() for own in containers.values() for cpu in own
    }
    reserved = {
        cpu: DeviceState.RESERVED if cpu in cpus.default else DeviceState.WITHHELD
        for cpu in (cpus.policy.reserved if cpus.policy else ())
    }
    owners |= dict.fromkeys(reserved, say("board.system"))
    memory = {node: at.memory_map[MEMORY] for node, at in kubelet.memory.machine.items()}
    nodes = tuple(
        NumaNodeView(
            node,
            node,
            tuple(
                CpuView(c, owners.get(c, ""), reserved.get(c))
                for c, at in sorted(details.items())
                if at.numa_node == node
            ),
            (table.free, table.allocatable) if (table := memory.get(node)) else None,
        )
        for node in kubelet.config.numa.nodes
    )
    known = kubelet.devices.all_devices
    return NumaBoard(
        nodes, tuple(ResourceView(name, None, None, device_views(kubelet, name)) for name in known), mask
    )


def device_views(kubelet: KubeletState, resource: str) -> tuple[DeviceView, ...]:
    """A resource's devices as pictures show them."""
    healthy = kubelet.devices.healthy_devices[resource]
    owners = {holding.device: holding.pod_uid for holding in who_holds(kubelet.devices)}
    listed = kubelet.devices.all_devices[resource].values()
    return tuple(DeviceView(d.id, d.numa_nodes or (), d.id in healthy, owners.get(d.id, "")) for d in listed)
