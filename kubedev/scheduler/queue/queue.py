"""The scheduling queue: where a pending pod waits, and what lets it move on.

The places and the moves between them are in `queue_transitions`. The queue is a value: every operation
returns the queue afterwards, and adds the moves that it made to `moves`.

Go: `pkg/scheduler/backend/queue/scheduling_queue.go`, `active_queue.go`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kubedev.api.objects import Node, Pod
from kubedev.api.values import replace
from kubedev.scheduler.queue.cluster_events import (
    FORCE_ACTIVATE,
    UNSCHEDULABLE_TIMEOUT,
    ClusterEvent,
    pod_scheduling_properties_change,
)
from kubedev.scheduler.queue.queue_state import QueueState
from kubedev.scheduler.queue.queue_transitions import WAITING, Place, Trigger
from kubedev.scheduler.queue.queue_work import Work
from kubedev.scheduler.queue.queued_pod import (
    InFlight,
    QueuedPod,
    is_pod,
    key_of,
    without,
)
from kubedev.scheduler.queue.queueing_hints import is_of_interest

__all__ = ["SchedulingQueue"]


@dataclass(frozen=True, slots=True)
class SchedulingQueue(QueueState):
    """The queue, and what happens to the pods in it.

    Go: `pkg/scheduler/backend/queue/scheduling_queue.go: PriorityQueue`.
    """

    def without_moves(self) -> "SchedulingQueue":
        """The same, with nothing moved yet."""
        return replace(self, moves=()) if self.moves else self

    # What happens to a pod

    def add(self, pod: Pod, now: float) -> "SchedulingQueue":
        """A new pending pod: to be scheduled, unless a gate holds it. Go: `PriorityQueue.Add`."""
        work = Work(self, now)
        work.enter(QueuedPod(pod, now), Place.OUTSIDE, Trigger.POD_ADDED)
        return work.result()

    def update(self, old: Pod, new: Pod, now: float) -> "SchedulingQueue":
        """A pending pod changed: a refused one moves on if that may change a refusal. Go: `PriorityQueue.Update`."""
        work = Work(self, now)
        events = pod_scheduling_properties_change(new, old)
        if not work.see_in_flight(events, old, new):
            work.update(events, old, new)
        return work.result()

    def delete(self, pod: Pod) -> "SchedulingQueue":
        """A pending pod is gone; one that is in flight will not come back. Go: `PriorityQueue.Delete`."""
        work = Work(self, 0)
        work.nominator = work.nominator.delete(pod.uid)
        place = self.place_of(key_of(pod))
        if place in WAITING:
            work.move(QueuedPod(pod, 0), place, Trigger.POD_DELETED, Place.OUTSIDE)
        elif self.find_in_flight(pod.uid):
            work.line = [replace(e, gone=True) if is_pod(e, pod.uid) else e for e in work.line]
        return work.result()

    def pop(self) -> tuple["SchedulingQueue", QueuedPod | None]:
        """Take the next active pod: this is one more attempt, and it is in flight. Go: `activeQueue.pop`."""
        work = Work(self, 0)
        while (queued := work.active.first()) is not None:
            work.move(queued, Place.ACTIVE, Trigger.POPPED, Place.IN_FLIGHT)
            if not any(is_pod(entry, queued.pod.uid) for entry in work.line):
                nobody: frozenset[str] = frozenset()
                popped = replace(
                    queued, attempts=queued.attempts + 1, unschedulable_plugins=nobody, pending_plugins=nobody
                )
                work.line.append(InFlight(popped))
                return work.result(), popped
        return work.result(), None

    def done(self, uid: str) -> "SchedulingQueue":
        """The pod's attempt is over, and it does not come back: it is bound, or gone. Go: `activeQueue.done`."""
        work = Work(self, 0)
        if queued := self.find_in_flight(uid):
            work.move(queued, Place.IN_FLIGHT, Trigger.DONE, Place.OUTSIDE)
            work.line = list(without(work.line, uid))
        return work.result()

    def add_unschedulable(
        self, uid: str, unschedulable: Iterable[str], pending: Iterable[str], now: float
    ) -> "SchedulingQueue":
        """A pod in flight comes back, with the plugins that refused it; with none after an error.

        It waits for an event, unless one of those that came while it was in flight already helps.

        Go: `PriorityQueue.AddUnschedulableIfNotPresent`.
        """
        queued = self.find_in_flight(uid)
        if queued is None or self.is_gone(uid):
            return self.done(uid)
        work = Work(self, now)
        if self.place_of(queued.key) is Place.IN_FLIGHT:
            returned = replace(
                queued,
                timestamp=now,
                unschedulable_plugins=frozenset(unschedulable),
                pending_plugins=frozenset(pending),
            )
            work.requeue(returned, Place.IN_FLIGHT, Trigger.ATTEMPT_FAILED, work.replay(returned))
        work.line = list(without(work.line, uid))
        return work.result()

    # What happens in the cluster, and in time

    def move_all(
        self,
        event: ClusterEvent,
        old: Pod | Node | None,
        new: Pod | Node | None,
        now: float,
        pre_check: Callable[[Pod], bool] = lambda pod: True,
    ) -> "SchedulingQueue":
        """Something happened in the cluster: move on the refused pods whose refusal it may change.

        `old` and `new` are the object before and after; None where there is none.

        Go: `PriorityQueue.MoveAllToActiveOrBackoffQueue`.
        """
        if not any(is_of_interest(profile.hints(), event) for profile in self.profiles):
            return self
        work = Work(self, now)
        waiting = [queued for queued in self.unschedulable.values() if pre_check(queued.pod)]
        work.retry(waiting, event, old, new, Trigger.CLUSTER_EVENT)
        return work.result()

    def activate(self, pods: Iterable[Pod], now: float) -> "SchedulingQueue":
        """A plugin wants these pods to be tried at once, whatever they wait for. Go: `PriorityQueue.Activate`."""
        work = Work(self, now)
        for pod in pods:
            place = self.place_of(key_of(pod))
            queued = self.unschedulable.get(key_of(pod)) or self.backoff.get(key_of(pod))
            if queued is None:
                work.see_in_flight((FORCE_ACTIVATE,), None, pod)
            else:
                work.enter(queued, place, Trigger.ACTIVATED)
        return work.result()

    def flush_backoff(self, now: float) -> "SchedulingQueue":
        """Activate the pods whose back-off is over; the real scheduler looks every second.

        Go: `PriorityQueue.flushBackoffQCompleted`.
        """
        work = Work(self, now)
        over = [queued for queued in self.backoff.values() if self.backoff_until(queued) <= now]
        for queued in sorted(over, key=lambda one: (self.backoff_until(one), one.key)):
            work.enter(queued, Place.BACKOFF, Trigger.BACKOFF_COMPLETE)
        return work.result()

    def flush_unschedulable(self, now: float) -> "SchedulingQueue":
        """Retry the pods that wait for more than five minutes; the real scheduler looks every 30 s.

        Go: `PriorityQueue.flushUnschedulablePodsLeftover`.
        """
        work = Work(self, now)
        longest = self.durations.max_in_unschedulable
        left_over = [queued for queued in self.unschedulable.values() if now - queued.timestamp > longest]
        if left_over:
            work.retry(left_over, UNSCHEDULABLE_TIMEOUT, None, None, Trigger.TIMEOUT)
        return work.result()

    def nominate(self, pod: Pod, node_name: str | None) -> "SchedulingQueue":
        """Remember the pod's nomination; None takes it from the pod's status. Go: `nominator.AddNominatedPod`."""
        return replace(self, nominator=self.nominator.add(pod, node_name))
