"""The picture of lab 00: one pod, one device, the whole way; a pure function of a `PathState`.

Left, from top to bottom: the control plane, then the node where things happen with its plugins, socket
directory, kubelet, containers and devices. Right: the pods with the reason why one waits, and the messages.
Everything keeps its place from step to step; only what is under way moves.
"""

from kubedev.views.catalogue import say
from kubedev.views.path_node import node_marks
from kubedev.views.path_side import message_marks, pod_marks
from kubedev.views.path_state import MessageView, NodeView, PathMode, PathState
from kubedev.views.path_tables import path_tables
from kubedev.views.path_ways import LEFT_WIDTH, WAYS, lit_marks, party_box, way_of
from kubedev.views.picture import Dot, Dots, Line, Mark, Panel, Picture, Pill, Text
from kubedev.views.style import PILL_PADDING, WIDTH, text_width

__all__ = ["path_picture"]

_HEIGHT = 560
_STRIP = 520
_DOTS = 60


def path_picture(state: PathState) -> Picture:
    """Return the picture of a moment of the path."""
    node = _node(state)
    message = None if state.quiet or not state.messages else state.messages[-1]
    way = way_of(message, node)
    lit = way.key if way else ""
    marks = [
        *_control_plane(state, message, lit),
        *node_marks(state, node, message, lit),
        *pod_marks(state),
        *message_marks(state),
        *_history(state),
        *lit_marks(message, way, node),
    ]
    sentence = _sentence(state, message)
    alt = say("path.alt", node=node.name if node else "-", sentence=sentence)
    return Picture(state.title, sentence, _HEIGHT, tuple(marks), path_tables(state), alt)


def _node(state: PathState) -> NodeView | None:
    return next((node for node in state.nodes if node.name == state.node), next(iter(state.nodes), None))


def _sentence(state: PathState, message: MessageView | None) -> str:
    where = say("frame.step", step=state.step, total=state.total)
    if message is None:
        return say("path.sentence", step=where, text=say("path.start")) if not state.messages else where
    if message.sentence:
        return say("path.sentence", step=where, text=message.sentence)
    source, target = say(f"party.{message.source}"), say(f"party.{message.target}")
    key = "path.sentence.self" if message.source == message.target else "path.sentence.message"
    text = say(key, source=source, target=target, text=message.text)
    return say("path.sentence", step=where, text=text)


def _control_plane(state: PathState, message: MessageView | None, way: str) -> list[Mark]:
    lines = {
        "you": say("path.you.line"),
        "store": say("path.store.line", pods=len(state.pods), nodes=len(state.nodes)),
        "scheduler": say("path.scheduler.line", queued=state.queued, cached=state.cached),
    }
    marks: list[Mark] = [Panel("control-plane", 0, 0, LEFT_WIDTH, 98, say("path.control-plane"))]
    for key in ("apply", "watch", "bind"):
        marks += WAYS[key].quiet_marks(way)
    for party, line in lines.items():
        lit = message is not None and party in (message.source, message.target)
        marks.append(party_box(party, say(f"path.{party}"), (line,), lit=lit))
    return marks


def _history(state: PathState) -> list[Mark]:
    """The strip below: a point a step (or a line alone, when there are many), the clock and the mode."""
    left, right = 8.0, WIDTH - 8.0
    at = left + (right - left) * (state.step / state.total if state.total else 0)
    marks: list[Mark] = [
        Line("history/line", ((left, _STRIP), (right, _STRIP)), "rule"),
        Line("history/past", ((left, _STRIP), (at, _STRIP)), "strong"),
    ]
    if 0 < state.total <= _DOTS:
        places = [(left + (right - left) * s / state.total, float(_STRIP)) for s in range(state.total + 1)]
        marks.append(Dots("history/come", tuple(places[state.step + 1 :]), 3.5, "line"))
        marks.append(Dots("history/gone", tuple(places[: state.step + 1]), 3.5))
    if state.forked_at is not None and state.total:
        x = left + (right - left) * state.forked_at / state.total
        marks.append(Dot("history/fork", x, _STRIP, 6, "reusable"))
    marks.append(Dot("history/now", at, _STRIP, 7.5))
    now = say("path.clock", now=f"{state.now:g}")
    clock = Text("clock", WIDTH, _STRIP + 30, now, tone="muted", anchor="end")
    return [*marks, clock, *_mode(state.mode)]


def _mode(mode: PathMode) -> list[Mark]:
    """What kind of moment this is; a fork, which touches nothing real, stands out."""
    words, y = say(f"path.mode.{mode}"), _STRIP + 25
    if mode == "fork":
        return [Pill("mode", (text_width(words, bold=True) + PILL_PADDING) / 2, y, words, "reusable")]
    dot = Dot("mode/dot", 8, y, 5, "free" if mode == "live" else "edge")
    return [dot, Text("mode", 21, y + 5, words, tone="muted")]
