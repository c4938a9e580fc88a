"""Where the parties of the path stand and the ways between them; the message under way is lit here."""

from dataclasses import dataclass
from typing import Literal

from kubedev.views.catalogue import say
from kubedev.views.path_state import ContainerView, MessageView, NodeView, PluginView
from kubedev.views.picture import Box, Line, Look, Mark, Pill, Point, Text
from kubedev.views.style import PILL_PADDING, fit, fit_middle, text_width

__all__ = [
    "LEFT_WIDTH",
    "NODE_TOP",
    "ROW_HEIGHT",
    "ROW_TOP",
    "WAYS",
    "Way",
    "call_way",
    "hand_way",
    "lit_marks",
    "party_box",
    "shown_containers",
    "shown_plugins",
    "slot_box",
    "start_way",
    "stream_way",
    "way_of",
]

LEFT_WIDTH = 700
NODE_TOP = 140
ROW_TOP = 180
ROW_HEIGHT = 102
_SLOT_GAP = 8
_SLOTS = 3
_KUBELET_ROOM = 172.0
_GAP_ROOM = 62.0

_BOXES: dict[str, tuple[float, float, float, float]] = {
    "you": (16, 34, 126, 52),
    "store": (290, 34, 150, 52),
    "scheduler": (524, 34, 160, 52),
    "kubelet": (376, ROW_TOP, 112, ROW_HEIGHT),
}
_PLUGIN_X, _PLUGIN_WIDTH = 16.0, 148.0
_CONTAINER_X, _CONTAINER_WIDTH = 554.0, 132.0


@dataclass(frozen=True, slots=True)
class Way:
    """A connection with an arrow: its ends, its quiet label and how wide a pill may be on it.

    One with corners (`via`) is drawn only while something is on it, and has its pill at `rest`.
    """

    key: str
    start: Point
    end: Point
    label: str = ""
    label_at: Point = (0, 0)
    room: float = 120
    dashed: bool = False
    via: tuple[Point, ...] = ()
    rest: Point | None = None

    @property
    def middle(self) -> Point:
        """Where a pill rests."""
        if self.rest is not None:
            return self.rest
        return (self.start[0] + self.end[0]) / 2, (self.start[1] + self.end[1]) / 2

    def quiet_marks(self, lit: str) -> list[Mark]:
        """The way when nothing is on it; its label makes room for the message on the way called `lit`."""
        marks: list[Mark] = [Line(f"way/{self.key}", (self.start, self.end), dashed=self.dashed, arrow=True)]
        beside = lit in _UPRIGHT and self.key in _UPRIGHT
        if self.label and lit != self.key and not beside:
            x, y = self.label_at
            marks.append(Text(f"way/{self.key}/label", x, y, say(self.label), tone="muted", anchor="middle"))
        return marks


WAYS = {
    way.key: way
    for way in (
        Way("apply", (142, 60), (284, 60), "path.link.apply", (213, 52), 130),
        Way("watch", (440, 49), (518, 49), "path.link.watch", (480, 41), 80),
        Way("bind", (524, 72), (446, 72), "path.link.bind", (484, 91), 80),
        Way("status", (398, ROW_TOP), (398, 92), "path.link.status", (345, 124), 330),
        Way(
            "restart",
            (110, 86),
            (384, ROW_TOP - 4),
            room=220,
            via=((110, 119), (384, 119)),
            rest=(247, 119),
        ),
        Way("bound", (424, 86), (424, ROW_TOP - 6), "path.link.bound", (476, 124), 330),
    )
}
_UPRIGHT = ("status", "bound", "restart")
_CORRIDOR = 119.0  # between the control plane and the node
_BETWEEN = {
    ("you", "store"): "apply",
    ("store", "scheduler"): "watch",
    ("scheduler", "store"): "bind",
    ("kubelet", "store"): "status",
    ("store", "kubelet"): "bound",
    ("you", "kubelet"): "restart",
}


def shown_plugins(node: NodeView, message: MessageView | None) -> tuple[PluginView, ...]:
    """Return the plugins there is room for: the first ones, and in any case the one the message is about."""
    about = message.about if message is not None and "plugin" in (message.source, message.target) else ""
    wanted = [p for p in node.plugins if p.resource == about]
    others = [p for p in node.plugins if p.resource != about]
    kept = (*wanted, *others)[:_SLOTS]
    return tuple(p for p in node.plugins if p in kept)


def shown_containers(node: NodeView, message: MessageView | None) -> tuple[ContainerView, ...]:
    """Return the containers there is room for: the newest, and in any case the one the message is about."""
    about = message.about if message is not None and "container" in (message.source, message.target) else ""
    wanted = [c for c in node.containers if c.pod == about]
    newest = [c for c in reversed(node.containers) if c.pod != about]
    kept = (*wanted, *newest)[:_SLOTS]
    return tuple(c for c in node.containers if c in kept)


def slot(index: int, count: int) -> tuple[float, float]:
    """Return top and height of one of `count` boxes stacked in the row of the node's parties."""
    height = (ROW_HEIGHT - _SLOT_GAP * (count - 1)) / count
    return ROW_TOP + index * (height + _SLOT_GAP), height


def party_box(party: str, title: str, lines: tuple[str, ...], *, lit: bool, top: bool = False) -> Box:
    """Return the box of a party that has one place."""
    x, y, width, height = _BOXES[party]
    fitting = tuple(fit(line, width - 22) for line in lines)
    return Box(f"box/{party}", x, y, width, height, title, fitting, "lit" if lit else "plain", top=top)


