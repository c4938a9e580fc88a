"""Dumps for tests of `kubedev why`: what kubectl would print, as small as it can be."""

import json
from pathlib import Path
from typing import Any

from kubedev.tools.why.answer import answer
from kubedev.tools.why.asking import all_waiting, asked_by_name
from kubedev.tools.why.dump import read_dump
from kubedev.tools.why.world import world_of

GPU = "nvidia.com/gpu"
Values = dict[str, Any]


def node(name: str, spec: Values | None = None, capacity: Values | None = None, **allocatable: str) -> Values:
    """A node with that much to give; `gpu` stands for the GPU, and there is room for 110 pods."""
    given = {"cpu": "4", "memory": "32Gi", "pods": "110", **named(allocatable)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": spec or {},
        "status": {
            "allocatable": given,
            "capacity": {**given, **(capacity or {})},
            "nodeInfo": {"kubeletVersion": "v1.32.10"},
        },
    }


def pod(
    name: str, on: str = "", spec: Values | None = None, status: Values | None = None, **requests: str
) -> Values:
    """A pod in the namespace default that asks for that, running on a node or pending."""
    container = {"name": "c", "image": "img", "resources": {"requests": {"cpu": "1", **named(requests)}}}
    placed = {"nodeName": on} if on else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {"containers": [container], "priority": 0, **placed, **(spec or {})},
        "status": {"phase": "Running" if on else "Pending", **(status or {})},
    }


def named(resources: Values) -> Values:
    return {GPU if name == "gpu" else name: value for name, value in resources.items()}


def dump(folder: Path, *objects: Values, name: str = "dump.json") -> str:
    """A file with these objects, as kubectl prints them."""
    path = folder / name
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent=4))
    return str(path)


def explain(path: str, name: str = "", every_node: bool = False) -> Values:
    """What is said about one pod of a dump, or about the only one that waits."""
    read = read_dump([path])
    asked = [asked_by_name(read, name)] if name else all_waiting(read)
    found = answer(read, world_of(read, [one.pod for one in asked]), asked, every_node, brief=False)
    assert len(found["pods"]) == 1, [one["pod"] for one in found["pods"]]
    told: Values = found["pods"][0]
    return told
