"""The vectors of the allocator of claims. Of CEL's own errors the part after its prefix is another library's."""

import re
from typing import Any

from kubedev.api.claims import AllocationResult, DeviceClass, ResourceClaim
from kubedev.api.objects import Node
from kubedev.api.resource_slices import DeviceID, ResourceSlice
from kubedev.api.selectors import NodeSelectorRequirement
from kubedev.scheduler.claims.allocator import Allocator
from kubedev.scheduler.claims.steps import AllocationError

OF_CEL = re.compile(r"(CEL (?:compile|runtime) error:).*", re.DOTALL)


def allocator_of(case_in: dict[str, Any]) -> Allocator:
    classes = map(DeviceClass.parse, case_in["classes"])
    return Allocator(
        tuple(map(ResourceClaim.parse, case_in["claims"])),
        frozenset(DeviceID(*text.split(" ")) for text in case_in["allocated"]),
        {one.name: one for one in classes},
        tuple(map(ResourceSlice.parse, case_in["slices"])),
    )


def requirements(found: tuple[NodeSelectorRequirement, ...]) -> list[dict[str, Any]]:
    return [
        {"key": one.key, "operator": one.operator, **({"values": list(one.values)} if one.values else {})}
        for one in found
    ]


def shown(result: AllocationResult) -> dict[str, Any]:
    """A result in the form of the vectors."""
    terms = None
    if result.node_selector is not None:
        sides = [
            {
                "matchExpressions": requirements(term.match_expressions),
                "matchFields": requirements(term.match_fields),
            }
            for term in result.node_selector
        ]
        terms = {"nodeSelectorTerms": [{key: one[key] for key in one if one[key]} for one in sides]}
    return {
        "devices": [
            {"request": one.request, "driver": one.driver, "pool": one.pool, "device": one.device}
            for one in result.devices
        ],
        "config": [
            {
                "source": one.source,
                "requests": list(one.requests) or None,
                "driver": one.driver,
                "parameters": one.parameters,
            }
            for one in result.config
        ],
        "node_selector": terms,
    }


def answer(case_in: dict[str, Any]) -> dict[str, Any]:
    try:
        found = allocator_of(case_in).allocate(Node.parse(case_in["node"]))
    except AllocationError as error:
        return {"error": str(error)}
    results = None if found.results is None else list(map(shown, found.results))
    return {"error": None, "results": results}


def up_to_cel(error: str | None) -> str | None:
    return OF_CEL.sub(r"\1", error) if error else error


def differences(case: dict[str, Any]) -> list[str]:
    expected, got = case["out"], answer(case["in"])
    errors = expected.get("error_any_of", [expected.get("error")])
    if up_to_cel(got["error"]) not in map(up_to_cel, errors):
        return [f"error: expected one of {errors}, got {got['error']}"]
    if got["error"] is not None:
        return []
    answers = expected.get("any_of", [expected.get("results")])
    return [] if got["results"] in answers else [f"results: expected one of {answers}, got {got['results']}"]
