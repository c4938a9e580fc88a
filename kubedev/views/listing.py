"""Rows of words in columns, each as wide as its widest word; the last column wraps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from kubedev.views.part import Block, Part, line_height, stacked
from kubedev.views.picture import Band, Mark, Table, Text
from kubedev.views.style import flow, text_width

__all__ = ["Entry", "Listing"]

_GAP = 18.0
_BAR = 90.0


@dataclass(frozen=True, slots=True)
class Entry:
    """A row: words, or a number from 0 to 1 as a bar of that share; it may be lit, or quiet."""

    cells: tuple[str | float, ...]
    lit: bool = False
    quiet: bool = False
    key: str = ""


class Listing(Part):
    """Entries below one another; `mono` are the columns in which names are written."""

    def __init__(
        self, *entries: Entry, mono: Sequence[int] = (), caption: str = "", heads: Sequence[str] = ()
    ):
        self.entries = entries
        self.mono = frozenset(mono)
        self.caption = caption
        self.heads = tuple(heads)

    @cached_property
    def _columns(self) -> list[float]:
        """How wide each column is, but for the last one."""
        columns = zip(*(entry.cells[:-1] for entry in self.entries), strict=True)
        return [max(self._wide(cell, n) for cell in cells) + _GAP for n, cells in enumerate(columns)]

    def _wide(self, cell: str | float, column: int) -> float:
        return text_width(cell, bold=True, mono=column in self.mono) if isinstance(cell, str) else _BAR

    def lay(self, width: float, key: str) -> Block:
        rest = width - sum(self._columns)
        rows = [
            self._row(entry, rest, width, entry.key or f"{key}/{n}") for n, entry in enumerate(self.entries)
        ]
        return stacked(rows, 0)

    def _row(self, entry: Entry, rest: float, width: float, key: str) -> Block:
        last = flow(str(entry.cells[-1]), rest) or [""]
        high = line_height() * len(last) + 5

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            if entry.lit:
                yield Band(f"{key}/lit", x - 8, y, width + 16, high, radius=6)
            tone, at, left = "muted" if entry.quiet else "ink", y + 16, x
            for n, (cell, wide) in enumerate(zip(entry.cells, self._columns, strict=False)):
                if cell == "":
                    pass
                elif isinstance(cell, str):
                    yield Text(f"{key}/{n}", left, at, cell, tone=tone, bold=entry.lit, mono=n in self.mono)
                else:
                    yield Band(f"{key}/{n}", left, y + 6, max(2.0, _BAR * cell), 12, "edge", 3)
                left += wide
            for n, line in enumerate(last if entry.cells[-1] else []):
                yield Text(f"{key}/last/{n}", left, at + line_height() * n, line, tone=tone)

        return Block(high, draw)

    def least(self) -> float:
        return sum(self._columns) + 130

    def tables(self) -> tuple[Table, ...]:
        rows = tuple(tuple(cell for cell in e.cells if isinstance(cell, str)) for e in self.entries)
        return (Table(self.caption, self.heads, rows),) if self.caption else ()
