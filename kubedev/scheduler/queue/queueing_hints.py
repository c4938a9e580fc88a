"""Queueing hints: which events may change a plugin's refusal of a pod.

Each plugin registers events, and may look closer at one with a hint: at the pod that it refused, and at the
object before and after. A hint answers with its reason, so that one can see why a pod moved, or why it did
not.

Go: `pkg/scheduler/scheduler.go: buildQueueingHintMap`, `backend/queue/scheduling_queue.go:
isPodWorthRequeuing`, and the methods `isSchedulableAfter...` in `pkg/scheduler/framework/plugins`, which
`default_hints` follows.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any, NamedTuple

from kubedev.api.objects import Node, Pod
from kubedev.api.values import Same
from kubedev.scheduler.queue.cluster_events import ActionType, ClusterEvent
from kubedev.scheduler.queue.queued_pod import QueuedPod

__all__ = [
    "EVERY_EVENT",
    "Hint",
    "HintFunction",
    "HintMap",
    "RegisteredEvent",
    "Strategy",
    "Worth",
    "hint_map",
    "is_of_interest",
    "is_worth_requeuing",
    "queue",
]


class Hint(NamedTuple):
    """Whether the pod is worth another try after the event, and why. Go: `QueueingHint`."""

    queue: bool
    why: str


HintFunction = Callable[[Pod, Any, Any], Hint]
"""Of the refused pod, and the event's object before and after (None where there is none)."""


def queue(pod: Pod, old: Any, new: Any) -> Hint:
    """The hint of those who do not look closer."""
    return Hint(True, "such an event may always help")


@dataclass(frozen=True, slots=True)
class RegisteredEvent:
    """An event that a plugin wants to hear of, and its hint. Go: `ClusterEventWithHint`."""

    event: ClusterEvent
    hint: HintFunction = queue


EVERY_EVENT = tuple(
    RegisteredEvent(ClusterEvent(resource, ActionType.ALL))
    for resource in (
        "Pod",
        "Node",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
        "CSINode",
        "CSIDriver",
        "CSIStorageCapacity",
        "ResourceClaim",
        "DeviceClass",
    )
)
"""What counts for a plugin that says nothing about events. Go: `UnrollWildCardResource`."""


class PluginHint(NamedTuple):
    """A registered event with the plugin that registered it."""

    plugin: str
    event: ClusterEvent
    hint: HintFunction


HintMap = tuple[PluginHint, ...]


def hint_map(registered: Iterable[tuple[str, Iterable[RegisteredEvent]]]) -> HintMap:
    """Bring together what all plugins registered.

    Whoever hears of new nodes but not of changed taints hears of those too, without a hint: in v1.32 so that
    nodes which were tainted when they came are not missed (kubernetes issue 109437).

    Go: `pkg/scheduler/scheduler.go: buildQueueingHintMap`.
    """
    hints: list[PluginHint] = []
    for plugin, events in registered:
        hints += [PluginHint(plugin, one.event, one.hint) for one in events]
        of_nodes = [one.event.action for one in events if one.event.resource == "Node"]
        if any(ActionType.ADD in action for action in of_nodes) and not any(
            ActionType.UPDATE_NODE_TAINT in action for action in of_nodes
        ):
            hints.append(PluginHint(plugin, ClusterEvent("Node", ActionType.UPDATE_NODE_TAINT), queue))
    return tuple(hints)


def is_of_interest(hints: HintMap, event: ClusterEvent) -> bool:
    """Whether any plugin wants to hear of such events. Go: `PriorityQueue.isEventOfInterest`."""
    return _is_of_interest(Same(hints), event)


@lru_cache(maxsize=1024)  # asked at every event, of a few kinds of them
def _is_of_interest(of_hints: Same[HintMap], event: ClusterEvent) -> bool:
    hints = of_hints.value
    return event.is_wild_card or any(one.event.match(event) for one in hints)


class Strategy(IntEnum):
    """What to do with a refused pod, the better the higher. Go: `queueingStrategy`."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


class Worth(NamedTuple):
    """What an event is worth to a refused pod, and why."""

    strategy: Strategy
    why: str


def is_worth_requeuing(
    hints: HintMap, queued: QueuedPod, event: ClusterEvent, old: Pod | Node | None, new: Pod | Node | None
) -> Worth:
    """Whether the event may make the pod schedulable: only the plugins that refused it are asked.

    Go: `pkg/scheduler/backend/queue/scheduling_queue.go: isPodWorthRequeuing`.
    """
    rejectors = queued.unschedulable_plugins | queued.pending_plugins
    if not rejectors:
        return Worth(Strategy.AFTER_BACKOFF, "no plugin refused it")
    if event.is_wild_card:
        if isinstance(new, Pod) and new.uid != queued.pod.uid:
            return Worth(Strategy.SKIP, f"{event.label} is for another pod")
        return Worth(Strategy.AFTER_BACKOFF, event.label)
    best = Worth(Strategy.SKIP, f"{event.label}: none of {', '.join(sorted(rejectors))} waits for it")
    for plugin, registered, hint in hints:
        if plugin in rejectors and registered.match(event):
            answer = ask(hint, queued.pod, old, new)
            at_once = Strategy.IMMEDIATELY if plugin in queued.pending_plugins else Strategy.AFTER_BACKOFF
            worth = Worth(
                at_once if answer.queue else Strategy.SKIP, f"{event.label}, {plugin}: {answer.why}"
            )
            if worth.strategy > best.strategy or best.strategy is Strategy.SKIP:
                best = worth
    return best


def ask(hint: HintFunction, pod: Pod, old: Any, new: Any) -> Hint:
    """The hint's answer; one that fails counts as yes, so that no pod is stuck because of it."""
    try:
        return hint(pod, old, new)
    except ValueError as error:
        return Hint(True, str(error))
