"""The scheduler as a whole: a queue, a cache, and two loops that meet in them, to be stepped by hand.

The watch loop tells what happened (`observe`), the scheduling loop takes the next pod and decides
(`schedule_next`); the binding of a pod goes on beside both and reports back (`bind_finished`). Time passes
with `tick`.

    state, effects = observe(SchedulerState(), WatchEvent("ADDED", pod), now)
    state, decision, effects = schedule_next(state, now)

Everything is a value: each step returns the scheduler afterwards and the effects that its driver has to carry
out.

Go: `pkg/scheduler/scheduler.go`, `schedule_one.go`, `eventhandlers.go`.
"""

from kubedev.api.claims import ResourceClaim
from kubedev.api.gotext import quote
from kubedev.api.objects import Node, Pod
from kubedev.api.values import replace
from kubedev.scheduler.cache.cache import CacheError
from kubedev.scheduler.claim_steps import claims_of
from kubedev.scheduler.cycle import Choose, Decision, Outcome, first_by_name, schedule_one
from kubedev.scheduler.diagnosis import NodeToStatus, fit_error
from kubedev.scheduler.events import (
    Bind,
    BindClaims,
    BindVolumes,
    Change,
    ClearNomination,
    DeallocateClaim,
    DeleteVictim,
    Effect,
    Message,
    PatchPodStatus,
)
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.dynamic_resources import NAME, Deallocation
from kubedev.scheduler.plugins.volumes.pod_claims import not_found
from kubedev.scheduler.preemption.preemption import Preemption
from kubedev.scheduler.queue.cluster_events import ASSIGNED_POD_DELETE
from kubedev.scheduler.queue.queued_pod import key_of
from kubedev.scheduler.scheduler_state import SchedulerState, snapshot_of
from kubedev.scheduler.status import Code, Status
from kubedev.scheduler.under_way import claims_under_way, without_binding, without_claims
from kubedev.scheduler.volume_steps import check_bindings, volumes_of
from kubedev.scheduler.watch_loop import in_cache, moved
from kubedev.scheduler.watch_loop import observe as take_note

__all__ = [
    "SchedulerState",
    "bind_finished",
    "claims_finished",
    "observe",
    "permit_finished",
    "schedule_next",
    "snapshot_of",
    "tick",
]

FLUSH_BACKOFF_EVERY = 1.0
FLUSH_UNSCHEDULABLE_EVERY = 30.0
MESSAGE_LIMIT = 1024

Step = tuple[SchedulerState, tuple[Effect, ...]]


def schedule_next(
    state: SchedulerState, now: float, choose: Choose = first_by_name
) -> tuple[SchedulerState, Decision | None, tuple[Effect, ...]]:
    """Take the next pod of the active queue and decide on it; no decision where there is no pod to try.

    Go: `pkg/scheduler/schedule_one.go: ScheduleOne`.
    """
    queue, queued = state.queue.without_moves().pop()
    state = replace(state, queue=queue)
    if queued is None:
        return state, None, ()
    pod = queued.pod
    if state.cache.is_assumed(pod) or pod.deletion_timestamp is not None:
        text = f"skip schedule deleting pod: {key_of(pod)}"
        skipped = () if state.cache.is_assumed(pod) else (Message("Warning", "FailedScheduling", text, pod),)
        return replace(state, queue=queue.done(pod.uid)), None, skipped
    start = state.next_start_node_index
    decision = schedule_one(state.profile_of(pod), pod, snapshot_of(state), start, choose)
    state = replace(state, next_start_node_index=decision.next_start)
    if decision.outcome is Outcome.SCHEDULED:
        state, effects = assume(state, decision, now)
    else:
        state, effects = give_back(state, decision, now)
        effects = preempt(decision) + effects
    return state, decision, effects


# A pod that has a node


