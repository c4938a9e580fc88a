"""The scheduling queue's places, and every move between them, as data.

`queue` makes its moves through this table, and the diagrams are drawn from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

__all__ = ["TRANSITIONS", "WAITING", "Move", "Place", "Trigger"]


class Place(Enum):
    """Where a pod can be, seen from the queue."""

    OUTSIDE = "outside"
    """Not yet here, or bound, or deleted."""
    ACTIVE = "activeQ"
    """To be scheduled next: the highest priority first, among equals the one that waits longest."""
    BACKOFF = "backoffQ"
    """Worth another try, but not before its back-off is over: 1 s after the first attempt, then 2, 4, 8, 10."""
    UNSCHEDULABLE = "unschedulable"
    """Refused by plugins: waits for an event that may change their answer, five minutes at most."""
    GATED = "gated"
    """Held back by a scheduling gate, or by another PreEnqueue plugin."""
    IN_FLIGHT = "in flight"
    """Being scheduled or bound. Events that come meanwhile are kept for it."""


class Trigger(Enum):
    """What makes a pod move."""

    POD_ADDED = "pod added"
    POD_UPDATED = "pod updated"
    POD_DELETED = "pod deleted"
    POPPED = "popped"
    DONE = "bound or given up"
    ATTEMPT_FAILED = "attempt failed"
    CLUSTER_EVENT = "cluster event"
    BACKOFF_COMPLETE = "back-off over"
    TIMEOUT = "5 minutes passed"
    ACTIVATED = "activated by a plugin"


@dataclass(frozen=True, slots=True)
class Move:
    """A pod (`namespace/name`) that changed its place, what made it, and why."""

    pod: str
    source: Place
    trigger: Trigger
    target: Place
    why: str = ""


WAITING = (Place.ACTIVE, Place.BACKOFF, Place.UNSCHEDULABLE, Place.GATED)
ENTERING = frozenset({Place.ACTIVE, Place.GATED})
RETRIED = frozenset({Place.ACTIVE, Place.BACKOFF, Place.GATED})

TRANSITIONS: Mapping[tuple[Place, Trigger], frozenset[Place]] = {
    (Place.OUTSIDE, Trigger.POD_ADDED): ENTERING,
    (Place.OUTSIDE, Trigger.POD_UPDATED): ENTERING,
    (Place.ACTIVE, Trigger.POPPED): frozenset({Place.IN_FLIGHT}),
    (Place.IN_FLIGHT, Trigger.DONE): frozenset({Place.OUTSIDE}),
    (Place.IN_FLIGHT, Trigger.ATTEMPT_FAILED): RETRIED | {Place.UNSCHEDULABLE},
    (Place.BACKOFF, Trigger.BACKOFF_COMPLETE): ENTERING,
    (Place.BACKOFF, Trigger.ACTIVATED): ENTERING,
    (Place.UNSCHEDULABLE, Trigger.CLUSTER_EVENT): RETRIED,
    (Place.UNSCHEDULABLE, Trigger.POD_UPDATED): RETRIED,
    (Place.UNSCHEDULABLE, Trigger.TIMEOUT): RETRIED,
    (Place.UNSCHEDULABLE, Trigger.ACTIVATED): ENTERING,
    (Place.GATED, Trigger.CLUSTER_EVENT): RETRIED,
    (Place.GATED, Trigger.POD_UPDATED): RETRIED,
    (Place.GATED, Trigger.TIMEOUT): RETRIED,
    (Place.GATED, Trigger.ACTIVATED): ENTERING,
    **{(place, Trigger.POD_DELETED): frozenset({Place.OUTSIDE}) for place in WAITING},
}
"""From where, because of what: to which places. A pod that stays where it is makes no move."""
