"""A pod in the scheduling queue: its attempts, its order, its back-off; and the line of pods in flight."""

from collections.abc import Sequence
from dataclasses import dataclass

from kubedev.api.objects import Node, Pod
from kubedev.scheduler.queue.cluster_events import ClusterEvent

__all__ = ["InFlight", "QueuedPod", "backoff_duration", "is_pod", "key_of", "less", "sort_key", "without"]


def key_of(pod: Pod) -> str:
    """`namespace/name`: the queue knows waiting pods by it; only pods in flight go by their uid."""
    return f"{pod.namespace}/{pod.name}"


@dataclass(frozen=True, slots=True)
class QueuedPod:
    """A pod and what the queue knows about it. Times are in seconds.

    Go: `pkg/scheduler/framework/types.go: QueuedPodInfo`.
    """

    pod: Pod
    timestamp: float
    """Since when it waits: when it came, or when it last returned from an attempt."""
    attempts: int = 0
    initial_attempt_timestamp: float | None = None
    unschedulable_plugins: frozenset[str] = frozenset()
    """Who refused it in the last attempt: an event is worth a retry only if it may change one of their answers."""
    pending_plugins: frozenset[str] = frozenset()
    """Who asked for patience: what helps these helps at once, without back-off."""
    gated: bool = False

    @property
    def key(self) -> str:
        """The pod's `namespace/name`."""
        return key_of(self.pod)


@dataclass(frozen=True, slots=True)
class InFlight:
    """An entry of the line of pods in flight and of the events that came since the first of them was popped.

    Either `queued` is set, or `event` with the object before and after it. `gone` marks a pod that was
    deleted, or bound by somebody else, while in flight: it does not come back.
    """

    queued: QueuedPod | None = None
    gone: bool = False
    event: ClusterEvent | None = None
    old: Pod | Node | None = None
    new: Pod | Node | None = None


def is_pod(entry: InFlight, uid: str) -> bool:
    """Whether this entry of the line in flight is the pod with this uid."""
    return entry.queued is not None and entry.queued.pod.uid == uid


def without(line: Sequence[InFlight], uid: str) -> tuple[InFlight, ...]:
    """The line without this pod, and without the events that no pod before them has to see any more.

    Go: `pkg/scheduler/backend/queue/active_queue.go: done`.
    """
    rest = [entry for entry in line if not is_pod(entry, uid)]
    first = next((i for i, entry in enumerate(rest) if entry.queued is not None), len(rest))
    return tuple(rest[first:])


def sort_key(queued: QueuedPod) -> tuple[int, float]:
    """Pods are popped in ascending order of this, equals as they became active.

    A real clock hardly ever makes two equal; the simulated one does, and then the order of their arrival is meant.
    """
    return -(queued.pod.priority or 0), queued.timestamp


def less(a: QueuedPod, b: QueuedPod) -> bool:
    """Whether `a` is to be scheduled before `b`: by priority, then by the time that it waits.

    Go: `pkg/scheduler/framework/plugins/queuesort/priority_sort.go: Less`.
    """
    return sort_key(a) < sort_key(b)


def backoff_duration(attempts: int, initial: float, maximum: float) -> float:
    """How long a pod waits after so many attempts: doubled each time, up to the maximum; no attempt, no wait.

    After the first attempt the initial duration counts in full, even if it is above the maximum.

    Go: `pkg/scheduler/backend/queue/scheduling_queue.go: calculateBackoffDuration`.
    """
    if attempts == 0:
        return 0
    duration = initial
    for _ in range(attempts - 1):
        if duration > maximum - duration:
            return maximum
        duration += duration
    return duration