def assume(state: SchedulerState, decision: Decision, now: float) -> Step:
    """Count the pod as running on its node, and ask the plugins up to Permit. Go: `schedulingCycle`."""
    node_name, framework = decision.node_name, state.profile_of(decision.pod)
    assumed = replace(decision.pod, node_name=node_name)
    try:
        cache = state.cache.assume(assumed)
    except CacheError as error:
        return give_back(state, replace(decision, outcome=Outcome.ERROR, message=str(error)), now)
    queue = replace(state.queue, nominator=state.queue.nominator.delete(assumed.uid))
    state = replace(state, cache=cache, queue=queue)
    if binding := volumes_of(framework, decision):
        listers = replace(state.listers, storage=binding.assumed_in(state.listers.storage))
        state = replace(state, listers=listers, bindings=(*state.bindings, binding))
    if chosen := claims_of(framework, decision):
        state = state.with_claims(chosen.begun_in(state.listers.claims))
        state = replace(state, claim_bindings=(*state.claim_bindings, chosen))
    for method in ("reserve", "permit"):
        status = framework.first_failure(method, assumed, node_name)
        if status.code is Code.WAIT:
            return replace(state, permit_waiting=(*state.permit_waiting, assumed)), ()
        if not status.is_success:
            return unreserve(state, assumed, status, now, tell=False)
    return start_binding(state, assumed, now)


def permit_finished(state: SchedulerState, uid: str, status: Status, now: float) -> Step:
    """A Permit plugin made up its mind about a pod that it had asked to wait. Go: `waitingPod.Allow, Reject`."""
    state = replace(state, queue=state.queue.without_moves())
    assumed = next((pod for pod in state.permit_waiting if pod.uid == uid), None)
    if assumed is None:
        raise ValueError(f"no pod with the uid {uid!r} waits for a Permit plugin")
    state = replace(state, permit_waiting=tuple(pod for pod in state.permit_waiting if pod is not assumed))
    return start_binding(state, assumed, now) if status.is_success else unreserve(state, assumed, status, now)


def start_binding(state: SchedulerState, assumed: Pod, now: float) -> Step:
    """Ask the PreBind plugins and have the pod's volumes bound, then the pod. Go: `bindingCycle`."""
    status = state.profile_of(assumed).first_failure("pre_bind", assumed, assumed.node_name)
    if not status.is_success:
        return unreserve(state, assumed, status, now)
    binding = next((one for one in state.bindings if one.pod.uid == assumed.uid), None)
    if binding is None:
        return bind_pod(state, assumed, now)
    started = replace(binding, deadline=now + binding.timeout)
    state = replace(state, bindings=tuple(started if one is binding else one for one in state.bindings))
    return state, (BindVolumes(assumed, binding.volumes, binding.claims),)


def bind_pod(state: SchedulerState, assumed: Pod, now: float) -> Step:
    """Have the pod's claims reserved, ask the Bind plugins, and have the pod bound."""
    chosen = claims_under_way(state, assumed.uid)
    if chosen is not None and not chosen.reserved:
        return state, (BindClaims(assumed, chosen.reservations),)
    status = state.profile_of(assumed).first_failure("bind", assumed, assumed.node_name)
    if not status.is_success:
        return unreserve(state, assumed, status, now)
    return state, (Bind(assumed, assumed.node_name),)


def claims_finished(
    state: SchedulerState, pod: Pod, written: tuple[ResourceClaim, ...], error: str, now: float
) -> Step:
    """The API server answered a BindClaims: with the claims as it has them now, or why it refused.

    Go: `PreBind`, `bindClaim`.
    """
    state = replace(state, queue=state.queue.without_moves())
    chosen = claims_under_way(state, pod.uid)
    if chosen is None:  # the scheduler started anew meanwhile
        return state, ()
    state = state.with_claims(chosen.written_in(state.listers.claims, written))
    after = replace(chosen, reserved=True)
    rest = tuple(after if one is chosen else one for one in state.claim_bindings)
    state = replace(state, claim_bindings=rest)
    if error:
        status = Status(Code.ERROR, (f'running PreBind plugin "{NAME}": {error}',), NAME)
        return unreserve(state, pod, status, now)
    return bind_pod(state, pod, now)


