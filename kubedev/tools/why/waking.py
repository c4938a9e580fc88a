"""What the queue would do: which events a refused pod waits for, and whether one of them wakes it."""

from collections.abc import Iterable, Mapping
from typing import Any

from kubedev.api.objects import Pod
from kubedev.scheduler.cycle import Decision
from kubedev.scheduler.framework import Framework
from kubedev.scheduler.queue.cluster_events import ActionType, ClusterEvent
from kubedev.scheduler.queue.queued_pod import QueuedPod
from kubedev.scheduler.queue.queueing_hints import Strategy, is_worth_requeuing

__all__ = ["Happening", "events_waited_for", "wakes"]

Happening = tuple[ClusterEvent, Any, Any]
"""An event, and the object before and after it."""


def events_waited_for(framework: Framework, decision: Decision) -> Mapping[str, tuple[str, ...]]:
    """The events that each plugin that refused the pod has registered, by their names in Kubernetes' metrics."""
    rejectors = sorted({*decision.unschedulable_plugins, *decision.pending_plugins})
    found: dict[str, dict[str, None]] = {name: {} for name in rejectors}
    for plugin, event, _ in framework.hints():
        if plugin in found:
            found[plugin].update(dict.fromkeys(labels_of(event)))
    return {name: tuple(labels) for name, labels in found.items()}


def labels_of(event: ClusterEvent) -> list[str]:
    """The names of what an event stands for: one for each action, but for all updates together."""
    if event.action == ActionType.ALL:
        return [f"{event.resource}Any"]
    updates = [f"{event.resource}Update"] if ActionType.UPDATE in event.action else []
    others: ActionType = event.action & ~ActionType.UPDATE if updates else event.action
    return [ClusterEvent(event.resource, flag).label for flag in ActionType if flag in others] + updates


def wakes(
    framework: Framework, decision: Decision, pod: Pod, happenings: Iterable[Happening]
) -> tuple[bool, str]:
    """Whether these events have the pod tried again, and what the hint says."""
    queued = QueuedPod(
        pod,
        0,
        1,
        unschedulable_plugins=frozenset(decision.unschedulable_plugins),
        pending_plugins=frozenset(decision.pending_plugins),
    )
    said = ""
    for event, old, new in happenings:
        worth = is_worth_requeuing(framework.hints(), queued, event, old, new)
        if worth.strategy is not Strategy.SKIP:
            return True, worth.why
        said = worth.why
    return False, said
