"""Policies of the memory manager: None, or Static on one machine, with what is reserved of it.

Source: `pkg/kubelet/cm/memorymanager/{memory_manager,policy_static}.go`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kubedev.api.gotext import quote
from kubedev.api.names import MEMORY, is_huge_page_resource_name
from kubedev.api.quantity import Format, Quantity
from kubedev.kubelet.memory.memory_state import (
    MachineState,
    MemoryManagerError,
    MemoryTable,
    NUMANodeState,
)

__all__ = ["MemoryPolicy", "MemoryReservation", "NUMAMemory", "new_policy", "new_static_policy"]


@dataclass(frozen=True, slots=True)
class NUMAMemory:
    """The memory of one NUMA node in bytes, its huge pages included, and the number of pages by their size in KiB."""

    id: int
    memory: int
    huge_pages: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemoryReservation:
    """What is kept of one NUMA node for system and kubelet, by type of memory (`reservedMemory`)."""

    numa_node: int
    limits: Mapping[str, Quantity]


@dataclass(frozen=True, slots=True)
class MemoryPolicy:
    """The static policy on one machine; `system_reserved` is in bytes by NUMA node and type."""

    nodes: tuple[NUMAMemory, ...]
    system_reserved: Mapping[int, Mapping[str, int]]

    def default_machine_state(self) -> MachineState:
        """The machine with nothing assigned. Source: `policy_static.go: getDefaultMachineState`."""
        return {node.id: NUMANodeState(0, self._tables(node), (node.id,)) for node in self.nodes}

    def _tables(self, node: NUMAMemory) -> Mapping[str, MemoryTable]:
        reserved = self.system_reserved.get(node.id, {})
        sizes = {_resource_name(kib): kib * 1024 * count for kib, count in node.huge_pages.items()}
        tables = {r: _table(size, reserved.get(r, 0)) for r, size in sizes.items()}
        own = reserved.get(MEMORY, 0)
        return {**tables, MEMORY: _table(node.memory, own, used=sum(sizes.values()))}


def _table(total: int, reserved: int, used: int = 0) -> MemoryTable:
    # As in Go, what would be below zero wraps.
    allocatable = (total - reserved - used) % 2**64
    return MemoryTable(total, reserved, allocatable, 0, allocatable)


def _resource_name(kib: int) -> str:
    """Source: `pkg/apis/core/v1/helper/helpers.go: HugePageResourceName`."""
    return f"hugepages-{Quantity(kib * 1024, format=Format.BINARY_SI)}"


def new_policy(
    name: str,
    nodes: Sequence[NUMAMemory],
    reservation: Mapping[str, Quantity],
    reserved: Sequence[MemoryReservation] = (),
) -> MemoryPolicy | None:
    """The policy of this name (None for None), or MemoryManagerError: the kubelet does not start.

    `reservation` is what the node's allocatable leaves to system, kubelet and eviction; under the static policy
    `reserved` says from which nodes it is taken, and both have to come to the same.

    Source: `memory_manager.go: NewManager`.
    """
    if name == "None":
        return None
    if name == "BestEffort":
        raise MemoryManagerError('policy "BestEffort" is not available for platform "linux"')
    if name != "Static":
        raise MemoryManagerError(f"unknown policy: {quote(name)}")
    _validate_reserved_memory(nodes, reservation, reserved)
    converted: dict[int, dict[str, int]] = {node.id: {} for node in nodes}
    for each in reserved:
        for resource, quantity in each.limits.items():
            size = quantity.as_int64()
            if size is None:
                raise MemoryManagerError("could not covert a variable of type Quantity to int64")
            converted[each.numa_node][resource] = size
    return new_static_policy(nodes, converted)


def new_static_policy(
    nodes: Sequence[NUMAMemory], system_reserved: Mapping[int, Mapping[str, int]]
) -> MemoryPolicy:
    """The static policy, or MemoryManagerError: some memory has to be reserved. Source: `NewPolicyStatic`."""
    if not sum(types.get(MEMORY, 0) for types in system_reserved.values()):
        raise MemoryManagerError("[memorymanager] you should specify the system reserved memory")
    return MemoryPolicy(tuple(nodes), system_reserved)


def _validate_reserved_memory(
    nodes: Sequence[NUMAMemory],
    reservation: Mapping[str, Quantity],
    reserved: Sequence[MemoryReservation],
) -> None:
    """Source: `memory_manager.go: validateReservedMemory, getTotalMemoryTypeReserved`."""
    known = {node.id for node in nodes}
    totals: dict[str, Quantity] = {}
    for each in reserved:
        if each.numa_node not in known:
            raise MemoryManagerError(
                f"the reserved memory configuration references a NUMA node {each.numa_node} that does not exist "
                "on this machine"
            )
        for resource, quantity in each.limits.items():
            totals[resource] = totals.get(resource, Quantity()) + quantity
    types = {r for r in reservation if r == MEMORY or is_huge_page_resource_name(r)}
    for resource in sorted(types | totals.keys()):
        allocatable, total = reservation.get(resource, Quantity()), totals.get(resource, Quantity())
        if allocatable != total:
            raise MemoryManagerError(
                f"the total amount {quote(str(Quantity() + total))} of type {quote(resource)} is not equal to the "
                f"value {quote(str(Quantity() + allocatable))} determined by Node Allocatable feature"
            )