def observe(state: SchedulerState, change: Change, now: float) -> Step:
    """Take note of a change in the cluster; pods whose volumes are bound by it go on. Go: `addAllEventHandlers`."""
    state, effects = take_note(state, change, now)
    for chosen in state.claim_bindings:
        gone = not (chosen.reserved or state.cache.is_assumed(chosen.pod))
        if gone:  # deleted while it waited for a Permit plugin
            state, _ = without_claims(state, chosen.pod.uid)
    state, more = check_volumes(state, now)
    return state, effects + more


def check_volumes(state: SchedulerState, now: float) -> Step:
    """Go on with the pods whose volumes are bound, and give back those whose never will be.

    Go looks every second (`BindPodVolumes`), here every change and tick is a look.
    """
    effects: tuple[Effect, ...] = ()
    if not state.bindings:
        return state, effects
    storage = state.listers.storage
    state = replace(state, bindings=tuple(one.seen_in(storage) for one in state.bindings))
    for binding in state.bindings:
        if binding.deadline is None:
            if not state.cache.is_assumed(binding.pod):  # deleted while it waited for a Permit plugin
                state = without_binding(state, binding.pod)
            continue
        error = ""
        try:
            if state.queue.is_gone(binding.pod.uid):
                error = f"pod does not exist any more: {not_found('pod', binding.pod.name)}"
            elif check_bindings(binding, state.listers.storage, node_of(state, binding.pod.node_name)):
                rest = tuple(one for one in state.bindings if one is not binding)
                state, more = bind_pod(replace(state, bindings=rest), binding.pod, now)
                effects += more
                continue
            elif now >= binding.deadline:
                error = "context deadline exceeded"
        except ValueError as problem:
            error = str(problem)
        if error:
            text = f'running PreBind plugin "VolumeBinding": binding volumes: {error}'
            state, more = unreserve(state, binding.pod, Status(Code.ERROR, (text,), "VolumeBinding"), now)
            effects += more
    return state, effects


def node_of(state: SchedulerState, name: str) -> Node:
    """A node as the scheduler knows it. Raises ValueError where it is gone."""
    info: NodeInfo | None = state.cache.nodes.get(name)
    if info is None or not info.name:
        raise ValueError(f"failed to get node {quote(name)}: {not_found('node', name)}")
    return info.node


def bind_finished(state: SchedulerState, pod: Pod, node_name: str, error: str, now: float) -> Step:
    """The API server answered a Bind: with success (an empty error), or why not. Go: `finishBinding`.

    The pod stays assumed until the watch shows it bound. After an error its room is free again, and it is
    tried again.
    """
    assumed = replace(pod, node_name=node_name)
    cache, queue = state.cache.finish_binding(assumed, now), state.queue.without_moves()
    state = replace(state, cache=cache, queue=queue)
    if error:
        return unreserve(state, assumed, Status(Code.ERROR, (error,), "DefaultBinder"), now)
    for plugin in state.profile_of(assumed).at("post_bind"):
        plugin.post_bind(assumed, node_name)
    rest = tuple(one for one in state.claim_bindings if one.pod.uid != pod.uid)
    state = replace(state, claim_bindings=rest)
    text = f"Successfully assigned {key_of(assumed)} to {node_name}"
    return replace(state, queue=state.queue.done(pod.uid)), (Message("Normal", "Scheduled", text, pod),)


