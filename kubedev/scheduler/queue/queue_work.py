"""One operation on the scheduling queue under way: how a pod gets from one place to another.

Go: `pkg/scheduler/backend/queue/scheduling_queue.go`.
"""

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from kubedev.api.objects import Node, Pod
from kubedev.api.values import replace
from kubedev.scheduler.queue.cluster_events import ClusterEvent
from kubedev.scheduler.queue.queue_state import QueueState
from kubedev.scheduler.queue.queue_transitions import TRANSITIONS, Move, Place, Trigger
from kubedev.scheduler.queue.queued_pod import InFlight, QueuedPod, is_pod, key_of
from kubedev.scheduler.queue.queueing_hints import Strategy, Worth, is_worth_requeuing

__all__ = ["Work"]

Q = TypeVar("Q", bound=QueueState)


class Work(Generic[Q]):
    """One operation on a queue under way: its parts are open to change until `result` closes them."""

    def __init__(self, before: Q, now: float) -> None:
        self.before, self.now = before, now
        self.active, self.backoff = before.active, before.backoff
        self.unschedulable = before.unschedulable
        self.line = list(before.in_flight)
        self.nominator = before.nominator
        self.moves = list(before.moves)

    def result(self) -> Q:
        """The queue afterwards."""
        return replace(
            self.before,
            active=self.active,
            backoff=self.backoff,
            unschedulable=self.unschedulable,
            in_flight=tuple(self.line),
            nominator=self.nominator,
            moves=tuple(self.moves),
        )

    def move(self, queued: QueuedPod, source: Place, trigger: Trigger, target: Place, why: str = "") -> None:
        """Put the pod where it belongs now. A move that is not in the table is a mistake of ours."""
        if source is not target:
            if target not in TRANSITIONS.get((source, trigger), ()):
                raise RuntimeError(f"no such move: {queued.key} from {source} to {target} by {trigger}")
            self.moves.append(Move(queued.key, source, trigger, target, why))
        key = queued.key
        if key in self.active:
            self.active = self.active.without(key)
        if key in self.backoff:
            self.backoff = self.backoff.without(key)
        if key in self.unschedulable:
            self.unschedulable = self.unschedulable.without(key)
        if target is Place.ACTIVE:
            self.active = self.active.with_pod(queued)
        elif target is Place.BACKOFF:
            self.backoff = self.backoff.with_item(key, queued)
        elif target in (Place.UNSCHEDULABLE, Place.GATED):
            self.unschedulable = self.unschedulable.with_item(key, queued)

    def enter(self, queued: QueuedPod, source: Place, trigger: Trigger, why: str = "") -> None:
        """Activate the pod, unless a PreEnqueue plugin holds it. Go: `PriorityQueue.moveToActiveQ`."""
        status = self.before.profile_of(queued.pod).pre_enqueue(queued.pod)
        if not status.is_success:
            held = replace(
                queued, gated=True, unschedulable_plugins=queued.unschedulable_plugins | {status.plugin}
            )
            self.move(held, source, trigger, Place.GATED, status.message)
            return
        first = self.now if queued.initial_attempt_timestamp is None else queued.initial_attempt_timestamp
        free = replace(queued, gated=False, initial_attempt_timestamp=first)
        self.move(free, source, trigger, Place.ACTIVE, why)
        if source is Place.OUTSIDE:
            self.nominator = self.nominator.add(queued.pod)

    def requeue(self, queued: QueuedPod, source: Place, trigger: Trigger, worth: Worth) -> None:
        """Send the pod where the hints want it. Go: `PriorityQueue.requeuePodViaQueueingHint`."""
        if worth.strategy is Strategy.SKIP:
            stays = Place.GATED if queued.gated else Place.UNSCHEDULABLE
            self.move(queued, source, trigger, stays, worth.why)
        elif worth.strategy is Strategy.AFTER_BACKOFF and self.before.backoff_until(queued) > self.now:
            self.move(queued, source, trigger, Place.BACKOFF, worth.why)
        else:
            self.enter(queued, source, trigger, worth.why)

    def retry(
        self,
        waiting: Iterable[QueuedPod],
        event: ClusterEvent,
        old: Pod | Node | None,
        new: Pod | Node | None,
        trigger: Trigger,
    ) -> None:
        """Move on those for which the event is worth a retry, and note it for all in flight.

        Go: `PriorityQueue.movePodsToActiveOrBackoffQueue`.
        """
        hints = {profile.scheduler_name: profile.hints() for profile in self.before.profiles}
        for queued in waiting:
            if queued.gated and "SchedulingGates" in queued.unschedulable_plugins:
                continue  # nothing but an update of the pod itself opens a scheduling gate
            mine = hints[self.before.profile_of(queued.pod).scheduler_name]
            worth = is_worth_requeuing(mine, queued, event, old, new)
            if worth.strategy is not Strategy.SKIP:
                source = Place.GATED if queued.gated else Place.UNSCHEDULABLE
                self.requeue(queued, source, trigger, worth)
        if any(entry.queued for entry in self.line):
            self.line.append(InFlight(event=event, old=old, new=new))

    def see_in_flight(self, events: Iterable[ClusterEvent], old: Pod | None, new: Pod) -> bool:
        """Note what happened to a pod itself, if it is in flight; it comes back as it is now.

        Go: `activeQueue.addEventsIfPodInFlight`.
        """
        queued = self.before.find_in_flight(new.uid)
        if queued is None:
            return False
        if old is not None:
            current = replace(queued, pod=new)
            self.line = [
                replace(entry, queued=current) if is_pod(entry, new.uid) else entry for entry in self.line
            ]
        self.line += [InFlight(event=event, old=old, new=new) for event in events]
        return True

    def update(self, events: Iterable[ClusterEvent], old: Pod, new: Pod) -> None:
        """A waiting pod changed, or one that the queue does not know yet."""
        place = self.before.place_of(key_of(new))
        if place is Place.OUTSIDE:
            self.enter(QueuedPod(new, self.now), place, Trigger.POD_UPDATED)
            return
        waiting: dict[Place, Mapping[str, QueuedPod]]
        waiting = {Place.ACTIVE: self.active, Place.BACKOFF: self.backoff}
        queued = replace(waiting.get(place, self.unschedulable)[key_of(new)], pod=new)
        self.nominator = self.nominator.update(old, new)
        if place in (Place.ACTIVE, Place.BACKOFF):
            self.move(queued, place, Trigger.POD_UPDATED, place)
            return
        hints = self.before.profile_of(queued.pod).hints()
        worths = [is_worth_requeuing(hints, queued, event, old, new) for event in events]
        self.requeue(queued, place, Trigger.POD_UPDATED, max(worths, key=lambda worth: worth.strategy))

    def replay(self, queued: QueuedPod) -> Worth:
        """What the events that came while the pod was in flight are worth to it.

        Go: `PriorityQueue.determineSchedulingHintForInFlightPod`.
        """
        if not queued.unschedulable_plugins | queued.pending_plugins:
            return Worth(Strategy.AFTER_BACKOFF, "no plugin refused it: an error may pass by itself")
        start = next(i for i, entry in enumerate(self.line) if is_pod(entry, queued.pod.uid))
        best = Worth(Strategy.SKIP, "nothing that helps happened meanwhile")
        hints = self.before.profile_of(queued.pod).hints()
        for entry in self.line[start + 1 :]:
            if entry.event is not None:
                worth = is_worth_requeuing(hints, queued, entry.event, entry.old, entry.new)
                best = max(best, worth, key=lambda one: one.strategy)
        return best
