"""Bars that are filled: what is taken of something, what is asked on top of it as a ghost, and what is too much."""

from collections.abc import Iterator
from dataclasses import dataclass

from kubedev.views.part import Block, Part
from kubedev.views.picture import Band, Mark, Text
from kubedev.views.style import text_width

__all__ = ["Fill", "Fills"]

_LINE = 0.76  # where what there is ends; beyond it there is room for what is too much
_NAMED = 60.0  # what a bar needs beside a name


@dataclass(frozen=True, slots=True)
class Fill:
    """What is taken of `room`, and what is asked on top of it; None where nobody compared them.

    `short`: whoever compared them found too little.
    """

    name: str
    taken: int
    room: int
    asked: int | None = None
    short: bool = False


class Fills(Part):
    """Bars below one another, each with a scale of its own: what there is ends on one line in all of them.

    Names stand before the bars where there is room. What is too much begins at the line and is cut at the end.
    """

    __slots__ = ("fills", "high")

    def __init__(self, *fills: Fill, high: float = 12.0) -> None:
        self.fills = fills
        self.high = high

    def lay(self, width: float, key: str) -> Block:
        names = max((text_width(fill.name) for fill in self.fills), default=0.0) + 10
        left, pitch = (names, 20.0) if width - names >= _NAMED else (0.0, self.high + 5)

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            for n, fill in enumerate(self.fills):
                at, name = y + pitch * n + (pitch - self.high) / 2, f"{key}/{n}"
                if left:
                    yield Text(f"{name}/name", x, at + self.high / 2 + 5, fill.name, tone="muted")
                yield from self._bar(fill, name, x + left, at, width - left)

        return Block(pitch * len(self.fills), draw)

    def _bar(self, fill: Fill, key: str, x: float, y: float, width: float) -> Iterator[Mark]:
        end = width * _LINE if fill.room else 0.0  # of nothing, all is too much
        scale = end / fill.room if fill.room else 0.0
        taken = min(max(fill.taken * scale, 0.0), width)
        yield Band(f"{key}/room", x, y, max(end, 1.0), self.high, "line", 3, outlined=fill.asked is None)
        if taken > 0.5:
            yield Band(f"{key}/taken", x, y, taken, self.high, "edge", 3)
        if fill.asked and fill.asked > 0:
            ghost = max(2.0, min(fill.asked * scale, end - taken))
            if taken < end:
                yield Band(f"{key}/ghost", x + taken, y, ghost, self.high, "accent", 3, outlined=True)
            if fill.short:
                far = max(end, taken)
                yield Band(f"{key}/over", x + far, y, max(3.0, width - far), self.high, "unhealthy", 3)
        if fill.asked is not None:
            yield Band(f"{key}/line", x + end - 1, y - 2, 2, self.high + 4, "ink", 0)

    def least(self) -> float:
        return 24.0

    def says(self) -> str:
        sums = ((f.name, f.taken, f" + {f.asked}" if f.asked else "", f.room) for f in self.fills)
        return ", ".join(f"{name} {taken}{asked} / {room}" for name, taken, asked, room in sums)

    def about(self) -> str:
        return ""
