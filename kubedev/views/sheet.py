"""A table that is drawn: its cells are parts, its columns stand together under heads, and a number can be opened."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from kubedev.views.controls import Action
from kubedev.views.part import Block, Part, line_height, stacked, word
from kubedev.views.picture import Band, Box, Dots, Line, Mark, Text
from kubedev.views.style import text_width

__all__ = ["Entry", "Opener", "Sheet", "Way"]

_PITCH = 23.0  # from one station of a way to the next
_GAP = 8.0


@dataclass(frozen=True, slots=True)
class Opener(Part):
    """A number that opens to `why` when its action is done."""

    number: str
    why: str
    action: Action

    def wish(self) -> float:
        return text_width(self.number, bold=True) + 14

    def lay(self, width: float, key: str) -> Block:
        wide, more = self.wish(), (self.why, self.action)
        return Block(
            20,
            lambda x, y, _height: iter(
                [
                    Box(
                        key,
                        x + width - wide,
                        y - 1,
                        wide,
                        20,
                        self.number,
                        (),
                        "plain",
                        False,
                        True,
                        False,
                        *more,
                    )
                ]
            ),
        )

    def says(self) -> str:
        return self.number


@dataclass(frozen=True, slots=True)
class Way(Part):
    """A line through so many `stations`, as far as `passed`, with a cross at the next one if it is `stopped` there.

    Only those that were `asked` have a dot. With `numbers` it is the head of a column of ways.
    """

    stations: int
    asked: tuple[int, ...]
    passed: int = 0
    stopped: bool = False
    numbers: bool = False

    def wish(self) -> float:
        return _PITCH * self.stations

    def lay(self, width: float, key: str) -> Block:
        return Block(line_height(), lambda x, y, _height: self._draw(x, y, key))

    def _draw(self, x: float, y: float, key: str) -> Iterator[Mark]:
        at = [x + _PITCH * (n - 0.5) for n in range(1, self.stations + 2)]
        if self.numbers:
            for n in range(1, self.stations + 1):
                asked = n in self.asked
                yield word(f"{key}/{n}", at[n - 1], y + 13, str(n), "ink" if asked else "muted", bold=asked)
            return
        if self.passed or not self.stopped:
            end = at[self.passed] - _PITCH / 2
            yield Line(f"{key}/way", ((x, y + 9), (end, y + 9)), "faint" if self.stopped else "strong")
        spots = tuple((at[n - 1], y + 9) for n in self.asked if n <= self.passed)
        yield Dots(f"{key}/spots", spots, 3, "edge" if self.stopped else "accent")
        if self.stopped:
            yield Text(f"{key}/stop", at[self.passed], y + 14, "✕", tone="unhealthy", anchor="middle")


@dataclass(frozen=True, slots=True)
class Entry:
    """A row: its cells from the first column on, and what follows the last of them in all the width that is left."""

    cells: tuple[Part, ...]
    rest: Part | None = None
    lit: bool = False


class Sheet(Part):
    """Rows of cells under heads, each a part below the name of its group; groups that have no room stand below, where
    the first column is repeated. `last` are the rows at the end of all, for which there is room from the beginning.
    """

    __slots__ = ("heads", "last", "rows")

    def __init__(
        self, heads: Sequence[tuple[str, Part]], rows: Sequence[Entry], last: Sequence[Entry] = ()
    ) -> None:
        self.heads, self.rows, self.last = tuple(heads), tuple(rows), tuple(last)

    def _columns(self) -> list[float]:
        """The width of each column, with room for what it will hold at last."""
        rows = [row.cells for row in (*self.rows, *self.last)]
        cells = [[held[n].wish() for held in rows if n < len(held)] for n in range(len(self.heads))]
        columns = [
            max(head.wish(), *held, 0.0) + _GAP for (_, head), held in zip(self.heads, cells, strict=True)
        ]
        for group in self._groups():
            named = text_width(self.heads[group[0]][0], bold=True) + _GAP
            columns[group[0]] += max(0.0, named - sum(columns[n] for n in group))
        return columns

    def _groups(self) -> list[list[int]]:
        return [[n for n, _ in held] for _, held in groupby(enumerate(self.heads), lambda pair: pair[1][0])]

    def least(self) -> float:
        columns = self._columns()
        return columns[0] + max(sum(columns[n] for n in group) for group in self._groups()[1:])

    def lay(self, width: float, key: str) -> Block:
        columns, (first, *groups) = self._columns(), self._groups()
        blocks = [[*first]]
        for group in groups:
            if sum(columns[n] for n in (*blocks[-1], *group)) > width:
                blocks.append([*first])
            blocks[-1] += group
        return stacked([self._block(held, columns, width, f"{key}/{held[1]}") for held in blocks], _GAP)

    def _block(self, held: Sequence[int], columns: Sequence[float], width: float, key: str) -> Block:
        lefts = dict(zip([*held, -1], accumulate([0.0, *(columns[n] for n in held)]), strict=True))
        rows = [row for row in self.rows if held[1] == 1 or held[1] < len(row.cells)]
        heads = [(lefts[n], self.heads[n][1].lay(columns[n] - _GAP, f"{key}/head/{n}")) for n in held]
        laid = []
        for k, row in enumerate(rows):
            there = [n for n in held if n < len(row.cells)]
            cells = [(lefts[n], row.cells[n].lay(columns[n] - _GAP, f"{key}/{k}/{n}")) for n in there]
            if row.rest and held[1] == 1:
                left = lefts[there[-1]] + columns[there[-1]]
                cells.append((left, row.rest.lay(width - left, f"{key}/{k}/rest")))
            laid.append((row.lit, cells, max(20.0, *(block.height for _, block in cells)) + 7))

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            for n in held:
                if n + 1 not in held or self.heads[n][0] != self.heads[n + 1][0]:  # the last one of its group
                    at = x + lefts[n] + columns[n] - _GAP
                    yield Text(f"{key}/group/{n}", at, y + 13, self.heads[n][0], bold=True, anchor="end")
            for left, head in heads:
                yield from head.draw(x + left, y + line_height(), head.height)
            top = y + 2 * line_height() + 6
            for k, (lit, cells, high) in enumerate(laid):
                if lit:
                    yield Band(f"{key}/{k}/lit", x - 6, top - 3, width + 12, high, radius=6)
                for left, cell in cells:
                    yield from cell.draw(x + left, top, cell.height)
                top += high

        return Block(2 * line_height() + 6 + sum(high for *_, high in laid), draw)
