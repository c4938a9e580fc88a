"""What the allocator did, as data: each look at a device, what came of it, and what said no."""

from dataclasses import dataclass
from enum import Enum

from kubedev.api.claims import AllocationResult
from kubedev.api.resource_slices import DeviceAttribute, DeviceID

__all__ = ["Allocation", "AllocationError", "ConstraintSaysNo", "Look", "SelectorSaysNo", "Step"]


class Look(Enum):
    """What came of a look at a device for a request."""

    TAKEN = "taken"
    GIVEN_BACK = "given back"
    IN_USE = "in use"
    NOT_SELECTED = "not selected"
    CONSTRAINED = "constrained"
    TOO_FEW = "one of too few"
    """It would do, but not so many are left as are needed."""


PASSING = (Look.TAKEN, Look.GIVEN_BACK)
"""Looks that nothing was against."""


@dataclass(frozen=True, slots=True)
class SelectorSaysNo:
    """A selector that is not true of a device: of the class of this name, or (empty) of the request itself.

    `number` counts the selectors from 0. Without an expression the device is of a kind that nobody knows.
    """

    device_class: str
    number: int
    expression: str


@dataclass(frozen=True, slots=True)
class ConstraintSaysNo:
    """A constraint of a claim: the attribute, its value so far, and the device's (None: it has none)."""

    number: int
    attribute: str
    so_far: DeviceAttribute | None
    found: DeviceAttribute | None


@dataclass(frozen=True, slots=True)
class Step:
    """A look at a device for a request of a claim (`namespace/name`)."""

    claim: str
    request: str
    device: DeviceID
    look: Look
    why: SelectorSaysNo | ConstraintSaysNo | None = None


@dataclass(frozen=True, slots=True)
class Allocation:
    """What came of an allocation for one node: a result for each claim, or None where they do not fit there.

    `left_out` counts the steps that are not listed, since there were too many.
    """

    node: str
    results: tuple[AllocationResult, ...] | None
    steps: tuple[Step, ...] = ()
    left_out: int = 0

    def looks(self) -> tuple[Step, ...]:
        """One step for each request and device, in the order in which they were first looked at.

        It is the last one; where there is no result, the first that says why not.
        """
        found: dict[tuple[str, str, DeviceID], Step] = {}
        for step in self.steps:
            key = step.claim, step.request, step.device
            settled = self.results is None and key in found and found[key].look not in PASSING
            if not settled:
                found[key] = step
        return tuple(found.values())


class AllocationError(ValueError):
    """Something is wrong with a claim, a class or a pool: the pod is not tried on other nodes."""
