"""What a plugin's stream makes of a node: one resource of a lab over simulated time."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from kubedev.api.messages import HEALTHY, UNHEALTHY, Device
from kubedev.api.objects import Node
from kubedev.cluster.state import ClusterState, Message
from kubedev.lab.check import Invariant, Row, invariant
from kubedev.lab.panel import Draw
from kubedev.lab.scene import path_state
from kubedev.lab.session import Lab
from kubedev.lab.watched import Watched
from kubedev.views.catalogue import say
from kubedev.views.live import LivePicture
from kubedev.views.path_state import DeviceView
from kubedev.views.picture import Picture
from kubedev.views.style import WIDTH, Theme
from kubedev.views.timeline import Sample, Timeline, timeline_picture

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "capacity_kept",
    "chart",
    "entry_fields",
    "lists",
    "numbers",
    "over_time",
    "timeline",
    "timeline_of",
]

RESOURCE = "nvidia.com/gpu"


def timeline(resource: str, node: str = "") -> Draw:
    """The picture of a resource over time, for `lab.show`; of the first node where none is named."""

    def draw(lab: Watched, step: int, width: int = WIDTH) -> Picture:
        return timeline_picture(timeline_of(lab, resource, node, step), width)

    return draw


def timeline_of(lab: Watched, resource: str, node: str = "", step: int | None = None) -> Timeline:
    """A resource from the start up to a step of the lab's history, by default the one that is shown."""
    last = lab.position if step is None else step
    states = [lab.history[i].state for i in range(last + 1)]
    now = states[-1]
    name = node or next(iter(now.kubelets), "")
    plugin = f"plugin/{name}/{resource}"
    told = [m for m in now.messages if plugin in (m.source, m.target) or m.target == f"kubelet/{name}"]
    stops = list(_absences(told, plugin))
    return Timeline(
        resource,
        now.now,
        _devices(now, name, resource),
        _changes(
            (state.now, sample_of(state.store.nodes[name], resource))
            for state in states
            if name in state.store.nodes
        ),
        tuple(
            (m.at, say(f"log.{m.key}", **dict(m.values)))
            for m in told
            if m.key in ("list", "list-changed") and m.source == plugin
        ),
        tuple(stop for stop, _ in stops),
        tuple(back for _, back in stops),
        name,
    )


def lists(lab: Lab, resource: str, node: str = "") -> int:
    """How many ListAndWatch messages have come so far."""
    return len(timeline_of(lab, resource, node).messages)


def chart(lab: Lab, resource: str, theme: Theme = "light") -> "Figure":
    """The same as an ordinary plotly figure."""
    from kubedev.views.charts import timeline_figure  # plotly is waited for where it is used

    return timeline_figure(timeline_of(lab, resource), theme)


def numbers(lab: Lab, resource: str, node: str = "") -> tuple[int | None, int | None]:
    """Capacity and allocatable of a resource, as a node's status has them; None where there is no such key."""
    return sample_of(lab.node(node), resource)


def over_time(lab: Lab, resource: str, node: str = "") -> LivePicture:
    """The resource over the whole history that the lab shows, as a picture."""
    return LivePicture(timeline_picture(replace(timeline_of(lab, resource, node), node="")))


def draw_absence(away: int = 180, unhealthy: int = 0) -> Picture:
    """A plugin of eight devices is killed at 60 s and registers again `away` seconds later, `unhealthy` of them so.

    The node is looked at every ten seconds, as a kubelet does; 0 seconds: it never goes.
    """
    devices = [Device(f"d{n}", UNHEALTHY if n < unhealthy else HEALTHY, (n // 4,)) for n in range(8)]
    with Lab("absence", nodes=1, transport="memory") as lab:
        for at in range(0, 780, 10):
            if at in (0, 60 + away) and (at == 0 or away):
                lab.plugin(RESOURCE, devices)
            elif at == 60 and away:
                lab.kill_plugin(RESOURCE)
            lab.advance(10)
        return timeline_picture(replace(timeline_of(lab, RESOURCE), node=""))


def entry_fields() -> list[str]:
    """The fields that an entry of the list can have, as the message's definition names them."""
    from kubedev.wire.v1beta1_pb2 import Device

    return [field.name for field in Device.DESCRIPTOR.fields]


def capacity_kept(lab: Lab, resource: str, node: str = "") -> Invariant:
    """From the plugin's first list up to what is shown, the node's capacity never fell, and devices are healthy now."""

    def rows(state: ClusterState) -> Iterator[Row]:
        name = node or next(iter(state.kubelets))
        about = {"resource": resource, "node": name}
        for before, after in pairwise(timeline_of(lab, resource, name).samples):
            if (after.capacity or 0) < (before.capacity or 0):
                yield {**about, "at": f"{after.at:g}", "least": after.capacity or 0}
        capacity, allocatable = sample_of(state.store.nodes[name], resource)
        if not allocatable or allocatable != capacity:
            yield {**about, "key": "not-back", "capacity": capacity, "allocatable": allocatable}

    return invariant("capacity-fell", rows)


def sample_of(node: Node, resource: str) -> tuple[int | None, int | None]:
    """Capacity and allocatable of a resource in a node's status; None where there is no such key."""
    counts = (amounts.get(resource) for amounts in (node.capacity, node.allocatable))
    capacity, allocatable = (None if count is None else count.value() for count in counts)
    return capacity, allocatable


def _changes(moments: Iterable[tuple[float, tuple[int | None, int | None]]]) -> tuple[Sample, ...]:
    """The moments at which the numbers changed, the first one included."""
    samples: list[Sample] = []
    for at, (capacity, allocatable) in moments:
        if not samples or (samples[-1].capacity, samples[-1].allocatable) != (capacity, allocatable):
            samples.append(Sample(at, capacity, allocatable))
    return tuple(samples)


def _absences(messages: Iterable[Message], plugin: str) -> Iterator[tuple[float, float | None]]:
    """When the plugin stopped, and when it was there again: it had to register for that."""
    there, stopped = False, None
    for message in messages:
        if message.key == "registered" and message.target == plugin:
            if stopped is not None:
                yield stopped, message.at
            there, stopped = True, None
        elif there and message.key in ("stream-ended", "kubelet-restarted", "node-rebooted"):
            there, stopped = False, message.at
    if stopped is not None:
        yield stopped, None


def _devices(state: ClusterState, node: str, resource: str) -> tuple[DeviceView, ...]:
    nodes = (view for view in path_state(state, title="").nodes if view.name == node)
    return next((r.devices for view in nodes for r in view.resources if r.name == resource), ())
