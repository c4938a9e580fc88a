"""Which NUMA nodes could serve a container's memory, and with which of them is it served best?

All types of memory that a container asks for have the same hints. A mask is one if its nodes have enough of each, and
if it cuts no group of nodes.

Source: `pkg/kubelet/cm/memorymanager/policy_static.go: calculateHints, regenerateHints, findBestHint`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kubedev.api.names import MEMORY, is_huge_page_resource_name
from kubedev.api.objects import Container, Pod
from kubedev.kubelet.devices.device_hints import pod_request
from kubedev.kubelet.memory.memory_state import Block, MachineState, MemoryManagerError
from kubedev.kubelet.topology.bitmask import MAX_NUMA_NODES, iterate_bit_masks, mask_of, nodes_of
from kubedev.kubelet.topology.hint import TopologyHint
from kubedev.kubelet.topology.wide import Cover, WideHints, holds, smallest_size

__all__ = [
    "Reusable",
    "calculate_hints",
    "find_best_hint",
    "pod_requested_resources",
    "regenerate_hints",
    "requested_resources",
]

# What finished init containers of a pod had: bytes by mask and type.
Reusable = Mapping[int, Mapping[str, int]]


def requested_resources(container: Container) -> Mapping[str, int]:
    """Bytes of memory and of huge pages by type; MemoryManagerError where one is no whole int64.

    Source: `policy_static.go: getRequestedResources`.
    """
    requested = {}
    for resource, quantity in sorted(container.requests.items()):
        if resource == MEMORY or is_huge_page_resource_name(resource):
            size = quantity.as_int64()
            if size is None:
                raise MemoryManagerError("[memorymanager] failed to represent quantity as int64")
            requested[resource] = size
    return requested


def pod_requested_resources(pod: Pod) -> Mapping[str, int]:
    """What the whole pod needs at most at one moment, of the types that its app containers ask for.

    Source: `policy_static.go: getPodRequestedResources`.
    """
    every = (*pod.init_containers, *pod.containers)
    by_container = {container.name: requested_resources(container) for container in every}
    types = {resource for container in pod.containers for resource in by_container[container.name]}

    def of_type(resource: str) -> int:
        return pod_request(pod, lambda container: by_container[container.name].get(resource, 0))

    return {resource: of_type(resource) for resource in sorted(types)}


def calculate_hints(
    machine: MachineState, requested: Mapping[str, int], reusable: Reusable
) -> tuple[TopologyHint, ...] | WideHints:
    """The masks that could serve the request, small ones first; MemoryManagerError for a type of no node.

    A mask is preferred if it is as small as any that could serve the request on an empty machine.
    """
    nodes = sorted(machine)
    check_types(machine, requested)
    if len(nodes) > MAX_NUMA_NODES:
        return _wide_hints(machine, nodes, requested, reusable)
    # Bit p of a place in these lists stands for the node at place p.
    free, allocatable = (
        {r: _sums([getattr(machine[n].memory_map[r], what) for n in nodes]) for r in requested}
        for what in ("free", "allocatable")
    )
    min_affinity_size = len(nodes)
    masks = []
    for place, mask in zip(iterate_bit_masks(range(len(nodes))), iterate_bit_masks(nodes), strict=True):
        if any(allocatable[resource][place] < size for resource, size in requested.items()):
            continue
        min_affinity_size = min(min_affinity_size, mask.bit_count())
        again = reusable.get(mask, {})
        if not cuts_a_group(machine, mask) and all(
            free[resource][place] + again.get(resource, 0) >= size for resource, size in requested.items()
        ):
            masks.append(mask)
    return tuple(TopologyHint(mask, mask.bit_count() == min_affinity_size) for mask in masks)


def _wide_hints(
    machine: MachineState, nodes: Sequence[int], requested: Mapping[str, int], reusable: Reusable
) -> tuple[TopologyHint, ...] | WideHints:
    """On many nodes: all masks of unused nodes that have enough, and the few others, nodes and groups in use."""

    def covers(what: str) -> tuple[Cover, ...]:
        return tuple(
            Cover(tuple((1 << n, getattr(machine[n].memory_map[r], what)) for n in nodes), size)
            for r, size in sorted(requested.items())
        )

    free, allocatable = covers("free"), covers("allocatable")
    size = smallest_size(nodes, allocatable)
    unused = mask_of(n for n in nodes if not machine[n].number_of_assignments and len(machine[n].cells) == 1)
    family = WideHints(tuple(nodes), unused, free, size)

    def serves(mask: int) -> bool:
        again = reusable.get(mask, {})
        return (
            holds(allocatable, mask)
            and not cuts_a_group(machine, mask)
            and all(
                cover.on(mask) + again.get(resource, 0) >= cover.need
                for resource, cover in zip(sorted(requested), free, strict=True)
            )
        )

    groups = {mask_of(state.cells) for state in machine.values()} | {1 << node for node in nodes}
    others = {mask for mask in groups | reusable.keys() if not family.in_family(mask) and serves(mask)}
    family = replace(family, also=tuple(sorted(others)))
    if family.in_family(unused):
        return family
    return tuple(family.hint(mask) for size in range(1, len(nodes) + 1) for mask in family.of_size(size))


def _sums(values: Sequence[int]) -> list[int]:
    """The sum of the values of each mask, `sums[mask]`: 2^n of them."""
    sums = [0]
    for value in values:
        sums += [so_far + value for so_far in sums]
    return sums


def check_types(machine: MachineState, requested: Mapping[str, int]) -> None:
    """MemoryManagerError where a node lacks a type that is asked for; Kubernetes stops with a panic there."""
    for node, state in sorted(machine.items()):
        for resource in requested:
            if resource not in state.memory_map:
                known = ", ".join(sorted(state.memory_map))
                raise MemoryManagerError(
                    f"expected memory of the types that NUMA node {node} has ({known}), got {resource}: ask for "
                    "one of these, or give every node pages of that size; Kubernetes would stop with a panic"
                )


def cuts_a_group(machine: MachineState, mask: int) -> bool:
    """Whether a mask takes a node out of a group, or joins nodes of which one serves alone or in another group."""
    nodes = nodes_of(mask)
    if len(nodes) == 1:
        return len(machine[nodes[0]].cells) > 1
    used = (machine[node].cells for node in nodes if machine[node].number_of_assignments)
    return any(len(cells) == 1 or tuple(sorted(cells)) != nodes for cells in used)


def regenerate_hints(
    blocks: Sequence[Block], requested: Mapping[str, int]
) -> Mapping[str, tuple[TopologyHint, ...]] | None:
    """The hints that lead again to what a container has already; None where that is not what is asked for.

    Source: `policy_static.go: regenerateHints`.
    """
    if len(blocks) != len(requested) or any(requested.get(b.type) != b.size for b in blocks):
        return None
    hints: dict[str, tuple[TopologyHint, ...]] = {}
    for block in blocks:
        again = TopologyHint(mask_of(block.numa_affinity), True)
        hints[block.type] = (*hints.get(block.type, ()), again)
    return {resource: hints.get(resource, ()) for resource in requested}


def find_best_hint(hints: tuple[TopologyHint, ...] | WideHints, including: int = 0) -> TopologyHint:
    """The first preferred one of the fewest nodes, or else the first of the fewest nodes, that has these nodes.

    One without a mask where there is none. Source: `policy_static.go: findBestHint, extendTopologyManagerHint`.
    """
    if isinstance(hints, WideHints):
        wanted, all_sizes = hints.min_affinity_size, range(1, len(hints.nodes) + 1)
        found = (mask for size in (wanted, *all_sizes) for mask in hints.of_size(size, including))
        return next(map(hints.hint, found), TopologyHint(None, False))
    masks = [hint for hint in hints if including & ~(hint.numa_node_affinity or 0) == 0]

    def rank(hint: TopologyHint) -> tuple[bool, int]:
        return not hint.preferred, (hint.numa_node_affinity or 0).bit_count()

    return min(masks, key=rank, default=TopologyHint(None, False))
