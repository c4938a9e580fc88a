"""The API server: what you and others write into the store, and who is told of it.

Go: `staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go: Create, Update, Delete`.
"""

from collections.abc import Iterable

from kubedev.api.admission import with_default_tolerations
from kubedev.api.claims import ResourceClaim, ResourceClaimTemplate
from kubedev.api.fields import Fields
from kubedev.api.objects import Node, Pod
from kubedev.api.pod_groups import Workload
from kubedev.api.storage import StorageObject
from kubedev.api.values import replace
from kubedev.cluster import events as e
from kubedev.cluster import store as api
from kubedev.cluster.conditions import gated
from kubedev.cluster.controllers.nodelifecycle import taints_to_swap
from kubedev.cluster.controllers.tainteviction import no_execute_taints
from kubedev.cluster.state import ClusterState, then
from kubedev.cluster.store import WatchEvent
from kubedev.kubelet.events import NodeStatusDue, NodeUpdated

__all__ = [
    "CLAIMS",
    "DAEMON",
    "EVICTION",
    "LIFECYCLE",
    "SCHEDULER",
    "VOLUMES",
    "applied",
    "create_pod",
    "delete_pod",
    "grace_period",
    "pod_created",
    "pod_deletion_asked",
    "pod_ungated",
    "remove",
    "write",
]

SCHEDULER = "scheduler"
LIFECYCLE, EVICTION, DAEMON = "node-lifecycle-controller", "taint-eviction-controller", "daemonset-controller"
VOLUMES = "volume-controllers"
CLAIMS = "resource-claim-controller"
"""Who watches besides the kubelets, which are called by the names of their nodes."""

DEFAULT_GRACE_PERIOD = 30


def write(state: ClusterState, obj: api.Object) -> ClusterState:
    """Create or replace an object, and tell those who watch it."""
    store, change = api.put(state.store, obj)
    return then(replace(state, store=store), watchers(replace(state, store=store), change))


def remove(state: ClusterState, obj: api.Object) -> ClusterState:
    """Remove an object for good, and tell those who watch it."""
    store, change = api.deleted(state.store, obj)
    if isinstance(obj, Pod):
        state = without_dead_containers(state, obj)
    return then(replace(state, store=store), watchers(replace(state, store=store), change))


def without_dead_containers(state: ClusterState, pod: Pod) -> ClusterState:
    """The state without what is left of a pod of which its kubelet knows nothing any more."""
    agent = state.kubelets.get(pod.node_name)
    if agent is not None and pod.uid in agent.pods:
        return state
    left = {key: c for key, c in state.containers.items() if key[0] != pod.uid or c.phase != "ended"}
    return state if len(left) == len(state.containers) else replace(state, containers=left)


def watchers(state: ClusterState, change: WatchEvent) -> Iterable[e.Event]:
    """Who is told: the scheduler of everything, kubelets and controllers of what concerns them."""
    yield e.Watched(SCHEDULER, change)
    new = change.object
    if isinstance(new, StorageObject) or (change.type != "MODIFIED" and has_ephemeral_volumes(new)):
        yield e.Watched(VOLUMES, change)
    if isinstance(new, ResourceClaim | ResourceClaimTemplate) or _concerns_claims(new, change):
        yield e.Watched(CLAIMS, change)
    if isinstance(new, ResourceClaim):
        yield from _of_claim(state, new, change)
    if isinstance(new, Pod) and new.node_name:
        yield from _of_pod(state, new, change)
    elif isinstance(new, Node):
        yield from _of_node(new, change)
    if state.store.workloads and _concerns_daemons(new, change):
        yield e.Watched(DAEMON, change)


def _of_pod(state: ClusterState, pod: Pod, change: WatchEvent) -> Iterable[e.Event]:
    """A kubelet hears of pods that are bound to it, are to go, or are gone without its doing."""
    old = change.old if isinstance(change.old, Pod) else None
    if change.type == "DELETED":
        agent = state.kubelets.get(pod.node_name)
        if agent is not None and pod.uid in agent.pods:
            yield e.Watched(pod.node_name, change)
        return
    bound = old is None or not old.node_name
    going = pod.deletion_timestamp is not None and old is not None and old.deletion_timestamp is None
    if bound or going:
        yield e.Watched(pod.node_name, change)
    tolerates = bound or (old is not None and old.tolerations != pod.tolerations)
    if tolerates and no_execute_taints(state.store.nodes.get(pod.node_name)):
        yield e.Watched(EVICTION, change)


