"""What somebody could change so that a pod fits: a move makes another world, and another pod."""

from collections.abc import Callable
from dataclasses import dataclass, field

from kubedev.api.objects import Pod
from kubedev.api.values import replace
from kubedev.scheduler.queue.cluster_events import (
    node_scheduling_properties_change,
    pod_scheduling_properties_change,
)
from kubedev.tools.why.waking import Happening
from kubedev.tools.why.world import World

__all__ = ["Changed", "Move", "node_changed", "pod_changed"]

Changed = tuple[World, Pod, tuple[Happening, ...]]


@dataclass(frozen=True, slots=True)
class Move:
    """Something to change: `kind` for programs, `what` in words, `how` it is done; the cheapest come first.

    `change` makes the world and the pod after it, and says what happened for the queue. With `anew` it is another pod:
    the field cannot be changed in one that is there.
    """

    cost: int
    kind: str
    what: str
    how: str
    change: Callable[[], Changed] = field(compare=False, repr=False)
    anew: bool = False


def pod_changed(world: World, old: Pod, new: Pod) -> Changed:
    """Another pod in the same world."""
    return world, new, tuple((event, old, new) for event in pod_scheduling_properties_change(new, old))


def node_changed(world: World, pod: Pod, name: str, **changes: object) -> Changed:
    """The same pod in a world where a node is another."""
    info = world.node(name)
    assert info is not None
    new = replace(info.node, **changes)  # type: ignore[arg-type]
    events = tuple((event, info.node, new) for event in node_scheduling_properties_change(new, info.node))
    return world.with_cache(world.state.cache.update_node(info.node, new)), pod, events
