"""Whether the kubelet takes a pod that is bound to its node.

The handlers run in Kubernetes' order: first the eviction manager, which takes fewer pods while the node is under
pressure, then the topology manager, which has every container's devices (and CPUs) allocated, then the scheduler's own
checks once more, over what the node says it has. So a pod that asks too much of a plugin's resource is refused by the
allocation (UnexpectedAdmissionError), and by the checks (`OutOf...`) only where no plugin allocated anything.

Source: `pkg/kubelet/kubelet.go: canAdmitPod`, `pkg/kubelet/lifecycle/predicate.go: Admit`,
`pkg/kubelet/cm/admission/errors.go`.
"""

from collections.abc import Sequence

from kubedev.api.messages import Conversation
from kubedev.api.objects import Pod
from kubedev.api.requests import Resource
from kubedev.api.values import replace
from kubedev.kubelet.devices.capacity import update_plugin_resources
from kubedev.kubelet.kubelet_state import KubeletState
from kubedev.kubelet.pods import Admission
from kubedev.kubelet.predicates import admit_by_predicates
from kubedev.kubelet.pressure.eviction import admit_under_pressure
from kubedev.kubelet.pressure.messages import EVICTED
from kubedev.kubelet.topology import topology as topology_manager
from kubedev.kubelet.topology.providers import PROVIDERS

__all__ = ["admit", "check_predicates"]


def admit(state: KubeletState, pod: Pod) -> Conversation[KubeletState, Admission]:
    """Ask every admission handler in turn; the first one that refuses decides.

    `pod` must be among `state.pods`, as the real pod manager has it by then.
    """
    pressure = state.look.state.conditions if state.look is not None else ()
    if message := admit_under_pressure(pressure, pod):
        return state, Admission(False, EVICTED, message)
    state, topology = yield from topology_manager.admit(state.topology, state, pod, PROVIDERS)
    if topology.refusal is not None:
        return state, Admission(False, topology.refusal.reason, topology.refusal.message, topology)
    others = [p for p in state.active_pods() if p.uid != pod.uid]
    return state, replace(check_predicates(state, pod, others), topology=topology)


def check_predicates(state: KubeletState, pod: Pod, others: Sequence[Pod]) -> Admission:
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
