"""What is refused in the arguments of the plugins, in Kubernetes' words.

Go: `pkg/scheduler/apis/config/validation/validation_pluginargs.go`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kubedev.api.fields import Fields
from kubedev.api.names import qualified_name_problems
from kubedev.api.problems import Problem, duplicate, forbidden, invalid, invalids, required, unsupported
from kubedev.api.selectors import PREFERRED, REQUIRED
from kubedev.api.selectors import NodeAffinity as NodeAffinityRules
from kubedev.scheduler.selectors.labels import SelectorError
from kubedev.scheduler.selectors.node_selector import parse_preferred_terms, parse_required_terms

__all__ = ["validate_args"]

Values = Mapping[str, Any]

STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
MAX_SCORE = 10


def validate_args(plugin: str, args: Any, path: str) -> list[str]:
    """What is wrong with a plugin's arguments, each fault once; `path` is where they stand, empty for nowhere."""
    if plugin not in CHECKS:
        return []
    at = f"{path}." if path else ""
    return list(dict.fromkeys(str(problem) for problem in CHECKS[plugin](args, at)))


def default_preemption(args: Values, at: str) -> Iterator[Problem]:
    """Go: `ValidateDefaultPreemptionArgs`."""
    percentage, absolute = args["minCandidateNodesPercentage"], args["minCandidateNodesAbsolute"]
    percentage_at, absolute_at = f"{at}minCandidateNodesPercentage", f"{at}minCandidateNodesAbsolute"
    if not 0 <= percentage <= 100:
        yield invalid(percentage_at, percentage, "not in valid range [0, 100]")
    if absolute < 0:
        yield invalid(absolute_at, absolute, "not in valid range [0, inf)")
    if percentage == absolute == 0:
        both = "cannot be zero at the same time as"
        yield invalid(percentage_at, percentage, f"{both} minCandidateNodesAbsolute")
        yield invalid(absolute_at, absolute, f"{both} minCandidateNodesPercentage")


def inter_pod_affinity(args: Values, at: str) -> Iterator[Problem]:
    """Go: `ValidateInterPodAffinityArgs`."""
    weight = args["hardPodAffinityWeight"]
    if not 0 <= weight <= 100:
        yield invalid(f"{at}hardPodAffinityWeight", weight, "not in valid range [0, 100]")


