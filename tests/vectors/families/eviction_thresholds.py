"""The settings of eviction, and the small decisions of the eviction manager one by one."""

from typing import Any

from kubedev.api.quantity import Quantity
from kubedev.kubelet.pressure import thresholds as t
from kubedev.kubelet.pressure.settings import DEFAULT_EVICTION_HARD, parse_threshold_config
from tests.vectors.families import _eviction as e
from tests.vectors.runner import unequal

Answer = dict[str, Any]


def differences(case: dict[str, Any]) -> list[str]:
    kind = case["in"]["kind"]
    if kind == "parse":
        return e.parse_differences(case)
    return list(unequal(case["out"], globals()[f"of_{kind}"](case["in"]), "out"))


def of_defaults(_: Answer) -> Answer:
    found = parse_threshold_config(["pods"], DEFAULT_EVICTION_HARD, {}, {}, {})
    shown = sorted(map(e.shown, found), key=e.repr_sorted)
    return {"error": None, "eviction_hard": dict(DEFAULT_EVICTION_HARD), "thresholds": shown}


def of_quantity(case: Answer) -> Answer:
    capacity = Quantity.of(case["capacity"])
    return {"quantities": [e.value(text).of(capacity).value() for text in case["values"]]}


def of_merge(case: Answer) -> Answer:
    named = {side: e.thresholds(case[side]) for side in "ab"}
    names = {id(each): f"{side}{i}" for side in "ab" for i, each in enumerate(named[side])}
    return {"merged": [names[id(each)] for each in t.merge_thresholds(named["a"], named["b"])]}


def of_met(case: Answer) -> Answer:
    given = e.thresholds(case["thresholds"])
    met = t.thresholds_met(given, e.observations(case["observations"]), case["enforce_min_reclaim"])
    return {"met": indexes(given, met)}


def of_updated_stats(case: Answer) -> Answer:
    given = e.thresholds(case["thresholds"])
    seen = e.observations(case["observations"]), e.observations(case["last_observations"])
    return {"updated": indexes(given, t.thresholds_updated_stats(given, *seen))}


def of_grace(case: Answer) -> Answer:
    given = e.thresholds(case["thresholds"])
    last = tuple((given[int(i)], at) for i, at in case["last_observed_at"].items())
    observed = t.first_observed_at(given, last, case["now"])
    first = {str(i): at for i, each in enumerate(given) for other, at in observed if other.key == each.key}
    met = {each.key for each in t.thresholds_met_grace_period(observed, case["now"])}
    return {
        "entries": len(observed),
        "first_observed": first,
        "met": [i for i, each in enumerate(given) if each.key in met],
    }


def of_conditions(case: Answer) -> Answer:
    observed = t.node_conditions([t.Threshold(signal) for signal in case["signals"]])
    last = t.add_conditions(observed, case["last_observed_at"], case["now"])
    reported = t.conditions_since(last, case["period_seconds"], case["now"])
    return {"observed": list(observed), "last_observed_at": last, "reported": list(reported)}


def of_sort(case: Answer) -> Answer:
    given = [t.Threshold(signal, origin=i) for i, signal in enumerate(case["signals"])]
    ordered = t.by_eviction_priority(given)
    found = t.reclaimable(ordered)
    reclaim = found and {
        "index": found.origin,
        "resource": t.SIGNALS[found.signal].resource,
        "signal": found.signal,
    }
    return {"order": [each.origin for each in ordered], "reclaim": reclaim}


def of_containerfs(case: Answer) -> Answer:
    found, error = t.with_container_fs(e.thresholds(case["thresholds"]), case["image_fs"], case["split_fs"])
    return {"thresholds": list(map(e.shown, found)), "error": error}


def indexes(given: list[t.Threshold], found: tuple[t.Threshold, ...]) -> list[int]:
    return [i for i, each in enumerate(given) if any(each is other for other in found)]
