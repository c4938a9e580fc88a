"""Evicts the pods of a node with NoExecute taints that they do not tolerate, or not for long.

A pod that tolerates all of them is evicted after the smallest tolerationSeconds among the tolerations that match; an
eviction that is scheduled already keeps its time, whatever taint comes after it. It is cancelled when no NoExecute
taint is left, or when all are tolerated for ever.

Go: `pkg/controller/tainteviction/taint_eviction.go: handleNodeUpdate, processPodOnNode`.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

from kubedev.api.objects import Node, Pod
from kubedev.api.selectors import Taint
from kubedev.cluster.controllers.effects import EvictPod
from kubedev.scheduler.plugins.taint_toleration import tolerates

__all__ = ["Evictions", "due", "look_at", "no_execute_taints", "seconds_tolerated"]

Evictions: TypeAlias = Mapping[str, float]
"""When each pod is to be evicted, by uid, in seconds of the simulated clock."""

REASON = "DeletionByTaintManager"
MESSAGE = "Taint manager: deleting due to NoExecute taint"


def no_execute_taints(node: Node | None) -> tuple[Taint, ...]:
    """The taints that evict. Go: `getNoExecuteTaints`."""
    return tuple(taint for taint in node.taints if taint.effect == "NoExecute") if node else ()


def seconds_tolerated(pod: Pod, taints: Collection[Taint]) -> float | None:
    """How long a pod puts up with taints: None for ever, 0 not at all.

    Of each taint the first toleration that matches counts. Go: `GetMatchingTolerations`, `getMinTolerationTime`.
    """
    if not tolerates_all(pod, taints):
        return 0.0
    used = [next(t for t in pod.tolerations if tolerates(t, taint)) for taint in taints]
    limits = [t.toleration_seconds for t in used if t.toleration_seconds is not None]
    return float(max(min(limits), 0)) if limits else None


def tolerates_all(pod: Pod, taints: Collection[Taint]) -> bool:
    """Whether there is a toleration for each of the taints, be it for 0 seconds."""
    return all(any(tolerates(t, taint) for t in pod.tolerations) for taint in taints)


def look_at(
    evictions: Evictions, pods: Iterable[Pod], taints: tuple[Taint, ...], now: float
) -> tuple[Evictions, tuple[EvictPod, ...]]:
    """What becomes of the pods of a node with these NoExecute taints: evicted now, later, or not at all."""
    scheduled = dict(evictions)
    effects: list[EvictPod] = []
    for pod in pods:
        seconds = seconds_tolerated(pod, taints)
        if not taints or seconds is None:
            scheduled.pop(pod.uid, None)
        elif seconds == 0 and not (pod.uid in scheduled and tolerates_all(pod, taints)):
            scheduled.pop(pod.uid, None)
            effects.append(EvictPod(pod.uid, REASON, MESSAGE))
        else:
            scheduled.setdefault(pod.uid, now + seconds)
    return scheduled, tuple(effects)


def due(evictions: Evictions, now: float) -> tuple[Evictions, tuple[EvictPod, ...]]:
    """The evictions whose time has come, and those that are left."""
    over = sorted((at, uid) for uid, at in evictions.items() if at <= now)
    left = {uid: at for uid, at in evictions.items() if at > now}
    return left, tuple(EvictPod(uid, REASON, MESSAGE) for _, uid in over)
