"""One resource of a lab over simulated time: what the pictures of lab 03 are drawn from."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kubedev.api.messages import HEALTHY, UNHEALTHY, Device, DevicePluginOptions, Empty, RegisterRequest
from kubedev.api.objects import Node
from kubedev.cluster.state import ClusterState, Message
from kubedev.kubelet import events as k
from kubedev.kubelet.kubelet import KubeletState, new_kubelet, step
from kubedev.lab.panel import Draw
from kubedev.lab.scene import path_state
from kubedev.lab.session import Lab
from kubedev.views.catalogue import say
from kubedev.views.charts import timeline_figure
from kubedev.views.path_state import DeviceView
from kubedev.views.picture import Picture
from kubedev.views.style import Theme
from kubedev.views.timeline import Sample, Timeline, timeline_picture

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["chart", "draw_absence", "lists", "numbers", "sample_of", "timeline", "timeline_of"]


def timeline(resource: str, node: str = "") -> Draw:
    """The picture of a resource over time, for `lab.show`; of the first node where none is named."""
    return lambda lab, step: timeline_picture(timeline_of(lab, resource, node, step))


def timeline_of(lab: Lab, resource: str, node: str = "", step: int | None = None) -> Timeline:
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
    )


def lists(lab: Lab, resource: str, node: str = "") -> int:
    """How many ListAndWatch messages have come so far."""
    return len(timeline_of(lab, resource, node).messages)


def chart(lab: Lab, resource: str, theme: Theme = "light") -> "Figure":
    """The same as an ordinary plotly figure."""
    return timeline_figure(timeline_of(lab, resource), theme)


def numbers(lab: Lab, resource: str, node: str = "") -> tuple[int | None, int | None]:
    """Capacity and allocatable of a resource, as a node's status has them; None where there is no such key."""
    return sample_of(lab.node(node), resource)


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


# A plugin that goes away and comes back, without any cluster


def draw_absence(away: int = 180, devices: int = 8, sick: int = 0, until: int = 780) -> Picture:
    """A plugin with some devices, `sick` of them unhealthy, is away for `away` seconds from 60 s on.

    The node is looked at every ten seconds, as a kubelet does; 0 seconds: it never goes.
    """
    node = _AloneKubelet(Node("node"), "example.com/gpu")
    listed = [
        Device(f"d{i}", UNHEALTHY if i < sick else HEALTHY, (2 * i // devices,)) for i in range(devices)
    ]
    for at in range(0, until + 1, 10):
        if at in (0, 60 + away) and (at == 0 or away):
            node.register(tuple(listed), at)
        elif at == 60 and away:
            node.lose(at)
        node.look(at)
    return timeline_picture(node.timeline(until))


class _AloneKubelet:
    """A kubelet that is told by hand what happens, and keeps what its node's status said."""

    def __init__(self, node: Node, resource: str) -> None:
        self._state: KubeletState = new_kubelet(node, "/sockets")
        self._resource = resource
        self._moments: list[tuple[float, tuple[int | None, int | None]]] = []
        self._messages: list[tuple[float, str]] = []
        self._stops: list[float] = []
        self._returns: list[float] = []

    def register(self, devices: tuple[Device, ...], at: float) -> None:
        request = RegisterRequest(endpoint="gpu.sock", resource_name=self._resource)
        effects = self._step(k.PluginRegistering(1, request), at)
        for answer in (Empty(), DevicePluginOptions()):
            asked = next(effect for effect in effects if isinstance(effect, k.Ask))
            effects = self._step(k.Answered(asked.call_id, answer), at)
        stream = next(effect for effect in effects if isinstance(effect, k.OpenStream))
        self._step(k.ListReceived(stream.client, devices), at)
        self._messages.append((at, say("log.list", count=len(devices))))
        self._returns += [at] if len(self._stops) > len(self._returns) else []

    def lose(self, at: float) -> None:
        self._step(k.StreamEnded(self._state.devices.endpoints[self._resource], "EOF"), at)
        self._stops.append(at)

    def look(self, at: float) -> None:
        self._step(k.NodeStatusDue(), at)
        self._moments.append((at, sample_of(self._state.node, self._resource)))

    def timeline(self, now: float) -> Timeline:
        manager = self._state.devices
        healthy = manager.healthy_devices.get(self._resource, frozenset())
        devices = manager.all_devices.get(self._resource, {}).values()
        views = tuple(DeviceView(d.id, d.numa_nodes or (), d.id in healthy) for d in devices)
        messages, stops, returns = tuple(self._messages), tuple(self._stops), tuple(self._returns)
        return Timeline(self._resource, now, views, _changes(self._moments), messages, stops, returns)

    def _step(self, event: k.KubeletEvent, at: float) -> tuple[k.Effect, ...]:
        self._state, effects = step(self._state, event, at)
        return effects
