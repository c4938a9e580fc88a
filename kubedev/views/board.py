"""Parts that show what belongs together: a board of rows and columns, and the steps of a decision."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

from kubedev.views.catalogue import say
from kubedev.views.grammar import Block, Part, Words, line_height, stacked
from kubedev.views.parts import Device
from kubedev.views.picture import Band, Line, Mark, Table, Text
from kubedev.views.style import flow, text_width

__all__ = ["Board", "BoardRow", "Decision", "Decisions", "Head"]


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column of a board: its name, what it counts, and what it means."""

    name: str
    count: str = ""
    tooltip: str = ""


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A row of a board: in each column a device, some words, or nothing. `thread` joins its cells."""

    label: str
    cells: tuple[Device | str | None, ...]
    thread: Literal["", "faint", "strong"] = ""
    lit: bool = False
    tooltip: str = ""


class Board(Part):
    """Rows of cells under the heads of columns; what is too narrow for its heads is turned on its side."""

    __slots__ = ("heads", "rows", "size")

    def __init__(self, heads: Sequence[Head], rows: Sequence[BoardRow], *, size: float = 30.0) -> None:
        self.heads = tuple(heads)
        self.rows = tuple(rows)
        self.size = size

    def _labels(self) -> float:
        return max((text_width(row.label) for row in self.rows), default=0.0) + 16

    def _columns(self) -> list[float]:
        """The width that each column needs at least."""
        bold = any(head.count for head in self.heads)
        return [max(text_width(head.name, bold=bold) + 8, self.size + 8) for head in self.heads]

    def _centres(self, width: float) -> tuple[list[float], list[float]]:
        """The middle of each column, and its width: all alike, if the widest head has room then."""
        left, columns = self._labels(), self._columns()
        if max(columns, default=0.0) * len(columns) > width - left:
            spare = max(0.0, width - left - sum(columns)) / max(1, len(columns))
            scale = min(1.0, (width - left) / max(1.0, sum(columns)))
            widths = [column * scale + spare for column in columns]
        else:
            widths = [(width - left) / len(columns) for _ in columns]
        starts = accumulate(widths, initial=left)
        return [start + each / 2 for start, each in zip(starts, widths, strict=False)], widths

    def least(self) -> float:
        return self._labels() + sum(self._columns())

    def lay(self, width: float, key: str) -> Block:
        words = [word for row in self.rows for word in row.label.split()]
        needed = max([self.size + 6, *(text_width(word) + 6 for word in words)])
        left = 16 + max((text_width(f"{h.name} {h.count}", bold=True) for h in self.heads), default=0.0)
        pitch = (width - left) / max(1, len(self.rows))
        told = any(isinstance(cell, str) for row in self.rows for cell in row.cells)
        if self.least() > width and needed <= pitch and not told:
            return self._turned(left, min(pitch, 90.0), key)
        return self._upright(width, key)

    def _upright(self, width: float, key: str) -> Block:
        centres, widths = self._centres(width)
        counted = any(head.count for head in self.heads)
        names = [
            flow(head.name, each - 4, bold=counted) for head, each in zip(self.heads, widths, strict=True)
        ]
        lines = max(map(len, names), default=0)
        top = line_height() * (lines + counted) + 10
        step = self.size + (8 if self.size >= 30 else 5)

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            for column, (head, name) in enumerate(zip(self.heads, names, strict=True)):
                middle, tone = x + centres[column], "muted" if head.count == "0" or not counted else "ink"
                for n, line in enumerate(name):
                    at = y + line_height() * (n + lines - len(name)) + 14
                    place = (f"{key}/head/{column}/{n}", middle, at, line)
                    yield Text(*place, tone=tone, bold=counted, anchor="middle", tooltip=head.tooltip)
                if head.count:
                    at = y + line_height() * lines + 14
                    place = (f"{key}/count/{column}", middle, at, head.count)
                    yield Text(*place, tone="muted", anchor="middle")
            for n, row in enumerate(self.rows):
                at = y + top + step * n
                if row.lit:
                    yield Band(f"{key}/{n}/lit", x - 8, at, width + 16, step, radius=6 if step > 30 else 4)
                label = (x, at + step / 2 + 5, row.label)
                yield Text(f"{key}/{n}/label", *label, tone="muted", tooltip=row.tooltip)
                yield from self._cells(row, [(x + c, at + step / 2) for c in centres], f"{key}/{n}")

        return Block(top + step * len(self.rows), draw)

    def _turned(self, left: float, pitch: float, key: str) -> Block:
        """The rows as columns: each head with its count before a row."""
        labels = [flow(row.label, pitch - 4) for row in self.rows]
        step, top = self.size + 8, line_height() * max(map(len, labels), default=0) + 8

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            for n, row in enumerate(self.rows):
                middle = x + left + pitch * (n + 0.5)
                if row.lit:
                    high = top + step * len(self.heads)
                    yield Band(f"{key}/{n}/lit", middle - pitch / 2, y, pitch, high, radius=6)
                for number, line in enumerate(labels[n]):
                    place = (f"{key}/{n}/label/{number}", middle, y + 14 + line_height() * number, line)
                    yield Text(*place, tone="muted", anchor="middle", tooltip=row.tooltip)
                points = [(middle, y + top + step * (c + 0.5)) for c in range(len(self.heads))]
                yield from self._cells(row, points, f"{key}/{n}")
            for column, head in enumerate(self.heads):
                at, tone = y + top + step * (column + 0.5) + 5, "muted" if head.count == "0" else "ink"
                name = f"{head.name} {head.count}".strip()
                yield Text(f"{key}/head/{column}/0", x, at, name, tone=tone, bold=True, tooltip=head.tooltip)

        return Block(top + step * len(self.heads), draw)

    def _cells(self, row: BoardRow, points: Sequence[tuple[float, float]], key: str) -> Iterator[Mark]:
        held = [(n, cell, points[n]) for n, cell in enumerate(row.cells) if cell is not None]
        reach = self.size / 2 + 2
        for (n, _, (ax, ay)), (_, _, (bx, by)) in pairwise(held if row.thread else []):
            along = (reach, 0.0) if ay == by else (0.0, reach)
            ends = ((ax + along[0], ay + along[1]), (bx - along[0], by - along[1]))
            yield Line(f"{key}/{n}/on", ends, row.thread or "faint")
        for n, cell, (x, y) in held:
            if isinstance(cell, Device):
                yield cell.cell(f"{key}/{n}", x - self.size / 2, y - self.size / 2, self.size)
            else:
                yield Text(f"{key}/{n}", x, y + 5, cell, anchor="middle")

    def says(self) -> str:
        return "; ".join(
            f"{head.name}: {', '.join(row.label for row in self.rows if row.cells[n] is not None)}"
            for n, head in enumerate(self.heads)
        )

    def about(self) -> str:
        return say("grammar.board", rows=len(self.rows), columns=len(self.heads))


@dataclass(frozen=True, slots=True)
class Decision:
    """A step of a decision: the rule, what came of it, and why; `failed` if it ended it."""

    rule: str
    what: str
    why: str
    failed: bool = False


class Decisions(Part):
    """The steps of a decision, numbered; the reasons wrap, and go below where there is little room."""

    __slots__ = ("caption", "steps")

    def __init__(self, *steps: Decision, caption: str = "") -> None:
        self.steps = steps
        self.caption = caption

    def lay(self, width: float, key: str) -> Block:
        rule = max((text_width(step.rule, bold=True) for step in self.steps), default=0.0) + 18
        rest = width - 26 - rule
        what = min(
            max((text_width(step.what, mono=True) for step in self.steps), default=0.0) + 18, rest * 0.45
        )
        blocks = []
        for n, step in enumerate(self.steps):
            tone = "unhealthy" if step.failed else "muted"
            beside = rest - what >= 260
            done = Words(step.what, mono=True).lay(what - 10 if beside else rest, f"{key}/{n}/what")
            why = Words(step.why, tone).lay(rest - what if beside else rest, f"{key}/{n}/why")
            texts = _beside(done, why, what) if beside and step.what else stacked([done, why], 2)
            blocks.append(self._step(n, rule, texts, key))
        return stacked(blocks, 6)

    def _step(self, n: int, rule: float, texts: Block, key: str) -> Block:
        step = self.steps[n]

        def draw(x: float, y: float, height: float) -> Iterator[Mark]:
            yield Text(f"{key}/{n}/number", x, y + 13.3, str(n + 1), tone="muted", bold=True)
            tone = "unhealthy" if step.failed else "ink"
            yield Text(f"{key}/{n}/rule", x + 26, y + 13.3, step.rule, tone=tone, bold=True)
            yield from texts.draw(x + 26 + rule, y, height)

        return Block(max(texts.height, line_height()), draw)

    def least(self) -> float:
        return 26 + max((text_width(step.rule, bold=True) for step in self.steps), default=0.0) + 218

    def about(self) -> str:
        return say("grammar.decisions", count=len(self.steps))

    def tables(self) -> tuple[Table, ...]:
        heads = (say("table.rule"), say("table.taken"), say("table.why"))
        rows = tuple((step.rule, step.what, step.why) for step in self.steps)
        return (Table(self.caption, heads, rows),) if self.caption else ()


def _beside(left: Block, right: Block, by: float) -> Block:
    def draw(x: float, y: float, height: float) -> Iterator[Mark]:
        yield from left.draw(x, y, height)
        yield from right.draw(x + by, y, height)

    return Block(max(left.height, right.height), draw)
