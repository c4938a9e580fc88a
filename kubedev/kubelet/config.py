"""How a kubelet is set up: the fields of KubeletConfiguration that concern devices, CPUs and topology.

Source: `pkg/kubelet/apis/config/types.go: KubeletConfiguration`.
"""

from dataclasses import dataclass

from kubedev.api.quantity import Quantity
from kubedev.api.switches import check_switches
from kubedev.kubelet.cpu.cpu_manager import CPUManagerState, start
from kubedev.kubelet.cpu.cpu_policy import new_policy
from kubedev.kubelet.cpu.cpu_topology import CPUTopology
from kubedev.kubelet.cpu.cpuset import CPUSet
from kubedev.kubelet.topology.merge import NUMAInfo
from kubedev.kubelet.topology.topology import TopologyManager

__all__ = ["KubeletConfig"]


@dataclass(frozen=True, slots=True)
class KubeletConfig:
    """The settings, and the machine they are for: its NUMA nodes, and its CPUs where the static policy needs them.

    `reserved_cpu` is what is kept for system and kubelet (kubeReserved and systemReserved); `switches` are named in
    `api/switches.py`.
    """

    numa: NUMAInfo = NUMAInfo((0, 1))
    topology_manager_policy: str = "none"
    topology_manager_scope: str = "container"
    topology_manager_policy_options: tuple[tuple[str, str], ...] = ()
    cpu_manager_policy: str = "none"
    cpu_manager_policy_options: tuple[tuple[str, str], ...] = ()
    cpu_topology: CPUTopology | None = None
    reserved_cpu: str = "1"
    reserved_system_cpus: CPUSet = frozenset()
    switches: frozenset[str] = frozenset()

    def topology(self) -> TopologyManager:
        """The topology manager, or the error with which a kubelet refuses to start."""
        return TopologyManager.new(
            self.topology_manager_policy,
            self.topology_manager_scope,
            self.numa,
            dict(self.topology_manager_policy_options),
        )

    def cpus(self, checkpoint: str | None = None) -> CPUManagerState:
        """The CPU manager as it starts from its state file, or CPUManagerError: the kubelet does not start."""
        topology = self.cpu_topology or CPUTopology.regular(numa_nodes=len(self.numa.nodes))
        policy = new_policy(
            self.cpu_manager_policy,
            topology,
            Quantity.parse(self.reserved_cpu),
            self.reserved_system_cpus,
            dict(self.cpu_manager_policy_options),
            self.topology_manager_policy,
        )
        return start(policy, checkpoint, switches=check_switches(self.switches))
