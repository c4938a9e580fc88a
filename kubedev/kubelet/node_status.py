"""What the kubelet writes into its node object about devices.

Source: `pkg/kubelet/nodestatus/setters.go: MachineInfo`.
"""

from dataclasses import replace

from kubedev.api.names import is_extended_resource_name
from kubedev.api.objects import Node
from kubedev.api.quantity import Quantity
from kubedev.kubelet.capacity import Capacity

__all__ = ["with_devices", "without_extended_resources"]


def with_devices(node: Node, counts: Capacity) -> Node:
    """The node with the device manager's counts in capacity and allocatable.

    A removed resource is set to 0 rather than deleted: 0 says that a plugin managed it and is gone, so the
    kubelet goes on refusing pods that ask for it; a missing key would mean that somebody else counts it.
    Resources that no plugin manages here, cluster-level ones among them, are left alone; their allocatable is
    their capacity.
    """
    capacity = dict(node.capacity)
    capacity |= {name: Quantity.of(count) for name, count in counts.capacity.items()}
    capacity |= {name: Quantity.of(0) for name in counts.deleted}
    allocatable = {
        name: quantity
        for name, quantity in node.allocatable.items()
        if name in capacity or not is_extended_resource_name(name)
    }
    allocatable |= {name: capacity[name] for name in capacity if is_extended_resource_name(name)}
    allocatable |= {name: Quantity.of(count) for name, count in counts.allocatable.items()}
    return replace(node, capacity=capacity, allocatable=allocatable)


def without_extended_resources(node: Node) -> Node:
    """The node with 0 of every extended resource: it was made anew, and no plugin has said what there is.

    Source: `pkg/kubelet/kubelet_node_status.go: reconcileExtendedResource`.
    """
    zeros = {name: Quantity.of(0) for name in node.capacity if is_extended_resource_name(name)}
    return replace(node, capacity={**node.capacity, **zeros}, allocatable={**node.allocatable, **zeros})
