"""The state files of CPU and memory manager: written byte by byte, read, and the static policies started over them.

The texts of Go's encoding/json differ between its versions: there the class of the error is compared.
"""

import re
from collections.abc import Callable
from typing import Any

from kubedev.kubelet.cpu import cpu_manager, cpu_state
from kubedev.kubelet.cpu.cpu_policy import new_static_policy
from kubedev.kubelet.cpu.cpu_state import CPUManagerError
from kubedev.kubelet.cpu.cpuset import format_cpus, parse_cpus
from kubedev.kubelet.memory import memory_manager, memory_state
from kubedev.kubelet.memory.memory_state import (
    Assignments,
    Block,
    MachineState,
    MemoryManagerError,
    MemoryTable,
    NUMANodeState,
)
from kubedev.kubelet.topology.policy_options import PolicyOptionError
from tests.vectors.runner import unequal

from . import cpu_static, memory_static

ERRORS = (CPUManagerError, MemoryManagerError, PolicyOptionError)
CPU_FILE, MEMORY_FILE = "DIR/cpu_manager_state", "DIR/memory_manager_state"
NAMES = {
    "total": "total",
    "system_reserved": "systemReserved",
    "allocatable": "allocatable",
    "reserved": "reserved",
    "free": "free",
}


def differences(case: dict[str, Any]) -> list[str]:
    """Compare one case; of several errors that depend on Go's order any one may come."""
    expected, answer = dict(case["out"]), _ANSWERS[case["in"]["kind"]](case["in"])
    for what in ("error", "start_error"):
        texts = expected.pop(f"{what}_any_of", None)
        if texts is not None and answer.get(what) not in texts:
            return [f"expected one of {texts}, got {answer.get(what)!r}"]
    if expected.get("error") and answer["error"]:
        expected["error"], answer["error"] = _class_of(expected["error"]), _class_of(answer["error"])
    return list(unequal(expected, answer, "out"))


def _class_of(error: str) -> str:
    json = "unexpected end of JSON input|invalid JSON.*|invalid character.*|json: .*"
    return re.sub(f"checkpoint: ({json}), please", "checkpoint: JSON, please", error)


# CPUs


def _cpu_write(given: dict[str, Any]) -> dict[str, Any]:
    entries = {
        uid: {name: parse_cpus(cpus) for name, cpus in (containers or {}).items()}
        for uid, containers in (given["entries"] or {}).items()
    }
    text = cpu_state.write_state(given["policy"], parse_cpus(given["default"]), entries)
    return {"error": None, "file_after": text, **_cpus(parse_cpus(given["default"]), entries)}


def _cpus(default: frozenset[int], entries: cpu_state.Assignments) -> dict[str, Any]:
    shown = {uid: {c: format_cpus(own) for c, own in owned.items()} for uid, owned in entries.items()}
    return {"default": format_cpus(default), "entries": shown}


def _cpu_load(given: dict[str, Any]) -> dict[str, Any]:
    text, policy = given["content"], given["policy"]
    containers = {id_: (uid, name) for id_, (uid, name) in given["containers"].items()}
    try:
        default, entries = frozenset[int](), {}
        if text is not None:
            default, entries = cpu_state.read_state(text, policy, CPU_FILE, containers)
    except CPUManagerError as error:
        return {"error": str(error), "file_after": text}
    out = {"error": None, **_cpus(default, entries)}
    after = cpu_state.write_state(policy, default, entries) if text is None else text
    if "topology" not in given:
        return {**out, "file_after": after}
    try:
        static = new_static_policy(
            cpu_static.topology_of(given["topology"]),
            given["num_reserved"],
            parse_cpus(given["reserved"]),
            given["options"],
            gates={"CPUManagerPolicyAlphaOptions": True},
        )
    except ERRORS as error:
        return {**out, "new_error": str(error), "start_error": None, "file_after": after}

    def start() -> tuple[dict[str, Any], str]:
        state = cpu_manager.start(static, text, CPU_FILE, by_runtime_id=containers)
        changed = (state.default, state.assignments) != (default, entries)
        return _cpus(state.default, state.assignments), state.checkpoint if changed else after

    return _started(out, after, start)


def _started(
    out: dict[str, Any], after: str, start: Callable[[], tuple[dict[str, Any], str]]
) -> dict[str, Any]:
    try:
        shown, after = start()
    except ERRORS as error:
        return {**out, "new_error": None, "start_error": str(error), "file_after": after}
    return {**out, **shown, "new_error": None, "start_error": None, "file_after": after}


# Memory


def _memory_write(given: dict[str, Any]) -> dict[str, Any]:
    machine = {int(node): _node(state) for node, state in given["machine"].items()}
    assignments = {
        uid: {name: tuple(map(_block, blocks)) for name, blocks in containers.items()}
        for uid, containers in given["assignments"].items()
    }
    text = memory_state.write_state(given["policy"], machine, assignments)
    return {"error": None, "file_after": text, **_memory(machine, assignments)}


def _node(given: dict[str, Any]) -> NUMANodeState:
    tables = {
        resource: MemoryTable(**{ours: table[name] for ours, name in NAMES.items()})
        for resource, table in given["memoryMap"].items()
    }
    return NUMANodeState(given["numberOfAssignments"], tables, tuple(given["cells"]))


def _block(given: dict[str, Any]) -> Block:
    return Block(tuple(given["numaAffinity"]), given["type"], given["size"])


def _memory(machine: MachineState, assignments: Assignments) -> dict[str, Any]:
    return {
        "machine": {
            str(node): {
                "cells": list(state.cells),
                "memoryMap": {
                    resource: {name: getattr(table, ours) for ours, name in NAMES.items()}
                    for resource, table in state.memory_map.items()
                },
                "numberOfAssignments": state.number_of_assignments,
            }
            for node, state in machine.items()
        },
        "assignments": {
            uid: {
                name: [
                    {"numaAffinity": list(b.numa_affinity), "size": b.size, "type": b.type} for b in blocks
                ]
                for name, blocks in containers.items()
            }
            for uid, containers in assignments.items()
        },
    }


def _memory_load(given: dict[str, Any]) -> dict[str, Any]:
    text, policy = given["content"], given["policy"]
    try:
        machine: MachineState = {}
        assignments: Assignments = {}
        if text is not None:
            machine, assignments = memory_state.read_state(text, policy, MEMORY_FILE)
    except MemoryManagerError as error:
        return {"error": str(error), "file_after": text}
    out = {"error": None, **_memory(machine, assignments)}
    after = memory_state.write_state(policy, machine, assignments) if text is None else text
    if "nodes" not in given:
        return {**out, "file_after": after}
    try:
        static = memory_static.policy(given["nodes"])
    except ERRORS as error:
        return {**out, "new_error": str(error), "start_error": None, "file_after": after}

    def start() -> tuple[dict[str, Any], str]:
        state = memory_manager.start(static, text, MEMORY_FILE)
        changed = (state.machine, state.assignments) != (machine, assignments)
        return _memory(state.machine, state.assignments), state.checkpoint if changed else after

    return _started(out, after, start)


_ANSWERS = {
    "cpu_write": _cpu_write,
    "cpu_load": _cpu_load,
    "memory_write": _memory_write,
    "memory_load": _memory_load,
}
