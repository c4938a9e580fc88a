"""The CPU manager's static policy: CPUs of their own for containers that ask for whole ones in a Guaranteed pod.

All other containers share what is left, the *default* set. Reserved CPUs are in it (or, with the option
strict-cpu-reservation, in no set at all) and are never given away. CPUs are not devices: a container that
gets none of its own still runs, and no plugin is asked. But as a hint provider the CPU manager stands
beside the device manager, so that both serve a container from the same NUMA nodes. With policy none
everything is shared, and there are no hints.

Source: `pkg/kubelet/cm/cpumanager/{cpu_manager,policy_static,policy_none}.go`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from kubedev.api.names import CPU
from kubedev.api.objects import Container, Pod
from kubedev.api.qos import GUARANTEED, QOSDecision, get_pod_qos
from kubedev.kubelet.cpu.cpu_assignment import CPUAssignment
from kubedev.kubelet.cpu.cpu_policy import NO_CPUS, StaticPolicy
from kubedev.kubelet.cpu.cpu_state import (
    CPU_MANAGER_STATE_PATH,
    Assignments,
    CPUManagerError,
    read_state,
    write_state,
)
from kubedev.kubelet.cpu.cpuset import CPUSet, format_cpus
from kubedev.kubelet.topology.bitmask import nodes_of
from kubedev.kubelet.topology.topology import Refusal

__all__ = [
    "CPUDecision",
    "CPUManagerState",
    "allocate",
    "guaranteed_cpus",
    "remove_container",
    "remove_stale_state",
    "start",
]

# The state


@dataclass(frozen=True, slots=True)
class CPUManagerState:
    """The CPU manager as a value; with `policy` None nothing is ever assigned.

    `default` are the shared CPUs, `assignments` those of single containers, `cpus_to_reuse` by pod uid the
    CPUs of finished init containers.
    """

    policy: StaticPolicy | None = None
    default: CPUSet = NO_CPUS
    assignments: Assignments = field(default_factory=dict)
    cpus_to_reuse: Mapping[str, CPUSet] = field(default_factory=dict)
    switches: frozenset[str] = frozenset()

    @property
    def policy_name(self) -> str:
        """none or static."""
        return "static" if self.policy else "none"

    @property
    def checkpoint(self) -> str:
        """The text of the file cpu_manager_state, which is written at every change."""
        return write_state(self.policy_name, self.default, self.assignments)

    def assigned(self, pod_uid: str, container: str) -> CPUSet | None:
        """The CPUs that belong to a container; None if it shares."""
        return self.assignments.get(pod_uid, {}).get(container)

    def cpus_of(self, pod_uid: str, container: str) -> CPUSet:
        """The CPUs that a container may run on, its own or the shared ones. (Go: `GetCPUAffinity`)"""
        own = self.assigned(pod_uid, container)
        return self.default if own is None else own

    @property
    def available(self) -> CPUSet:
        """CPUs that can be given to a container now. (Go: `GetAvailableCPUs`)"""
        return self.default - self.policy.reserved if self.policy else NO_CPUS


def start(
    policy: StaticPolicy | None,
    checkpoint: str | None = None,
    path: str = CPU_MANAGER_STATE_PATH,
    switches: frozenset[str] = frozenset(),
    by_runtime_id: Mapping[str, tuple[str, str]] | None = None,
) -> CPUManagerState:
    """The state after the kubelet's start, from its file (None if there is none), or CPUManagerError.

    The file must have been written under the same policy, with the same CPUs, and with the reserved ones
    where they are to be.
    `by_runtime_id` are the containers that the runtime knows, for a file of before 1.18.

    Source: `cpu_manager.go: Start`, `policy_static.go: validateState`.
    """
    state = CPUManagerState(policy, switches=switches)
    if checkpoint is not None:
        default, assignments = read_state(checkpoint, state.policy_name, path, by_runtime_id)
        state = replace(state, default=default, assignments=assignments)
    if policy is None:
        return state
    strict = policy.options.strict_cpu_reservation
    all_cpus = policy.topology.details.cpus - (policy.reserved if strict else NO_CPUS)
    if not state.default:
        if state.assignments:
            raise CPUManagerError("default cpuset cannot be empty")
        return replace(state, default=all_cpus)
    _validate_reserved(policy, state.default)
    known = state.default
    for uid, containers in sorted(state.assignments.items()):
        for container, cpus in sorted(containers.items()):
            if state.default & cpus:
                raise CPUManagerError(
                    f'pod: {uid}, container: {container} cpuset: "{format_cpus(cpus)}" '
                    f'overlaps with default cpuset "{format_cpus(state.default)}"'
                )
            known |= cpus
    if known != all_cpus:
        raise CPUManagerError(
            f'current set of available CPUs "{format_cpus(all_cpus)}" '
            f'doesn\'t match with CPUs in state "{format_cpus(known)}"'
        )
    return state


def _validate_reserved(policy: StaticPolicy, default: CPUSet) -> None:
    shared = policy.reserved & default
    if policy.options.strict_cpu_reservation:
        if shared:
            raise CPUManagerError(
                f'some of strictly reserved cpus: "{format_cpus(shared)}" '
                f'are present in defaultCpuSet: "{format_cpus(default)}"'
            )
    elif shared != policy.reserved:
        raise CPUManagerError(
            f'not all reserved cpus: "{format_cpus(policy.reserved)}" '
            f'are present in defaultCpuSet: "{format_cpus(default)}"'
        )


# Allocation


@dataclass(frozen=True, slots=True)
class CPUDecision:
    """What a container got and why. `cpus` is None where it shares.

    `aligned` is what was taken within the affinity `mask`, `remaining` what was taken after that from
    anywhere.
    """

    pod_uid: str
    container: str
    requested: int
    reason: Literal["policy none", "not Guaranteed", "no whole CPUs", "kept", "assigned", "refused"]
    qos: QOSDecision
    cpus: CPUSet | None = None
    mask: int | None = None
    aligned: CPUAssignment = CPUAssignment()
    remaining: CPUAssignment = CPUAssignment()
    refusal: Refusal | None = None
    error: str | None = None


def guaranteed_cpus(pod: Pod, container: Container) -> int:
    """How many CPUs of its own a container asks for: a whole number, in a Guaranteed pod; else 0."""
    if CPU not in container.requests or get_pod_qos(pod).qos_class != GUARANTEED:
        return 0
    request = container.requests[CPU]
    return request.value() if request.value() * 1000 == request.milli_value() else 0


def allocate(
    state: CPUManagerState, pod: Pod, container: Container, mask: int | None = None
) -> tuple[CPUManagerState, CPUDecision]:
    """Give a container CPUs of its own, if it qualifies; `mask` is the topology manager's affinity.

    In v1.32 full-pcpus-only is judged before it is seen that the container has its CPUs already, so that
    after a restart of the kubelet a running pod may be refused (switch 129078).

    Source: `policy_static.go: Allocate`.
    """
    requested, qos = guaranteed_cpus(pod, container), get_pod_qos(pod)
    decision = CPUDecision(pod.uid, container.name, requested, "assigned", qos, mask=mask)
    policy = state.policy
    if policy is None:
        return state, replace(decision, reason="policy none")
    if requested == 0:
        guaranteed = qos.qos_class == GUARANTEED
        return state, replace(decision, reason="no whole CPUs" if guaranteed else "not Guaranteed")
    held = state.assigned(pod.uid, container.name)
    looks_first = held is not None and "129078" in state.switches
    error = None if looks_first else _smt_alignment_error(policy, state, requested)
    if error:
        return state, replace(
            decision, reason="refused", error=error, refusal=Refusal("SMTAlignmentError", error)
        )
    if held is not None:
        return _offer_for_reuse(state, pod, container, held), replace(decision, reason="kept", cpus=held)
    aligned, remaining = _allocate_cpus(policy, state, pod, requested, mask)
    error = aligned.error or remaining.error
    if error:
        return state, replace(decision, reason="refused", error=error, refusal=Refusal.unexpected(error))
    cpus = aligned.cpus | remaining.cpus
    state = replace(
        state,
        default=state.default - cpus,
        assignments={
            **state.assignments,
            pod.uid: {**state.assignments.get(pod.uid, {}), container.name: cpus},
        },
    )
    state = _offer_for_reuse(state, pod, container, cpus)
    return state, replace(decision, cpus=cpus, aligned=aligned, remaining=remaining)


def _smt_alignment_error(policy: StaticPolicy, state: CPUManagerState, requested: int) -> str | None:
    if not policy.options.full_pcpus_only:
        return None
    per_core = policy.topology.cpus_per_core
    if requested % per_core != 0:
        return f"SMT Alignment Error: requested {requested} cpus not multiple cpus per core = {per_core}"
    available = len(state.default - policy.reserved_physical)
    if requested > available:
        return (
            "SMT Alignment Error: not enough free physical CPUs: "
            f"available physical CPUs = {available}, requested CPUs = {requested}, CPUs per core = {per_core}"
        )
    return None


def _allocate_cpus(
    policy: StaticPolicy, state: CPUManagerState, pod: Pod, requested: int, mask: int | None
) -> tuple[CPUAssignment, CPUAssignment]:
    """Take CPUs within the mask first, then anywhere. (`policy_static.go: allocateCPUs, getAlignedCPUs`)"""
    allocatable = state.available | state.cpus_to_reuse.get(pod.uid, NO_CPUS)
    aligned = CPUAssignment()
    if mask is not None:
        details = policy.topology.details
        nodes = nodes_of(mask)
        if policy.options.align_by_socket:
            inside = details.cpus_in("socket", *details.ids_in("socket", "numa_node", *nodes))
        else:
            inside = details.cpus_in("numa_node", *nodes)
        aligned = policy.take(allocatable & inside, min(requested, len(allocatable & inside)))
        if aligned.error:
            return aligned, CPUAssignment()
    return aligned, policy.take(allocatable - aligned.cpus, requested - len(aligned.cpus))


def _offer_for_reuse(state: CPUManagerState, pod: Pod, container: Container, cpus: CPUSet) -> CPUManagerState:
    """Offer an init container's CPUs to the pod's next containers, or take away what this one goes on using.

    Source: `policy_static.go: updateCPUsToReuse`.
    """
    reusable = state.cpus_to_reuse.get(pod.uid, NO_CPUS)
    init = next((c for c in pod.init_containers if c.name == container.name), None)
    ends = init is not None and not init.restartable
    return replace(state, cpus_to_reuse={pod.uid: reusable | cpus if ends else reusable - cpus})


def remove_container(state: CPUManagerState, pod_uid: str, container: str) -> CPUManagerState:
    """Share the CPUs of a container that is gone, but for those that other containers of its pod still have."""
    released = state.assigned(pod_uid, container)
    if released is None:
        return state
    siblings = {name: cpus for name, cpus in state.assignments[pod_uid].items() if name != container}
    others = {uid: containers for uid, containers in state.assignments.items() if uid != pod_uid}
    return replace(
        state,
        default=state.default | (released - NO_CPUS.union(*siblings.values())),
        assignments={**others, pod_uid: siblings} if siblings else others,
    )


def remove_stale_state(state: CPUManagerState, active_pods: Collection[Pod]) -> CPUManagerState:
    """Share the CPUs of containers that are in no active pod; done before hints and before allocations.

    Not before all sources of pods have been seen. Source: `cpu_manager.go: removeStaleState`.
    """
    active = {(pod.uid, c.name) for pod in active_pods for c in (*pod.init_containers, *pod.containers)}
    for uid, containers in state.assignments.items():
        for container in containers:
            if (uid, container) not in active:
                state = remove_container(state, uid, container)
    return state
