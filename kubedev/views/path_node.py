"""The lower half of the path's picture: one node in full, the other nodes small."""

from typing import Literal

from kubedev.views.catalogue import say
from kubedev.views.path_devices import resource_marks
from kubedev.views.path_state import ContainerView, MessageView, NodeView, PathState, PluginView
from kubedev.views.path_ways import (
    LEFT_WIDTH,
    NODE_TOP,
    ROW_HEIGHT,
    ROW_TOP,
    WAYS,
    call_way,
    party_box,
    shown_containers,
    shown_plugins,
    slot_box,
    start_way,
    stream_way,
)
from kubedev.views.picture import Box, Look, Mark, Panel, Text, legend
from kubedev.views.style import SIZE_HEAD, DeviceState, fit_middle, text_width, wrap

__all__ = ["node_marks"]

_HEIGHT = 360
_FILES_TOP = ROW_TOP + ROW_HEIGHT + 12
_DEVICES_TOP = _FILES_TOP + 52
_LEGEND_Y = NODE_TOP + _HEIGHT - 14
_LEGEND = (DeviceState.FREE, DeviceState.ALLOCATED, DeviceState.UNHEALTHY, DeviceState.UNHEALTHY_IN_USE)


def node_marks(state: PathState, node: NodeView | None, message: MessageView | None, way: str) -> list[Mark]:
    """Return the panel of the node in full; `way` is the way that is lit."""
    title = say("path.node", name=node.name) if node else say("path.no-node")
    shown = fit_middle(title, 315, SIZE_HEAD, bold=True)
    head = Text("node/name", 16, NODE_TOP + 26, shown, SIZE_HEAD, bold=True, tooltip=title)
    marks: list[Mark] = [Panel("node", 0, NODE_TOP, LEFT_WIDTH, _HEIGHT), head, *_other_nodes(state, node)]
    if node is None:
        return marks
    marks += [*WAYS["status"].quiet_marks(way), *WAYS["bound"].quiet_marks(way)]
    marks += _plugins(node, message, way)
    marks += _kubelet(node, message)
    marks += _containers(node, message, way)
    marks += _files(node, message)
    told = message is not None and (message.source, message.target) == ("kubelet", "store")
    marks += resource_marks(node, 30, _DEVICES_TOP, LEFT_WIDTH - 60, told=told)
    return [*marks, *legend("legend", 30, _LEGEND_Y, _LEGEND)]


def _other_nodes(state: PathState, node: NodeView | None) -> list[Mark]:
    others = [other.name for other in state.nodes if other is not node]
    marks: list[Mark] = []
    x = LEFT_WIDTH - 14.0
    for index, name in enumerate(others):
        text = fit_middle(name, 130)
        width = text_width(text) + 24
        if x - width < 500:
            more = say("frame.more", count=len(others) - index)
            marks.append(Text("node/more", x, NODE_TOP + 26, more, tone="muted", anchor="end"))
            break
        x -= width
        box = Box(f"node/{name}", x, NODE_TOP + 8, width, 27, text, look="muted", centred=True, tooltip=name)
        marks.append(box)
        x -= 8
    return marks


def _look(
    kind: Literal["plugin", "container"], about: str, message: MessageView | None, *, alive: bool
) -> Look:
    """Return how a plugin or container looks: lit if it takes part in the message."""
    if message and kind in (message.source, message.target) and message.about == about:
        return "lit"
    return "plain" if alive else "dead"


def _plugins(node: NodeView, message: MessageView | None, way: str) -> list[Mark]:
    shown = shown_plugins(node, message)
    if not shown:
        return [slot_box("plugin", "none", (0, 1), (say("path.plugin.none"),), "dead")]
    marks: list[Mark] = []
    for index, plugin in enumerate(shown):
        place = (index, len(shown))
        look = _look("plugin", plugin.resource, message, alive=plugin.alive)
        key = f"{plugin.resource}/{plugin.socket}"
        marks.append(slot_box("plugin", key, place, _plugin_lines(plugin, len(shown)), look))
        marks += _plugin_ways(plugin, place, way, look)
    if hidden := len(node.plugins) - len(shown):
        more = say("frame.more", count=hidden)
        marks.append(Text("plugin/more", 170, ROW_TOP + ROW_HEIGHT + 2, more, tone="muted"))
    return marks