def _concerns_claims(new: api.Object, change: WatchEvent) -> bool:
    """Whether a pod with claims came, went, got its node, is to go, or has ended."""
    if not isinstance(new, Pod) or not new.resource_claims:
        return False
    old = change.old if isinstance(change.old, Pod) else None
    if change.type != "MODIFIED" or old is None:
        return True
    before, after = ((pod.node_name, pod.deletion_timestamp, pod.phase) for pod in (old, new))
    return before != after


def _of_claim(state: ClusterState, claim: ResourceClaim, change: WatchEvent) -> Iterable[e.Event]:
    """The kubelets of the pods that a claim is reserved for look at it."""
    pods = (state.store.pods.get(one.uid) for one in claim.reserved_for)
    nodes = {pod.node_name for pod in pods if pod is not None}
    return (e.Watched(node, change) for node in sorted(nodes - {""}))


def _of_node(node: Node, change: WatchEvent) -> Iterable[e.Event]:
    if change.type == "DELETED":
        return
    old = change.old if isinstance(change.old, Node) else None
    if old is not None and spec_of(old) != spec_of(node):
        yield e.Watched(node.name, change)
    if taints_to_swap(node):
        yield e.Watched(LIFECYCLE, change)
    if no_execute_taints(old) != no_execute_taints(node):
        yield e.Watched(EVICTION, change)


def spec_of(node: Node) -> tuple[object, ...]:
    """What others than its kubelet write of a node."""
    return node.labels, node.annotations, node.taints, node.unschedulable


def _concerns_daemons(new: api.Object, change: WatchEvent) -> bool:
    if isinstance(new, Node):
        return not isinstance(change.old, Node) or spec_of(change.old) != spec_of(new)
    if isinstance(new, Pod):
        over = change.type == "DELETED" or new.phase in ("Succeeded", "Failed")
        return over and any(owner.kind == "DaemonSet" for owner in new.owner_references)
    return isinstance(new, Workload)


def has_ephemeral_volumes(obj: api.Object) -> bool:
    """Whether somebody has to make claims for a pod."""
    return isinstance(obj, Pod) and any(volume.claim_template is not None for volume in obj.volumes)


def applied(state: ClusterState, event: e.ObjectApplied) -> ClusterState:
    """You write an object. If it is a node, its kubelet sees it, and writes the status as it is due to."""
    obj = event.object
    state = write(state, obj)
    if not isinstance(obj, Node) or obj.name not in state.kubelets:
        return state
    return then(state, (e.OnKubelet(obj.name, what) for what in (NodeUpdated(obj), NodeStatusDue())))


def pod_created(state: ClusterState, event: e.PodCreated) -> ClusterState:
    """You create a pod."""
    return create_pod(state, event.pod)


def create_pod(state: ClusterState, pod: Pod) -> ClusterState:
    """Store a pod with what the API server adds; one that has the uid of another gets a uid of its own."""
    pod = gated(with_default_tolerations(pod), state.now)
    pod = replace(pod, phase=pod.phase or "Pending")
    return write(state, replace(pod, uid=api.new_uid(state.store, pod)))


def pod_ungated(state: ClusterState, event: e.PodUngated) -> ClusterState:
    """You take a scheduling gate off a pod."""
    pod = state.store.pods[event.uid]
    return write(
        state, replace(pod, scheduling_gates=tuple(g for g in pod.scheduling_gates if g != event.gate))
    )


def pod_deletion_asked(state: ClusterState, event: e.PodDeletionAsked) -> ClusterState:
    """You delete a pod."""
    return delete_pod(state, event.uid, event.grace_seconds)


def delete_pod(state: ClusterState, uid: str, grace_seconds: int | None = None) -> ClusterState:
    """Delete a pod. Its object goes at once if no node has it, if it has ended, or if it is given no time;
    otherwise its kubelet ends it first. One that is going already can only be given less time.

    Go: `pkg/registry/core/pod/strategy.go: CheckGracefulDelete`, `apiserver/pkg/registry/rest/delete.go: BeforeDelete`.
    """
    pod = state.store.pods[uid]
    grace = grace_period(pod) if grace_seconds is None else grace_seconds
    if grace == 0 or not pod.node_name or pod.phase in ("Succeeded", "Failed"):
        return remove(state, pod)
    going = pod.deletion_timestamp
    if going is not None and (grace_seconds is None or going <= state.now + grace):
        return state
    return write(state, replace(pod, deletion_timestamp=state.now + grace))


def grace_period(pod: Pod) -> int:
    """How long the containers of a pod may take to end, in seconds: 0 is no time, and less than that one second."""
    spec = Fields.of(pod.manifest).child("spec")
    seconds = spec.optional_integer("terminationGracePeriodSeconds", bits=64)
    return DEFAULT_GRACE_PERIOD if seconds is None else 1 if seconds < 0 else seconds
