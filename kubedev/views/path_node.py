"""The node in full: its plugins, kubelet and containers, and what its status says of the devices."""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from kubedev.views.catalogue import say
from kubedev.views.controls import Action, Button, act
from kubedev.views.grammar import Card, Column, Grid, Knob, Part, Row, Space, Words
from kubedev.views.parts import Cells, Device, Legend
from kubedev.views.path_devices import device_state, device_words, numa_text, short_names
from kubedev.views.path_state import (
    ContainerView,
    DeviceView,
    MessageView,
    NodeView,
    PathControls,
    PathState,
    PluginView,
    ResourceView,
)
from kubedev.views.picture import Look
from kubedev.views.style import ON_A_NODE, SIZE_HEAD
from kubedev.views.wires import Tag, Way

__all__ = ["node_card", "node_ways", "under_way"]

_MOST = 3  # plugins or containers that have a box of their own
_HIGH, _LOW = 75.0, 47.0
_CELLS = 60.0
_GAPS = {True: (162.0, 68.0), False: (140.0, 66.0)}


def node_card(state: PathState, node: NodeView | None, message: MessageView | None, *, wide: bool) -> Card:
    """Return the card of the node that is drawn in full."""
    title = Words(
        say("path.node", name=node.name) if node else say("path.no-node"), bold=True, size=SIZE_HEAD
    )
    if node is None:
        return Card("", title, key="node", high=235)
    calls, starts = _GAPS[wide]
    parties = Row(
        Column(*_plugins(state, node, message), gap=6),
        Space(wide=calls),
        _kubelet(
            node.name,
            node.kubelet,
            "kubelet.sock" in node.files,
            state.controls,
            *_part_in(message, message is not None and "kubelet" in (message.source, message.target)),
        ),
        Space(wide=starts),
        Column(*_containers(node, message), gap=6),
        shares=(1.14, 0, 1.02, 0, 0.76),
        gap=0,
    )
    head = Row(_head(state, node, title), _others(state, node), shares=(1.35, 1), gap=170, middle=True)
    told = message is not None and (message.source, message.target) == ("kubelet", "store")
    return Card(
        "",
        head,
        *_trouble(node),
        parties,
        _resources(state, node, told=told),
        key="node",
        high=235,
        name=title.text,
    )


def _trouble(node: NodeView) -> list[Part]:
    """The node's conditions that mean trouble, and what keeps pods away because of them."""
    said = [
        say(f"path.node.{what}", names=", ".join(names))
        for what, names in (("conditions", node.conditions), ("taints", node.taints))
        if names
    ]
    return [Words(" · ".join(said), key="node/trouble")] if said else []


def _knob(controls: PathControls | None, label: str, key: str, action: Action) -> list[Part]:
    """A button beside what it acts on, if there are any."""
    if controls is None:
        return []
    what = Button(say(f"path.{label}"), action, disabled=not controls.changing)
    return [Knob(what, f"control/{key}")]


def _head(state: PathState, node: NodeView, title: Words) -> Part:
    start = _knob(state.controls, "start-plugin", "start_plugin", act("start_plugin", node=node.name))
    return Row(title, *start, shares=(0, 0), middle=True) if start else title


def _others(state: PathState, node: NodeView) -> Part:
    """The other nodes: a button that shows the one, or their names."""
    names = [other.name for other in state.nodes if other is not node]
    if state.controls is None or len(names) != 1:
        return Words(say("path.others", names=", ".join(names)) if names else "", "muted", anchor="end")
    show = Button(names[0], act("show_node", node=names[0]))
    return Row(Space(), Knob(show, "control/show_node"), shares=(1, 0), gap=0)


def _about(message: MessageView | None, kind: str) -> str:
    return message.about if message is not None and kind in (message.source, message.target) else ""


def _shown_plugins(node: NodeView, message: MessageView | None) -> list[PluginView]:
    """The plugins that have a box: the first ones, and in any case the one that the message is about."""
    about = _about(message, "plugin")
    ranked = sorted(node.plugins, key=lambda plugin: plugin.resource != about)[:_MOST]
    return [plugin for plugin in node.plugins if plugin in ranked]


def _shown_containers(node: NodeView, message: MessageView | None) -> list[ContainerView]:
    """The containers that have a box: the newest, and in any case the one that the message is about."""
    about = _about(message, "container")
    newest = list(reversed(node.containers))
    ranked = sorted(newest, key=lambda container: not about or container.pod != about)[:_MOST]
    return [container for container in node.containers if container in ranked]


