"""The memory manager's static policy, step by step."""

from typing import Any

from kubedev.api.objects import Container, Pod
from kubedev.api.quantity import Quantity
from kubedev.kubelet.memory.memory_hints import get_pod_topology_hints, get_topology_hints
from kubedev.kubelet.memory.memory_manager import MemoryManagerState, allocate, remove_container, start
from kubedev.kubelet.memory.memory_policy import MemoryPolicy, NUMAMemory, new_static_policy
from kubedev.kubelet.memory.memory_state import Block, MemoryManagerError
from kubedev.kubelet.topology.bitmask import mask_of
from kubedev.kubelet.topology.hints import TopologyHint
from tests.vectors.runner import unequal

from .device_hints import hints_as_json


def differences(case: dict[str, Any]) -> list[str]:
    """Compare one case; where Go panics, an error of our own is right."""
    if "panic" in case["out"]:
        errors = [c["error"] for s in answer(case["in"])["steps"] for c in s.get("containers", ())]
        ours = any("Kubernetes would stop with a panic" in (error or "") for error in errors)
        return [] if ours else [f"expected an error of our own, got {errors}"]
    return list(unequal(case["out"], answer(case["in"]), "out"))


def policy(nodes: list[dict[str, Any]]) -> MemoryPolicy:
    """The static policy on a recorded machine, or MemoryManagerError."""
    machine = [NUMAMemory(i, node["memory"], {2048: node["hugepages_2Mi"]}) for i, node in enumerate(nodes)]
    return new_static_policy(machine, {i: {"memory": n["system_reserved"]} for i, n in enumerate(nodes)})


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """What came of the policy and each of its steps."""
    try:
        state = start(policy(case["nodes"]))
    except MemoryManagerError as error:
        return {"new_error": str(error)}
    out: dict[str, Any] = {"new_error": None, "start_error": None, "initial": _machine(state), "steps": []}
    for step in case["steps"]:
        if step["op"] == "remove":
            state = remove_container(state, step["pod"], step["container"])
            out["steps"].append({"machine": _machine(state)})
        else:
            state, result = _allocate_pod(state, step)
            out["steps"].append(result)
    return out


def _machine(state: MemoryManagerState) -> dict[str, Any]:
    return {
        str(node): {
            "assignments": numa.number_of_assignments,
            "cells": sorted(numa.cells),
            "memory": {r: [t.allocatable, t.free, t.reserved] for r, t in numa.memory_map.items()},
        }
        for node, numa in state.machine.items()
    }


def _pod(step: dict[str, Any]) -> Pod:
    def container(c: dict[str, Any]) -> Container:
        resources = {r: Quantity.parse(text) for r, text in {**c["requests"], "cpu": "1"}.items()}
        limits = {} if step.get("not_guaranteed") else resources
        restart = "Always" if c["restartable"] else None
        return Container(c["name"], requests=resources, limits=limits, restart_policy=restart)

    inits, apps = ([container(c) for c in step["containers"] if c["init"] is init] for init in (True, False))
    return Pod(step["pod"], uid=step["pod"], init_containers=tuple(inits), containers=tuple(apps))


def _blocks(blocks: tuple[Block, ...] | None) -> list[dict[str, Any]] | None:
    if blocks is None:
        return None
    return [
        {"numa": list(b.numa_affinity), "size": b.size, "type": b.type}
        for b in sorted(blocks, key=lambda b: b.type)
    ]


def _hints(answer: Any) -> dict[str, Any] | None:
    return None if answer is None else {r: hints_as_json(of_resource) for r, of_resource in answer.items()}


def _allocate_pod(
    state: MemoryManagerState, step: dict[str, Any]
) -> tuple[MemoryManagerState, dict[str, Any]]:
    pod, results = _pod(step), []
    given = {c["name"]: c for c in step["containers"]}
    pod_hints = _hints(get_pod_topology_hints(state, pod))
    for container in (*pod.init_containers, *pod.containers):
        hints = _hints(get_topology_hints(state, pod, container))
        hint = given[container.name]["hint"]
        affinity = TopologyHint(
            hint if hint is None else mask_of(hint), given[container.name]["hint_preferred"]
        )
        state, decision = allocate(state, pod, container, affinity)
        own = _blocks(state.blocks(pod.uid, container.name))
        results.append({"name": container.name, "hints": hints, "error": decision.error, "blocks": own})
        if decision.error:
            break
    after = {c.name: _blocks(state.blocks(pod.uid, c.name)) for c in (*pod.init_containers, *pod.containers)}
    return state, {
        "pod_hints": pod_hints,
        "containers": results,
        "blocks_after": after,
        "machine": _machine(state),
    }
