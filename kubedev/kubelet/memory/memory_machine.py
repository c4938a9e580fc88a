"""The memory of the machine's NUMA nodes: what is taken of it and given back, and which nodes may go together.

Source: `pkg/kubelet/cm/memorymanager/policy_static.go`.
"""

from dataclasses import replace

from kubedev.kubelet.memory.memory_state import Block, MachineState, MemoryManagerError, NUMANodeState
from kubedev.kubelet.topology.bitmask import nodes_of

__all__ = ["are_equal", "check_known", "free_on", "released", "taken", "violates"]


def check_known(machine: MachineState, block: Block, who: str) -> None:
    """MemoryManagerError where a block is of a node or of a type that the machine has not."""
    for node in block.numa_affinity:
        if node not in machine:
            raise MemoryManagerError(
                f"[memorymanager] {who} the memory assignment uses the NUMA that does not exist"
            )
        if block.type not in machine[node].memory_map:
            raise MemoryManagerError(
                f"[memorymanager] {who} the memory assignment uses memory resource that does not exist"
            )


def are_equal(one: MachineState, other: MachineState) -> bool:
    """Whether two machines are the same; how a group shares out its memory does not matter.

    Source: `policy_static.go: areMachineStatesEqual`.
    """

    def summary(machine: MachineState, node: int, resource: str) -> tuple[int, ...]:
        table, cells = machine[node].memory_map[resource], one[node].cells
        tables = [machine[cell].memory_map[resource] for cell in cells if cell in machine]
        return (
            table.total,
            table.system_reserved,
            table.allocatable,
            sum(t.free for t in tables),
            sum(t.reserved for t in tables),
        )

    return one.keys() == other.keys() and all(
        state.number_of_assignments == other[node].number_of_assignments
        and sorted(state.cells) == sorted(other[node].cells)
        and state.memory_map.keys() == other[node].memory_map.keys()
        and all(summary(one, node, r) == summary(other, node, r) for r in state.memory_map)
        for node, state in one.items()
    )


def free_on(machine: MachineState, mask: int, resource: str) -> int:
    """How many bytes of a type nobody has on these nodes."""
    return sum(machine[node].memory_map[resource].free for node in nodes_of(mask))


def violates(machine: MachineState, nodes: tuple[int, ...]) -> bool:
    """Whether these nodes would cut a group, or join nodes that serve alone.

    Source: `policy_static.go: isAffinityViolatingNUMAAllocations`.
    """
    used = [machine[node].cells for node in nodes if machine[node].number_of_assignments]
    return len(nodes) > 1 and any(tuple(sorted(cells)) != nodes for cells in used)


def taken(machine: MachineState, nodes: tuple[int, ...], resource: str, size: int) -> MachineState:
    """The machine after so much was taken of the nodes, as much as possible of each before the next.

    Source: `policy_static.go: updateMachineState`.
    """
    changed = dict(machine)
    for node in nodes:
        state = changed[node]
        table = state.memory_map[resource]
        part = min(size, table.free)
        size -= part
        table = replace(table, reserved=table.reserved + part, free=table.free - part)
        changed[node] = NUMANodeState(
            state.number_of_assignments + 1, {**state.memory_map, resource: table}, nodes
        )
    return changed


def released(machine: MachineState, block: Block) -> MachineState:
    """The machine after a block was given back, as much as possible to each of its nodes before the next.

    A node that nobody uses any more is in no group. Source: `policy_static.go: RemoveContainer`.
    """
    changed, left = dict(machine), block.size
    for node in block.numa_affinity:
        before = changed[node]
        table = before.memory_map[block.type]
        part = min(left, table.reserved)
        left -= part
        table = replace(table, reserved=table.reserved - part, free=table.free + part)
        count = before.number_of_assignments - 1
        cells = before.cells if count else (node,)
        changed[node] = NUMANodeState(count, {**before.memory_map, block.type: table}, cells)
    return changed