def _plugins(state: PathState, node: NodeView, message: MessageView | None) -> list[Part]:
    if not node.plugins:
        return [Card(say("path.plugin.none"), look="dead", high=_HIGH)]
    shown = _shown_plugins(node, message)
    about, alone = _about(message, "plugin"), len(node.plugins) == 1
    cards: list[Part] = [
        _plugin(node.name, plugin, state.controls, alone, *_part_in(message, plugin.resource == about))
        for plugin in shown
    ]
    return [*cards, *_more(plugin.resource for plugin in node.plugins if plugin not in shown)]


def _part_in(message: MessageView | None, named: bool) -> tuple[bool, MessageView | None]:
    """Whether a party takes part in the message, and the message if it is its own decision."""
    lit = message is not None and named
    return lit, message if lit and message and message.source == message.target else None


def _line(words: str, decision: MessageView | None) -> Part:
    return Tag(decision.text, decision.label, decision.number) if decision else Words(words, "muted")


@lru_cache(64)  # most cards stay as they are from step to step
def _plugin(
    node: str,
    plugin: PluginView,
    controls: PathControls | None,
    alone: bool,
    lit: bool,
    decision: MessageView | None,
) -> Card:
    """One plugin; where it is alone its resource is told by the devices, and its box says what it is."""
    running = say("path.plugin.memory") if plugin.pid is None else say("path.plugin.pid", pid=plugin.pid)
    kill = act("kill_plugin", resource=plugin.resource, node=node)
    look: Look = "lit" if lit else "plain" if plugin.alive else "dead"
    return Card(
        say("path.plugin") if alone else plugin.resource,
        *([Words(plugin.socket, "muted", mono=True)] if alone else []),
        _line(running if plugin.alive else say("path.plugin.dead"), decision),
        look=look,
        key=_plugin_key(plugin),
        high=_HIGH if alone else _LOW,
        corner=_knob(controls, "kill", f"kill/{plugin.resource}", kill) if plugin.alive else [],
        tooltip=f"{plugin.resource} · {plugin.socket} · {running}",
    )


def _plugin_key(plugin: PluginView) -> str:
    return f"plugin/{plugin.resource}/{plugin.socket}"


def _container_key(container: ContainerView) -> str:
    return f"container/{container.pod}/{container.name}"


def _more(names: Iterable[str]) -> list[Part]:
    listed = list(names)
    if not listed:
        return []
    return [Words(say("path.more", count=len(listed), names=", ".join(listed)), "muted")]


@lru_cache(16)
def _kubelet(
    node: str,
    doing: str,
    serves: bool,
    controls: PathControls | None,
    lit: bool,
    decision: MessageView | None,
) -> Card:
    """The kubelet, with its socket while it is there, and what it does."""
    socket = [Words("kubelet.sock", "muted", mono=True)] if serves else []
    restart = _knob(controls, "restart", "restart_kubelet", act("restart_kubelet", node=node))
    words, look = _line(doing, decision), "lit" if lit else "plain"
    return Card(say("path.kubelet"), *socket, words, look=look, key="box/kubelet", high=_HIGH, corner=restart)  # type: ignore[arg-type]


def _containers(node: NodeView, message: MessageView | None) -> list[Part]:
    if not node.containers:
        return [Card(say("path.container.none"), look="dead", high=_HIGH)]
    shown = _shown_containers(node, message)
    alone = len(node.containers) == 1
    cards: list[Part] = [
        _container(each, alone, *_part_in(message, _takes_part(each, message))) for each in shown
    ]
    hidden = (f"{each.pod}/{each.name}" for each in node.containers if each not in shown)
    return [*cards, *_more(hidden)]


def _takes_part(container: ContainerView, message: MessageView | None) -> bool:
    named = message is not None and message.container in ("", container.name)
    return named and _about(message, "container") == container.pod


@lru_cache(64)
def _container(container: ContainerView, alone: bool, lit: bool, decision: MessageView | None) -> Card:
    """One container: its own name, and its pod's."""
    pid = container.pid
    running = say("path.plugin.memory") if pid is None else say("path.plugin.pid", pid=pid)
    state = running if container.running else say("path.container.ended")
    return Card(
        container.name,
        Words(say("path.container.of", pod=container.pod), "muted"),
        *([_line(state, decision)] if alone or decision else []),
        look="lit" if lit else "plain" if container.running else "dead",
        key=_container_key(container),
        high=_HIGH if alone else _LOW,
        tooltip=f"{container.pod}/{container.name} · {state}",
    )


