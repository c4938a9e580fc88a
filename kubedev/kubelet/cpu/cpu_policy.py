"""Policies of the CPU manager: none, or static with its options, on one machine.

Source: `pkg/kubelet/cm/cpumanager/{cpu_manager,policy_static,policy_none,policy_options}.go`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kubedev.api.gotext import quote
from kubedev.api.quantity import Quantity
from kubedev.kubelet.cpu.cpu_assignment import CPUAssignment, Strategy, take_by_topology_numa_packed
from kubedev.kubelet.cpu.cpu_distribution import take_by_topology_numa_distributed
from kubedev.kubelet.cpu.cpu_state import CPUManagerError
from kubedev.kubelet.cpu.cpu_topology import CPUTopology
from kubedev.kubelet.cpu.cpuset import CPUSet, format_cpus
from kubedev.kubelet.topology.policy_options import Gates, PolicyOptionError, StaticPolicyOptions
from kubedev.kubelet.topology.topology import SINGLE_NUMA_NODE

__all__ = ["NO_CPUS", "StaticPolicy", "new_policy", "new_static_policy", "validate_static_policy_options"]

NO_CPUS: CPUSet = frozenset()


@dataclass(frozen=True, slots=True)
class StaticPolicy:
    """The static policy on one machine; `reserved_physical` are the reserved CPUs and all on the same cores."""

    topology: CPUTopology
    options: StaticPolicyOptions
    reserved: CPUSet
    reserved_physical: CPUSet

    @property
    def assignable(self) -> CPUSet:
        """CPUs that can belong to containers (Go: `GetAllocatableCPUs`)."""
        return self.topology.details.cpus - self.reserved

    def take(self, available: CPUSet, count: int) -> CPUAssignment:
        """Take CPUs in the way that the options say. (`policy_static.go: takeByTopology`)"""
        return _take(self.topology, self.options, available, count)


def _take(
    topology: CPUTopology, options: StaticPolicyOptions, available: CPUSet, count: int
) -> CPUAssignment:
    strategy: Strategy = "spread" if options.distribute_cpus_across_cores else "packed"
    if options.distribute_cpus_across_numa:
        group_size = topology.cpus_per_core if options.full_pcpus_only else 1
        return take_by_topology_numa_distributed(topology, available, count, group_size, strategy)
    whole_caches = options.prefer_align_cpus_by_uncorecache
    return take_by_topology_numa_packed(topology, available, count, strategy, whole_caches)


def new_policy(
    name: str,
    topology: CPUTopology,
    reservation: Quantity | None,
    reserved: CPUSet = NO_CPUS,
    options: Mapping[str, str] | None = None,
    topology_policy: str = "none",
    gates: Gates | None = None,
) -> StaticPolicy | None:
    """The policy of this name (None for none), or CPUManagerError: the kubelet does not start.

    `reservation` is the CPU kept for system and kubelet, rounded up to whole CPUs; the static policy needs some. None
    is that nothing is kept.

    Source: `cpu_manager.go: NewManager`.
    """
    if name == "none":
        if options:
            given = " ".join(f"{option}:{value}" for option, value in sorted(options.items()))
            raise CPUManagerError(
                f"new none policy error: None policy: received unsupported options=map[{given}]"
            )
        return None
    if name != "static":
        raise CPUManagerError(f"unknown policy: {quote(name)}")
    if reservation is None:
        raise CPUManagerError("[cpumanager] unable to determine reserved CPU resources for static policy")
    if not reservation:
        raise CPUManagerError(
            "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"
        )
    try:
        return new_static_policy(topology, reservation.value(), reserved, options, topology_policy, gates)
    except (CPUManagerError, PolicyOptionError) as error:
        raise CPUManagerError(f"new static policy error: {error}") from None


def new_static_policy(
    topology: CPUTopology,
    num_reserved: int,
    reserved: CPUSet = NO_CPUS,
    options: Mapping[str, str] | None = None,
    topology_policy: str = "none",
    gates: Gates | None = None,
) -> StaticPolicy:
    """The policy for a machine, or CPUManagerError (PolicyOptionError for options): the kubelet does not start.

    `num_reserved` is what the kubelet's reservations come to, in whole CPUs; which ones these are is said by
    `reserved`, or chosen as for a container. `topology_policy` is the topology manager's.

    Source: `policy_static.go: NewStaticPolicy`, `policy_options.go: ValidateStaticPolicyOptions`.
    """
    parsed = StaticPolicyOptions.parse(options or {}, gates or {})
    validate_static_policy_options(parsed, topology, topology_policy)
    if not reserved:
        reserved = _take(topology, parsed, topology.details.cpus, num_reserved).cpus
    if len(reserved) != num_reserved:
        raise CPUManagerError(
            "[cpumanager] unable to reserve the required amount of CPUs "
            f"(size of {format_cpus(reserved)} did not equal {num_reserved})"
        )
    unknown = sorted(reserved - topology.details.cpus)
    if unknown:
        raise CPUManagerError(
            "[cpumanager] unable to build the reserved physical CPUs from the reserved set: "
            f"unknown CPU ID: {unknown[0]}"
        )
    cores = topology.details.keep_only(reserved).ids("core")
    return StaticPolicy(topology, parsed, reserved, topology.details.cpus_in("core", *cores))


def validate_static_policy_options(
    options: StaticPolicyOptions, topology: CPUTopology, topology_policy: str
) -> None:
    """PolicyOptionError where the options do not go with the machine, or with the topology manager's policy.

    Source: `policy_options.go: ValidateStaticPolicyOptions`.
    """
    if options.align_by_socket and topology_policy == SINGLE_NUMA_NODE:
        raise PolicyOptionError(
            "Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option"
        )
    if options.align_by_socket and topology.num_sockets > topology.num_numa_nodes:
        raise PolicyOptionError(
            "Align by socket is not compatible with hardware where number of sockets are more than number of NUMA"
        )
