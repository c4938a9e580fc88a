"""Nodes as the scheduler knows them, its decision about a pod, and the kubelet's own check of the same."""

from collections.abc import Mapping, Sequence

from kubedev.api.objects import Node, Pod
from kubedev.api.quantity import Quantity
from kubedev.api.requests import compute_pod_resource_request
from kubedev.kubelet.predicates import PredicateAdmission, admit_by_predicates
from kubedev.lab.lookup import read_taint
from kubedev.lab.pods import Amounts, container, pod
from kubedev.lab.session import Lab
from kubedev.scheduler.context import Context
from kubedev.scheduler.cycle import Decision, schedule_one
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.default_plugins import default_framework
from kubedev.scheduler.scheduler_state import snapshot_of
from kubedev.scheduler.snapshot import Snapshot
from kubedev.scheduler.status import SUCCESS
from kubedev.views.catalogue import say
from kubedev.views.fits import Asked, asked_picture, fits_picture, fits_pictures
from kubedev.views.live import LivePicture
from kubedev.views.picture import Picture
from kubedev.views.stage import Frame, Stage

__all__ = ["decide", "draw", "kubelet", "node", "nodes_of", "show", "side_by_side", "verdicts"]


def node(
    name: str, allocatable: Amounts, requested: Amounts | None = None, taint: str = "", pods: int = 1
) -> NodeInfo:
    """A node with what its pods request together; there is room for 110 pods unless `allocatable` says otherwise."""
    amounts = {key: Quantity.parse(str(amount)) for key, amount in {"pods": 110, **allocatable}.items()}
    taints = (read_taint(taint),) if taint else ()
    first = pod(container("c", requested), name=f"{name}-0")
    others = (pod(container("c"), name=f"{name}-{n}") for n in range(1, pods))
    made = Node(name, taints=taints, capacity=amounts, allocatable=amounts)
    return NodeInfo.of(made, (first, *others) if requested or pods > 1 else ())


def nodes_of(lab: Lab) -> tuple[NodeInfo, ...]:
    """The nodes of a lab as its scheduler has them in its cache now."""
    return tuple(snapshot_of(lab.state.scheduler).node_infos)


def decide(pod: Pod, nodes: Sequence[NodeInfo]) -> Decision:
    """One cycle of the default scheduler: `message` is what the pod's condition would say."""
    return schedule_one(default_framework(), pod, Snapshot.of(Context(tuple(nodes))))


def verdicts(pod: Pod, nodes: Sequence[NodeInfo]) -> dict[str, str]:
    """What each node says: fits, or refuses."""
    found = decide(pod, nodes).found
    checks = found.checks if found else {}
    return {name: say(f"fits.{'fits' if c.status.is_success else 'refuses'}") for name, c in checks.items()}


def kubelet(pod: Pod, node: NodeInfo) -> PredicateAdmission:
    """What the node's kubelet checks itself when the pod is bound to it."""
    return admit_by_predicates(node.node, pod, [there.pod for there in node.pods])


def draw(pod: Pod, nodes: Sequence[NodeInfo], looked: int | None = None) -> Picture:
    """The nodes with what they have and what the pod asks, and the sentence; of the first `looked` only."""
    return fits_picture(decide(pod, nodes), nodes, looked)


def show(pod: Pod, nodes: Sequence[NodeInfo]) -> Stage:
    """The same as a stage that looks at one node after the other."""
    decision = decide(pod, nodes)
    frames = map(Frame, fits_pictures(decision, nodes, range(len(nodes) + 1)))
    return Stage(list(frames), since=1, play=True)


def side_by_side(
    title: str, cases: Mapping[str, tuple[Pod, NodeInfo]], kubelets: bool = False
) -> LivePicture:
    """Pods and nodes by what is special about them: what the scheduler says and, if wanted, what the kubelet says."""
    asked = []
    for name, (one, at) in cases.items():
        found = decide(one, [at]).found
        status = found.checks[at.name].status if found else SUCCESS
        admission = kubelet(one, at)
        refused = f"{admission.reason}: {admission.message}"
        words = (say("fits.admitted") if admission.admit else refused) if kubelets else ""
        asked.append(Asked(name, at, compute_pod_resource_request(one), status, words))
    return LivePicture(asked_picture(title, asked))
