"""Thresholds of eviction: what was observed, which thresholds are met, for how long, and what that says.

Go source: `pkg/kubelet/eviction/helpers.go`, `pkg/kubelet/eviction/api/types.go`. Times are seconds on one clock.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kubedev.api.gonumbers import float_to_int64
from kubedev.api.names import EPHEMERAL_STORAGE, MEMORY
from kubedev.api.quantity import Format, Quantity

__all__ = [
    "CONDITIONS",
    "INODES",
    "PIDS",
    "SIGNALS",
    "FirstObserved",
    "Observation",
    "Observations",
    "Signal",
    "Threshold",
    "ThresholdValue",
    "add_conditions",
    "by_eviction_priority",
    "conditions_since",
    "first_observed_at",
    "merge_thresholds",
    "node_conditions",
    "reclaimable",
    "thresholds_met",
    "thresholds_met_grace_period",
    "thresholds_updated_stats",
    "with_container_fs",
]

INODES, PIDS = "inodes", "pids"
MEMORY_PRESSURE, DISK_PRESSURE, PID_PRESSURE = "MemoryPressure", "DiskPressure", "PIDPressure"
CONDITIONS = (MEMORY_PRESSURE, DISK_PRESSURE, PID_PRESSURE)
LESS_THAN = "LessThan"


@dataclass(frozen=True, slots=True)
class Signal:
    """What is watched: the resource that is short where its threshold is met, and the condition of the node."""

    name: str
    resource: str
    condition: str


SIGNALS: Mapping[str, Signal] = {
    name: Signal(name, resource, condition)
    for name, resource, condition in (
        ("memory.available", MEMORY, MEMORY_PRESSURE),
        ("allocatableMemory.available", MEMORY, MEMORY_PRESSURE),
        ("nodefs.available", EPHEMERAL_STORAGE, DISK_PRESSURE),
        ("nodefs.inodesFree", INODES, DISK_PRESSURE),
        ("imagefs.available", EPHEMERAL_STORAGE, DISK_PRESSURE),
        ("imagefs.inodesFree", INODES, DISK_PRESSURE),
        ("containerfs.available", EPHEMERAL_STORAGE, DISK_PRESSURE),
        ("containerfs.inodesFree", INODES, DISK_PRESSURE),
        ("pid.available", PIDS, PID_PRESSURE),
    )
}


@dataclass(frozen=True, slots=True)
class ThresholdValue:
    """An amount, or a share of the capacity (a float32) where there is no amount."""

    quantity: Quantity | None = None
    percentage: float = 0.0

    def of(self, capacity: Quantity) -> Quantity:
        """The amount for a capacity; a share is computed in floating point and cut off (`GetThresholdQuantity`)."""
        if self.quantity is not None:
            return self.quantity
        share = float_to_int64(float(capacity.value()) * self.percentage)
        return Quantity(share, format=Format.BINARY_SI)


@dataclass(frozen=True, slots=True)
class Threshold:
    """When eviction begins: the signal is less than the value for the grace period (seconds, 0 is a hard one).

    `origin` tells apart thresholds of equal content that were set separately; copies for another signal keep it.
    """

    signal: str = ""
    operator: str = ""
    value: ThresholdValue = ThresholdValue()
    grace_period: float = 0.0
    min_reclaim: ThresholdValue | None = None
    origin: int = 0

    @property
    def hard(self) -> bool:
        """Whether eviction follows at once. A soft setting with a grace period of 0 is one too."""
        return self.grace_period == 0

    @property
    def key(self) -> tuple[object, ...]:
        """What makes it the same threshold in Go's map: amounts are told apart by where they were set."""
        amounts = self.value.quantity is not None or self.min_reclaim is not None
        share = self.value.percentage
        never_equal = object() if share != share else share
        return self.signal, self.operator, self.grace_period, never_equal, self.origin if amounts else None


@dataclass(frozen=True, slots=True)
class Observation:
    """A signal as it was observed at `time`; None where the figures carry no time."""

    capacity: Quantity
    available: Quantity
    time: float | None = None


Observations = Mapping[str, Observation]
FirstObserved = tuple[tuple[Threshold, float], ...]


def elapsed(now: float, at: float) -> int:
    """The time from `at` to `now` in whole nanoseconds, so that 30 s are 30 s."""
    return round(now * 1e9) - round(at * 1e9)


def thresholds_met(
    thresholds: Iterable[Threshold], observations: Observations, enforce_min_reclaim: bool = False
) -> tuple[Threshold, ...]:
    """The thresholds whose signal is below them now, grace periods aside; without an observation none is.

    With `enforce_min_reclaim` the minimum reclaim is added to the threshold.
    """
    met = []
    for threshold in thresholds:
        observed = observations.get(threshold.signal)
        if observed is None or threshold.operator != LESS_THAN:
            continue
        quantity = threshold.value.of(observed.capacity)
        if enforce_min_reclaim and threshold.min_reclaim is not None:
            quantity += threshold.min_reclaim.of(observed.capacity)
        if quantity > observed.available:
            met.append(threshold)
    return tuple(met)


