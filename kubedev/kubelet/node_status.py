"""What the kubelet writes into its node object about devices.

Source: `pkg/kubelet/nodestatus/setters.go: MachineInfo`, `pkg/kubelet/kubelet_node_status.go`.
"""

from kubedev.api.names import is_extended_resource_name
from kubedev.api.objects import Node
from kubedev.api.quantity import Quantity
from kubedev.api.values import replace
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.devices import device_manager, registration
from kubedev.kubelet.devices.capacity import (
    CHECKPOINT_FILE,
    Capacity,
    should_reset_extended_resource_capacity,
)
from kubedev.kubelet.events import CloseStream, NodeStatus
from kubedev.kubelet.kubelet_state import Effects, KubeletState, Stepped
from kubedev.kubelet.pods import found_again

__all__ = ["restart", "with_devices", "without_extended_resources", "write_node_status"]


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


def write_node_status(state: KubeletState, now: float) -> Stepped:
    """Ask the device manager for its counts and write them, if they changed.

    A real kubelet does this every ten seconds; this one also right after a plugin's list or end, so that
    nobody has to wait.
    """
    manager, counts = device_manager.get_capacity(state.devices, now)
    node = with_devices(state.config.with_reservations(state.node), counts)
    effects: Effects = ()
    if (node.capacity, node.allocatable) != (state.node.capacity, state.node.allocatable):
        effects = (NodeStatus(node.capacity, node.allocatable),)
    return replace(state, devices=manager, node=node), effects


def restart(
    state: KubeletState,
    checkpoint: str | None,
    reboot: bool,
    now: float,
    config: KubeletConfig | None = None,
) -> Stepped:
    """The kubelet after a restart: what it knows stands in its files, and the runtime says what runs.

    All connections are closed and all conversations forgotten; plugins and pods come again as events. With another
    `config` the state files of CPUs and memory are deleted first, as the kubelet's text advises, where no container
    stands in them; otherwise ValueError with that text, if it cannot start over them.
    """
    cpus_file: str | None = state.cpus.checkpoint
    memory_file: str | None = state.memory.checkpoint
    if config is not None:
        cpus_file = cpus_file if state.cpus.assignments else None
        memory_file = memory_file if state.memory.assignments else None
        config.check_reservations(state.node)
    config = config or state.config
    streams = tuple(CloseStream(client) for client in registration.clients(state.devices))
    found = {
        uid: found_again(record, reboot)
        for uid, record in state.pods.items()
        if record.active or record.running
    }
    running = {uid: record.running for uid, record in found.items() if record.running}
    files = ["kubelet.sock"] + ([CHECKPOINT_FILE] if checkpoint is not None else [])
    node = state.node
    if should_reset_extended_resource_capacity(files, config.all_switches):
        node = without_extended_resources(node)
    fresh = KubeletState(
        node,
        state.socket_dir,
        config,
        device_manager.restart(checkpoint, now, running=running, switches=config.all_switches),
        config.cpus(cpus_file),
        config.memory(memory_file),
        config.topology(),
        drivers=state.drivers,
        found=found,
        next_call=state.next_call,
        next_client=state.next_client,
    )
    changed = (NodeStatus(node.capacity, node.allocatable),) if node != state.node else ()
    state, effects = write_node_status(fresh, now)
    return state, (*streams, *(effects or changed))
