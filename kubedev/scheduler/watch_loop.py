"""The first of the scheduler's two loops: what the watch shows goes to cache and queue.

Go: `pkg/scheduler/eventhandlers.go`.
"""

from collections.abc import Callable, Iterable
from typing import Any

from kubedev.api.claims import DeviceObject
from kubedev.api.objects import Node, Pod
from kubedev.api.pod_groups import Namespace, PodDisruptionBudget, Service, Workload
from kubedev.api.values import replace
from kubedev.scheduler.cache.cache import Cache, CacheError
from kubedev.scheduler.events import Change, Effect, Message
from kubedev.scheduler.queue.cluster_events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    NODE_DELETE,
    ActionType,
    ClusterEvent,
    node_scheduling_properties_change,
    pod_scheduling_properties_change,
)
from kubedev.scheduler.scheduler_state import SchedulerState
from kubedev.scheduler.storage import STORAGE_KINDS

__all__ = ["observe"]

Step = tuple[SchedulerState, tuple[Effect, ...]]

LISTED: dict[type, str] = {
    Namespace: "namespaces",
    Service: "services",
    Workload: "workloads",
    PodDisruptionBudget: "budgets",
}
FINISHED = ("Succeeded", "Failed")


def observe(state: SchedulerState, change: Change, now: float) -> Step:
    """Take note of a change in the cluster. Objects that scheduling does not look at are ignored."""
    state = replace(state, queue=state.queue.without_moves())
    new = None if change.type == "DELETED" else change.object
    old = None if change.type == "ADDED" else change.old or change.object
    thing = new or old
    if isinstance(thing, Node):
        return node_changed(state, old, new, now)
    if isinstance(thing, Pod):
        return pod_changed(state, known(old), known(new), now)
    if type(thing) in LISTED:
        return listed_changed(state, old, new), ()
    if type(thing) in STORAGE_KINDS:
        return storage_changed(state, old, new, now), ()
    if isinstance(thing, DeviceObject):
        return device_object_changed(state, old, new, now), ()
    return state, ()


def known(pod: Pod | None) -> Pod | None:
    """Finished pods are not watched: for the scheduler, a pod that finishes is deleted."""
    return None if pod is None or pod.phase in FINISHED else pod


def listed_changed(state: SchedulerState, old: Any, new: Any) -> SchedulerState:
    """Replace the object in what the plugins look up."""
    name = LISTED[type(new or old)]
    rest = [one for one in getattr(state.listers, name) if same_object(one, new or old) is False]
    changes: dict[str, Any] = {name: tuple(rest + ([new] if new else []))}
    return replace(state, listers=replace(state.listers, **changes))


def storage_changed(state: SchedulerState, old: Any, new: Any, now: float) -> SchedulerState:
    """A volume, claim, class or the like came, changed, or went: plugins may wait for that.

    Go: `addAllEventHandlers`, the handlers that `buildEvtResHandler` makes.
    """
    storage = state.listers.storage
    storage = storage.with_object(new) if new else storage.without_object(old)
    state = replace(state, listers=replace(state.listers, storage=storage))
    return moved(state, [happened(old, new)], old, new, now)


def device_object_changed(state: SchedulerState, old: Any, new: Any, now: float) -> SchedulerState:
    """A claim for devices, a class or a slice came, changed, or went. Go: as for storage."""
    state = state.with_claims(state.listers.claims.seen(old, new))
    return moved(state, [happened(old, new)], old, new, now)


def happened(old: Any, new: Any) -> ClusterEvent:
    """The event of an object that came, changed, or went."""
    action = ActionType.UPDATE if old and new else ActionType.ADD if new else ActionType.DELETE
    return ClusterEvent(type(new or old).__name__, action)


def same_object(one: Any, other: Any) -> bool:
    """Whether two listed objects are versions of the same one."""
    return all(
        getattr(one, field, "") == getattr(other, field, "") for field in ("kind", "namespace", "name")
    )


# Nodes


