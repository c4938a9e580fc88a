"""The API server: what you and others write into the store, and who is told of it.

Go: `staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go: Create, Update, Delete`.
"""

from collections.abc import Iterable
from dataclasses import replace

from kubedev.api.objects import Node, Pod
from kubedev.api.storage import StorageObject
from kubedev.cluster import events as e
from kubedev.cluster import store as api
from kubedev.cluster.state import ClusterState, then
from kubedev.cluster.store import WatchEvent
from kubedev.kubelet.events import NodeStatusDue, NodeUpdated

__all__ = [
    "SCHEDULER",
    "VOLUMES",
    "applied",
    "delete_pod",
    "pod_created",
    "pod_deletion_asked",
    "remove",
    "write",
]

SCHEDULER = "scheduler"
"""The watcher that is told of everything; every other one but VOLUMES is a node's kubelet, by the node's name."""

VOLUMES = "volume-controllers"
"""The watcher of storage objects, and of pods with ephemeral volumes."""


def write(state: ClusterState, obj: api.Object) -> ClusterState:
    """Create or replace an object, and tell those who watch it."""
    store, change = api.put(state.store, obj)
    return then(replace(state, store=store), watchers(change))


def remove(state: ClusterState, obj: api.Object) -> ClusterState:
    """Remove an object for good, and tell those who watch it."""
    store, change = api.deleted(state.store, obj)
    return then(replace(state, store=store), watchers(change))


def watchers(change: WatchEvent) -> Iterable[e.Event]:
    """Who is told: the scheduler of everything, a kubelet of pods that are bound to it or are to go."""
    yield e.Watched(SCHEDULER, change)
    pod, old = change.object, change.old
    if isinstance(pod, StorageObject) or (change.type != "MODIFIED" and has_ephemeral_volumes(pod)):
        yield e.Watched(VOLUMES, change)
    if isinstance(pod, Pod) and pod.node_name and change.type != "DELETED":
        bound = not (isinstance(old, Pod) and old.node_name)
        going = pod.deletion_timestamp is not None and isinstance(old, Pod) and old.deletion_timestamp is None
        if bound or going:
            yield e.Watched(pod.node_name, change)


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
    """You create a pod; one that has the uid of another gets a uid of its own."""
    return write(state, replace(event.pod, uid=api.new_uid(state.store, event.pod)))


def pod_deletion_asked(state: ClusterState, event: e.PodDeletionAsked) -> ClusterState:
    """You delete a pod."""
    return delete_pod(state, event.uid)


def delete_pod(state: ClusterState, uid: str) -> ClusterState:
    """Delete a pod: at once if no node has it, otherwise its kubelet ends it first."""
    pod = state.store.pods[uid]
    if not pod.node_name:
        return remove(state, pod)
    if pod.deletion_timestamp is not None:
        return state
    return write(state, replace(pod, deletion_timestamp=state.now))
