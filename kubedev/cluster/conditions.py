"""The conditions of a pod: one of each type, whose time changes only when its status does.

Go: `pkg/api/v1/pod/util.go: UpdatePodCondition`.
"""

from collections.abc import Collection, Iterable
from functools import lru_cache

from kubedev.api.objects import Condition, Pod
from kubedev.api.values import replace

__all__ = ["GATED", "gated", "merged", "updated"]

GATED = "Scheduling is blocked due to non-empty scheduling gates"
"""The message of a pod that waits for its gates."""


def updated(pod: Pod, condition: Condition, now: float) -> Pod:
    """The pod with a condition, in place of an older one of its type."""
    before = next((known for known in pod.conditions if known.type == condition.type), None)
    written = _timed(condition, before, now)
    if before is None:
        return replace(pod, conditions=(*pod.conditions, written))
    return replace(pod, conditions=tuple(written if c is before else c for c in pod.conditions))


def merged(
    pod: Pod, owned: Collection[str], conditions: Iterable[Condition], now: float
) -> tuple[Condition, ...]:
    """The pod's conditions with all those of an owner's types replaced by what the owner says of them now.

    Go: `pkg/kubelet/status/status_manager.go: mergePodStatus, updateLastTransitionTime`.
    """
    known = {condition.type: condition for condition in pod.conditions}
    others = tuple(condition for condition in pod.conditions if condition.type not in owned)
    return others + tuple(_timed(condition, known.get(condition.type), now) for condition in conditions)


def _timed(condition: Condition, before: Condition | None, now: float) -> Condition:
    same = before is not None and before.status == condition.status
    return _at(condition, before.last_transition_time if before and same else now)


@lru_cache(maxsize=1024)  # many pods say the same at one moment
def _at(condition: Condition, time: float | None) -> Condition:
    return replace(condition, last_transition_time=time)


def gated(pod: Pod, now: float) -> Pod:
    """A pod as the API server stores it: with scheduling gates, it says that it waits for them.

    Go: `pkg/registry/core/pod/strategy.go: applySchedulingGatedCondition`.
    """
    if not pod.scheduling_gates or any(c.type == "PodScheduled" for c in pod.conditions):
        return pod
    return updated(pod, Condition("PodScheduled", "False", "SchedulingGated", GATED), now)
