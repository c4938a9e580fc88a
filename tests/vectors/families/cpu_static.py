"""CPUs taken by topology, and the static policy's steps."""

from collections.abc import Mapping
from typing import Any

from kubedev.api.objects import Container, Pod
from kubedev.api.quantity import Quantity
from kubedev.kubelet.cpu.cpu_assignment import take_by_topology_numa_packed
from kubedev.kubelet.cpu.cpu_distribution import take_by_topology_numa_distributed
from kubedev.kubelet.cpu.cpu_hints import get_pod_topology_hints, get_topology_hints
from kubedev.kubelet.cpu.cpu_manager import (
    CPUManagerState,
    allocate,
    remove_container,
    start,
)
from kubedev.kubelet.cpu.cpu_policy import new_static_policy
from kubedev.kubelet.cpu.cpu_state import CPUManagerError
from kubedev.kubelet.cpu.cpu_topology import CPUDetails, CPUInfo, CPUTopology
from kubedev.kubelet.cpu.cpuset import format_cpus, parse_cpus
from kubedev.kubelet.topology.bitmask import mask_of
from kubedev.kubelet.topology.hints import ResourceHints
from kubedev.kubelet.topology.policy_options import PolicyOptionError

from .device_hints import hints_as_json


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """The CPUs of one assignment, or what came of the policy and each of its steps."""
    return _take(case) if case["kind"] == "take" else _policy(case)


def topology_of(topology: dict[str, Any]) -> CPUTopology:
    details = CPUDetails({cpu: CPUInfo(*info) for cpu, *info in topology["cpus"]})
    counts = (topology[name] for name in ("cores", "sockets", "numa_nodes", "uncore_caches"))
    return CPUTopology(details, len(topology["cpus"]), *counts)


def _take(case: dict[str, Any]) -> dict[str, Any]:
    topology, available = topology_of(case["topology"]), parse_cpus(case["available"])
    if case["algorithm"] == "packed":
        taken = take_by_topology_numa_packed(
            topology, available, case["n"], case["strategy"], case.get("prefer_uncore", False)
        )
    else:
        taken = take_by_topology_numa_distributed(
            topology, available, case["n"], case["group_size"], case["strategy"]
        )
    return {"cpus": None if taken.error else format_cpus(taken.cpus), "error": taken.error}


def _policy(case: dict[str, Any]) -> dict[str, Any]:
    try:
        policy = new_static_policy(
            topology_of(case["topology"]),
            case["num_reserved"],
            parse_cpus(case["reserved"]),
            case["options"],
            case["topology_policy"],
            {"CPUManagerPolicyAlphaOptions": True},
        )
    except (CPUManagerError, PolicyOptionError) as error:
        return {"new_error": str(error)}
    state = start(policy)
    out: dict[str, Any] = {"new_error": None, "start_error": None, "reserved": format_cpus(policy.reserved)}
    out["default"], out["steps"] = format_cpus(state.default), []
    for step in case["steps"] or ():
        if step["op"] == "remove":
            state = remove_container(state, step["pod"], step["container"])
            out["steps"].append({"default_after": format_cpus(state.default)})
        else:
            state, result = _allocate_pod(state, step)
            out["steps"].append(result)
    return out


def _allocate_pod(state: CPUManagerState, step: dict[str, Any]) -> tuple[CPUManagerState, dict[str, Any]]:
    pod, results = _pod(step), []
    masks = {c["name"]: c["hint"] if c["hint"] is None else mask_of(c["hint"]) for c in step["containers"]}
    pod_hints = _as_json(get_pod_topology_hints(state, pod))
    for container in (*pod.init_containers, *pod.containers):
        hints = _as_json(get_topology_hints(state, pod, container))
        state, decision = allocate(state, pod, container, masks[container.name])
        cpus = state.assigned(pod.uid, container.name)
        results.append(
            {
                "name": container.name,
                "hints": hints,
                "error": decision.error,
                "cpus": None if cpus is None else format_cpus(cpus),
                "default_after": format_cpus(state.default),
                "reusable_after": format_cpus(state.cpus_to_reuse.get(pod.uid, frozenset())),
            }
        )
        if decision.error:
            break
    return state, {"pod_hints": pod_hints, "containers": results}


def _pod(step: dict[str, Any]) -> Pod:
    def container(c: dict[str, Any]) -> Container:
        resources = {"cpu": Quantity.parse(c["cpu"]), "memory": Quantity.parse("1Gi")}
        limits = {} if step.get("not_guaranteed") else resources
        restart = "Always" if c["restartable"] else None
        return Container(c["name"], requests=resources, limits=limits, restart_policy=restart)

    inits, apps = ([container(c) for c in step["containers"] if c["init"] is init] for init in (True, False))
    return Pod(step["pod"], uid=step["pod"], init_containers=tuple(inits), containers=tuple(apps))


def _as_json(hints: Mapping[str, ResourceHints]) -> dict[str, Any] | None:
    return {resource: hints_as_json(answer) for resource, answer in hints.items()} or None
