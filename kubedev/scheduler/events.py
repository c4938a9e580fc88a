"""What the scheduler hears (events), and what it wants done (effects).

The scheduler itself is in `scheduler`: it takes events and gives effects, and whoever drives it carries them
out.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from kubedev.api.claims import AllocationResult, ResourceClaim
from kubedev.api.objects import Pod
from kubedev.api.storage import PersistentVolume, PersistentVolumeClaim

__all__ = [
    "Bind",
    "BindClaims",
    "BindVolumes",
    "Change",
    "ClearNomination",
    "DeallocateClaim",
    "DeleteVictim",
    "Effect",
    "Message",
    "PatchPodStatus",
    "Reservation",
    "UnreserveClaims",
    "WatchEvent",
]


class Change(Protocol):
    """What the scheduler hears: an object was ADDED, MODIFIED or DELETED; `old` is what it was before.

    Any object with these three will do: that of the API server's store, or a WatchEvent.
    """

    @property
    def type(self) -> str: ...

    @property
    def object(self) -> Any: ...

    @property
    def old(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """A change, for who has no store. `object` of a deletion is the last known state."""

    type: str
    object: Any
    old: Any = None


@dataclass(frozen=True, slots=True)
class Bind:
    """Bind the pod to the node in the API server, and tell the scheduler how it went (`bind_finished`)."""

    pod: Pod
    node_name: str


@dataclass(frozen=True, slots=True)
class BindVolumes:
    """Write these volumes (each kept for a claim) and claims (each with the node that was chosen for it).

    What comes of that, the scheduler sees as changes of these objects; the pod waits until all of it is bound.
    """

    pod: Pod
    volumes: tuple[PersistentVolume, ...] = ()
    claims: tuple[PersistentVolumeClaim, ...] = ()


@dataclass(frozen=True, slots=True)
class Reservation:
    """A claim as the scheduler saw it, to be reserved for a pod; with an allocation that is still to be written."""

    claim: ResourceClaim
    allocation: AllocationResult | None = None


@dataclass(frozen=True, slots=True)
class BindClaims:
    """Write these allocations, reserve the claims for the pod, and tell the scheduler (`claims_finished`)."""

    pod: Pod
    reservations: tuple[Reservation, ...]


@dataclass(frozen=True, slots=True)
class UnreserveClaims:
    """Take the pod out of those whom these claims (`namespace/name`) are reserved for: it is not bound after all."""

    pod: Pod
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeallocateClaim:
    """Take a claim's allocation and reservations away, so that it can be allocated elsewhere."""

    claim: ResourceClaim


@dataclass(frozen=True, slots=True)
class PatchPodStatus:
    """Write the pod's condition PodScheduled (status False) with its reason and message.

    `nominated_node_name` is written too: None leaves it, an empty text clears it.
    """

    pod: Pod
    reason: str
    message: str
    nominated_node_name: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteVictim:
    """Give the victim the condition DisruptionTarget (reason PreemptionByScheduler, this message), then delete it."""

    pod: Pod
    preemptor: Pod
    message: str


@dataclass(frozen=True, slots=True)
class ClearNomination:
    """Take the nominated node out of the pod's status: a pod of higher priority took the room."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class Message:
    """A line for the pod's events (or the scheduler's log, where `pod` is None)."""

    type: str
    reason: str
    text: str
    pod: Pod | None = None


Effect = (
    Bind
    | BindVolumes
    | BindClaims
    | UnreserveClaims
    | DeallocateClaim
    | PatchPodStatus
    | DeleteVictim
    | ClearNomination
    | Message
)
