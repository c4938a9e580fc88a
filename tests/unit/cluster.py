"""Small clusters for the scheduler's tests."""

from typing import Any

from kubedev.api.objects import Node, Pod
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.status import SUCCESS, Code, Status


def a_pod(name: str = "p", labels: dict[str, str] | None = None, **spec: Any) -> Pod:
    """A pod in the default namespace; `requests` and `ports` are those of its one container."""
    container = {
        "name": "c",
        "resources": {"requests": spec.pop("requests", {})},
        "ports": spec.pop("ports", []),
    }
    metadata = {"name": name, "labels": labels or {}}
    return Pod.parse({"metadata": metadata, "spec": {"containers": [container], **spec}})


def a_node(name: str, *pods: Pod, labels: dict[str, str] | None = None, **parts: Any) -> NodeInfo:
    """A node with room for 32 CPUs and 64Gi besides what `allocatable` says, and its name as hostname."""
    allocatable = {"cpu": "32", "memory": "64Gi", "pods": "110"} | parts.pop("allocatable", {})
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}
    manifest = {"metadata": metadata, "spec": parts, "status": {"allocatable": allocatable}}
    return NodeInfo.of(Node.parse(manifest), pods)


def filter_all(plugin: Any, pod: Pod, *nodes: NodeInfo) -> list[Status]:
    """One plugin's answer for each node."""
    state, status = None, SUCCESS
    if hasattr(plugin, "pre_filter"):
        state, status, _ = plugin.pre_filter(pod, nodes, Context(nodes))
    assert status.code in (Code.SUCCESS, Code.SKIP), status
    return [status if status.is_skip else plugin.filter(state, pod, node) for node in nodes]


def score_all(plugin: Any, pod: Pod, *nodes: NodeInfo) -> dict[str, int]:
    """One plugin's normalized scores."""
    state, status = plugin.pre_score(pod, nodes, Context(nodes))
    assert status.is_success, status
    raw = {node.name: plugin.score(state, pod, node).value for node in nodes}
    return plugin.normalize(state, raw) if hasattr(plugin, "normalize") else raw
