"""A part for what stands in a file: a tree of lines, each with what is to be said of it beside it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kubedev.views.catalogue import say
from kubedev.views.grammar import Column, Row
from kubedev.views.part import Block, Part, Words
from kubedev.views.picture import Band, Line, Mark, Table
from kubedev.views.style import flow, text_width

__all__ = ["Leaf", "Tree"]

_STEP = 18.0  # a level is so far to the right of the one above it


@dataclass(frozen=True, slots=True)
class Leaf(Part):
    """A line of the tree: how deep it stands, and a note at its end. `dim`: nobody looks at it."""

    depth: int
    text: str
    note: str = ""
    look: Literal["plain", "lit", "dim", "changed"] = "plain"

    def lay(self, width: float, key: str) -> Block:
        left = self.depth * _STEP
        lines = flow(self.text, width - left - 6, mono=True)
        words = Words(self.text, "muted" if self.look == "dim" else "ink", mono=True).lay(
            width - left - 6, key
        )
        ground, outlined = {"lit": ("wash", False), "changed": ("unhealthy", True)}.get(
            self.look, ("", False)
        )

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            if self.depth:
                hook = ((x + left - 11, y - 1), (x + left - 11, y + 10), (x + left - 3, y + 10))
                yield Line(f"{key}/hook", hook, "rule")
            if ground:
                across = max(text_width(line, mono=True) for line in lines) + 10
                yield Band(f"{key}/ground", x + left - 2, y, across, words.height + 2, ground, 5, outlined)
            yield from words.draw(x + left + 3, y + 1, words.height)

        return Block(words.height + 2, draw)

    def least(self) -> float:
        return self.depth * _STEP + 130


class Tree(Part):
    """Lines below one another, those of a deeper level to the right of the one that they belong to. Long ones wrap."""

    __slots__ = ("caption", "leaves")

    def __init__(self, *leaves: Leaf, caption: str = "") -> None:
        self.leaves, self.caption = leaves, caption

    def lay(self, width: float, key: str) -> Block:
        notes = [
            Words(leaf.note, "accent" if leaf.look == "lit" else "muted", bold=leaf.look == "lit")
            for leaf in self.leaves
        ]
        room = min(max((note.wish() for note in notes), default=0.0), 0.42 * width) / max(width, 1.0)
        rows = [
            Row(leaf, note, shares=(1 - room, room), gap=0) if leaf.note else leaf
            for leaf, note in zip(self.leaves, notes, strict=True)
        ]
        return Column(*rows, gap=1).lay(width, key)

    def least(self) -> float:
        return max((leaf.least() for leaf in self.leaves), default=0.0) / 0.58

    def about(self) -> str:
        return say("grammar.tree", count=len(self.leaves))

    def tables(self) -> tuple[Table, ...]:
        rows = tuple((f"{'– ' * leaf.depth}{leaf.text}", leaf.note) for leaf in self.leaves)
        return (Table(self.caption, (say("table.line"), say("table.beside")), rows),) if self.caption else ()