def pod_topology_spread(args: Values, at: str) -> Iterator[Problem]:
    """Go: `ValidatePodTopologySpreadArgs`."""
    kind, constraints = args["defaultingType"], args.get("defaultConstraints", ())
    if kind not in ("System", "List"):
        yield unsupported(f"{at}defaultingType", kind, ("System", "List"))
    elif kind == "System" and constraints:
        yield invalid(f"{at}defaultingType", kind, "when .defaultConstraints are not empty")
    pairs: list[tuple[str, str]] = []
    for i, constraint in enumerate(constraints):
        where = f"{at}defaultConstraints[{i}]"
        key, action = constraint["topologyKey"], constraint["whenUnsatisfiable"]
        if constraint["maxSkew"] <= 0:
            yield invalid(f"{where}.maxSkew", constraint["maxSkew"], "not in valid range (0, inf)")
        if not key:
            yield required(f"{where}.topologyKey", "can not be empty")
        else:
            yield from invalids(f"{where}.topologyKey", key, qualified_name_problems(key))
        if not action:
            yield required(f"{where}.whenUnsatisfiable", "can not be empty")
        elif action not in ("DoNotSchedule", "ScheduleAnyway"):
            yield unsupported(f"{where}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
        if "labelSelector" in constraint:
            detail = "constraint must not define a selector, as they deduced for each pod"
            yield forbidden(f"{where}.labelSelector", detail)
        if (key, action) in pairs:
            yield duplicate(where, f"{{{key}, {action}}}")
        pairs.append((key, action))


def node_resources_balanced_allocation(args: Values, at: str) -> Iterator[Problem]:
    """Go: `ValidateNodeResourcesBalancedAllocationArgs`."""
    seen = set()
    for i, resource in enumerate(args["resources"]):
        if resource["name"] in seen:
            yield duplicate(f"{at}resources[{i}].name", resource["name"])
        seen.add(resource["name"])
        if resource["weight"] != 1:
            yield invalid(f"{at}resources[{i}].weight", resource["weight"], "must be 1")


def node_affinity(args: Values, at: str) -> Iterator[str]:
    """Go: `ValidateNodeAffinityArgs`."""
    added = args.get("addedAffinity")
    if added is None:
        return
    rules = NodeAffinityRules.read(Fields.of(added))
    for term in parse_required_terms(rules.required or ()):
        yield from (f"{at}addedAffinity.{REQUIRED}.{error}" for error in term.errors)
    try:
        parse_preferred_terms(rules.preferred or ())
    except SelectorError as error:
        yield from (f"{at}addedAffinity.{PREFERRED}{text}" for text in error.errors)


def volume_binding(args: Values, at: str) -> Iterator[Problem | str]:
    """Go: `ValidateVolumeBindingArgs`."""
    seconds = args["bindTimeoutSeconds"]
    if seconds < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        yield invalid(f"{at}bindTimeoutSeconds", seconds, detail)
    if "shape" in args:
        points = ", ".join(
            f"config.UtilizationShapePoint{{Utilization:{point['utilization']}, Score:{point['score']}}}"
            for point in args["shape"]
        )
        detail = "unexpected field `shape`, remove it or turn on the feature gate VolumeCapacityPriority"
        yield f"{at}shape: Invalid value: []config.UtilizationShapePoint{{{points}}}: {detail}"


def node_resources_fit(args: Values, at: str) -> Iterator[Problem]:
    """Go: `ValidateNodeResourcesFitArgs`."""
    for i, name in enumerate(args.get("ignoredResources", ())):
        yield from invalids(f"{at}ignoredResources[{i}]", name, qualified_name_problems(name))
    for i, group in enumerate(args.get("ignoredResourceGroups", ())):
        if "/" in group:
            yield invalid(f"{at}ignoredResourceGroups[{i}]", group, "resource group name can't contain '/'")
        yield from invalids(f"{at}ignoredResourceGroups[{i}]", group, qualified_name_problems(group))
    strategy, where = args["scoringStrategy"], f"{at}scoringStrategy"
    if strategy.get("type", "") not in STRATEGIES:
        yield unsupported(f"{where}.type", strategy.get("type", ""), STRATEGIES)
    for i, resource in enumerate(strategy["resources"]):
        if not 0 < resource["weight"] <= 100:
            detail = f"resource weight of {resource['name']} not in valid range (0, 100]"
            yield invalid(f"{where}.resources[{i}].weight", resource["weight"], detail)
    if "requestedToCapacityRatio" in strategy:
        yield from shape_problems(strategy["requestedToCapacityRatio"].get("shape", ()), f"{where}.shape")


def shape_problems(shape: Sequence[Values], path: str) -> Iterator[Problem]:
    """Go: `validateFunctionShape`."""
    if not shape:
        yield required(path, "at least one point must be specified")
    for i in range(1, len(shape)):
        utilization = shape[i]["utilization"]
        if shape[i - 1]["utilization"] >= utilization:
            detail = "utilization values must be sorted in increasing order"
            yield invalid(f"{path}[{i}].utilization", utilization, detail)
            break
    for i, point in enumerate(shape):
        for name, most in (("utilization", 100), ("score", MAX_SCORE)):
            if not 0 <= point[name] <= most:
                yield invalid(f"{path}[{i}].{name}", point[name], f"not in valid range [0, {most}]")


CHECKS: Mapping[str, Callable[[Values, str], Iterator[Problem | str]]] = {
    "DefaultPreemption": default_preemption,
    "InterPodAffinity": inter_pod_affinity,
    "NodeAffinity": node_affinity,
    "NodeResourcesBalancedAllocation": node_resources_balanced_allocation,
    "NodeResourcesFit": node_resources_fit,
    "PodTopologySpread": pod_topology_spread,
    "VolumeBinding": volume_binding,
}
