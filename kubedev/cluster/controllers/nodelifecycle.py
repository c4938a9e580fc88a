"""Taints nodes for what their conditions say, and notices kubelets that have fallen silent.

Left out: zones, and the slower pace of evictions where many nodes of a zone are in trouble.

Go: `pkg/controller/nodelifecycle/node_lifecycle_controller.go: doNoScheduleTaintingPass, tryUpdateNodeHealth,
processTaintBaseEviction`.
"""

from collections.abc import Mapping

from kubedev.api.objects import Condition, Node
from kubedev.api.selectors import Taint
from kubedev.cluster.controllers.effects import MarkNode, SwapTaints

__all__ = ["MONITOR_GRACE_PERIOD", "NODE_CONDITIONS", "marked_unknown", "overdue", "taints_to_swap"]

MONITOR_GRACE_PERIOD = 50.0
"""How long a kubelet may be silent, in seconds (`--node-monitor-grace-period`; 40 before v1.32)."""

MONITOR_PERIOD = 1.0
"""How often this one looks, in seconds; Kubernetes' does every five."""

NODE_CONDITIONS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
"""The conditions that a kubelet writes, and that are unknown while it is silent."""

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"

NO_SCHEDULE: Mapping[tuple[str, str], str] = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
"""The taint that keeps new pods away, by condition and its status. Go: `nodeConditionToTaintKeyStatusMap`."""

NO_EXECUTE: Mapping[str, str] = {"False": NOT_READY, "Unknown": UNREACHABLE}
"""The taint that evicts, by the status of Ready."""


def taints_to_swap(node: Node) -> SwapTaints | None:
    """The taints that a node lacks, or has no reason for any more; None where all is well."""
    status = {condition.type: condition.status for condition in node.conditions}
    wanted = [Taint(NO_SCHEDULE[c.type, c.status], "", "NoSchedule") for c in node.conditions if _taints(c)]
    if node.unschedulable:
        wanted.append(Taint(UNSCHEDULABLE, "", "NoSchedule"))
    managed = {(key, "NoSchedule") for key in (*NO_SCHEDULE.values(), UNSCHEDULABLE)}
    if "Ready" in status:
        managed |= {(key, "NoExecute") for key in NO_EXECUTE.values()}
        if status["Ready"] in NO_EXECUTE:
            wanted.append(Taint(NO_EXECUTE[status["Ready"]], "", "NoExecute"))
    there = {(taint.key, taint.effect) for taint in node.taints}
    needed = {(taint.key, taint.effect) for taint in wanted}
    add = tuple(taint for taint in wanted if (taint.key, taint.effect) not in there)
    remove = tuple(t for t in node.taints if (t.key, t.effect) in managed - needed)
    return SwapTaints(node.name, add, remove) if add or remove else None


def _taints(condition: Condition) -> bool:
    return (condition.type, condition.status) in NO_SCHEDULE


def overdue(since: float) -> float:
    """When a kubelet that has been silent since then is given up: the first look after the grace period."""
    return since + MONITOR_GRACE_PERIOD + MONITOR_PERIOD


def marked_unknown(node: Node, now: float) -> MarkNode | None:
    """The conditions of a node whose kubelet is silent; None where they say so already."""
    known = {condition.type: condition for condition in node.conditions}
    for name in NODE_CONDITIONS:
        never = name not in known
        if never or known[name].status != "Unknown":
            reason = "NodeStatusNeverUpdated" if never else "NodeStatusUnknown"
            message = f"Kubelet {'never posted' if never else 'stopped posting'} node status."
            known[name] = Condition(name, "Unknown", reason, message, now)
    conditions = tuple(known.values())
    return MarkNode(node.name, conditions) if conditions != node.conditions else None
