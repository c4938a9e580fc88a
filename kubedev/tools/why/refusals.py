"""Pods that their kubelet refused or ended: what the words mean, what the node's figures say, what to look at next."""

from collections.abc import Mapping
from dataclasses import dataclass

from kubedev.api.names import PODS
from kubedev.api.objects import Pod
from kubedev.api.requests import compute_pod_resource_request
from kubedev.api.values import replace
from kubedev.tools.why.amounts import amounts
from kubedev.tools.why.dump import Dump
from kubedev.tools.why.groups import Holder, holders, unhealthy
from kubedev.tools.why.world import World

__all__ = ["REASONS", "Figure", "Reason", "Refusal", "refusal_of"]


@dataclass(frozen=True, slots=True)
class Reason:
    """What a reason in a pod's status means, what to look at next, and the lab that shows it."""

    means: str
    next: str
    lab: str = ""


ALLOCATE, MERGE, FITS, CPUS = "04-allocate", "06-numa-merge", "09-fits", "13-cpus-are-not-devices"
REASONS: Mapping[str, Reason] = {
    "UnexpectedAdmissionError": Reason(
        "the kubelet could not allocate what the pod asks for, although the scheduler had counted it as free",
        "the device plugin on the node, whether it is registered and which devices it reports as healthy",
        ALLOCATE,
    ),
    "TopologyAffinityError": Reason(
        "the devices, CPUs and memory that are free are not on NUMA nodes that the topology manager's policy accepts; "
        "the scheduler knows no NUMA nodes",
        "who holds what on which NUMA node (`kubedev devices` on the node), and topologyManagerPolicy",
        MERGE,
    ),
    "SMTAlignmentError": Reason(
        "the CPU manager's option full-pcpus-only gives whole cores only, and the pod's number of CPUs is not a "
        "multiple of the threads of a core, or too few whole cores are free",
        "cpuManagerPolicyOptions, and the container's CPU request",
        CPUS,
    ),
    "OutOf": Reason(
        "the kubelet counted again, over the pods that it has itself, and there was not enough: somebody else took it "
        "between the scheduler's decision and the pod's arrival, or the node gives less now than it did then",
        "what became of allocatable, and pods that are bound by others than this scheduler",
        FITS,
    ),
    "NodeAffinity": Reason(
        "the node's labels do not match the pod's nodeSelector or affinity: they changed after the decision, or the "
        "pod was bound by hand",
        "the node's labels",
        FITS,
    ),
    "NodeName": Reason("the pod names another node", "spec.nodeName", FITS),
    "NodePorts": Reason(
        "another pod on the node has one of its host ports",
        "hostPort and hostNetwork of the pods on the node",
        FITS,
    ),
    "TaintToleration": Reason(
        "the node has a NoExecute taint that the pod does not tolerate",
        "the node's taints and conditions",
        FITS,
    ),
    "PodOSSelectorNodeLabelDoesNotMatch": Reason(
        "the pod's label kubernetes.io/os names another operating system", "the pod's labels", FITS
    ),
    "PodOSNotSupported": Reason("spec.os names another operating system than the node's", "spec.os"),
    "Preempting": Reason(
        "the kubelet ended it to make room for a critical pod, such as one of the node's static pods",
        "which critical pod came to the node, and why the node was full",
    ),
    "Preempted": Reason(
        "the scheduler had it deleted for a pod of higher priority", "its event, which names that pod"
    ),
    "Evicted": Reason(
        "the node ran short of something, and the kubelet ended the pod to get it back; its message says of what",
        "the node's conditions, and what the pod's containers use beyond their requests",
    ),
    "NodeShutdown": Reason("the node was shut down and ended its pods", "when and why the node went down"),
    "Terminated": Reason("the node was shut down and ended its pods", "when and why the node went down"),
}
DETAILS: Mapping[str, str] = {
    "cannot allocate unregistered device": "no plugin has registered the resource since the kubelet started",
    "no healthy devices present": "the plugin reports no device as healthy",
    "previously allocated devices are no longer healthy": "devices that the container had before are unhealthy now",
    "requested number of devices unavailable": "fewer healthy devices are free than the container asks for",
    "rpc error": "the plugin itself answered with an error, or was not there to answer",
}
"""What the kubelet says about devices, in plain words."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A resource that the pod asks for, on its node: `requested` by the pods that are on it now."""

    resource: str
    asked: int
    capacity: int | None
    allocatable: int | None
    requested: int
    unhealthy: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a kubelet has no room for a pod, `now` as the kubelet would answer today; empty if it would take the pod.

    `replacement` is where the scheduler would send the same pod made anew; empty if it would stay Pending, None if that
    is not known. `settings` are those of a kubelet configuration that was given.
    """

    reason: str
    message: str
    node: str
    means: str
    detail: str
    next: str
    lab: str
    figures: tuple[Figure, ...] = ()
    holders: tuple[Holder, ...] = ()
    now: str | None = None
    replacement: str | None = None
    settings: tuple[str, ...] = ()


def refusal_of(dump: Dump, world: World, pod: Pod) -> Refusal:
    """Explain the status of a pod that failed."""
    known = REASONS.get(pod.reason) or (REASONS["OutOf"] if pod.reason.startswith("OutOf") else None)
    if known is None:
        known = Reason("the pod failed for a reason of its own", "its containers' statuses and logs")
    detail = next((plain for words, plain in DETAILS.items() if words in pod.message), "")
    refusal = Refusal(pod.reason, pod.message, pod.node_name, known.means, detail, known.next, known.lab)
    info = world.node(pod.node_name)
    if info is None:
        return refusal
    anew = replace(pod, uid=f"{pod.uid}/anew", phase="", reason="", message="", node_name="", conditions=())
    sent = world.decide(anew).node_name if world.framework(anew).pre_enqueue(anew).is_success else ""
    refusal = replace(refusal, replacement=sent)
    asked = amounts(compute_pod_resource_request(pod))
    if pod.reason.startswith("OutOf") and pod.reason.removeprefix("OutOf") == PODS:
        asked = {**asked, PODS: 1}
    figures = []
    for name, number in asked.items():
        capacity, given = info.node.capacity.get(name), info.node.allocatable.get(name)
        scale = -3 if name == "cpu" else 0
        taken = len(info.pods) if name == PODS else info.requested.get(name)
        figures.append(
            Figure(
                name,
                number,
                None if capacity is None else capacity.scaled_value(scale),
                None if given is None else given.scaled_value(scale),
                taken,
                unhealthy(name, info.node),
            )
        )
    from kubedev.kubelet.predicates import admit_by_predicates  # the kubelet's room is large

    others = [one.pod for one in info.pods if one.pod.uid != pod.uid]
    settings: tuple[str, ...] = ()
    if dump.kubelet is not None:
        config = dump.kubelet.config
        settings = tuple(
            f"{name}: {value}"
            for name, value in (
                ("topologyManagerPolicy", config.topology_manager_policy),
                ("topologyManagerScope", config.topology_manager_scope),
                ("cpuManagerPolicy", config.cpu_manager_policy),
                *config.topology_manager_policy_options,
                *config.cpu_manager_policy_options,
            )
        )
    answer = admit_by_predicates(info.node, replace(pod, phase="", node_name=pod.node_name), others)
    scarce = [name for name in asked if "/" in name or pod.reason == f"OutOf{name}"]
    now = "" if answer.admit else f"{answer.reason}: {answer.message}"
    return replace(
        refusal, figures=tuple(figures), holders=tuple(holders(info, scarce)), now=now, settings=settings
    )
