"""What the families of filter and score plugins share: a cluster from a case, and one plugin run over it."""

from typing import Any

from kubedev.api.objects import Node, Pod
from kubedev.api.pod_groups import Namespace, Service
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.status import SUCCESS, Code, Status


def context_of(case_in: dict[str, Any]) -> Context:
    """The nodes of a case with the pods on them, its namespaces and services."""
    pods = [Pod.parse(manifest) for manifest in case_in.get("pods", ())]
    nodes = [Node.parse(manifest) for manifest in case_in["nodes"]]
    namespaces = [Namespace.parse(manifest) for manifest in case_in.get("namespaces", ())]
    return Context(
        tuple(NodeInfo.of(node, [pod for pod in pods if pod.node_name == node.name]) for node in nodes),
        {namespace.name: namespace.labels for namespace in namespaces},
        tuple(Service.parse(manifest) for manifest in case_in.get("services", ())),
    )


def run_filter(plugin: Any, case_in: dict[str, Any]) -> dict[str, Any]:
    """PreFilter, then Filter on every node."""
    pod, context = Pod.parse(case_in["pod"]), context_of(case_in)
    state, status, names = None, SUCCESS, None
    if hasattr(plugin, "pre_filter"):
        state, status, names = plugin.pre_filter(pod, context.node_infos, context)
    out: dict[str, Any] = {"prefilter": outcome(status)}
    if names is not None:
        out["prefilter"]["nodes"] = sorted(names)
    if status.code is Code.SKIP:
        out["filter"] = {node_info.name: outcome(SUCCESS) for node_info in context.node_infos}
    elif status.code is Code.SUCCESS:
        out["filter"] = {n.name: outcome(plugin.filter(state, pod, n)) for n in context.node_infos}
    return out


def run_score(plugin: Any, case_in: dict[str, Any]) -> dict[str, Any]:
    """PreScore, then Score of every node, then NormalizeScore."""
    pod, context = Pod.parse(case_in["pod"]), context_of(case_in)
    state, status = plugin.pre_score(pod, context.node_infos, context)
    if status.code is not Code.SUCCESS:
        return {"prescore": status.code.value, "reasons": list(status.reasons)}
    raw = {n.name: plugin.score(state, pod, n).value for n in context.node_infos}
    normalized = plugin.normalize(state, raw) if hasattr(plugin, "normalize") else raw
    return {"prescore": "Success", "raw": raw, "normalized": normalized}


def outcome(status: Status) -> dict[str, Any]:
    """A status as the vectors write it."""
    out: dict[str, Any] = {"code": status.code.value}
    return out | {"reasons": list(status.reasons)} if status.reasons else out