def node_changed(state: SchedulerState, old: Node | None, new: Node | None, now: float) -> Step:
    """A node came, changed, or went. Go: `addNodeToCache`, `updateNodeInCache`, `deleteNodeFromCache`."""
    if new is None and old is not None:
        return in_cache(moved(state, [NODE_DELETE], old, None, now), lambda cache: cache.remove_node(old))
    if new is not None and old is None:
        state, effects = in_cache(state, lambda cache: cache.add_node(new))
        return moved(state, [NODE_ADD], None, new, now), effects
    if new is None or old is None:
        return state, ()
    state, effects = in_cache(state, lambda cache: cache.update_node(old, new))
    return moved(state, node_scheduling_properties_change(new, old), old, new, now), effects


def moved(
    state: SchedulerState, events: Iterable[ClusterEvent], old: Any, new: Any, now: float
) -> SchedulerState:
    """Tell the queue what happened, in one or several events."""
    queue = state.queue
    for event in events:
        queue = queue.move_all(event, old, new, now)
    return replace(state, queue=queue)


def in_cache(state: SchedulerState, change: Callable[[Cache], Cache]) -> Step:
    """Change the cache; what does not go with what it knows is only logged, as in Go."""
    try:
        return replace(state, cache=change(state.cache)), ()
    except CacheError as error:
        return state, (Message("Warning", "SchedulerCache", str(error)),)


# Pods


def pod_changed(state: SchedulerState, old: Pod | None, new: Pod | None, now: float) -> Step:
    """A pod came, changed, or went; being bound takes it from the queue to the cache.

    Go: the two filtering handlers in `addAllEventHandlers`.
    """
    effects: tuple[Effect, ...] = ()
    was_bound, is_bound = (pod if pod is not None and pod.node_name else None for pod in (old, new))
    if was_bound or is_bound:
        state, effects = bound_pod_changed(state, was_bound, is_bound, now)
    waited, waits = (
        pod if pod is not None and not pod.node_name and is_ours(state, pod) else None for pod in (old, new)
    )
    if waited or waits:
        state = pending_pod_changed(state, waited, waits, now)
    return state, effects


def is_ours(state: SchedulerState, pod: Pod) -> bool:
    """Whether the pod asked for a profile of this scheduler. Go: `responsibleForPod`."""
    return state.queue.handles(pod.scheduler_name)


def bound_pod_changed(state: SchedulerState, old: Pod | None, new: Pod | None, now: float) -> Step:
    """Go: `addPodToCache`, `updatePodInCache`, `deletePodFromCache`."""
    if old is not None and new is not None:
        state, effects = in_cache(state, lambda cache: cache.update_pod(old, new))
        return moved(state, pod_scheduling_properties_change(new, old), old, new, now), effects
    if new is not None:
        state, effects = in_cache(state, lambda cache: cache.add_pod(new))
        return moved(state, [ASSIGNED_POD_ADD], None, new, now), effects
    if old is not None:
        state, effects = in_cache(state, lambda cache: cache.remove_pod(old))
        return moved(state, [ASSIGNED_POD_DELETE], old, None, now), effects
    return state, ()


def pending_pod_changed(
    state: SchedulerState, old: Pod | None, new: Pod | None, now: float
) -> SchedulerState:
    """Go: `addPodToSchedulingQueue`, `updatePodInSchedulingQueue`, `deletePodFromSchedulingQueue`."""
    queue = state.queue
    if old is not None and new is not None:
        unchanged = old.resource_version == new.resource_version if new.resource_version else old == new
        confirmed_soon = state.cache.is_assumed(new) and queue.find_in_flight(new.uid) is None
        return state if unchanged or confirmed_soon else replace(state, queue=queue.update(old, new, now))
    if new is not None:
        return replace(state, queue=queue.add(new, now))
    if old is not None:
        return stop_waiting(replace(state, queue=queue.delete(old)), old, now)
    return state


def stop_waiting(state: SchedulerState, pod: Pod, now: float) -> SchedulerState:
    """A pod that waits for a Permit plugin is deleted: its room is free. Go: `RejectWaitingPod`."""
    assumed = next((one for one in state.permit_waiting if one.uid == pod.uid), None)
    if assumed is None:
        return state
    rest = tuple(one for one in state.permit_waiting if one is not assumed)
    state, _ = in_cache(replace(state, permit_waiting=rest), lambda cache: cache.forget(assumed))
    state = moved(state, [ASSIGNED_POD_DELETE], assumed, None, now)
    return replace(state, queue=state.queue.done(pod.uid))
