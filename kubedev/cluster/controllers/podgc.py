"""Collects pods that nobody else would end: those whose node is gone, and those that go without ever having had one.

Go: `pkg/controller/podgc/gc_controller.go: gcOrphaned, gcUnscheduledTerminating`. Left out: the oldest of more than
12,500 pods that have ended, and nodes marked as out of service.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

from kubedev.api.objects import Pod
from kubedev.cluster.controllers.effects import EvictPod

__all__ = ["PERIOD", "QUARANTINE", "Missing", "collect", "has_work", "next_run"]

PERIOD = 20.0
"""How often it looks, in seconds."""

QUARANTINE = 40.0
"""How long a node has to be missing before its pods are collected, in seconds."""

Missing: TypeAlias = Mapping[str, float]
"""When each node was first found missing."""

REASON, MESSAGE = "DeletionByPodGC", "PodGC: node no longer exists"


def next_run(now: float) -> float:
    """When it looks next."""
    return (now // PERIOD + 1) * PERIOD


def has_work(pods: Iterable[Pod], nodes: Collection[str]) -> bool:
    """Whether a look would find anything."""
    return any(_orphaned(pod, nodes) for pod in pods)


def collect(
    missing: Missing, pods: Iterable[Pod], nodes: Collection[str], now: float
) -> tuple[Missing, tuple[EvictPod, ...]]:
    """One look: the nodes that are missing now, and the pods that are collected."""
    orphans = [pod for pod in pods if _orphaned(pod, nodes)]
    found = {pod.node_name: missing.get(pod.node_name, now) for pod in orphans}
    over = {name for name, since in found.items() if now - since >= QUARANTINE}
    effects = tuple(
        EvictPod(pod.uid, REASON, MESSAGE, collect=True) for pod in orphans if pod.node_name in over
    )
    return {name: since for name, since in found.items() if name not in over}, effects


def _orphaned(pod: Pod, nodes: Collection[str]) -> bool:
    return bool(pod.node_name) and pod.node_name not in nodes
