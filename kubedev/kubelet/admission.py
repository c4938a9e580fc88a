"""Whether the kubelet takes a pod that is bound to its node.

The handlers run in Kubernetes' order: first the topology manager, which has every container's devices (and
CPUs) allocated, then the scheduler's own checks once more, over what the node says it has. So a pod that asks
too much of a plugin's resource is refused by the allocation (UnexpectedAdmissionError), and by the checks
(`OutOf...`) only where no plugin allocated anything.

Source: `pkg/kubelet/kubelet.go: canAdmitPod`, `pkg/kubelet/lifecycle/predicate.go: Admit`,
`pkg/kubelet/cm/admission/errors.go`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kubedev.api.messages import Conversation
from kubedev.api.names import is_extended_resource_name
from kubedev.api.objects import Container, Pod, ResourceList
from kubedev.api.requests import compute_pod_resource_request
from kubedev.kubelet.devices.capacity import update_plugin_resources
from kubedev.kubelet.topology import topology as topology_manager
from kubedev.kubelet.topology.topology import TopologyAdmission
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.node_selector import required_node_affinity
from kubedev.scheduler.plugins.fits import InsufficientResource, fits
from kubedev.scheduler.plugins.node_affinity import NodeAffinity
from kubedev.scheduler.plugins.node_name import NodeName
from kubedev.scheduler.plugins.node_ports import NodePorts, host_ports
from kubedev.scheduler.plugins.taint_toleration import find_matching_untolerated_taint
from kubedev.scheduler.status import Status

if TYPE_CHECKING:
    from kubedev.kubelet.kubelet_state import KubeletState

__all__ = ["Admission", "admit", "check_predicates"]


@dataclass(frozen=True, slots=True)
class Admission:
    """The kubelet's answer to a pod: `reason` and `message` are those of the pod's status, empty if admitted.

    `topology` has the merges and every provider's allocation, container by container; `insufficient` is what the
    predicates found short.
    """

    admit: bool
    reason: str = ""
    message: str = ""
    topology: TopologyAdmission = TopologyAdmission()
    insufficient: tuple[InsufficientResource, ...] = ()


def admit(state: "KubeletState", pod: Pod) -> Conversation["KubeletState", Admission]:
    """Ask every admission handler in turn; the first one that refuses decides.

    `pod` must be among `state.pods`, as the real pod manager has it by then.
    """
    state, topology = yield from topology_manager.admit(state.topology, state, pod, state.providers)
    if topology.refusal is not None:
        return state, Admission(False, topology.refusal.reason, topology.refusal.message, topology)
    others = [p for p in state.active_pods() if p.uid != pod.uid]
    return state, replace(check_predicates(state, pod, others), topology=topology)


def check_predicates(state: "KubeletState", pod: Pod, others: Sequence[Pod]) -> Admission:
    """The scheduler's checks once more, over the pods that this kubelet has taken.

    An extended resource that the node does not know at all is left out of the pod's requests: it counts as a
    cluster-level one that somebody else looks after. Only the first failure is told.
    """
    node_info = NodeInfo.of(state.node, others)
    scalars = node_info.allocatable.scalar_resources
    raised = replace(
        node_info.allocatable, scalar_resources=update_plugin_resources(state.devices, pod.uid, scalars)
    )
    node_info = replace(node_info, allocatable=raised)
    known = _without_missing_resources(pod, node_info)
    insufficient = fits(compute_pod_resource_request(known, state.config.all_switches), node_info)
    if insufficient:
        short = insufficient[0]
        text = (
            f"Node didn't have enough resource: {short.resource_name}, requested: {short.requested}, "
            f"used: {short.used}, capacity: {short.capacity}"
        )
        return Admission(False, f"OutOf{short.resource_name}", text, insufficient=insufficient)
    for name, status in _general_filters(known, node_info):
        if not status.is_success:
            return Admission(False, name, f"Predicate {name} failed: {status.message}")
    taint = find_matching_untolerated_taint(state.node.taints, pod.tolerations, ("NoExecute",))
    if taint is not None:
        text = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"
        return Admission(False, "TaintToleration", text)
    return Admission(True)


def _general_filters(pod: Pod, node_info: NodeInfo) -> Iterator[tuple[str, Status]]:
    yield "NodeAffinity", NodeAffinity().filter(required_node_affinity(pod), pod, node_info)
    yield "NodeName", NodeName().filter(None, pod, node_info)
    yield "NodePorts", NodePorts().filter(host_ports(pod), pod, node_info)


def _without_missing_resources(pod: Pod, node_info: NodeInfo) -> Pod:
    def known(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(replace(c, requests=_known(c.requests)) for c in containers)

    def _known(requests: ResourceList) -> ResourceList:
        return {
            name: quantity
            for name, quantity in requests.items()
            if not is_extended_resource_name(name) or name in node_info.allocatable.scalar_resources
        }

    return replace(pod, containers=known(pod.containers), init_containers=known(pod.init_containers))