def slot_box(
    kind: Literal["plugin", "container"],
    name: str,
    place: tuple[int, int],
    lines: tuple[str, ...],
    look: Look,
) -> Box:
    """Return the box of one plugin or container at `place` (index, count), with the lines it has room for."""
    x, width = (_PLUGIN_X, _PLUGIN_WIDTH) if kind == "plugin" else (_CONTAINER_X, _CONTAINER_WIDTH)
    y, height = slot(*place)
    shown = lines[: max(1, int(height // 22))]
    fitting = [fit_middle(line, width - 22, bold=i == 0) for i, line in enumerate(shown)]
    tooltip = " · ".join(lines)
    rest = tuple(fitting[1:])
    top = place[1] == 1
    return Box(f"{kind}/{name}", x, y, width, height, fitting[0], rest, look, top=top, tooltip=tooltip)


def call_way(index: int, count: int) -> Way:
    """The kubelet's calls to a plugin."""
    y = _lane(index, count, -1)
    return Way(f"call/{index}", (376, y), (170, y), room=208)


def stream_way(index: int, count: int) -> Way:
    """What a plugin sends: Register, and the ListAndWatch stream."""
    y = _lane(index, count, 1)
    return Way(f"stream/{index}", (164, y), (370, y), room=208, dashed=True)


def hand_way(index: int, count: int) -> Way:
    """What you do to a plugin: start it, kill it, turn a device sick. Down the left side, past the boxes above."""
    top, height = slot(index, count)
    middle = top + height / 2
    corners = ((110.0, _CORRIDOR), (7.0, _CORRIDOR), (7.0, middle))
    return Way(f"hand/{index}", (110, 86), (_PLUGIN_X, middle), room=190, via=corners, rest=(104, _CORRIDOR))


def start_way(index: int, count: int) -> Way:
    """The kubelet starts and stops a container."""
    y = _lane(index, count, -1)
    return Way(f"start/{index}", (488, y), (548, y), room=_GAP_ROOM)


def exit_way(index: int, count: int) -> Way:
    """What the kubelet hears of a container."""
    y = _lane(index, count, 1)
    return Way(f"exit/{index}", (554, y), (494, y), room=_GAP_ROOM)


def _lane(index: int, count: int, side: int) -> float:
    top, height = slot(index, count)
    return top + height / 2 + side * min(20.0, height / 4)


def way_of(message: MessageView | None, node: NodeView | None) -> Way | None:
    """Return the way that a message takes; none for a decision, or where its parties are not drawn."""
    if message is None:
        return None
    pair = (message.source, message.target)
    if pair in _BETWEEN:
        return WAYS[_BETWEEN[pair]]
    if node is None:
        return None
    plugins = [plugin.resource for plugin in shown_plugins(node, message)]
    pods = [container.pod for container in shown_containers(node, message)]
    if "plugin" in pair and message.about in plugins:
        by_hand = message.source == "you"
        make = hand_way if by_hand else call_way if message.target == "plugin" else stream_way
        return make(plugins.index(message.about), len(plugins))
    if "container" in pair and message.about in pods:
        make = start_way if message.target == "container" else exit_way
        return make(pods.index(message.about), len(pods))
    return None


def lit_marks(message: MessageView | None, way: Way | None, node: NodeView | None) -> list[Mark]:
    """Return the marks of the message under way: its way lit, and the pill that travels on it."""
    if message is None:
        return []
    if message.source == message.target:
        return _decision(message, node)
    if way is None:
        return []
    (x, y), text = way.middle, _fitting(message, way.room)
    line = Line("lit/way", (way.start, *way.via, way.end), "lit", arrow=True)
    return [line, Pill(f"lit/{message.number}", x, y, text, start=way.start, tooltip=message.text)]


def _fitting(message: MessageView, room: float) -> str:
    for text in (message.text, message.label):
        if text_width(text, bold=True) + PILL_PADDING <= room:
            return text
    return fit(message.label, room - PILL_PADDING, bold=True)


def _decision(message: MessageView, node: NodeView | None) -> list[Mark]:
    """A decision is a tag at the lower edge of the party that takes it, or beside a plugin or container."""
    if message.source in _BOXES:
        x, y, width, height = _BOXES[message.source]
        inside = message.source == "kubelet"
        centre = (x + width / 2, y + height + (-20 if inside else 9))
        text = _fitting(message, _KUBELET_ROOM if inside else width)
    elif (place := _slot_of(message, node)) is not None:
        top, height = slot(*place)
        at_plugin = message.source == "plugin"
        text = _fitting(message, 200 if at_plugin else _GAP_ROOM)
        half = (text_width(text, bold=True) + PILL_PADDING) / 2
        centre = (172 + half if at_plugin else 521, top + height / 2)
    else:
        return []
    return [Pill(f"lit/{message.number}", *centre, text, tooltip=message.text)]


def _slot_of(message: MessageView, node: NodeView | None) -> tuple[int, int] | None:
    """Index and count of the plugin or container that a message is about."""
    if node is None:
        return None
    if message.source == "plugin":
        names = [plugin.resource for plugin in shown_plugins(node, message)]
    else:
        names = [container.pod for container in shown_containers(node, message)]
    return (names.index(message.about), len(names)) if message.about in names else None
