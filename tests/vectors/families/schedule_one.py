"""One scheduling cycle: the nodes that fit, their scores, or the message and what preemption would do."""

from typing import Any

from kubedev.scheduler.cycle import Decision
from tests.vectors.families import preemption


def differences(case: dict[str, Any]) -> list[str]:
    decision = preemption.decide(case["in"])
    wanted, ours = (
        case["out"],
        answer(decision, [one["metadata"]["name"] for one in case["in"].get("nodes", ())]),
    )
    found = []
    if "nominated_any_of" in wanted:
        tied = list(preemption.preemption_of(decision).tied)
        if tied != sorted(wanted["nominated_any_of"]):
            found.append(f"nominated: expected any of {wanted['nominated_any_of']}, got {tied}")
    for key in wanted.keys() - {"nominated_any_of"}:
        if wanted[key] != ours.get(key):
            found.append(f"{key}: expected {wanted[key]!r}, got {ours.get(key)!r}")
    return found


def answer(decision: Decision, node_names: list[str]) -> dict[str, Any]:
    found = decision.found
    if found is None:
        return {"error": decision.message}
    out: dict[str, Any] = {"feasible": sorted(info.name for info in found.feasible)}
    if not found.feasible:
        statuses = {name: found.statuses.get(name) for name in node_names}
        return (
            out
            | preemption.answer(decision)
            | {
                "unschedulable_plugins": list(decision.unschedulable_plugins),
                "node_status": {
                    name: {"code": status.code.value, "reasons": list(status.reasons)}
                    | ({"plugin": status.plugin} if status.plugin else {})
                    for name, status in statuses.items()
                },
            }
        )
    if decision.message:
        return out | {"score_error": decision.message}
    scores = decision.scores
    if scores is None:
        return out | {"best": [decision.node_name]}
    return out | {
        "best": list(scores.best()),
        "scores": dict(scores.totals),
        "plugin_scores": {
            name: {one.plugin: one.weighted(name) for one in scores.plugins} for name in scores.totals
        },
    }