def _plugin_lines(plugin: PluginView, count: int) -> tuple[str, ...]:
    """The title and what follows, the most important first, for a box that may have room for one line only."""
    running = say("path.plugin.memory") if plugin.pid is None else say("path.plugin.pid", pid=plugin.pid)
    state = running if plugin.alive else say("path.plugin.dead")
    return (say("path.plugin"), plugin.resource, state) if count == 1 else (plugin.resource, state)


def _plugin_ways(plugin: PluginView, place: tuple[int, int], way: str, look: Look) -> list[Mark]:
    if not plugin.alive:
        under_way = way in (call_way(*place).key, stream_way(*place).key) or look == "lit"
        if under_way or place[1] < 3:  # a larger box says it inside
            return []
        x, y = call_way(*place).end
        return [Text(f"stopped/{plugin.resource}", x + 2, y + 12, say("path.plugin.dead"), tone="muted")]
    marks = call_way(*place).quiet_marks(way)
    if plugin.streaming:
        stream = stream_way(*place)
        marks += stream.quiet_marks(way)
        if place[1] == 1 and way != stream.key:
            x, y = stream.middle
            marks.append(
                Text("stream/label", x, y + 20, say("path.link.stream"), tone="muted", anchor="middle")
            )
    return marks


def _kubelet(node: NodeView, message: MessageView | None) -> list[Mark]:
    lit = message is not None and "kubelet" in (message.source, message.target)
    decides = message is not None and message.source == message.target == "kubelet"
    lines = tuple(wrap(node.kubelet, 90, 1 if decides else 3))
    return [party_box("kubelet", say("path.kubelet"), lines, lit=lit, top=True)]


def _containers(node: NodeView, message: MessageView | None, way: str) -> list[Mark]:
    shown = shown_containers(node, message)
    if not shown:
        return [slot_box("container", "none", (0, 1), (say("path.container.none"),), "dead")]
    marks: list[Mark] = []
    for index, container in enumerate(shown):
        place = (index, len(shown))
        look = _look("container", container.pod, message, alive=container.running)
        key = f"{container.pod}/{container.name}"
        marks.append(slot_box("container", key, place, _container_lines(container, len(shown)), look))
        if container.running:
            marks += start_way(*place).quiet_marks(way)
    if hidden := len(node.containers) - len(shown):
        more = say("frame.more", count=hidden)
        marks.append(Text("container/more", 684, ROW_TOP + ROW_HEIGHT + 19, more, tone="muted", anchor="end"))
    return marks


def _container_lines(container: ContainerView, count: int) -> tuple[str, ...]:
    known = container.pid is not None
    pid = say("path.plugin.pid", pid=container.pid) if known else say("path.plugin.memory")
    state = pid if container.running else say("path.container.ended")
    return (say("path.container"), container.pod, state) if count == 1 else (container.pod, state)


def _files(node: NodeView, message: MessageView | None) -> list[Mark]:
    """The socket directory: each file a tag, the one that the message goes through lit."""
    y = _FILES_TOP + 19
    label = say("path.files")
    marks: list[Mark] = [Text("files", 30, y, label, bold=True, tone="muted")]
    x = 30 + text_width(label, bold=True) + 14
    if not node.files:
        return [*marks, Text("files/empty", x, y, say("path.files.empty"), tone="muted")]
    pair = () if message is None else (message.source, message.target)
    through = message.file if message is not None and {"plugin", "kubelet"} == set(pair) else ""
    for index, name in enumerate(node.files):
        text = fit_middle(name, 180, mono=True)
        width = text_width(text, mono=True) + 22
        if x + width > LEFT_WIDTH - 90:
            more = say("frame.more", count=len(node.files) - index)
            marks.append(Text("files/more", x, y, more, tone="muted", tooltip=", ".join(node.files[index:])))
            break
        look: Look = "lit" if through == name else "plain"
        place = (x, float(_FILES_TOP), width, 28.0)
        marks.append(Box(f"file/{name}", *place, text, look=look, mono=True, centred=True, tooltip=name))
        x += width + 8
    return marks
