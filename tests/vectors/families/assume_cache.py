"""The scheduler's cache: what it holds after each operation."""

from typing import Any

from kubedev.api.objects import Node, Pod
from kubedev.scheduler.cache.cache import Cache, CacheError
from kubedev.scheduler.node_info import NodeInfo


def answer(case_in: dict[str, Any]) -> dict[str, Any]:
    cache, steps = Cache(ttl=case_in["ttl_ms"]), []
    for op in case_in["ops"]:
        step: dict[str, Any] = {}
        try:
            cache = apply(cache, op)
        except CacheError as error:
            step["error"] = str(error)
        step["nodes"] = {name: described(info) for name, info in cache.nodes.items()}
        steps.append(step | {"assumed": sorted(cache.assumed)})
    return {"steps": steps}


def apply(cache: Cache, op: dict[str, Any]) -> Cache:
    kind = op["op"]
    if kind == "cleanup":
        return cache.cleanup(op["at_ms"])
    if kind == "update_node":
        return cache.update_node(Node.parse(op["old"]), Node.parse(op["new"]))
    if kind == "update_pod":
        return cache.update_pod(Pod.parse(op["old"]), Pod.parse(op["new"]))
    if kind in ("add_node", "remove_node"):
        return getattr(cache, kind)(Node.parse(op["node"]))  # type: ignore[no-any-return]
    pod = Pod.parse(op["pod"])
    if kind == "finish_binding":
        return cache.finish_binding(pod, op["at_ms"])
    return getattr(cache, kind)(pod)  # type: ignore[no-any-return]


def described(info: NodeInfo) -> dict[str, Any]:
    requested, scalars = info.requested, info.requested.scalar_resources
    return {
        "has_node": bool(info.name),
        "pods": sorted(pod.pod.name for pod in info.pods),
        "requested": {
            "MilliCPU": requested.milli_cpu,
            "Memory": requested.memory,
            "EphemeralStorage": requested.ephemeral_storage,
            "ScalarResources": {name: count for name, count in scalars.items() if count},
        },
        "nonzero": {"MilliCPU": info.non_zero_requested.milli_cpu, "Memory": info.non_zero_requested.memory},
        "ports": sorted(f"{address} {protocol} {port}" for address, protocol, port in info.used_ports),
        "allocatable_cpu": info.allocatable.milli_cpu,
    }
