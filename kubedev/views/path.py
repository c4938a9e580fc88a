"""The picture of lab 00: one pod, one device, the whole way; a pure function of a `PathState`.

Above the control plane, below it the node where things happen; beside them, or beneath where the column is narrow, the
pods with the reason why one waits, and the messages. The two that a message goes between are lit, and only what is
under way moves.
"""

from functools import lru_cache

from kubedev.views.catalogue import say
from kubedev.views.controls import Button, Choice, What, act
from kubedev.views.grammar import Card, Column, Facts, Grid, Knob, Part, Row, Space, Words, picture
from kubedev.views.path_node import node_card, node_ways, under_way
from kubedev.views.path_side import log_card, pods_card
from kubedev.views.path_state import MessageView, PathControls, PathState
from kubedev.views.path_tables import path_tables
from kubedev.views.picture import Picture
from kubedev.views.style import WIDTH
from kubedev.views.wires import Tag, Way, Wired

__all__ = ["path_picture"]

_CORRIDOR = 40.0  # between control plane and node: what goes from one to the other, and an error of a control
_WIDE = 900.0
_GAPS = {True: (66.0, 72.0), False: (52.0, 54.0)}
_WAYS = (
    ("you", "store", "path.link.apply"),
    ("store", "scheduler", "path.link.watch"),
    ("scheduler", "store", "path.link.bind"),
    ("kubelet", "store", "path.link.status"),
    ("store", "kubelet", "path.link.bound"),
)


def path_picture(state: PathState, width: float = WIDTH) -> Picture:
    """Return the picture of a moment of the path."""
    node = next((n for n in state.nodes if n.name == state.node), next(iter(state.nodes), None))
    message = None if state.quiet or not state.messages else state.messages[-1]
    wide = width > _WIDE
    plane = Card(say("path.control-plane"), _control_plane(state, message, wide=wide))
    stations = Column(plane, Space(_CORRIDOR), node_card(state, node, message, wide=wide), gap=0)
    way = Wired(stations, *_ways(message), *(node_ways(node, message) if node else ()))
    side = Grid(pods_card(state), log_card(state), across=2)
    foot = [] if state.controls else [_moment(state)]
    beside = Row(way, side, shares=(2.32, 1)) if wide else Column(way, side)
    body = Column(beside, *foot, *map(Facts, path_tables(state)))
    return picture(state.title, _sentence(state, message), body, width)


def _sentence(state: PathState, message: MessageView | None) -> str:
    where = say("frame.step", step=state.step, total=state.total)
    if message is None:
        return say("path.sentence", step=where, text=say("path.start")) if not state.messages else where
    if message.sentence:
        return say("path.sentence", step=where, text=message.sentence)
    source, target = say(f"party.{message.source}"), say(f"party.{message.target}")
    key = "path.sentence.self" if message.source == message.target else "path.sentence.message"
    text = say(key, source=source, target=target, text=message.text)
    if message.node and len(state.nodes) > 1:
        text = say("path.sentence.node", node=message.node, text=text)
    return say("path.sentence", step=where, text=text)


def _moment(state: PathState) -> Row:
    """What kind of moment this is, where no stage around the picture says it; a fork stands out."""
    words = say(f"path.mode.{state.mode}")
    mode = Tag(words, words, key="mode") if state.mode == "fork" else Words(words, "muted", key="mode")
    clock = Words(say("path.clock", now=f"{state.now:g}"), "muted", anchor="end", key="clock")
    return Row(mode, clock, shares=(1, 1), middle=True)


def _control_plane(state: PathState, message: MessageView | None, *, wide: bool) -> Row:
    lines = {
        "you": say("path.you.line"),
        "store": say("path.store.line", pods=len(state.pods), nodes=len(state.nodes)),
        "scheduler": say("path.scheduler.line", queued=state.queued, cached=state.cached),
    }
    parties = set() if message is None else {message.source, message.target}
    decision = message if len(parties) == 1 else None
    cards = [
        _party(party, line, state.controls, party in parties, decision if party in parties else None)
        for party, line in lines.items()
    ]
    first, second = _GAPS[wide]
    you, store, scheduler = cards
    shares = (0 if state.controls else 1, 0, 1, 0, 1.06)
    return Row(you, Space(wide=first), store, Space(wide=second), scheduler, shares=shares, gap=0)


@lru_cache(64)  # most cards stay as they are from step to step
def _party(
    party: str, words: str, controls: PathControls | None, lit: bool, decision: MessageView | None
) -> Card:
    line: Part = Words(words, "muted")
    if decision is not None:
        line = Tag(decision.text, decision.label, decision.number)
    elif party == "you" and controls is not None:
        line = _your_controls(controls)
    return Card(say(f"path.{party}"), line, key=f"box/{party}", look="lit" if lit else "plain", high=58)


def _your_controls(controls: PathControls) -> Part:
    off = not controls.changing
    pods = Choice(say("path.sample"), controls.samples, controls.sample, ())
    add = Button(
        say("path.add"), act("apply", manifest="=control/sample", rename=True), primary=True, disabled=off
    )
    paste = Button(say("path.paste"), act("paste"), disabled=off)
    keyed: dict[str, What] = {"sample": pods, "apply": add, "paste": paste}
    return Row(*(Knob(what, f"control/{name}") for name, what in keyed.items()), shares=(0, 0, 0), gap=6)


def _ways(message: MessageView | None) -> list[Way]:
    """What goes between the parties of the control plane, and to and from the kubelet."""
    ways = [under_way(Way(f"box/{a}", f"box/{b}", say(label)), message, (a, b)) for a, b, label in _WAYS]
    return [*ways, under_way(Way("box/you", "box/kubelet", round=True), message, ("you", "kubelet"))]
