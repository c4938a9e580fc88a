"""The scheduler in its cluster: what it hears, its turns, and what it wants done."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kubedev.api.objects import Condition
from kubedev.api.values import replace
from kubedev.cluster import claims, volumes
from kubedev.cluster import events as e
from kubedev.cluster.apiserver import delete_pod, write
from kubedev.cluster.conditions import updated
from kubedev.cluster.state import ClusterState, then
from kubedev.cluster.store import listed
from kubedev.scheduler import events as s
from kubedev.scheduler import scheduler
from kubedev.scheduler.scheduler import SchedulerState

__all__ = ["EFFECTS", "configured", "tick", "turn", "wants", "watched"]


def configured(state: ClusterState, event: e.SchedulerConfigured) -> ClusterState:
    """The scheduler starts anew, and sees what the store holds: pods come last, when all else is known."""
    fresh = SchedulerState().with_profiles(*event.profiles, durations=event.durations)
    effects: list[Any] = []
    for change in listed(state.store):
        fresh, more = scheduler.observe(fresh, change, state.now)
        effects += more
    return _with_scheduler(replace(state, decision=None), fresh, effects)


def watched(state: ClusterState, event: e.Watched) -> ClusterState:
    """The API server tells the scheduler of a change."""
    return _with_scheduler(state, *scheduler.observe(state.scheduler, event.event, state.now))


def turn(state: ClusterState, event: e.SchedulerTurn) -> ClusterState:
    """The scheduler takes the next pod and decides."""
    changed, decision, effects = scheduler.schedule_next(state.scheduler, state.now)
    return replace(_with_scheduler(state, changed, effects), decision=decision)


def tick(state: ClusterState) -> ClusterState:
    """The clock has moved on."""
    return _with_scheduler(state, *scheduler.tick(state.scheduler, state.now))


def _with_scheduler(state: ClusterState, changed: SchedulerState, effects: Iterable[Any]) -> ClusterState:
    """The scheduler after a step; if it has a pod to try and no turn yet, it gets one."""
    state = then(replace(state, scheduler=changed), (e.SchedulerWants(effect) for effect in effects))
    turn = e.SchedulerTurn()
    return then(state, [turn]) if changed.queue.active and turn not in state.pending else state


# What the scheduler wants


def wants(state: ClusterState, event: e.SchedulerWants) -> ClusterState:
    """The scheduler wants something done; a line for somebody's log changes nothing."""
    effect = EFFECTS.get(type(event.effect))
    return effect(state, event.effect) if effect else state


def _bind(state: ClusterState, effect: s.Bind) -> ClusterState:
    assumed, node = effect.pod, effect.node_name
    pod = state.store.pods.get(assumed.uid)
    error = ""
    if pod is None or pod.node_name:
        error = f"pod {assumed.name} is gone or bound already"
    else:
        bound = updated(replace(pod, node_name=node), Condition("PodScheduled", "True"), state.now)
        state = write(state, bound)
    changed, effects = scheduler.bind_finished(state.scheduler, assumed, node, error, state.now)
    return _with_scheduler(state, changed, effects)


def _bind_claims(state: ClusterState, effect: s.BindClaims) -> ClusterState:
    state, written, error = claims.reserved(state, effect)
    answered = scheduler.claims_finished(state.scheduler, effect.pod, written, error, state.now)
    return _with_scheduler(state, *answered)


def _patch_pod_status(state: ClusterState, effect: s.PatchPodStatus) -> ClusterState:
    pod = state.store.pods.get(effect.pod.uid)
    if pod is None:
        return state
    condition = Condition("PodScheduled", "False", effect.reason, effect.message)
    name = effect.nominated_node_name
    nominated = pod.nominated_node_name if name is None else name
    return write(state, updated(replace(pod, nominated_node_name=nominated), condition, state.now))


def _delete_victim(state: ClusterState, effect: s.DeleteVictim) -> ClusterState:
    pod = state.store.pods.get(effect.pod.uid)
    if pod is None:
        return state
    target = Condition("DisruptionTarget", "True", "PreemptionByScheduler", effect.message)
    return delete_pod(write(state, updated(pod, target, state.now)), pod.uid)


def _clear_nomination(state: ClusterState, effect: s.ClearNomination) -> ClusterState:
    pod = state.store.pods.get(effect.pod.uid)
    return write(state, replace(pod, nominated_node_name="")) if pod else state


EFFECTS: Mapping[type, Callable[[ClusterState, Any], ClusterState]] = {
    s.Bind: _bind,
    s.BindVolumes: volumes.bind_volumes,
    s.BindClaims: _bind_claims,
    s.UnreserveClaims: claims.unreserved,
    s.DeallocateClaim: claims.deallocated,
    s.PatchPodStatus: _patch_pod_status,
    s.DeleteVictim: _delete_victim,
    s.ClearNomination: _clear_nomination,
}
"""What becomes of an effect of the scheduler's; those that are not here are lines for a log."""
