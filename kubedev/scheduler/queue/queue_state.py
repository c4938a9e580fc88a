"""The scheduling queue at one moment: its parts, and where a pod is in them.

Go: `pkg/scheduler/backend/queue/scheduling_queue.go`.
"""

from dataclasses import dataclass, field

from kubedev.api.objects import Pod
from kubedev.api.values import SharedMap
from kubedev.scheduler.framework import Framework
from kubedev.scheduler.preemption.nominator import Nominator
from kubedev.scheduler.queue.active import ActiveQueue
from kubedev.scheduler.queue.queue_transitions import Move, Place
from kubedev.scheduler.queue.queued_pod import (
    InFlight,
    QueuedPod,
    backoff_duration,
    is_pod,
    sort_key,
)

__all__ = ["Durations", "QueueState"]


@dataclass(frozen=True, slots=True)
class Durations:
    """How long pods wait, in seconds. Go: `PriorityQueue.podInitialBackoffDuration` and those beside it."""

    initial_backoff: float = 1
    max_backoff: float = 10
    max_in_unschedulable: float = 300


@dataclass(frozen=True, slots=True)
class QueueState:
    """The queue at one moment. Waiting pods are keyed by `namespace/name`.

    `framework` is the first profile, `more_profiles` are the others: each looks after the pods that name it.

    Go: `pkg/scheduler/backend/queue/scheduling_queue.go: PriorityQueue`.
    """

    framework: Framework
    durations: Durations = Durations()
    active: ActiveQueue = field(default_factory=ActiveQueue)
    backoff: SharedMap[str, QueuedPod] = field(default_factory=SharedMap)
    unschedulable: SharedMap[str, QueuedPod] = field(default_factory=SharedMap)
    """The gated pods too, as in Go: `QueuedPod.gated` tells them apart."""
    in_flight: tuple[InFlight, ...] = ()
    nominator: Nominator = field(default_factory=Nominator)
    moves: tuple[Move, ...] = ()
    """What moved since the last `without_moves`."""
    more_profiles: tuple[Framework, ...] = ()

    @property
    def profiles(self) -> tuple[Framework, ...]:
        """All profiles. Go: `pkg/scheduler/profile/profile.go: Map`."""
        return (self.framework, *self.more_profiles)

    def handles(self, scheduler_name: str) -> bool:
        """Whether a profile has this name. Go: `HandlesSchedulerName`."""
        return any(profile.scheduler_name == scheduler_name for profile in self.profiles)

    def profile_of(self, pod: Pod) -> Framework:
        """The profile that the pod names; the first one for a pod that no profile is for."""
        named = (profile for profile in self.profiles if profile.scheduler_name == pod.scheduler_name)
        return next(named, self.framework)

    # Where a pod is

    def pop_order(self) -> tuple[QueuedPod, ...]:
        """The active pods, the next one first."""
        return tuple(sorted(self.active.values(), key=sort_key))

    def pods_in_flight(self) -> tuple[QueuedPod, ...]:
        """The pods that are being scheduled or bound, the longest in flight first."""
        return tuple(entry.queued for entry in self.in_flight if entry.queued is not None)

    def find_in_flight(self, uid: str) -> QueuedPod | None:
        """The pod with this uid as it is now, if it is in flight."""
        return next((queued for queued in self.pods_in_flight() if queued.pod.uid == uid), None)

    def is_gone(self, uid: str) -> bool:
        """Whether this pod in flight was deleted or bound meanwhile, so that it does not come back."""
        return any(is_pod(entry, uid) and entry.gone for entry in self.in_flight)

    def place_of(self, key: str) -> Place:
        """Where the pod with this `namespace/name` is."""
        if key in self.active:
            return Place.ACTIVE
        if key in self.backoff:
            return Place.BACKOFF
        if key in self.unschedulable:
            return Place.GATED if self.unschedulable[key].gated else Place.UNSCHEDULABLE
        flying = any(queued.key == key for queued in self.pods_in_flight())
        return Place.IN_FLIGHT if flying else Place.OUTSIDE

    def backoff_until(self, queued: QueuedPod) -> float:
        """When the pod's back-off is over."""
        durations = self.durations
        wait = backoff_duration(queued.attempts, durations.initial_backoff, durations.max_backoff)
        return queued.timestamp + wait
