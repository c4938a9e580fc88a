"""The grammar of pictures: a tree of values that measures its text, wraps what explains and places everything.

A part is laid out for a width and then knows its height; nothing is given a place by hand, so nothing can overlap or
be cut. What stands side by side goes below one another where the width is too small. `picture` makes a `Picture` of
a tree: title, sentence, tables and alternative text come from the same values.

    picture(title, sentence, Column(Grid(Card("one", Words("...")), Card("two", Words("..."))), Legend(...)))

Here are the parts that hold others, and words. `parts` has what shows data, `wires` what connects.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from kubedev.views.catalogue import say
from kubedev.views.controls import Action, Control, What, control_size
from kubedev.views.picture import Box, Look, Mark, Panel, Picture, Table, Text
from kubedev.views.style import SIZE_HEAD, SIZE_TEXT, WIDTH, flow, text_width

__all__ = [
    "GAP",
    "AtLeast",
    "Block",
    "Card",
    "Column",
    "Facts",
    "Field",
    "Grid",
    "Knob",
    "Part",
    "Row",
    "Space",
    "Words",
    "aligned",
    "line_height",
    "picture",
    "stacked",
]

GAP = 12.0
PAD = 14.0
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


def picture(title: str, sentence: str, body: Part, width: float = WIDTH) -> Picture:
    """Lay out a tree for `width` and return its picture."""
    block = body.lay(width, "at")
    shown = body.about()
    alt = say("grammar.alt", sentence=sentence.removesuffix("."), shown=shown) if shown else sentence
    marks = tuple(block.draw(0, 0, block.height))
    return Picture(title, sentence, block.height + 1, marks, body.tables(), alt, width)


def line_height(size: int = SIZE_TEXT) -> float:
    """Return the distance of two lines of text."""
    return float(round(size * 1.29))


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


class Column(Part):
    """Parts below one another; what is left of the height goes to the last one."""

    __slots__ = ("_parts", "gap")

    def __init__(self, *parts: Part, gap: float = GAP) -> None:
        self._parts = parts
        self.gap = gap

    def parts(self) -> tuple[Part, ...]:
        return self._parts

    def lay(self, width: float, key: str) -> Block:
        return stacked([part.lay(width, f"{key}/{n}") for n, part in enumerate(self._parts)], self.gap)

    def least(self) -> float:
        return max((part.least() for part in self._parts), default=0.0)

    def wish(self) -> float:
        return max((part.wish() for part in self._parts), default=0.0)


def stacked(blocks: Sequence[Block], gap: float) -> Block:
    """Return blocks below one another as one; those without height take no gap either."""
    tops = [0.0, *accumulate(block.height + gap * (block.height > 0) for block in blocks)]
    last = max((n for n, block in enumerate(blocks) if block.height), default=-1)
    total = tops[last] + blocks[last].height if last >= 0 else 0.0

    def draw(x: float, y: float, height: float) -> Iterator[Mark]:
        for n, block in enumerate(blocks):
            yield from block.draw(x, y + tops[n], block.height + (height - total) * (n == last))

    return Block(total, draw)


class Row(Part):
    """Parts side by side, all equally high; below one another where one would have less than its least width.

    `shares` divide the width; a share of 0 takes what the part wishes. `middle` centres them on one line.
    """

    __slots__ = ("_parts", "_shares", "gap", "middle")

    def __init__(
        self, *parts: Part, shares: Sequence[float] = (), gap: float = GAP, middle: bool = False
    ) -> None:
        self._parts = parts
        self._shares = tuple(shares) or (1.0,) * len(parts)
        self.gap = gap
        self.middle = middle

    def parts(self) -> tuple[Part, ...]:
        return self._parts

    def lay(self, width: float, key: str) -> Block:
        keys = [f"{key}/{n}" for n in range(len(self._parts))]
        widths = self._widths(width)
        small = any(part.least() > each + 0.5 for part, each in zip(self._parts, widths, strict=True))
        if small or sum(widths) + self.gap * (len(widths) - 1) > width + 0.5:
            gap = min(self.gap, GAP)
            return stacked([part.lay(width, k) for part, k in zip(self._parts, keys, strict=True)], gap)
        blocks = [part.lay(w, k) for part, w, k in zip(self._parts, widths, keys, strict=True)]
        lefts = [0.0, *accumulate(each + self.gap for each in widths)]
        total = max((block.height for block in blocks), default=0.0)

        def draw(x: float, y: float, height: float) -> Iterator[Mark]:
            for block, left in zip(blocks, lefts, strict=False):
                down = (height - block.height) / 2 if self.middle else 0.0
                yield from block.draw(x + left, y + down, block.height if self.middle else height)

        return Block(total, draw)

    def _widths(self, width: float) -> list[float]:
        fixed = [0.0 if share else part.wish() for part, share in zip(self._parts, self._shares, strict=True)]
        rest = width - sum(fixed) - self.gap * (len(self._parts) - 1)
        whole = sum(self._shares)
        return [
            each if not share else max(0.0, rest) * share / whole
            for each, share in zip(fixed, self._shares, strict=True)
        ]

    def least(self) -> float:
        shared = [
            part.least() / share for part, share in zip(self._parts, self._shares, strict=True) if share
        ]
        fixed = [part.wish() for part, share in zip(self._parts, self._shares, strict=True) if not share]
        gaps = self.gap * (len(self._parts) - 1)
        return max(shared, default=0.0) * sum(self._shares) + sum(fixed) + gaps

    def wish(self) -> float:
        return sum(part.wish() for part in self._parts) + self.gap * (len(self._parts) - 1)


class Grid(Part):
    """Parts of one width in rows of at most `across`, as many as have room; the parts of a row are equally high.

    Where room is scarce a grid gives way before a row does.

    Cards that hold fields make a table called `caption`: a row a card, a column a field.
    """

    __slots__ = ("_parts", "across", "caption", "gap")

    def __init__(self, *parts: Part, across: int = 3, gap: float = GAP, caption: str = "") -> None:
        self._parts = parts
        self.across = across
        self.gap = gap
        self.caption = caption

    def parts(self) -> tuple[Part, ...]:
        return self._parts

    def lay(self, width: float, key: str) -> Block:
        across = max(1, min(self.across, len(self._parts)))
        while across > 1 and self._each(width, across) < self.least():
            across -= 1
        across = (
            -(-len(self._parts) // -(-len(self._parts) // across)) if self._parts else 1
        )  # no row nearly empty
        each = self._each(width, across)
        blocks = [part.lay(each, f"{key}/{n}") for n, part in enumerate(self._aligned(each, across))]
        rows = [_beside(blocks[i : i + across], each + self.gap) for i in range(0, len(blocks), across)]
        return stacked(rows, self.gap)

    def _aligned(self, width: float, across: int) -> Iterator[Part]:
        """The parts; where all are cards of the same make, what they hold stands at the same height in a row."""
        for first in range(0, len(self._parts), across):
            row = self._parts[first : first + across]
            cards = [part for part in row if isinstance(part, Card)]
            same = len({len(card.parts()) for card in cards}) == 1 and len(cards) == len(row)
            yield from aligned(cards, width) if same else row

    def _each(self, width: float, across: int) -> float:
        return (width - self.gap * (across - 1)) / across

    def least(self) -> float:
        return max((part.least() for part in self._parts), default=0.0)

    def wish(self) -> float:
        return self.least() * min(self.across, len(self._parts)) + self.gap * (self.across - 1)

    def tables(self) -> tuple[Table, ...]:
        if not self.caption:
            return Part.tables(self)
        fields = [{field.head: field.says() for field in _fields(part)} for part in self._parts]
        heads = tuple(dict.fromkeys(head for row in fields for head in row))
        titles = [part.title if isinstance(part, Card) else str(n + 1) for n, part in enumerate(self._parts)]
        rows = tuple(
            (title, *(row.get(head, "") for head in heads)) for title, row in zip(titles, fields, strict=True)
        )
        return (Table(self.caption, (say("table.what"), *heads), rows),)


def _beside(blocks: Sequence[Block], pitch: float) -> Block:
    def draw(x: float, y: float, height: float) -> Iterator[Mark]:
        for n, block in enumerate(blocks):
            yield from block.draw(x + n * pitch, y, height)

    return Block(max(block.height for block in blocks), draw)


def aligned(cards: Sequence["Card"], width: float) -> list["Card"]:
    """Return cards, each `width` wide, whose parts take as much height as the highest of their neighbours."""
    across = width - 2 * cards[0].pads()[0]
    highest = [
        max(part.lay(across, "").height for part in level)
        for level in zip(*(card.parts() for card in cards), strict=True)
    ]
    return [card.holding(*map(AtLeast, card.parts(), highest)) for card in cards]


class AtLeast(Part):
    """A part that is at least `high` pixels high."""

    __slots__ = ("_part", "high")

    def __init__(self, part: Part, high: float) -> None:
        self._part = part
        self.high = high

    def parts(self) -> tuple[Part, ...]:
        return (self._part,)

    def lay(self, width: float, key: str) -> Block:
        block = self._part.lay(width, key)
        return Block(max(self.high, block.height), block.draw)

    def least(self) -> float:
        return self._part.least()

    def wish(self) -> float:
        return self._part.wish()


def _fields(part: Part) -> Iterator["Field"]:
    if isinstance(part, Field):
        yield part
        return
    for each in part.parts():
        yield from _fields(each)


class Field(Part):
    """A part that is a column of the table of its grid; its head is drawn above it if `shown`."""

    __slots__ = ("_part", "head", "shown")

    def __init__(self, head: str, *parts: Part, shown: bool = False) -> None:
        self.head = head
        self.shown = shown
        self._part = Column(*([Words(head, tone="muted")] if shown else []), *parts, gap=4)

    def parts(self) -> tuple[Part, ...]:
        return self._part.parts()[self.shown :]

    def lay(self, width: float, key: str) -> Block:
        return self._part.lay(width, key)

    def least(self) -> float:
        return self._part.least()

    def wish(self) -> float:
        return self._part.wish()


class Card(Part):
    """A titled ground that holds parts: a quiet panel, or a box with an edge (`look` says which, see `Look`).

    `corner` stands at the end of the title's line. `key` is its name for the wires, and its identity from step to
    step. It is at least `high` pixels high. `name` is what it is called where the title is not what it is.
    """

    __slots__ = ("_parts", "action", "corner", "high", "key", "large", "look", "name", "title", "tooltip")

    def __init__(
        self,
        title: str,
        *parts: Part,
        look: Look | Literal["panel"] = "panel",
        corner: Sequence[Part] = (),
        key: str = "",
        high: float = 0.0,
        large: bool = False,
        name: str = "",
        tooltip: str = "",
        action: Action | str = "",
    ) -> None:
        self.title = title
        self.name = name or title
        self._parts = parts
        self.look = look
        self.corner = tuple(corner)
        self.key = key
        self.high = high
        self.large = large
        self.tooltip = tooltip
        self.action = action

    def parts(self) -> tuple[Part, ...]:
        return self._parts

    def holding(self, *parts: Part) -> "Card":
        """Return the same card around other parts."""
        card = copy(self)
        card._parts = parts
        return card

    def _head(self) -> Part:
        plain = self.large or self.look not in ("panel", "dead", "impossible", "muted")
        size = SIZE_HEAD if self.large else SIZE_TEXT
        head = Words(self.title, "ink" if plain else "muted", bold=True, size=size)
        if not self.corner:
            return head
        shares = (1.0, *(0.0 for _ in self.corner))
        return Row(head, *self.corner, shares=shares, middle=True, gap=8)

    def pads(self) -> tuple[float, float]:
        """The room beside what it holds, and above and below."""
        return (PAD, 8.0) if self.look == "panel" else (12.0, 7.0)

    def _inside(self) -> Column:
        return Column(
            *([self._head()] if self.title else []), *self._parts, gap=6 if self.look == "panel" else 1
        )

    def lay(self, width: float, key: str) -> Block:
        name, (across, down) = self.key or key, self.pads()
        inside = self._inside().lay(width - 2 * across, name)
        high = max(self.high, inside.height + 2 * down)

        def draw(x: float, y: float, height: float) -> Iterator[Mark]:
            if self.look == "panel":
                yield Panel(name, x, y, width, height, tooltip=self.tooltip)
            else:
                yield Box(
                    name, x, y, width, height, "", look=self.look, tooltip=self.tooltip, action=self.action
                )
            yield from inside.draw(x + across, y + down, height - 2 * down)

        return Block(high, draw)

    def least(self) -> float:
        return self._inside().least() + 2 * self.pads()[0]

    def wish(self) -> float:
        return self._inside().wish() + 2 * self.pads()[0]

    def about(self) -> str:
        held = Part.about(self)
        return say("grammar.card", title=self.name, held=held) if held and self.name else self.name or held
