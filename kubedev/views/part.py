"""What every part of a picture is, and the smallest ones: words, room, a control, a table that is not drawn."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from kubedev.views.controls import Control, What, control_size
from kubedev.views.picture import Mark, Table, Text
from kubedev.views.style import SIZE_TEXT, flow, text_width

__all__ = ["Around", "Block", "Facts", "Knob", "Part", "Space", "Words", "line_height", "stacked", "word"]

_COMFORT = 90.0  # words that have less room are hard to read


@dataclass(frozen=True, slots=True)
class Block:
    """A part laid out for a width: its height, and what draws it at (x, y), as high as it is given."""

    height: float
    draw: Callable[[float, float, float], Iterator[Mark]]


class Part:
    """Something that can stand in a picture."""

    __slots__ = ()

    def lay(self, width: float, key: str) -> Block:
        """Lay out for `width`; the keys of the marks begin with `key`."""
        raise NotImplementedError

    def least(self) -> float:
        """The width below which it had better stand alone."""
        return 0.0

    def wish(self) -> float:
        """The width it takes if it may."""
        return self.least()

    def parts(self) -> tuple["Part", ...]:
        """What it holds."""
        return ()

    def says(self) -> str:
        """What it says, in the cell of a table."""
        return " ".join(said for part in self.parts() if (said := part.says()))

    def about(self) -> str:
        """What there is to see, for the alternative text."""
        return ", ".join(said for part in self.parts() if (said := part.about()))

    def tables(self) -> tuple[Table, ...]:
        """The same facts as rows."""
        return tuple(table for part in self.parts() for table in part.tables())


def line_height(size: int = SIZE_TEXT) -> float:
    """Return the distance of two lines of text."""
    return float(round(size * 1.29))


class Around(Part):
    """Something around one part: what it does not say otherwise is said by the part."""

    def __init__(self, part: Part) -> None:
        self.part = part

    def parts(self) -> tuple[Part, ...]:
        return (self.part,)

    def lay(self, width: float, key: str) -> Block:
        return self.part.lay(width, key)

    def least(self) -> float:
        return self.part.least()

    def wish(self) -> float:
        return self.part.wish()


@dataclass(frozen=True, slots=True)
class Words(Part):
    """Text; it wraps, and is never cut. `key` keeps its identity from step to step."""

    text: str
    tone: str = "ink"
    bold: bool = False
    mono: bool = False
    size: int = SIZE_TEXT
    anchor: Literal["start", "middle", "end"] = "start"
    tooltip: str = ""
    key: str = ""

    def lay(self, width: float, key: str) -> Block:
        lines = flow(self.text, width, self.size, bold=self.bold, mono=self.mono)
        step, at = line_height(self.size), {"start": 0.0, "middle": width / 2, "end": width}[self.anchor]

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            for number, line in enumerate(lines):
                name = f"{self.key or key}/{number}" if number else self.key or key
                yield Text(
                    name, x + at, y + step * number + step * 0.74, line,
                    self.size, self.tone, self.bold, self.mono, self.anchor, self.tooltip,
                )  # fmt: skip

        return Block(step * len(lines), draw)

    def least(self) -> float:
        return min(_COMFORT, self.wish())

    def wish(self) -> float:
        return text_width(self.text, self.size, bold=self.bold, mono=self.mono) + 1

    def says(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Space(Part):
    """Nothing: `high` pixels of it in a column, `wide` in a row."""

    high: float = 0.0
    wide: float = 0.0

    def lay(self, width: float, key: str) -> Block:
        return Block(self.high, lambda _x, _y, _height: iter(()))

    def least(self) -> float:
        return self.wide


@dataclass(frozen=True, slots=True)
class Facts(Part):
    """A table that is not drawn: what there is no room for, or what the picture shows without numbers."""

    table: Table

    def lay(self, width: float, key: str) -> Block:
        return Block(0, lambda _x, _y, _height: iter(()))

    def tables(self) -> tuple[Table, ...]:
        return (self.table,)


@dataclass(frozen=True, slots=True)
class Knob(Part):
    """A control of the reader, as wide as it needs."""

    what: What
    key: str = ""
    tooltip: str = ""

    def lay(self, width: float, key: str) -> Block:
        across, high = control_size(self.what)

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            yield Control(self.key or key, x, y, min(across, width), high, self.what, self.tooltip)

        return Block(high, draw)

    def least(self) -> float:
        return control_size(self.what)[0]


def stacked(blocks: Sequence[Block], gap: float) -> Block:
    """Return blocks below one another as one; those without height take no gap either."""
    tops = [0.0, *accumulate(block.height + gap * (block.height > 0) for block in blocks)]
    last = max((n for n, block in enumerate(blocks) if block.height), default=-1)
    total = tops[last] + blocks[last].height if last >= 0 else 0.0

    def draw(x: float, y: float, height: float) -> Iterator[Mark]:
        for n, block in enumerate(blocks):
            yield from block.draw(x, y + tops[n], block.height + (height - total) * (n == last))

    return Block(total, draw)


def word(
    key: str,
    x: float,
    y: float,
    text: str,
    tone: str = "muted",
    anchor: Literal["start", "middle", "end"] = "middle",
    *,
    bold: bool = False,
) -> Text:
    """Return a line of text in the usual size, by default centred on x; y is its base line."""
    return Text(key, x, y, text, tone=tone, anchor=anchor, bold=bold)
