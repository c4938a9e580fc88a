"""The grammar of pictures: a tree of values that measures its text, wraps what explains and places everything.

A part is laid out for a width and then knows its height; nothing is given a place by hand, so nothing can overlap or
be cut. What stands side by side goes below one another where the width is too small. `picture` makes a `Picture` of
a tree: title, sentence, tables and alternative text come from the same values.

    picture(title, sentence, Column(Grid(Card("one", Words("...")), Card("two", Words("..."))), Legend(...)))

Here are the parts that hold others; `part` has words and what else is small, `parts` what shows data, `wires` what
connects.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Literal

from kubedev.views.catalogue import say
from kubedev.views.controls import Action
from kubedev.views.part import Around, Block, Facts, Knob, Part, Space, Words, line_height, stacked
from kubedev.views.picture import Box, Look, Mark, Panel, Picture, Table
from kubedev.views.style import WIDTH

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


def picture(title: str, sentence: str, body: Part, width: float = WIDTH) -> Picture:
    """Lay out a tree for `width` and return its picture."""
    block = body.lay(width, "at")
    shown = body.about()
    alt = say("grammar.alt", sentence=sentence.removesuffix("."), shown=shown) if shown else sentence
    marks = tuple(block.draw(0, 0, block.height))
    return Picture(title, sentence, block.height + 1, marks, body.tables(), alt, width)


class Column(Part):
    """Parts below one another; what is left of the height goes to the last one."""

    def __init__(self, *parts: Part, gap: float = GAP) -> None:
        self._parts = parts
        self.gap = gap

    def parts(self) -> tuple[Part, ...]:
        return self._parts

    def lay(self, width: float, key: str) -> Block:
        return stacked([part.lay(width, f"{key}/{n}") for n, part in enumerate(self._parts)], self.gap)

    def least(self) -> float:
        return self._least

    @cached_property
    def _least(self) -> float:
        return max((part.least() for part in self._parts), default=0.0)

    def wish(self) -> float:
        return max((part.wish() for part in self._parts), default=0.0)


class Row(Part):
    """Parts side by side, all equally high; below one another where one would have less than its least width.

    `shares` divide the width; a share of 0 takes what the part wishes. `middle` centres them on one line.
    """

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
        return self._least

    @cached_property
    def _least(self) -> float:
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
            yield from aligned(cards, width) if same and across > 1 else row

    def _each(self, width: float, across: int) -> float:
        return (width - self.gap * (across - 1)) / across

    def least(self) -> float:
        return self._least

    @cached_property
    def _least(self) -> float:
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
    """Return cards, each `width` wide, whose titles and parts are as high as the highest of their neighbours'."""
    across = width - 2 * cards[0].pads()[0]
    highest = [
        max(part.lay(across, "").height for part in level)
        for level in zip(*(card.parts() for card in cards), strict=True)
    ]
    top = max(card.head().lay(across, "").height for card in cards)
    return [card.holding(top, *map(AtLeast, card.parts(), highest)) for card in cards]


class AtLeast(Around):
    """A part that is at least `high` pixels high."""

    def __init__(self, part: Part, high: float) -> None:
        super().__init__(part)
        self.high = high

    def lay(self, width: float, key: str) -> Block:
        block = self.part.lay(width, key)
        return Block(max(self.high, block.height), block.draw)


def _fields(part: Part) -> Iterator["Field"]:
    if isinstance(part, Field):
        yield part
        return
    for each in part.parts():
        yield from _fields(each)


class Field(Around):
    """A part that is a column of the table of its grid; its head is drawn above it if `shown`."""

    def __init__(self, head: str, *parts: Part, shown: bool = False) -> None:
        super().__init__(Column(*([Words(head, tone="muted")] if shown else []), *parts, gap=4))
        self.head = head
        self.shown = shown

    def parts(self) -> tuple[Part, ...]:
        return self.part.parts()[self.shown :]


class Card(Part):
    """A titled ground that holds parts: a quiet panel, or a box with an edge (`look` says which, see `Look`).

    `corner` stands at the end of the title's line. `key` is its name for the wires, and its identity from step to
    step. It is at least `high` pixels high. `name` is what it is called where the title is not what it is.
    """

    def __init__(
        self,
        title: str,
        *parts: Part,
        look: Look | Literal["panel"] = "panel",
        corner: Sequence[Part] = (),
        key: str = "",
        high: float = 0.0,
        name: str = "",
        tooltip: str = "",
        action: Action | str = "",
    ) -> None:
        self.title = title
        self._top = 0.0
        self._laid: dict[tuple[float, str], Block] = {}
        self.name = name or title
        self._parts = parts
        self.look = look
        self.corner = tuple(corner)
        self.key = key
        self.high = high
        self.tooltip = tooltip
        self.action = action

    def parts(self) -> tuple[Part, ...]:
        return self._parts

    def holding(self, top: float, *parts: Part) -> "Card":
        """Return the same card around other parts, its head at least `top` high."""
        card = copy(self)
        vars(card).pop("_inside", None)
        card._laid = {}
        card._parts = parts
        card._top = top
        return card

    def head(self) -> Part:
        """Its title, and what stands in its corner."""
        plain = self.look not in ("panel", "dead", "impossible", "muted")
        head = Words(self.title, "ink" if plain else "muted", bold=True)
        if not self.corner:
            return head
        shares = (1.0, *(0.0 for _ in self.corner))
        return Row(head, *self.corner, shares=shares, middle=True, gap=8)

    def pads(self) -> tuple[float, float]:
        """The room beside what it holds, and above and below."""
        return (PAD, 8.0) if self.look == "panel" else (12.0, 7.0)

    @cached_property
    def _inside(self) -> Column:
        head = [AtLeast(self.head(), self._top)] if self.title or self.corner else []
        return Column(*head, *self._parts, gap=6 if self.look == "panel" else 1)

    def lay(self, width: float, key: str) -> Block:
        if (width, key) not in self._laid:  # a card that is kept from step to step is laid out once
            self._laid[width, key] = self._lay(width, key)
        return self._laid[width, key]

    def _lay(self, width: float, key: str) -> Block:
        name, (across, down) = self.key or key, self.pads()
        inside = self._inside.lay(width - 2 * across, name)
        high = max(self.high, inside.height + 2 * down)

        @lru_cache(4)
        def marks(x: float, y: float, height: float) -> tuple[Mark, ...]:
            place = (name, x, y, width, height)
            ground: Mark = Panel(*place, tooltip=self.tooltip)
            if self.look != "panel":
                ground = Box(*place, "", look=self.look, tooltip=self.tooltip, action=self.action)
            return ground, *inside.draw(x + across, y + down, height - 2 * down)

        return Block(high, lambda x, y, height: iter(marks(x, y, height)))

    def least(self) -> float:
        return self._inside.least() + 2 * self.pads()[0]

    def wish(self) -> float:
        return self._inside.wish() + 2 * self.pads()[0]

    def about(self) -> str:
        held = Part.about(self)
        return say("grammar.card", title=self.name, held=held) if held and self.name else self.name or held
