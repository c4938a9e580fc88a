"""The scheduler's checks once more, by the kubelet, over the pods that it has taken.

Go source: `pkg/kubelet/lifecycle/predicate.go: Admit, generalFilter`, `pkg/scheduler/eventhandlers.go:
AdmissionCheck`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kubedev.api.fields import Fields
from kubedev.api.names import is_extended_resource_name
from kubedev.api.objects import Container, Node, Pod, ResourceList
from kubedev.api.requests import compute_pod_resource_request
from kubedev.api.values import replace
from kubedev.kubelet.pressure.critical import is_static_pod
from kubedev.kubelet.pressure.critical_preemption import (
    PredicateFailure,
    Preemption,
    handle_admission_failure,
)
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.fits import InsufficientResource, fits
from kubedev.scheduler.plugins.node_affinity import NodeAffinity
from kubedev.scheduler.plugins.node_name import NodeName
from kubedev.scheduler.plugins.node_ports import NodePorts, host_ports
from kubedev.scheduler.plugins.taint_toleration import find_matching_untolerated_taint
from kubedev.scheduler.selectors.node_selector import required_node_affinity

__all__ = ["PredicateAdmission", "admit_by_predicates"]

OS_LABEL, OUR_OS = "kubernetes.io/os", "linux"


@dataclass(frozen=True, slots=True)
class PredicateAdmission:
    """The answer to a pod; `reason` and `message` are those of its status, empty if it is admitted.

    `insufficient` is what the node lacks, also where a critical pod was admitted all the same: then `preemption` says
    who has to go for it.
    """

    admit: bool
    reason: str = ""
    message: str = ""
    insufficient: tuple[InsufficientResource, ...] = ()
    preemption: Preemption = field(default_factory=Preemption)


def admit_by_predicates(
    node: Node,
    pod: Pod,
    others: Iterable[Pod],
    scalars: Mapping[str, int] | None = None,
    switches: Collection[str] = (),
) -> PredicateAdmission:
    """Whether the pod fits beside the others. `scalars` are the node's, raised to what the pod holds already.

    An extended resource that the node does not know at all is left out of the pod's requests: it counts as a
    cluster-level one that somebody else looks after. Only the first failure is told.
    """
    if pod.labels.get(OS_LABEL, OUR_OS) != OUR_OS:
        text = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"
        return PredicateAdmission(False, "PodOSSelectorNodeLabelDoesNotMatch", text)
    if (os := Fields.of(pod.manifest).child("spec").child("os")).values and os.text("name") != OUR_OS:
        text = "Failed to admit pod as the OS field doesn't match node OS"
        return PredicateAdmission(False, "PodOSNotSupported", text)
    others = tuple(others)
    if node.labels:  # the kubelet sets the label that is about to be asked for
        node = replace(node, labels={**node.labels, OS_LABEL: OUR_OS})
    node_info = NodeInfo.of(node, others)
    if scalars is not None:
        node_info = replace(node_info, allocatable=replace(node_info.allocatable, scalar_resources=scalars))
    known = _without_missing_resources(pod, node_info)
    insufficient = fits(compute_pod_resource_request(known, switches), node_info)
    reasons: tuple[InsufficientResource | PredicateFailure, ...] = insufficient
    reasons += tuple(_failures(known, node_info))
    if not reasons:
        return PredicateAdmission(True)
    handled = handle_admission_failure(pod, reasons, others)
    if handled.preemption.error:
        text = (
            "Unexpected error while attempting to recover from admission failure: preemption: error finding a "
            f"set of pods to preempt: {handled.preemption.error}"
        )
        return PredicateAdmission(False, "UnexpectedAdmissionError", text, insufficient, handled.preemption)
    if not handled.remaining:
        return PredicateAdmission(True, "", "", insufficient, handled.preemption)
    return PredicateAdmission(False, *_told(handled.remaining[0]), insufficient)


def _told(reason: InsufficientResource | PredicateFailure) -> tuple[str, str]:
    if isinstance(reason, PredicateFailure):
        return reason.name, f"Predicate {reason.name} failed: {reason.description}"
    text = (
        f"Node didn't have enough resource: {reason.resource_name}, requested: {reason.requested}, "
        f"used: {reason.used}, capacity: {reason.capacity}"
    )
    return f"OutOf{reason.resource_name}", text


def _failures(pod: Pod, node_info: NodeInfo) -> Iterator[PredicateFailure]:
    checks = (
        ("NodeAffinity", NodeAffinity().filter(required_node_affinity(pod), pod, node_info)),
        ("NodeName", NodeName().filter(None, pod, node_info)),
        ("NodePorts", NodePorts().filter(host_ports(pod), pod, node_info)),
    )
    for name, status in checks:
        if not status.is_success:
            yield PredicateFailure(name, status.message)
    taints = () if is_static_pod(pod) else node_info.node.taints
    if find_matching_untolerated_taint(taints, pod.tolerations, ("NoExecute",)) is not None:
        yield PredicateFailure("TaintToleration", "node(s) had taints that the pod didn't tolerate")


def _without_missing_resources(pod: Pod, node_info: NodeInfo) -> Pod:
    there = node_info.allocatable.scalar_resources
    asked = {name for one in (*pod.containers, *pod.init_containers) for name in one.requests}
    if not any(is_extended_resource_name(name) and name not in there for name in asked):
        return pod

    def known(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(replace(c, requests=_known(c.requests)) for c in containers)

    def _known(requests: ResourceList) -> ResourceList:
        return {
            name: quantity
            for name, quantity in requests.items()
            if not is_extended_resource_name(name) or name in there
        }

    return replace(pod, containers=known(pod.containers), init_containers=known(pod.init_containers))
