"""A sentence made of counts: each piece is a number, its words, and below them where it comes from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kubedev.views.part import Block, Part, line_height
from kubedev.views.picture import Mark, Pill, Text
from kubedev.views.style import PILL_PADDING, flow, text_width

__all__ = ["Count", "Counted"]

_GAP = 12.0
_ROW = 28.0  # a line with a number in it


@dataclass(frozen=True, slots=True)
class Count:
    """A piece: its number, its words, and what is said below. One that is not `there` yet keeps its place.

    `last` is the number that it will have: there is room for that from the beginning.
    """

    number: str
    words: str
    below: str = ""
    tone: str = "muted"
    there: bool = True
    last: str = ""


class Counted(Part):
    """Pieces one after the other, in rows; each stays where it is while the others come."""

    __slots__ = ("pieces",)

    def __init__(self, *pieces: Count) -> None:
        self.pieces = pieces

    def _lines(self, piece: Count, width: float) -> Sequence[str]:
        return flow(piece.words, width - self._number(piece) - 8, mono=True)

    def _number(self, piece: Count) -> float:
        return max(text_width(text, bold=True) for text in (piece.number, piece.last)) + PILL_PADDING

    def _wide(self, piece: Count) -> float:
        words = self._number(piece) + 8 + text_width(piece.words, mono=True)
        return max(words, text_width(piece.below))

    def lay(self, width: float, key: str) -> Block:
        places, x, y, high = [], 0.0, 0.0, 0.0
        for piece in self.pieces:
            wide = min(self._wide(piece), width)
            if x and x + wide > width:
                x, y, high = 0.0, y + high + 6, 0.0
            below = len(flow(piece.below, width)) if piece.below else 0
            high = max(high, _ROW + line_height() * (len(self._lines(piece, width)) - 1 + below))
            places.append((x, y))
            x += wide + _GAP

        def draw(left: float, top: float, _height: float) -> Iterator[Mark]:
            for n, (piece, (dx, dy)) in enumerate(zip(self.pieces, places, strict=True)):
                if piece.there:
                    yield from self._piece(piece, f"{key}/{n}", left + dx, top + dy, width)

        return Block(y + high, draw)

    def _piece(self, piece: Count, key: str, x: float, y: float, width: float) -> Iterator[Mark]:
        wide, lines = self._number(piece), self._lines(piece, width)
        yield Pill(f"{key}/number", x + wide / 2, y + _ROW / 2, piece.number, piece.tone)
        for n, line in enumerate(lines):
            yield Text(f"{key}/{n}", x + wide + 8, y + 19 + line_height() * n, line, mono=True)
        for n, line in enumerate(flow(piece.below, width)):
            at = y + _ROW + line_height() * (len(lines) - 1 + n) + 13
            yield Text(f"{key}/below/{n}", x, at, line, tone="muted")

    def least(self) -> float:
        return 200.0

    def says(self) -> str:
        return " ".join(f"{piece.number} {piece.words}" for piece in self.pieces if piece.there)
