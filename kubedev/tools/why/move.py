"""What somebody could change so that a pod fits: a move makes another world, and another pod."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kubedev.api.objects import Node, Pod
from kubedev.api.values import replace
from kubedev.scheduler.queue.cluster_events import (
    node_scheduling_properties_change,
    pod_scheduling_properties_change,
)
from kubedev.tools.why.waking import Happening
from kubedev.tools.why.world import World

__all__ = ["Change", "Changed", "Move", "node_changed", "pod_changed"]

Changed = tuple[World, Pod, tuple[Happening, ...]]
Change = Callable[[World, Pod], Changed]


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
    change: Change = field(compare=False, repr=False)
    anew: bool = False


def pod_changed(edit: Callable[[Pod], Pod]) -> Change:
    """Another pod in the same world."""

    def change(world: World, pod: Pod) -> Changed:
        new = edit(pod)
        return world, new, tuple((event, pod, new) for event in pod_scheduling_properties_change(new, pod))

    return change


def node_changed(name: str, edit: Callable[[Node], Mapping[str, object]]) -> Change:
    """The same pod in a world where some fields of a node are others."""

    def change(world: World, pod: Pod) -> Changed:
        info = world.node(name)
        assert info is not None
        new = replace(info.node, **edit(info.node))  # type: ignore[arg-type]
        events = tuple((event, info.node, new) for event in node_scheduling_properties_change(new, info.node))
        return world.with_cache(world.state.cache.update_node(info.node, new)), pod, events

    return change
