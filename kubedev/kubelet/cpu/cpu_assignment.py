"""Which CPUs a container gets: packed close together, or the same number from each NUMA node.

*Packed* takes the largest free things that fit into the request: whole sockets and NUMA nodes, then (if
wanted) whole caches, then whole cores, then single CPUs; and among equals it begins where the least is
free, so that large pieces stay whole.

Source: `pkg/kubelet/cm/cpumanager/cpu_assignment.go`; the distributed way is in `cpu_distribution`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from kubedev.kubelet.cpu.cpu_topology import CPUTopology, Level
from kubedev.kubelet.cpu.cpuset import CPUSet

__all__ = ["Accumulator", "CPUAssignment", "CPUStep", "Strategy", "take_by_topology_numa_packed"]

# How single CPUs are taken: core after core; or by their numbers, of which neighbours are mostly other cores.
Strategy = Literal["packed", "spread"]


@dataclass(frozen=True, slots=True)
class CPUStep:
    """CPUs that were taken together: a whole socket, cache, core and so on, or single ones."""

    what: Level | Literal["cpu", "part of uncore_cache"]
    id: int
    cpus: CPUSet


@dataclass(frozen=True, slots=True)
class CPUAssignment:
    """The CPUs taken and how, or no CPU and an error with Go's text."""

    cpus: CPUSet = frozenset()
    steps: tuple[CPUStep, ...] = ()
    error: str | None = None


class Accumulator:
    """Takes CPUs out of `free` until no more are `needed`. Lives as long as one assignment.

    Source: `cpu_assignment.go: cpuAccumulator`.
    """

    def __init__(self, topology: CPUTopology, available: CPUSet, count: int, strategy: Strategy) -> None:
        self.topology = topology
        self.free = topology.details.keep_only(available)
        self.needed = count
        self.strategy = strategy
        self.steps: list[CPUStep] = []
        self.numa_first = topology.num_sockets >= topology.num_numa_nodes

    @property
    def is_satisfied(self) -> bool:
        """Whether no more CPUs are needed."""
        return self.needed < 1

    def result(self) -> CPUAssignment:
        """What has been taken."""
        taken = frozenset[int]().union(*(step.cpus for step in self.steps))
        return CPUAssignment(taken, tuple(self.steps))

    def take(self, step: CPUStep) -> None:
        """Take the CPUs of a step."""
        self.steps.append(step)
        self.free = self.free.keep_only(self.free.cpus - step.cpus)
        self.needed -= len(step.cpus)

    # The order of things: those with the fewest free CPUs first, inner ones within their outer one

    def numa_nodes(self) -> list[int]:
        """NUMA nodes with a free CPU."""
        if self.numa_first:
            return self._by_free("numa_node", self.free.ids("numa_node"))
        return self._within("numa_node", "socket", self.sockets())

    def sockets(self) -> list[int]:
        """Sockets with a free CPU."""
        if self.numa_first:
            return self._within("socket", "numa_node", self.numa_nodes())
        return self._by_free("socket", self.free.ids("socket"))

    def cores(self) -> list[int]:
        """Cores with a free CPU."""
        if self.numa_first:
            return self._within("core", "socket", self.sockets())
        return self._within("core", "numa_node", self.numa_nodes())

    def uncore_caches(self) -> list[int]:
        """Caches with a free CPU."""
        return self._within("uncore_cache", "numa_node", self.numa_nodes())

    def cpus(self) -> list[int]:
        """Free CPUs, in the order of the strategy."""
        level: Level
        level, places = ("core", self.cores()) if self.strategy == "packed" else ("socket", self.sockets())
        return [cpu for place in places for cpu in sorted(self.free.cpus_in(level, place))]

    def _within(self, level: Level, outer: Level, outer_ids: Iterable[int]) -> list[int]:
        return [id_ for o in outer_ids for id_ in self._by_free(level, self.free.ids_in(level, outer, o))]

    def _by_free(self, level: Level, ids: Iterable[int]) -> list[int]:
        return sorted(ids, key=lambda id_: (len(self.free.cpus_in(level, id_)), id_))

    # Taking

    def take_whole(self, level: Level, ids: list[int]) -> None:
        """Take those of the places that are wholly free and not larger than what is still needed."""
        for id_ in [i for i in ids if len(self.free.cpus_in(level, i)) == self._size(level, i)]:
            cpus = self.topology.details.cpus_in(level, id_)
            if self.needed >= len(cpus):
                self.take(CPUStep(level, id_, cpus))

    def _size(self, level: Level, id_: int) -> int:
        if level == "socket":
            return self.topology.cpus_per_socket
        if level == "core":
            return self.topology.cpus_per_core
        return len(self.topology.details.cpus_in(level, id_))

    def take_largest(self) -> None:
        """Take whole sockets and NUMA nodes, the larger kind first."""
        if self.numa_first:
            self.take_whole("numa_node", self.numa_nodes())
        else:
            self.take_whole("socket", self.sockets())
        if self.is_satisfied:
            return
        if self.numa_first:
            self.take_whole("socket", self.sockets())
        else:
            self.take_whole("numa_node", self.numa_nodes())

    def take_uncore_caches(self) -> None:
        """Take whole caches, and then the rest from one cache if one has room for all of it."""
        for cache in self.uncore_caches():
            if self.needed >= self.topology.cpus_per_uncore_cache:
                self.take_whole("uncore_cache", self.uncore_caches())
            if not self.is_satisfied:
                self._take_part_of_uncore_cache(cache)
            if self.is_satisfied:
                return

    def _take_part_of_uncore_cache(self, cache: int) -> None:
        cores = sorted(self.free.ids_in("core", "uncore_cache", cache))
        cpus = self.free.cpus_in("core", *cores[: self.needed // self.topology.cpus_per_core])
        if len(cpus) == self.needed:
            self.take(CPUStep("part of uncore_cache", cache, cpus))

    def take_remaining(self) -> None:
        """Take single CPUs until there are enough."""
        for cpu in self.cpus():
            self.take(CPUStep("cpu", cpu, frozenset((cpu,))))
            if self.is_satisfied:
                return


def not_enough(count: int, available: CPUSet) -> CPUAssignment:
    """The error of a request for more CPUs than there are."""
    return CPUAssignment(
        error=f"not enough cpus available to satisfy request: requested={count}, available={len(available)}"
    )


def take_by_topology_numa_packed(
    topology: CPUTopology,
    available: CPUSet,
    count: int,
    strategy: Strategy = "packed",
    prefer_align_by_uncore_cache: bool = False,
) -> CPUAssignment:
    """Take `count` of the available CPUs, as close together as they can be had.

    Source: `cpu_assignment.go: takeByTopologyNUMAPacked`.
    """
    accumulator = Accumulator(topology, available, count, strategy)
    if accumulator.is_satisfied:
        return accumulator.result()
    if count > len(accumulator.free.cpus):
        return not_enough(count, available)
    accumulator.take_largest()
    if prefer_align_by_uncore_cache and not accumulator.is_satisfied:
        accumulator.take_uncore_caches()
    if strategy == "packed" and not accumulator.is_satisfied:
        accumulator.take_whole("core", accumulator.cores())
    if not accumulator.is_satisfied:
        accumulator.take_remaining()
    if not accumulator.is_satisfied:
        return CPUAssignment(error="failed to allocate cpus")
    return accumulator.result()
