"""What the families of eviction share: thresholds and observations as the vectors write them."""

from dataclasses import replace
from typing import Any

from kubedev.api.gonumbers import divide_float32, parse_float32
from kubedev.api.quantity import Format, Quantity
from kubedev.kubelet.pressure.settings import SettingsError, parse_threshold_config
from kubedev.kubelet.pressure.thresholds import Observation, Threshold, ThresholdValue


def value(text: str) -> ThresholdValue:
    if text.endswith("%"):
        return ThresholdValue(percentage=divide_float32(parse_float32(text.rstrip("%")), 100))
    return ThresholdValue(Quantity.parse(text))


def threshold(given: dict[str, Any]) -> Threshold:
    return Threshold(
        given["signal"],
        given.get("operator", "LessThan"),
        value(given.get("value", "1")),
        given.get("grace_seconds", 0),
        value(given["min_reclaim"]) if given.get("min_reclaim") else None,
    )


def thresholds(given: list[dict[str, Any]]) -> list[Threshold]:
    return [replace(threshold(each), origin=number) for number, each in enumerate(given)]


def observations(given: dict[str, dict[str, Any]]) -> dict[str, Observation]:
    return {
        signal: Observation(amount(o.get("capacity", 0)), amount(o.get("available", 0)), o.get("time"))
        for signal, o in given.items()
    }


def amount(number: int) -> Quantity:
    return Quantity(number, format=Format.BINARY_SI)


def shown(threshold: Threshold) -> dict[str, Any]:
    return {
        "signal": threshold.signal,
        "operator": threshold.operator,
        "value": shown_value(threshold.value),
        "grace_seconds": threshold.grace_period,
        "min_reclaim": shown_value(threshold.min_reclaim) if threshold.min_reclaim else None,
    }


def shown_value(value: ThresholdValue) -> dict[str, Any]:
    share = value.percentage
    quantity = None if value.quantity is None else value.quantity.canonical()
    return {"quantity": quantity, "percentage": "NaN" if share != share else share}


def parsed(case: dict[str, Any]) -> dict[str, Any]:
    settings = [case[key] for key in ("allocatable_config", "hard", "soft", "soft_grace", "min_reclaim")]
    try:
        return {"error": None, "thresholds": [shown(t) for t in parse_threshold_config(*settings)]}
    except SettingsError as error:
        return {"error": str(error), "thresholds": None}


def parse_differences(case: dict[str, Any]) -> list[str]:
    """Where the order of thresholds is Go's random one, they are compared as a set; one error of several is enough."""
    from tests.vectors.runner import unequal

    got, wanted = parsed(case["in"]), case["out"]
    if "error_any_of" in wanted:
        seen = wanted["error_any_of"]
        return [] if got["error"] in seen else [f"error: expected one of {seen}, got {got['error']!r}"]
    for out in (got, wanted):
        out["thresholds"] = sorted(out.get("thresholds") or [], key=repr_sorted)
    return list(unequal(wanted, got, "out"))


def repr_sorted(shown: dict[str, Any]) -> str:
    return str(sorted(shown.items()))