def merge_thresholds(left: Sequence[Threshold], right: Iterable[Threshold]) -> tuple[Threshold, ...]:
    """Both, without those of `right` that are there already; the minimum reclaim is not compared."""
    merged = list(left)
    for threshold in right:
        if not any(same_threshold(other, threshold) for other in merged):
            merged.append(threshold)
    return tuple(merged)


def same_threshold(left: Threshold, right: Threshold) -> bool:
    """Whether signal, operator, grace period and value are equal (`hasThreshold, compareThresholdValue`)."""
    mine, other = left.value, right.value
    values = (
        mine.quantity == other.quantity
        if mine.quantity is not None and other.quantity is not None
        else mine.quantity is other.quantity and mine.percentage == other.percentage
    )
    rest = (left.grace_period, left.operator, left.signal) == (
        right.grace_period,
        right.operator,
        right.signal,
    )
    return rest and values


def first_observed_at(thresholds: Iterable[Threshold], last: FirstObserved, now: float) -> FirstObserved:
    """Since when each of these thresholds has been met without a break."""
    known = {threshold.key: at for threshold, at in last}
    result = {t.key: (t, known.get(t.key, now)) for t in thresholds}
    return tuple(result.values())


def thresholds_met_grace_period(observed: FirstObserved, now: float) -> tuple[Threshold, ...]:
    """The thresholds that have been met for their grace period."""
    return tuple(t for t, at in observed if elapsed(now, at) >= round(t.grace_period * 1e9))


def thresholds_updated_stats(
    thresholds: Iterable[Threshold], observations: Observations, last: Observations
) -> tuple[Threshold, ...]:
    """The thresholds whose figures are newer than at the last look; figures without a time always are."""
    updated = []
    for threshold in thresholds:
        now, before = observations.get(threshold.signal), last.get(threshold.signal)
        if now is None:
            continue
        if before is None or now.time is None or before.time is None or now.time > before.time:
            updated.append(threshold)
    return tuple(updated)


def node_conditions(thresholds: Iterable[Threshold]) -> tuple[str, ...]:
    """The conditions that these thresholds stand for, in their order, each once."""
    found = (SIGNALS[t.signal].condition for t in thresholds if t.signal in SIGNALS)
    return tuple(dict.fromkeys(found))


def add_conditions(conditions: Iterable[str], last: Mapping[str, float], now: float) -> dict[str, float]:
    """When each condition was last observed (`nodeConditionsLastObservedAt`)."""
    return {**last, **dict.fromkeys(conditions, now)}


def conditions_since(observed: Mapping[str, float], period: float, now: float) -> tuple[str, ...]:
    """The conditions seen less than a transition period ago, sorted (`nodeConditionsObservedSince`)."""
    return tuple(sorted(name for name, at in observed.items() if elapsed(now, at) < round(period * 1e9)))


def by_eviction_priority(thresholds: Iterable[Threshold]) -> tuple[Threshold, ...]:
    """The order in which they are looked at: memory first, signals without a resource last.

    Go's comparison calls every memory threshold less than any other, so later ones come before earlier ones; its
    sort (insertion, for as few as there are) is followed step by step.
    """
    ordered: list[Threshold] = []
    for threshold in thresholds:
        ordered.append(threshold)
        at = len(ordered) - 1
        while at and _before(ordered[at], ordered[at - 1]):
            ordered[at], ordered[at - 1] = ordered[at - 1], ordered[at]
            at -= 1
    return tuple(ordered)


def _before(left: Threshold, right: Threshold) -> bool:
    return left.signal in ("memory.available", "allocatableMemory.available") or right.signal not in SIGNALS


def reclaimable(thresholds: Iterable[Threshold]) -> Threshold | None:
    """The first threshold of a signal with a resource (`getReclaimableThreshold`)."""
    return next((t for t in thresholds if t.signal in SIGNALS), None)


def with_container_fs(
    thresholds: Sequence[Threshold], image_fs: bool, split_fs: bool
) -> tuple[tuple[Threshold, ...], str | None]:
    """The thresholds with those of containerfs, which follow nodefs or imagefs, and a text where some were given.

    containerfs is nodefs on one file system and where only images have their own (`split_fs`), and imagefs where
    images and containers share one. Go: `UpdateContainerFsThresholds`.
    """
    result, error = list(thresholds), None
    for threshold in thresholds:
        if threshold.signal in ("containerfs.available", "containerfs.inodesFree"):
            error = f"found {threshold.signal} for {'hard' if threshold.hard else 'soft'} eviction. ignoring"
    if split_fs and not image_fs:
        return tuple(result), error
    source = "imagefs" if image_fs and not split_fs else "nodefs"
    for what in ("available", "inodesFree"):
        for hard in (True, False):
            found = [t for t in thresholds if t.signal == f"{source}.{what}" and t.hard == hard]
            made = replace(found[-1] if found else Threshold(), signal=f"containerfs.{what}")
            places = [
                i for i, t in enumerate(thresholds) if t.signal == f"containerfs.{what}" and t.hard == hard
            ]
            if places:
                result[places[-1]] = made
            else:
                result.append(made)
    return tuple(result), error
