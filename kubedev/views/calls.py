"""Parts that tell a story of parties and states: who calls whom, and what state leads to which."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kubedev.views.catalogue import say
from kubedev.views.part import Block, Part, line_height
from kubedev.views.picture import Box, Line, Mark, Pill, Point, Table, Text
from kubedev.views.style import PILL_PADDING, flow, text_width

__all__ = ["Calls", "Said", "StateDiagram", "Transition"]

_PITCH = 43.0  # from one state to the next in a layer
_LANE = 8.0  # between two ways around


@dataclass(frozen=True, slots=True)
class Said:
    """One call, from a party to another; an `answer` is dashed; `note` explains it below; `lit`: it is now.

    An `error` has the tone of what is not well.
    """

    source: str
    target: str
    text: str
    note: str = ""
    answer: bool = False
    lit: bool = False
    error: bool = False


class Calls(Part):
    """Parties side by side, each with a line down; the calls between them one below the other."""

    __slots__ = ("parties", "said")

    def __init__(self, parties: Sequence[str], said: Sequence[Said]) -> None:
        self.parties = tuple(parties)
        self.said = tuple(said)

    def _boxes(self) -> list[float]:
        return [text_width(party, bold=True) + 26 for party in self.parties]

    def least(self) -> float:
        return sum(self._boxes()) + 130 * (len(self.parties) - 1)

    def lay(self, width: float, key: str) -> Block:
        boxes, last = self._boxes(), len(self.parties) - 1
        first, final = boxes[0] / 2, width - boxes[-1] / 2
        middles = {p: first + (final - first) * n / max(1, last) for n, p in enumerate(self.parties)}
        rows = [self._row(call, middles) for call in self.said]
        high = 42 + sum(height for _, _, height in rows)

        def draw(x: float, y: float, height: float) -> Iterator[Mark]:
            for n, (party, wide) in enumerate(zip(self.parties, boxes, strict=True)):
                middle = x + middles[party]
                lit = any(call.lit and party in (call.source, call.target) for call in self.said)
                yield Line(f"{key}/{n}/life", ((middle, y + 32), (middle, y + max(height, high))), "faint")
                place = (middle - wide / 2, y, wide, 32.0)
                yield Box(f"{key}/{n}", *place, party, centred=True, look="lit" if lit else "plain")
            at = y + 42
            for n, (call, (text, note, step)) in enumerate(zip(self.said, rows, strict=True)):
                yield from self._call(f"{key}/call/{n}", call, text, note, (x, at), middles)
                at += step

        return Block(high, draw)

    def _row(
        self, call: Said, middles: Mapping[str, float]
    ) -> tuple[tuple[str, ...], tuple[str, ...], float]:
        room = max(80.0, abs(middles[call.source] - middles[call.target]) - 20)
        text = flow(call.text, room, bold=call.lit)
        note = flow(call.note, room)
        return text, note, line_height() * (len(text) + len(note)) + 11

    def _call(
        self,
        key: str,
        call: Said,
        text: Sequence[str],
        note: Sequence[str],
        place: tuple[float, float],
        middles: Mapping[str, float],
    ) -> Iterator[Mark]:
        x, y = place
        start, end = x + middles[call.source], x + middles[call.target]
        look: Literal["lit", "quiet"] = "lit" if call.lit else "quiet"
        centre, tone = (start + end) / 2, "unhealthy" if call.error else "ink"
        for n, line in enumerate(text):
            at = y + 13 + line_height() * n
            yield Text(f"{key}/text/{n}", centre, at, line, tone=tone, bold=call.lit, anchor="middle")
        at = y + line_height() * len(text) + 4
        yield Line(
            f"{key}/arrow", ((start, at), (end, at)), look, dashed=call.answer and not call.lit, arrow=True
        )
        for n, line in enumerate(note):
            yield Text(
                f"{key}/note/{n}", centre, at + 17 + line_height() * n, line, tone="muted", anchor="middle"
            )

    def about(self) -> str:
        return say("grammar.sequence", count=len(self.said), parties=", ".join(self.parties))


@dataclass(frozen=True, slots=True)
class Transition:
    """From a state, by an event, to a state."""

    source: str
    event: str
    target: str


class StateDiagram(Part):
    """States in the layers in which they can first be reached, with an arrow for each way between two of them.

    A way that goes back, or past a layer, runs below or above the states. `now` is lit, and so is the way on which
    `event` led there from `before`, if one did; `_from_here` are the words of what can happen next.
    """

    __slots__ = ("before", "caption", "event", "now", "transitions")

    def __init__(
        self,
        transitions: Sequence[Transition],
        now: str,
        *,
        before: str = "",
        event: str = "",
        caption: str = "",
    ) -> None:
        self.transitions = tuple(transitions)
        self.now = now
        self.before = before
        self.event = event
        self.caption = caption

    def layers(self) -> list[list[str]]:
        """The states by how many steps from the first one they are."""
        first = self.transitions[0].source if self.transitions else self.now
        layers, known = [[first]], {first}
        while layers[-1]:
            following = [t.target for state in layers[-1] for t in self.transitions if t.source == state]
            layers.append([s for s in dict.fromkeys(following) if s not in known])
            known |= set(layers[-1])
        return layers[:-1]

    def ways(self) -> list[tuple[str, str]]:
        """The pairs of different states between which something leads."""
        return list(dict.fromkeys((t.source, t.target) for t in self.transitions if t.source != t.target))

    def _columns(self) -> list[float]:
        return [max(text_width(state, bold=True) + 26 for state in layer) for layer in self.layers()]

    def least(self) -> float:
        return sum(self._columns()) + 40 * (len(self._columns()) - 1)

    def lay(self, width: float, key: str) -> Block:
        layers, columns = self.layers(), self._columns()
        gap = max(26.0, (width - sum(columns)) / max(1, len(columns) - 1)) if len(columns) > 1 else 0.0
        layer_of = {state: n for n, layer in enumerate(layers) for state in layer}
        around = [way for way in self.ways() if not -2 < layer_of[way[0]] - layer_of[way[1]] < 2]
        upper = [way for way in around if way[0] in {layer[0] for layer in layers if len(layer) > 1}]
        lower = [way for way in around if way not in upper]
        head = 30.0 + _LANE * len(upper)
        high = _PITCH * max(map(len, layers)) - _PITCH + 34
        foot = (18.0 + _LANE * len(lower)) * bool(lower)
        words = flow(self._from_here(), width)

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            places: dict[str, tuple[float, float, float]] = {}
            at = x
            for layer, wide in zip(layers, columns, strict=True):
                top = y + head + (high - (_PITCH * len(layer) - _PITCH + 34)) / 2
                for n, state in enumerate(layer):
                    places[state] = (at, top + _PITCH * n, wide)
                at += wide + gap
            routes = {way: _straight(places, way) for way in self.ways() if way not in around}
            for n, way in enumerate(upper):
                routes[way] = _lane(places, way, y + head - 14 - _LANE * n, n)
            for n, way in enumerate(lower):
                routes[way] = _lane(places, way, y + head + high + 14 + _LANE * n, n)
            lit = (self.before, self.now) if self.event else ("", "")
            for (a, b), points in sorted(routes.items(), key=lambda each: each[0] == lit):
                name = "moved/way" if (a, b) == lit else f"{key}/way/{a}/{b}"
                yield Line(name, points, "lit" if (a, b) == lit else "quiet", arrow=True)
            for state, (left, top, wide) in places.items():
                look: Literal["lit", "plain"] = "lit" if state == self.now else "plain"
                yield Box(f"{key}/{state}", left, top, wide, 34, state, look=look, centred=True)
            if self.event:
                yield self._moved(routes.get(lit), places[self.now], (x, y, x + width))
            for n, line in enumerate(words):
                at_ = y + head + high + foot + 18 + line_height() * n
                yield Text(f"{key}/here/{n}", x, at_, line, tone="muted")

        return Block(head + high + foot + (8 + line_height() * len(words)) * bool(words), draw)

    def _moved(
        self,
        points: tuple[Point, ...] | None,
        now: tuple[float, float, float],
        room: tuple[float, float, float],
    ) -> Pill:
        """What just happened, on its way; above the states where it has no room there."""
        half = (text_width(self.event, bold=True) + PILL_PADDING) / 2
        left, top, right = room
        place = (now[0] + now[2] / 2, top + 14)
        start = None
        if points is not None:
            start = points[0]
            (ax, ay), (bx, by) = points[1:3] if len(points) == 4 else points
            place = (
                (ax + bx) / 2,
                (ay + by) / 2 if len(points) == 4 or abs(bx - ax) > 2 * half else top + 14,
            )
        middle = min(max(place[0], left + half), right - half)
        return Pill(f"moved/{self.before}/{self.event}", middle, place[1], self.event, start=start)

    def _from_here(self) -> str:
        """What can happen next, in words."""
        here = [
            say("grammar.transition", event=t.event, state=t.target)
            for t in self.transitions
            if t.source == self.now
        ]
        return say("grammar.from-here", ways=" · ".join(here)) if here else ""

    def about(self) -> str:
        states = ", ".join(state for layer in self.layers() for state in layer)
        return say("grammar.states", states=states, now=self.now)

    def tables(self) -> tuple[Table, ...]:
        if not self.caption:
            return ()
        heads = tuple(say(f"table.{head}") for head in ("phase.before", "event", "phase.after"))
        return (Table(self.caption, heads, tuple((t.source, t.event, t.target) for t in self.transitions)),)


def _straight(places: Mapping[str, tuple[float, float, float]], way: tuple[str, str]) -> tuple[Point, ...]:
    """Between neighbours: from edge to edge, a way back a little below the one there."""
    (ax, ay, wide), (bx, by, other) = places[way[0]], places[way[1]]
    if ax == bx:  # one above the other
        down = ay < by
        return ((ax + wide / 2, ay + 34 * down), (bx + other / 2, by - 4 if down else by + 38))
    if ax < bx:
        return ((ax + wide, ay + 12), (bx - 4, by + 12))
    return ((ax, ay + 23), (bx + other + 4, by + 23))


def _lane(
    places: Mapping[str, tuple[float, float, float]], way: tuple[str, str], y: float, n: int
) -> tuple[Point, ...]:
    """Around what is between: out of one state, along a lane of its own, and into the other."""
    (ax, ay, wide), (bx, by, other) = places[way[0]], places[way[1]]
    below = y > ay
    out, into = ax + wide * (0.35 + 0.1 * n), bx + other * (0.25 + 0.15 * n)
    end = by + 38 if below else by - 4
    return ((out, ay + 34 * below), (out, y), (into, y), (into, end))
