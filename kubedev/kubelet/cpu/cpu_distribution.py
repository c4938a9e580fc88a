"""CPUs from several NUMA nodes in equal shares: the static policy's option distribute-cpus-across-numa.

Of all combinations of as few NUMA nodes as will do, the one is taken that leaves the machine most balanced:
with the smallest standard deviation of what is left free on the nodes.

Source: `pkg/kubelet/cm/cpumanager/cpu_assignment.go: takeByTopologyNUMADistributed`.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from kubedev.kubelet.cpu.cpu_assignment import (
    Accumulator,
    CPUAssignment,
    Strategy,
    not_enough,
    take_by_topology_numa_packed,
)
from kubedev.kubelet.cpu.cpu_topology import CPUTopology
from kubedev.kubelet.cpu.cpuset import CPUSet

__all__ = ["take_by_topology_numa_distributed"]


def take_by_topology_numa_distributed(
    topology: CPUTopology, available: CPUSet, count: int, group_size: int, strategy: Strategy = "packed"
) -> CPUAssignment:
    """Take `count` CPUs, in groups of `group_size` (the threads of a core), in equal shares.

    Where no combination of NUMA nodes can give equal shares, they are packed.
    """
    if count % group_size != 0:
        return take_by_topology_numa_packed(topology, available, count, strategy)
    accumulator = Accumulator(topology, available, count, strategy)
    if accumulator.is_satisfied:
        return accumulator.result()
    if count > len(accumulator.free.cpus):
        return not_enough(count, available)
    free = {node: len(accumulator.free.cpus_in("numa_node", node)) for node in accumulator.numa_nodes()}
    for size in _sizes(accumulator, group_size):
        share = _best_share(free, size, count, group_size)
        if share is not None:
            return _take_share(accumulator, share, group_size)
    return take_by_topology_numa_packed(topology, available, count, strategy)


def _sizes(accumulator: Accumulator, group_size: int) -> Iterable[int]:
    """How many NUMA nodes to try. Source: `cpu_assignment.go: rangeNUMANodesNeededToSatisfy`."""
    details = accumulator.topology.details
    groups = math.ceil(len(details.cpus) / group_size)
    groups_per_node = math.ceil(groups / len(details.ids("numa_node")))
    needed = math.ceil(accumulator.needed / group_size)
    most = min(needed, len(accumulator.free.ids("numa_node")))
    return range(math.ceil(needed / groups_per_node), most + 1)


@dataclass(frozen=True, slots=True)
class _Share:
    """`each` CPUs from every one of the nodes, and `rest` more from `remainder`, a group at a time."""

    nodes: Sequence[int]
    each: int
    remainder: Sequence[int]
    rest: int


def _best_share(free: Mapping[int, int], size: int, count: int, group_size: int) -> _Share | None:
    """The best combination of `size` nodes; `free` CPUs by node, in the order in which nodes are tried."""
    each = count // size // group_size * group_size
    rest = count - each * size
    best_balance = math.inf
    best_nodes: Sequence[int] | None = None
    best_remainder: Sequence[int] = ()
    for nodes in _combinations(list(free), size):
        if best_balance == 0:
            break
        if not _can_serve(free, nodes, count, each, group_size):
            continue
        left = {node: cpus - each if node in nodes else cpus for node, cpus in free.items()}
        balance, remainder = _best_remainder(left, nodes, rest, group_size)
        if balance < best_balance:
            best_balance, best_nodes, best_remainder = balance, nodes, remainder
    return None if best_nodes is None else _Share(best_nodes, each, best_remainder, rest)


def _can_serve(free: Mapping[int, int], nodes: Sequence[int], count: int, each: int, group_size: int) -> bool:
    groups = sum(free[node] // group_size for node in nodes)
    return groups * group_size >= count and all(free[node] >= each for node in nodes)


def _best_remainder(
    left: Mapping[int, int], nodes: Sequence[int], rest: int, group_size: int
) -> tuple[float, Sequence[int]]:
    """The balance after taking the rest from some of the nodes, and which; many are tried before few."""
    if rest == 0:
        return _standard_deviation(left.values()), ()
    with_room = [node for node in nodes if left[node] >= group_size]
    best_balance = math.inf
    best: Sequence[int] = ()
    for size in range(len(with_room), 0, -1):
        for subset in _combinations(with_room, size):
            after = _without_rest(left, subset, rest, group_size)
            if after is None:
                continue
            balance = _standard_deviation(after.values())
            if balance < best_balance:
                best_balance, best = balance, subset
    return best_balance, best


def _without_rest(
    left: Mapping[int, int], subset: Sequence[int], rest: int, group_size: int
) -> dict[int, int] | None:
    """What is left when the rest has been taken from the subset in turns; None if it does not have that much.

    (Go never comes to an end where the subset has enough CPUs but not enough groups.)
    """
    if sum(left[node] // group_size for node in subset) * group_size < rest:
        return None
    after = dict(left)
    while rest > 0:
        for node in subset:
            if rest > 0 and after[node] >= group_size:
                after[node] -= group_size
                rest -= group_size
    return after


def _combinations(nodes: Sequence[int], size: int) -> Iterator[list[int]]:
    """All combinations, in lists that are written anew as the walk goes on.

    Go keeps the best combination in a slice, and appends to slices on the way. An append writes into the
    same memory as long as there is room: slices grow to 1, 2, 4, 8 members. So what was kept changes under
    Go's hands, to the last combination visited that begins with the same members. The CPUs it then takes
    depend on that.
    """
    same = 1 + max((power for power in (1, 2, 4, 8, 16, 32) if power < size), default=0)
    current: list[int] = []
    for combination in combinations(nodes, size):
        if tuple(current[:same]) != combination[:same]:
            current = []
        current[:] = combination
        yield current


def _standard_deviation(numbers: Iterable[int]) -> float:
    xs = list(numbers)
    mean = _round(sum(xs) / len(xs))
    return _round(math.sqrt(sum((x - mean) ** 2 for x in xs) / len(xs)))


def _round(x: float) -> float:
    """To three decimals, halves away from 0."""
    return math.floor(x * 1000 + 0.5) / 1000


def _take_share(accumulator: Accumulator, share: _Share, group_size: int) -> CPUAssignment:
    for node in share.nodes:
        _take_from(accumulator, node, share.each)
    rest = share.rest
    while rest > 0:
        before = rest
        for node in share.remainder:
            if rest > 0 and len(accumulator.free.cpus_in("numa_node", node)) >= group_size:
                _take_from(accumulator, node, group_size)
                rest -= group_size
        if rest == before:
            break
    if accumulator.needed > 0:
        return _accounting_error("not enough", accumulator.needed)
    if accumulator.needed < 0:
        return _accounting_error("too many", accumulator.needed)
    return accumulator.result()


def _take_from(accumulator: Accumulator, node: int, count: int) -> None:
    """Take CPUs of one NUMA node; nothing where it does not have so many."""
    free = accumulator.free.cpus_in("numa_node", node)
    assignment = take_by_topology_numa_packed(accumulator.topology, free, count, accumulator.strategy)
    for step in assignment.steps:
        accumulator.take(step)


def _accounting_error(what: str, remaining: int) -> CPUAssignment:
    return CPUAssignment(error=f"accounting error, {what} CPUs allocated, remaining: {remaining}")
