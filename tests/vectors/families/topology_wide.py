"""Machines of more than eight NUMA nodes, and the options of topology and CPU manager."""

from typing import Any

from kubedev.kubelet.cpu.cpu_policy import validate_static_policy_options
from kubedev.kubelet.cpu.cpu_topology import CPUTopology
from kubedev.kubelet.topology.bitmask import mask_of, nodes_of
from kubedev.kubelet.topology.merge import Merge, NUMAInfo
from kubedev.kubelet.topology.policy_options import (
    PolicyOptionError,
    StaticPolicyOptions,
    TopologyPolicyOptions,
)
from kubedev.kubelet.topology.topology import ANYWHERE, TopologyManager, TopologyManagerError
from tests.vectors.runner import unequal

from . import topology_merge


def differences(case: dict[str, Any]) -> list[str]:
    """Compare one case; of several wrong options any one may be named."""
    answer, expected = _ANSWERS[case["in"]["kind"]](case["in"]), dict(case["out"])
    texts = expected.pop("error_any_of", None)
    if texts is not None and answer.get("error") not in texts:
        return [f"expected one of {texts}, got {answer}"]
    return list(unequal(expected, answer, "out"))


def _options(given: dict[str, Any]) -> dict[str, Any]:
    try:
        options = TopologyPolicyOptions.parse(given["options"], given.get("gates", {}))
    except PolicyOptionError as error:
        return {"error": str(error)}
    return {
        "error": None,
        "prefer_closest_numa_nodes": options.prefer_closest_numa_nodes,
        "max_allowable_numa_nodes": options.max_allowable_numa_nodes,
    }


def _numa(given: dict[str, Any], nodes: list[int]) -> NUMAInfo:
    distances = {int(node): row for node, row in (given.get("distances") or {}).items()}
    return NUMAInfo(tuple(nodes), distances)


def _new_manager(given: dict[str, Any]) -> dict[str, Any]:
    numa = _numa(given, given["numa_nodes"])
    try:
        manager = TopologyManager.new(given["policy"], given["scope"], numa, given["options"])
    except (TopologyManagerError, PolicyOptionError) as error:
        return {"error": str(error)}
    return {"error": None, "policy": manager.policy}


def _cpu_options(given: dict[str, Any]) -> dict[str, Any]:
    try:
        options = StaticPolicyOptions.parse(given["options"], given.get("gates", {}))
    except PolicyOptionError as error:
        return {"error": str(error)}
    flags = {name.replace("_", "-"): getattr(options, name) for name in options.__slots__}
    topology = CPUTopology(CPUTopology.regular().details, 8, 4, given["sockets"], given["numa"], 1)
    fault = None
    try:
        validate_static_policy_options(options, topology, given["topology_policy"])
    except PolicyOptionError as error:
        fault = str(error)
    return {"error": None, "validate_error": fault, **flags}


def _closest(given: dict[str, Any]) -> dict[str, Any]:
    numa = _numa(given, sorted(map(int, given["distances"])))
    masks = list(map(mask_of, given["masks"]))
    rank = Merge((), numa, True, 0, {}, {}, ANYWHERE).rank
    order = sorted(masks, key=lambda mask: rank(mask, True))
    return {
        "average": [numa.average_distance(mask) for mask in masks],
        "order": [list(nodes_of(mask)) or None for mask in order],
    }


_ANSWERS = {
    "options": _options,
    "new_manager": _new_manager,
    "cpu_options": _cpu_options,
    "closest": _closest,
    "merge": topology_merge.answer,
}
