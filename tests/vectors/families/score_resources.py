"""The vectors of the scores by resources."""

from typing import Any

from kubedev.api.objects import Node, Pod
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from kubedev.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kubedev.scheduler.plugins.resource_scores import ResourceSpec, Strategy, UtilizationPoint


def plugin_of(case_in: dict[str, Any]) -> NodeResourcesFit | NodeResourcesBalancedAllocation:
    """The plugin with its arguments."""
    resources = tuple(ResourceSpec(r["name"], r["weight"]) for r in case_in["resources"])
    shape = tuple(UtilizationPoint(p["utilization"], p["score"]) for p in case_in.get("shape", ()))
    if case_in["strategy"] == "BalancedAllocation":
        return NodeResourcesBalancedAllocation(resources)
    return NodeResourcesFit(Strategy(case_in["strategy"]), resources, shape)


def answer(case_in: dict[str, Any]) -> dict[str, Any]:
    plugin = plugin_of(case_in)
    node_info = NodeInfo.of(Node.parse(case_in["node"]), map(Pod.parse, case_in.get("pods", ())))
    pod, context = Pod.parse(case_in["pod"]), Context((node_info,))
    state, _ = plugin.pre_score(pod, (node_info,), context)
    return {"score": plugin.score(state, pod, node_info).value}
