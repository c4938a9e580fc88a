"""Whether the kubelet takes a pod that is bound to its node.

The handlers run in Kubernetes' order: first the eviction manager, which takes fewer pods while the node is under
pressure, then the topology manager, which has every container's devices (and CPUs) allocated, then the scheduler's own
checks once more, over what the node says it has. So a pod that asks too much of a plugin's resource is refused by the
allocation (UnexpectedAdmissionError), and by the checks (`OutOf...`) only where no plugin allocated anything.

Source: `pkg/kubelet/kubelet.go: canAdmitPod`, `pkg/kubelet/lifecycle/predicate.go: Admit`,
`pkg/kubelet/cm/admission/errors.go`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubedev.api.messages import Conversation
from kubedev.api.objects import Pod
from kubedev.api.requests import Resource
from kubedev.api.values import replace
from kubedev.kubelet.devices.capacity import update_plugin_resources
from kubedev.kubelet.predicates import admit_by_predicates
from kubedev.kubelet.pressure.critical_preemption import Preemption
from kubedev.kubelet.pressure.eviction import admit_under_pressure
from kubedev.kubelet.pressure.messages import EVICTED
from kubedev.kubelet.topology import topology as topology_manager
from kubedev.kubelet.topology.topology import TopologyAdmission
from kubedev.scheduler.plugins.fits import InsufficientResource

if TYPE_CHECKING:
    from kubedev.kubelet.kubelet_state import KubeletState

__all__ = ["Admission", "admit", "check_predicates"]


@dataclass(frozen=True, slots=True)
class Admission:
    """The kubelet's answer to a pod: `reason` and `message` are those of the pod's status, empty if admitted.

    `topology` has the merges and every provider's allocation, container by container; `insufficient` is what the
    predicates found short, `preemption` who has to go so that a critical pod comes in all the same.
    """

    admit: bool
    reason: str = ""
    message: str = ""
    topology: TopologyAdmission = TopologyAdmission()
    insufficient: tuple[InsufficientResource, ...] = ()
    preemption: Preemption = Preemption()


def admit(state: "KubeletState", pod: Pod) -> Conversation["KubeletState", Admission]:
    """Ask every admission handler in turn; the first one that refuses decides.

    `pod` must be among `state.pods`, as the real pod manager has it by then.
    """
    pressure = state.look.state.conditions if state.look is not None else ()
    if message := admit_under_pressure(pressure, pod):
        return state, Admission(False, EVICTED, message)
    state, topology = yield from topology_manager.admit(state.topology, state, pod, state.providers)
    if topology.refusal is not None:
        return state, Admission(False, topology.refusal.reason, topology.refusal.message, topology)
    others = [p for p in state.active_pods() if p.uid != pod.uid]
    return state, replace(check_predicates(state, pod, others), topology=topology)


def check_predicates(state: "KubeletState", pod: Pod, others: Sequence[Pod]) -> Admission:
    """The scheduler's checks over the pods that this kubelet has taken; a critical pod may have others evicted."""
    scalars = Resource.of(state.node.allocatable).scalar_resources
    raised = update_plugin_resources(state.devices, pod.uid, scalars)
    found = admit_by_predicates(state.node, pod, others, raised, state.config.all_switches)
    return Admission(
        found.admit,
        found.reason,
        found.message,
        insufficient=found.insufficient,
        preemption=found.preemption,
    )