def _resources(state: PathState, node: NodeView, *, told: bool) -> Part:
    if not node.resources:
        return Words(say("path.no-devices"), "muted")
    alone = len(node.resources) == 1
    each = [_resource(state, node, resource, told=told, alone=alone) for resource in node.resources]
    if alone:
        return Row(each[0], Legend(*ON_A_NODE, upright=True), shares=(1, 0), gap=20)
    return Column(Grid(*each, gap=24), Legend(*ON_A_NODE))


def _resource(state: PathState, node: NodeView, resource: ResourceView, *, told: bool, alone: bool) -> Column:
    """What the node's status says of a resource, its devices by NUMA node, and whose they are."""
    names = short_names([device.id for device in resource.devices])
    by_numa = sorted(resource.devices, key=lambda device: device.numa)
    acts = state.controls is not None and state.controls.changing
    cells = [_device(node.name, resource.name, d, names[d.id], acts=acts) for d in by_numa]
    if not state.status:
        status = ""
    elif resource.capacity is None:
        status = say("path.resource.absent")
    else:
        status = say("path.resource", capacity=resource.capacity, allocatable=resource.allocatable)
    healthy, used = (
        sum(d.healthy for d in resource.devices),
        sum(d.owner != "" for d in resource.devices),
    )
    known = len(resource.devices)
    same = "" if known == resource.capacity or not state.status else say("path.resource.known", known=known)
    counts = same + say("path.resource.counts", healthy=healthy, used=used) if state.status else ""
    name = Words(resource.name, bold=True)
    said = Words(status, "accent" if told else "ink", bold=told, key=f"status/{resource.name}")
    counted = Words(counts, "muted", anchor="end" if alone else "start", key=f"counts/{resource.name}")
    head = Row(name, said, counted, shares=(0, 0, 1), gap=16) if alone else Column(name, said, counted, gap=0)
    gone = any(device.gone for device in resource.devices)
    lines = [Words(say("path.gone"), "muted")] if gone else []
    shown = [Cells(*cells, high=_CELLS)] if cells else []
    return Column(head, *shown, *lines, gap=4)


@lru_cache(4096)  # most devices stay as they are from step to step
def _device(node: str, resource: str, device: DeviceView, name: str, *, acts: bool) -> Device:
    set_health = act("set_health", node=node, resource=resource, device=device.id, healthy=not device.healthy)
    return Device(
        name,
        device_state(device),
        key=f"device/{resource}/{device.id}",
        group=numa_text(device.numa),
        owner=f"{device.owner}/{device.container}" if device.container else device.owner,
        tooltip=device_words(device),
        action=set_health if acts else f"device:{resource}:{device.id}",
    )


def under_way(way: Way, message: MessageView | None, pair: tuple[str, str]) -> Way:
    """Return a way with the message on it, if the message goes from one of `pair` to the other."""
    if message is None or (message.source, message.target) != pair:
        return way
    return replace(way, pill=message.text, short=message.label, number=message.number)


def node_ways(node: NodeView, message: MessageView | None) -> list[Way]:
    """Return the ways between the kubelet, the plugins and the containers that have a box."""
    ways: list[Way] = []
    alone = len(node.plugins) == 1
    for plugin in _shown_plugins(node, message):
        about = message if _about(message, "plugin") == plugin.resource else None
        key = _plugin_key(plugin)
        calls = under_way(Way("box/kubelet", key), about, ("kubelet", "plugin"))
        label = say("path.link.stream") if alone and plugin.streaming else ""
        stream = under_way(Way(key, "box/kubelet", label, dashed=True), about, ("plugin", "kubelet"))
        hand = under_way(Way("box/you", key, round=True), about, ("you", "plugin"))
        ways += [calls] if plugin.alive or calls.pill else []
        ways += [stream] if (plugin.alive and plugin.streaming) or stream.pill else []
        ways.append(hand)
    for container in _shown_containers(node, message):
        about = message if _takes_part(container, message) else None
        key = _container_key(container)
        starts = under_way(Way("box/kubelet", key), about, ("kubelet", "container"))
        ends = under_way(Way(key, "box/kubelet"), about, ("container", "kubelet"))
        ways += [starts] if container.running or starts.pill else []
        ways += [ends] if ends.pill else []
    return ways
