"""How a kubelet is set up: the fields of KubeletConfiguration that concern devices, CPUs, memory and topology.

Each field has the name of one of KubeletConfiguration, in snake_case; `kubelet_configuration` reads such a file.

Source: `pkg/kubelet/apis/config/types.go: KubeletConfiguration`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kubedev.api.gonumbers import NumberError, parse_duration
from kubedev.api.names import CPU, MEMORY
from kubedev.api.objects import Node, ResourceList
from kubedev.api.quantity import Format, Quantity
from kubedev.api.switches import CLAIMS_GATE, check_switches
from kubedev.kubelet.cpu import cpu_manager
from kubedev.kubelet.cpu.cpu_manager import CPUManagerState
from kubedev.kubelet.cpu.cpu_policy import new_policy as new_cpu_policy
from kubedev.kubelet.cpu.cpu_state import CPUManagerError
from kubedev.kubelet.cpu.cpu_topology import CPUTopology
from kubedev.kubelet.cpu.cpuset import CPUSet, format_cpus
from kubedev.kubelet.memory import memory_manager
from kubedev.kubelet.memory.memory_manager import MemoryManagerState
from kubedev.kubelet.memory.memory_policy import MemoryReservation, NUMAMemory
from kubedev.kubelet.memory.memory_policy import new_policy as new_memory_policy
from kubedev.kubelet.pressure.eviction import EvictionConfig
from kubedev.kubelet.pressure.node_allocatable import (
    NodeAllocatableConfig,
    native,
    native_allocatable,
    node_allocatable_reservation,
    over_reserved_text,
)
from kubedev.kubelet.pressure.settings import (
    DEFAULT_EVICTION_HARD,
    ENFORCE_PODS,
    SettingsError,
    parse_reservation,
    parse_threshold_config,
)
from kubedev.kubelet.topology.merge import NUMAInfo
from kubedev.kubelet.topology.topology import TopologyManager

__all__ = ["KubeletConfig"]

# The memory of a NUMA node where nothing else is said.
DEFAULT_NUMA_MEMORY = 32 << 30

Texts = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class KubeletConfig:
    """The settings, and the machine they are for: its NUMA nodes, their memory, and the CPUs.

    Without `cpu_topology` each NUMA node has 4 cores of 2 threads, without `numa_memory` 32 GiB. `eviction_hard` None
    are the kubelet's defaults. `reserved_system_cpus` replace the CPU amounts of the two reservations, as in the
    kubelet. `feature_gates` are those set; `switches` are named in `api/switches.py`.
    """

    numa: NUMAInfo = NUMAInfo((0, 1))
    topology_manager_policy: str = "none"
    topology_manager_scope: str = "container"
    topology_manager_policy_options: Texts = ()
    cpu_manager_policy: str = "none"
    cpu_manager_policy_options: Texts = ()
    cpu_topology: CPUTopology | None = None
    kube_reserved: Texts = ()
    system_reserved: Texts = ()
    reserved_system_cpus: CPUSet = frozenset()
    memory_manager_policy: str = "None"
    reserved_memory: tuple[MemoryReservation, ...] = ()
    numa_memory: tuple[NUMAMemory, ...] = ()
    eviction_hard: Texts | None = None
    eviction_soft: Texts = ()
    eviction_soft_grace_period: Texts = ()
    eviction_minimum_reclaim: Texts = ()
    eviction_pressure_transition_period: str = "5m0s"
    eviction_max_pod_grace_period: int = 0
    feature_gates: tuple[tuple[str, bool], ...] = ()
    switches: frozenset[str] = frozenset()

    @property
    def cpus_of_machine(self) -> CPUTopology:
        """The machine's CPUs."""
        return self.cpu_topology or CPUTopology.regular(numa_nodes=len(self.numa.nodes))

    @property
    def memory_of_machine(self) -> tuple[NUMAMemory, ...]:
        """The machine's memory, node by node."""
        return self.numa_memory or tuple(NUMAMemory(node, DEFAULT_NUMA_MEMORY) for node in self.numa.nodes)

    @property
    def all_switches(self) -> frozenset[str]:
        """The switches, and the feature gates that are switches here; ValueError where one is not known."""
        return check_switches(self.switches) | {
            name for name, on in self.feature_gates if on and name in FEATURE_SWITCHES
        }

    def node_allocatable(self) -> NodeAllocatableConfig:
        """What is kept from pods; SettingsError where a text cannot be read, CPUManagerError for unknown CPUs.

        Source: `cmd/kubelet/app/server.go: run`.
        """
        kube, system = dict(self.kube_reserved), dict(self.system_reserved)
        if self.reserved_system_cpus:
            online = self.cpus_of_machine.details.cpus
            if not self.reserved_system_cpus <= online:
                raise CPUManagerError(
                    f"reserved-cpus: {format_cpus(self.reserved_system_cpus)} is not a subset of online-cpus: "
                    f"{format_cpus(online)}"
                )
            kube.pop(CPU, None)
            system[CPU] = str(len(self.reserved_system_cpus))
        hard = DEFAULT_EVICTION_HARD if self.eviction_hard is None else dict(self.eviction_hard)
        return NodeAllocatableConfig(
            parse_reservation("kube-reserved", kube),
            parse_reservation("system-reserved", system),
            parse_threshold_config((), hard, {}, {}, {}),
        )

    def eviction(self) -> EvictionConfig:
        """The eviction manager's settings, or SettingsError with the kubelet's text.

        Images and containers lie on the node's own file system here.
        """
        hard = DEFAULT_EVICTION_HARD if self.eviction_hard is None else dict(self.eviction_hard)
        settings = (self.eviction_soft, self.eviction_soft_grace_period, self.eviction_minimum_reclaim)
        thresholds = parse_threshold_config((ENFORCE_PODS,), hard, *map(dict, settings))
        try:
            period = parse_duration(self.eviction_pressure_transition_period) / 1e9
        except NumberError as error:
            raise SettingsError(str(error)) from None
        return EvictionConfig(thresholds, period, self.eviction_max_pod_grace_period)

    @property
    def reserves(self) -> bool:
        """Whether a setting says what is kept from pods; otherwise a node's own allocatable stands."""
        amounts = (self.kube_reserved, self.system_reserved, self.reserved_system_cpus, self.eviction_hard)
        return any(amounts)

    def check_reservations(self, node: Node) -> None:
        """SettingsError with the kubelet's text where more is kept from pods than the node has."""
        text = over_reserved_text(native(node.capacity), self.node_allocatable()) if self.reserves else None
        if text is not None:
            raise SettingsError(text)

    def with_reservations(self, node: Node) -> Node:
        """The node with what the settings keep from pods taken off allocatable."""
        if not self.reserves:
            return node
        allocatable = native_allocatable(node.capacity, self.node_allocatable())
        return replace(node, allocatable={**node.allocatable, **allocatable})

    def reservation(self) -> ResourceList:
        """CPU and memory that are kept from pods, where any is (Go: `GetNodeAllocatableReservation`)."""
        capacity: Mapping[str, Quantity] = {
            CPU: Quantity.of(len(self.cpus_of_machine.details.cpus)),
            MEMORY: Quantity(sum(n.memory for n in self.memory_of_machine), format=Format.BINARY_SI),
        }
        reserved = node_allocatable_reservation(capacity, self.node_allocatable())
        return {resource: reservation.total for resource, reservation in reserved.items()}

    def topology(self) -> TopologyManager:
        """The topology manager, or the error with which a kubelet refuses to start."""
        return TopologyManager.new(
            self.topology_manager_policy,
            self.topology_manager_scope,
            self.numa,
            dict(self.topology_manager_policy_options),
            dict(self.feature_gates),
        )

    def cpus(self, checkpoint: str | None = None) -> CPUManagerState:
        """The CPU manager as it starts from its state file, or CPUManagerError: the kubelet does not start."""
        policy = new_cpu_policy(
            self.cpu_manager_policy,
            self.cpus_of_machine,
            self.reservation().get(CPU),
            self.reserved_system_cpus,
            dict(self.cpu_manager_policy_options),
            self.topology_manager_policy,
            dict(self.feature_gates),
        )
        return cpu_manager.start(policy, checkpoint, switches=self.all_switches)

    def memory(self, checkpoint: str | None = None) -> MemoryManagerState:
        """The memory manager as it starts from its state file, or MemoryManagerError: the kubelet does not start."""
        policy = new_memory_policy(
            self.memory_manager_policy, self.memory_of_machine, self.reservation(), self.reserved_memory
        )
        return memory_manager.start(policy, checkpoint)


# Feature gates that are switches in kubedev.
FEATURE_SWITCHES = frozenset({CLAIMS_GATE, "ResourceHealthStatus", "KubeletPodResourcesGet"})
