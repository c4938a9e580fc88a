"""A part for lives side by side: each has a lane, all have common moments. A life that ends may begin anew."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from kubedev.views.catalogue import say
from kubedev.views.grammar import Row
from kubedev.views.part import Block, Part, Words, line_height, stacked, word
from kubedev.views.picture import Box, Dot, Look, Mark, Table
from kubedev.views.style import flow

__all__ = ["Lanes", "Life"]

_GAP, _PAD, _LOW = 5.0, 7.0, 25.0


@dataclass(frozen=True, slots=True)
class Life:
    """A lane: its name, what acts on it, and what it is at each moment, as (words, look, number of its life)."""

    name: str
    moments: tuple[tuple[str, Look, int], ...]
    knobs: tuple[Part, ...] = ()

    def head(self) -> Row:
        """What stands before the lane."""
        shares = [0.0 for _ in (self, *self.knobs)]
        return Row(Words(self.name, bold=True), *self.knobs, shares=shares, middle=True, gap=10)


class Lanes(Part):
    """Lanes over common moments, one column each. Alike neighbours are one bar; a new life begins behind a dot.

    `moments` are the names of the columns, `corner` stands before them. There is room for so many `columns` at least:
    bars do not move while others come.
    """

    __slots__ = ("caption", "columns", "corner", "lanes", "moments")

    def __init__(
        self, moments: Sequence[str], *lanes: Life, columns: int = 1, corner: str = "", caption: str = ""
    ) -> None:
        self.moments, self.lanes, self.corner, self.caption = tuple(moments), lanes, corner, caption
        self.columns = max(columns, len(moments))

    def _left(self) -> float:
        return max([Words(self.corner).wish(), *(lane.head().wish() for lane in self.lanes)]) + 12

    def least(self) -> float:
        return self._left() + 75.0 * self.columns

    def lay(self, width: float, key: str) -> Block:
        pitch = (width - self._left()) / self.columns
        columns = [self._left() + pitch * n + _GAP for n in range(len(self.moments))]

        def heads(x: float, y: float, _height: float) -> Iterator[Mark]:
            yield word(f"{key}/corner", x, y + 13, self.corner, anchor="start")
            for n, (moment, at) in enumerate(zip(self.moments, columns, strict=True)):
                if not n or moment != self.moments[n - 1]:
                    yield word(f"{key}/moment/{n}", x + at, y + 13, moment, anchor="start")

        rows = [self._lane(lane, columns, pitch, f"{key}/{lane.name}") for lane in self.lanes]
        return stacked([Block(line_height(), heads), *rows], 3)

    def _lane(self, lane: Life, columns: Sequence[float], pitch: float, key: str) -> Block:
        bars, start = [], 0
        for (words, look, life), alike in groupby(lane.moments):
            count = len(list(alike))
            lines = flow(words, pitch * count - 2 * _PAD - _GAP, bold=True)
            bars.append((start, pitch * count - _GAP, lines, look, life))
            start += count
        high = max(_LOW, *(line_height() * len(bar[2]) + 6 for bar in bars))
        head = lane.head().lay(self._left(), f"{key}/head")

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            yield from head.draw(x, y + (high - head.height) / 2, head.height)
            before = lane.moments[0][2]
            for start, wide, lines, look, life in bars:
                at, name = x + columns[start], f"{key}/{start}"
                yield Box(name, at, y, wide, high, "", look=look)
                top = y + (high - line_height() * len(lines)) / 2 + 14
                for n, line in enumerate(lines):
                    down = top + line_height() * n
                    yield word(f"{name}/{n}", at + wide / 2, down, line, "ink", bold=look != "dead")
                if life != before:
                    yield Dot(f"{name}/anew", at - _GAP / 2, y + high / 2, 7)
                before = life

        return Block(high, draw)

    def about(self) -> str:
        return say("grammar.lanes", names=", ".join(lane.name for lane in self.lanes))

    def tables(self) -> tuple[Table, ...]:
        rows = [(at, *(lane.moments[n][0] for lane in self.lanes)) for n, at in enumerate(self.moments)]
        heads = (say("table.when"), *(lane.name for lane in self.lanes))
        return (Table(self.caption, heads, tuple(rows)),) if self.caption else ()
