"""What claims got, once the search has found devices for all of them.

Go: `k8s.io/dynamic-resource-allocation/structured/allocator.go: Allocate, createNodeSelector`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kubedev.api.claims import AllocationResult, DeviceClass, DeviceConfiguration, DeviceResult, ResourceClaim
from kubedev.api.resource_slices import ResourceSlice
from kubedev.api.selectors import NodeSelectorRequirement, NodeSelectorTerm
from kubedev.scheduler.claims.steps import AllocationError

__all__ = ["result_of"]


def result_of(
    claim: ResourceClaim,
    classes: Iterable[tuple[str, DeviceClass]],
    taken: Sequence[tuple[DeviceResult, ResourceSlice]],
) -> AllocationResult:
    """The result of a claim: its devices with their slices, and the class of each of its requests.

    The configuration of a class comes once, with all its requests, and before the claim's.
    """
    config: dict[str, tuple[DeviceConfiguration, ...]] = {}
    for request, of in classes:
        known = config.get(of.name, tuple(replace(one, requests=()) for one in of.config))
        config[of.name] = tuple(
            replace(one, requests=(*one.requests, request), source="FromClass") for one in known
        )
    of_classes = [one for ones in config.values() for one in ones]
    of_claim = [replace(one, source="FromClaim") for one in claim.spec.config]
    devices = tuple(device for device, _ in taken)
    return AllocationResult(
        devices, (*of_classes, *of_claim), node_selector_of(claim, [one for _, one in taken])
    )


def node_selector_of(
    claim: ResourceClaim, slices: Sequence[ResourceSlice]
) -> tuple[NodeSelectorTerm, ...] | None:
    """The nodes that devices of these slices can be used on, None for all. Go: `createNodeSelector`."""
    expressions: list[NodeSelectorRequirement] = []
    fields: list[NodeSelectorRequirement] = []
    for one in slices:
        if one.node_name:
            here = NodeSelectorRequirement("metadata.name", "In", (one.node_name,))
            return (NodeSelectorTerm(match_fields=(here,)),)
        terms = one.node_selector or ()
        if len(terms) > 1:
            problem = f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
            raise AllocationError(f"create NodeSelector for claim {claim.name}: {problem}")
        for term in terms:
            add_new(fields, term.match_fields)
            add_new(expressions, term.match_expressions)
    if not expressions and not fields:
        return None
    return (NodeSelectorTerm(tuple(expressions), tuple(fields)),)


def add_new(known: list[NodeSelectorRequirement], more: Sequence[NodeSelectorRequirement]) -> None:
    """Add the requirements that are not there yet; the order of values does not matter."""
    for one in more:
        same = (one.key, one.operator, set(one.values))
        if not any((other.key, other.operator, set(other.values)) == same for other in known):
            known.append(one)