def unreserve(state: SchedulerState, assumed: Pod, status: Status, now: float, tell: bool = True) -> Step:
    """Take an assumption back: the pod is tried again, or waits, and others may want the room.

    `tell` the queue that the room is free; Kubernetes does not after a refusal by Reserve or by Permit at
    once.

    Go: `handleBindingCycleError`.
    """
    for plugin in reversed(state.profile_of(assumed).at("unreserve")):
        plugin.unreserve(assumed, assumed.node_name)
    state, given_back = without_claims(without_binding(state, assumed), assumed.uid)
    tell = tell and state.cache.is_assumed(assumed)
    state, effects = in_cache(state, lambda cache: cache.forget(assumed))
    pod = replace(assumed, node_name="")
    if tell and not status.is_rejected:
        state = moved(state, [ASSIGNED_POD_DELETE], assumed, None, now)
    state, more = give_back(state, refused_late(pod, assumed.node_name, status), now)
    if tell and status.is_rejected:
        # Told after it is back, and not to itself: the room that it gave back is not what it lacked.
        queue = state.queue.move_all(
            ASSIGNED_POD_DELETE, assumed, None, now, lambda other: other.uid != assumed.uid
        )
        state = replace(state, queue=queue)
    return state, given_back + effects + more


def refused_late(pod: Pod, node_name: str, status: Status) -> Decision:
    """The decision on a pod that was refused after its node had been chosen."""
    if not status.is_rejected:
        return Decision(pod, Outcome.ERROR, message=status.message, nominated_node_name="")
    return Decision(
        pod,
        Outcome.UNSCHEDULABLE,
        message=fit_error(1, NodeToStatus({node_name: status})),
        nominated_node_name="",
        unschedulable_plugins=(status.plugin,),
        pending_plugins=(status.plugin,) if status.code is Code.PENDING else (),
    )


# A pod that has none


def give_back(state: SchedulerState, decision: Decision, now: float) -> Step:
    """The attempt failed: back to the queue, and tell the user. Go: `handleSchedulingFailure`."""
    pod, nominated = decision.pod, decision.nominated_node_name
    queued = None if state.queue.is_gone(pod.uid) else state.queue.find_in_flight(pod.uid)
    queue = state.queue.add_unschedulable(
        pod.uid, decision.unschedulable_plugins, decision.pending_plugins, now
    )
    if queued is not None:
        queue = queue.nominate(queued.pod, nominated)
    limit = MESSAGE_LIMIT - len(" ...")
    note = decision.message if len(decision.message) <= MESSAGE_LIMIT else decision.message[:limit] + " ..."
    return replace(state, queue=queue), (
        Message("Warning", "FailedScheduling", note, pod),
        PatchPodStatus(pod, decision.outcome.value, decision.message, nominated),
    )


def preempt(decision: Decision) -> tuple[Effect, ...]:
    """What PostFilter wants done: a claim given back; victims deleted, and nominations to the node taken back.

    Go: `DynamicResources.PostFilter`, `Evaluator.prepareCandidate`.
    """
    accounts = decision.post_filter.accounts if decision.post_filter else ()
    effects: list[Effect] = [
        DeallocateClaim(account.claim) for account in accounts if isinstance(account, Deallocation)
    ]
    preemption = next((account for account in accounts if isinstance(account, Preemption)), None)
    if preemption is None:
        return tuple(effects)
    pod = decision.pod
    why = f"{pod.scheduler_name}: preempting to accommodate a higher priority pod"
    for victim in preemption.victims:
        note = f"Preempted by pod {pod.uid} on node {preemption.node_name}"
        effects += [DeleteVictim(victim, pod, why), Message("Normal", "Preempted", note, victim)]
    effects += [ClearNomination(other) for other in preemption.clear_nominations if other.nominated_node_name]
    return tuple(effects)


# Time


def tick(state: SchedulerState, now: float) -> Step:
    """Time passed: flush the queue and the cache where that is due.

    Go: `PriorityQueue.Run` (back-off every second, left-over pods every 30), `cacheImpl.run` (every second).
    """
    queue = state.queue.without_moves()
    if now >= state.backoff_flush_due:
        queue = queue.flush_backoff(now)
        state = replace(state, cache=state.cache.cleanup(now), backoff_flush_due=now + FLUSH_BACKOFF_EVERY)
    if now >= state.unschedulable_flush_due:
        queue = queue.flush_unschedulable(now)
        state = replace(state, unschedulable_flush_due=now + FLUSH_UNSCHEDULABLE_EVERY)
    return check_volumes(replace(state, queue=queue), now)
