"""The vectors of KubeSchedulerConfiguration: decoded, defaulted, validated, built."""

from typing import Any

from kubedev.scheduler.configuration.decoding import decode
from kubedev.scheduler.configuration.defaults import POINTS, with_defaults
from kubedev.scheduler.configuration.errors import ConfigurationError
from kubedev.scheduler.configuration.profiles import METHOD_OF, make_profiles
from kubedev.scheduler.configuration.registry import IN_TREE
from kubedev.scheduler.configuration.schema import KIND, written
from kubedev.scheduler.configuration.validation import validate
from kubedev.scheduler.framework import Framework
from tests.vectors.runner import unequal

LIBRARIES = ("yaml: ", "json: ")
NOT_COMPARED = ("apiVersion", "kind", "clientConnection", "leaderElection")


def answer(case_in: dict[str, Any]) -> dict[str, Any]:
    try:
        decoded = decode(case_in["yaml"])
    except ConfigurationError as error:
        return {"stage": "decode", "error": str(error)}
    values = with_defaults(decoded)
    shown = written(values, KIND)
    out: dict[str, Any] = {"config": {k: v for k, v in shown.items() if k not in NOT_COMPARED}}
    if problems := validate(values):
        return out | {"stage": "validate", "errors": list(problems)}
    try:
        profiles = make_profiles(values, IN_TREE)
    except ConfigurationError as error:
        return out | {"stage": "build", "error": str(error)}
    own = [profile.get("percentageOfNodesToScore") for profile in values["profiles"]]
    return out | {
        "stage": "ok",
        "profiles": [listed(*pair) for pair in zip(profiles, own, strict=True)],
    }


def listed(profile: Framework, percentage: int | None) -> dict[str, Any]:
    plugins: dict[str, Any] = {point: list(profile.order[METHOD_OF[point]]) for point in POINTS}
    plugins["score"] = [[name, profile.weights[name]] for name in plugins["score"]]
    return {
        "scheduler_name": profile.scheduler_name,
        "percentage_of_nodes_to_score": percentage,
        "plugins": plugins,
    }


def differences(case: dict[str, Any]) -> list[str]:
    expected, got = dict(case["out"]), answer(case["in"])
    if "panic" in expected:
        return [] if got["stage"] == "build" else [f"expected an error where Go panics, got {got['stage']}"]
    if expected.pop("errors_order", "") == "undetermined":
        expected["errors"], got["errors"] = sorted(expected["errors"]), sorted(got.get("errors", ()))
    for library in LIBRARIES:
        # What the library itself says differs between its versions; what stands before it is ours.
        before, found, _ = expected.get("error", "").partition(library)
        if found and got.get("error", "").startswith(before + library):
            expected["error"] = got["error"]
    return list(unequal(expected, got, "out"))
