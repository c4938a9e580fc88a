"""Parts that tell a story of parties and states: who calls whom, and what state leads to which."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kubedev.views.catalogue import say
from kubedev.views.part import Block, Part, line_height
from kubedev.views.picture import Box, Line, Mark, Table, Text
from kubedev.views.style import flow, text_width

__all__ = ["Calls", "Said", "StateDiagram", "Transition"]


@dataclass(frozen=True, slots=True)
class Said:
    """One call, from a party to another; an `answer` is dashed; `note` explains it below; `lit`: it is now."""

    source: str
    target: str
    text: str
    note: str = ""
    answer: bool = False
    lit: bool = False


class Calls(Part):
    """Parties side by side, each with a line down; the calls between them one below the other."""

    __slots__ = ("caption", "parties", "said")

    def __init__(self, parties: Sequence[str], said: Sequence[Said], *, caption: str = "") -> None:
        self.parties = tuple(parties)
        self.said = tuple(said)
        self.caption = caption

    def _boxes(self) -> list[float]:
        return [text_width(party, bold=True) + 26 for party in self.parties]

    def least(self) -> float:
        return sum(self._boxes()) + 130 * (len(self.parties) - 1)

    def lay(self, width: float, key: str) -> Block:
        boxes, last = self._boxes(), len(self.parties) - 1
        first, final = boxes[0] / 2, width - boxes[-1] / 2
        middles = {p: first + (final - first) * n / max(1, last) for n, p in enumerate(self.parties)}
        rows = [self._row(call, middles) for call in self.said]
        high = 46 + sum(height for _, _, height in rows)

        def draw(x: float, y: float, height: float) -> Iterator[Mark]:
            for n, (party, wide) in enumerate(zip(self.parties, boxes, strict=True)):
                middle = x + middles[party]
                lit = any(call.lit and party in (call.source, call.target) for call in self.said)
                yield Line(f"{key}/{n}/life", ((middle, y + 32), (middle, y + max(height, high))), "faint")
                place = (middle - wide / 2, y, wide, 32.0)
                yield Box(f"{key}/{n}", *place, party, centred=True, look="lit" if lit else "plain")
            at = y + 46
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
        return text, note, line_height() * (len(text) + len(note)) + 16

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
        centre = (start + end) / 2
        for n, line in enumerate(text):
            at = y + 13 + line_height() * n
            yield Text(f"{key}/text/{n}", centre, at, line, bold=call.lit, anchor="middle")
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

    def tables(self) -> tuple[Table, ...]:
        if not self.caption:
            return ()
        heads = tuple(say(f"table.{head}") for head in ("from", "to", "call", "payload"))
        return (Table(self.caption, heads, tuple((s.source, s.target, s.text, s.note) for s in self.said)),)


@dataclass(frozen=True, slots=True)
class Transition:
    """From a state, by an event, to a state."""

    source: str
    event: str
    target: str


class StateDiagram(Part):
    """States in the layers in which they can first be reached, with an arrow for each step to the next layer.

    `now` is lit, and what can happen there is told in words, other ways too; all transitions are in the table.
    """

    __slots__ = ("caption", "now", "transitions")

    def __init__(self, transitions: Sequence[Transition], now: str, *, caption: str = "") -> None:
        self.transitions = tuple(transitions)
        self.now = now
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

    def _columns(self) -> list[float]:
        return [max(text_width(state, bold=True) + 26 for state in layer) for layer in self.layers()]

    def least(self) -> float:
        return sum(self._columns()) + 40 * (len(self._columns()) - 1)

    def lay(self, width: float, key: str) -> Block:
        layers, columns = self.layers(), self._columns()
        gap = max(26.0, (width - sum(columns)) / max(1, len(columns) - 1)) if len(columns) > 1 else 0.0
        high = 46.0 * max(map(len, layers)) - 12
        words = [line for text in self._from_here() for line in flow(text, width)]

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            places: dict[str, tuple[float, float, float]] = {}
            for layer, wide in zip(layers, columns, strict=True):
                top = y + (high - (46 * len(layer) - 12)) / 2
                for n, state in enumerate(layer):
                    places[state] = (x, top + 46 * n, wide)
                x += wide + gap
            for t in self.transitions:
                (ax, ay, wide), (bx, by, _) = places[t.source], places[t.target]
                if 0 < bx - ax <= wide + gap + 1:
                    points = ((ax + wide, ay + 17), (bx - 4, by + 17))
                    lit = "strong" if t.source == self.now else "quiet"
                    yield Line(f"{key}/{t.source}/{t.target}/{t.event}", points, lit, arrow=True)  # type: ignore[arg-type]
            for state, (left, top, wide) in places.items():
                look: Literal["lit", "plain"] = "lit" if state == self.now else "plain"
                yield Box(f"{key}/{state}", left, top, wide, 34, state, look=look, centred=True)
            start = min(place[0] for place in places.values())
            for n, line in enumerate(words):
                yield Text(f"{key}/here/{n}", start, y + high + 24 + line_height() * n, line, tone="muted")

        return Block(high + (10 + line_height() * len(words)) * bool(words), draw)

    def _from_here(self) -> list[str]:
        return [
            say("grammar.transition", event=t.event, state=t.target)
            for t in self.transitions
            if t.source == self.now
        ]

    def about(self) -> str:
        states = ", ".join(state for layer in self.layers() for state in layer)
        return say("grammar.states", states=states, now=self.now)

    def tables(self) -> tuple[Table, ...]:
        if not self.caption:
            return ()
        heads = tuple(say(f"table.{head}") for head in ("phase.before", "event", "phase.after"))
        return (Table(self.caption, heads, tuple((t.source, t.event, t.target) for t in self.transitions)),)
