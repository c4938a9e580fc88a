"""The machine's CPUs: which threads share a core, which cores a cache, a NUMA node, a socket.

A CPU here is what Linux calls one: a hardware thread. Core ids are unique on the whole machine.

Source: `pkg/kubelet/cm/cpumanager/topology/topology.go`.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Self

from kubedev.kubelet.cpu.cpuset import CPUSet

__all__ = ["CPUDetails", "CPUInfo", "CPUTopology", "Level"]

Level = Literal["numa_node", "socket", "core", "uncore_cache"]


@dataclass(frozen=True, slots=True)
class CPUInfo:
    """Where one CPU is. `uncore_cache` is its last-level cache, of which a NUMA node may have several."""

    core: int
    socket: int
    numa_node: int
    uncore_cache: int


@dataclass(frozen=True, slots=True)
class CPUDetails:
    """Some CPUs of the machine, with their places."""

    infos: Mapping[int, CPUInfo]

    @property
    def cpus(self) -> CPUSet:
        """All of them."""
        return frozenset(self.infos)

    def keep_only(self, cpus: Collection[int]) -> "CPUDetails":
        """Those of them that are among `cpus`."""
        return CPUDetails({cpu: info for cpu, info in self.infos.items() if cpu in cpus})

    def cpus_in(self, level: Level, *ids: int) -> CPUSet:
        """The CPUs on these NUMA nodes, sockets, cores or caches."""
        return frozenset(cpu for cpu, info in self.infos.items() if getattr(info, level) in ids)

    def ids(self, level: Level) -> frozenset[int]:
        """The NUMA nodes, sockets, cores or caches that any of the CPUs is on."""
        return frozenset(getattr(info, level) for info in self.infos.values())

    def ids_in(self, level: Level, outer: Level, *outer_ids: int) -> frozenset[int]:
        """Those that any of the CPUs on some outer place is on: `ids_in("core", "socket", 0)`."""
        infos = self.infos.values()
        return frozenset(getattr(info, level) for info in infos if getattr(info, outer) in outer_ids)


@dataclass(frozen=True, slots=True)
class CPUTopology:
    """All CPUs of the machine. Numbers per core, socket and cache are averages, rounded down."""

    details: CPUDetails
    num_cpus: int
    num_cores: int
    num_sockets: int
    num_numa_nodes: int
    num_uncore_caches: int

    @classmethod
    def of(cls, cpus: Iterable[tuple[int, CPUInfo]]) -> Self:
        """The topology of these CPUs, counted."""
        details = CPUDetails(dict(cpus))
        levels: tuple[Level, ...] = ("core", "socket", "numa_node", "uncore_cache")
        return cls(details, len(details.infos), *(len(details.ids(level)) for level in levels))

    @classmethod
    def regular(
        cls,
        sockets: int = 1,
        numa_nodes: int = 1,
        cores: int = 4,
        threads: int = 2,
        caches: int = 1,
        *,
        dealt: bool = False,
    ) -> Self:
        """A regular machine: `numa_nodes` a socket, `cores` and `caches` a NUMA node, `threads` a core.

        CPUs are numbered as Linux mostly does it: first one thread of each core, then the second ones. Cores are
        numbered node by node, or `dealt` out to the nodes in turn, as the firmware of many servers does it.
        """
        all_nodes = sockets * numa_nodes
        all_cores = all_nodes * cores

        def info(core: int) -> CPUInfo:
            node, within = divmod(core, cores) if not dealt else (core % all_nodes, core // all_nodes)
            return CPUInfo(core, node // numa_nodes, node, node * caches + within * caches // cores)

        return cls.of(
            (thread * all_cores + core, info(core)) for thread in range(threads) for core in range(all_cores)
        )

    @property
    def cpus_per_core(self) -> int:
        """Threads a core."""
        return self.num_cpus // self.num_cores if self.num_cores else 0

    @property
    def cpus_per_socket(self) -> int:
        """CPUs a socket."""
        return self.num_cpus // self.num_sockets if self.num_sockets else 0

    @property
    def cpus_per_uncore_cache(self) -> int:
        """CPUs a last-level cache."""
        return self.num_cpus // self.num_uncore_caches if self.num_uncore_caches else 0
