"""The settings of eviction and of reservations, as they are written, with the kubelet's errors.

Go source: `pkg/kubelet/eviction/helpers.go: ParseThresholdConfig`, `pkg/kubelet/eviction/defaults_linux.go`,
`cmd/kubelet/app/server.go: parseResourceList`. Where several settings are wrong, Go tells of any of them; here it is
the first one by name.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from kubedev.api.gonumbers import NumberError, divide_float32, parse_duration, parse_float32
from kubedev.api.gotext import quote
from kubedev.api.names import CPU, EPHEMERAL_STORAGE, MEMORY
from kubedev.api.objects import ResourceList
from kubedev.api.quantity import Quantity, QuantityError
from kubedev.kubelet.pressure.thresholds import LESS_THAN, SIGNALS, Threshold, ThresholdValue

__all__ = [
    "DEFAULT_EVICTION_HARD",
    "PID",
    "SettingsError",
    "parse_reservation",
    "parse_threshold_config",
]

PID = "pid"
ENFORCE_PODS = "pods"  # the word of enforceNodeAllocatable that limits the cgroup of all pods

DEFAULT_EVICTION_HARD: Mapping[str, str] = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}
"""What a kubelet on Linux has where evictionHard is not set."""


class SettingsError(ValueError):
    """A kubelet with this setting does not start; the text is the kubelet's."""


def parse_threshold_config(
    allocatable_config: Collection[str],
    hard: Mapping[str, str],
    soft: Mapping[str, str],
    soft_grace: Mapping[str, str],
    min_reclaim: Mapping[str, str],
) -> tuple[Threshold, ...]:
    """The thresholds of the five settings, or SettingsError.

    If `allocatable_config` (enforceNodeAllocatable) has `pods`, each hard memory threshold also holds for the memory
    that all pods may use together.
    """
    thresholds = _statements(hard)
    soft_thresholds = _statements(soft)
    graces = _grace_periods(soft_grace)
    reclaims = _minimum_reclaims(min_reclaim)
    for threshold in soft_thresholds:
        if threshold.signal not in graces:
            text = f"grace period must be specified for the soft eviction threshold {threshold.signal}"
            raise SettingsError(text)
        thresholds.append(replace(threshold, grace_period=graces[threshold.signal]))
    thresholds = [
        replace(threshold, min_reclaim=reclaims.get(threshold.signal), origin=number)
        for number, threshold in enumerate(thresholds, 1)
    ]
    if ENFORCE_PODS in allocatable_config:
        thresholds += [
            replace(threshold, signal="allocatableMemory.available")
            for threshold in thresholds
            if threshold.signal == "memory.available" and threshold.hard
        ]
    return tuple(thresholds)


def _statements(statements: Mapping[str, str]) -> list[Threshold]:
    found = []
    for signal, text in sorted(statements.items()):
        _check_signal(signal)
        if text in ("0%", "100%"):  # both switch the threshold off
            continue
        found.append(Threshold(signal, LESS_THAN, _threshold_value(signal, text)))
    return found


def _threshold_value(signal: str, text: str) -> ThresholdValue:
    if text.endswith("%"):
        share = _percentage(text)
        if share < 0:
            raise SettingsError(f"eviction percentage threshold {signal} must be >= 0%: {text}")
        if share > 1:
            raise SettingsError(f"eviction percentage threshold {signal} must be <= 100%: {text}")
        return ThresholdValue(percentage=share)
    quantity = _quantity(text)
    if quantity.sign() <= 0:
        raise SettingsError(f"eviction threshold {signal} must be positive: {quantity}")
    return ThresholdValue(quantity)


def _grace_periods(statements: Mapping[str, str]) -> dict[str, float]:
    periods = {}
    for signal, text in sorted(statements.items()):
        _check_signal(signal)
        try:
            nanoseconds = parse_duration(text)
        except NumberError as error:
            raise SettingsError(str(error)) from None
        if nanoseconds < 0:
            raise SettingsError(f"invalid eviction grace period specified: {text}, must be a positive value")
        periods[signal] = nanoseconds / 1e9
    return periods


def _minimum_reclaims(statements: Mapping[str, str]) -> dict[str, ThresholdValue]:
    values = {}
    for signal, text in sorted(statements.items()):
        _check_signal(signal)
        if text.endswith("%"):
            share = _percentage(text)
            if share <= 0:
                raise SettingsError(f"eviction percentage minimum reclaim {signal} must be positive: {text}")
            values[signal] = ThresholdValue(percentage=share)
            continue
        quantity = _quantity(text)
        if quantity.sign() < 0:
            raise SettingsError(f"negative eviction minimum reclaim specified for {signal}")
        values[signal] = ThresholdValue(quantity)
    return values


def _check_signal(signal: str) -> None:
    if signal not in SIGNALS:
        raise SettingsError(f"unsupported eviction signal {signal}")


def _percentage(text: str) -> float:
    try:
        return divide_float32(parse_float32(text.rstrip("%")), 100)
    except NumberError as error:
        raise SettingsError(str(error)) from None


def _quantity(text: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except QuantityError as error:
        raise SettingsError(str(error)) from None


def parse_reservation(flag: str, amounts: Mapping[str, str]) -> ResourceList:
    """What is reserved (kubeReserved, systemReserved; `flag` is `kube-reserved` ...), or SettingsError."""
    reserved = {}
    for resource, text in sorted(amounts.items()):
        try:
            reserved[resource] = _reserved(resource, text)
        except SettingsError as error:
            raise SettingsError(f"--{flag} value failed to parse: {error}") from None
    return reserved


def _reserved(resource: str, text: str) -> Quantity:
    if resource not in (CPU, MEMORY, EPHEMERAL_STORAGE, PID):
        raise SettingsError(f"cannot reserve {quote(resource)} resource")
    try:
        quantity = Quantity.parse(text)
    except QuantityError as error:
        raise SettingsError(
            f"failed to parse quantity {quote(text)} for {quote(resource)} resource: {error}"
        ) from None
    if quantity.sign() < 0:
        raise SettingsError(f"resource quantity for {quote(resource)} cannot be negative: {text}")
    return quantity
