"""A curve of straight lines between points that the reader drags; what lies on it has a dot, and a name above."""

from collections.abc import Iterator, Mapping, Sequence

from kubedev.views.catalogue import say
from kubedev.views.controls import act
from kubedev.views.part import Block, Part, line_height, word
from kubedev.views.picture import Dots, Handle, Line, Mark, Point
from kubedev.views.style import text_width

__all__ = ["Curve"]

_LEFT, _FOOT = 46.0, 50.0


class Curve(Part):
    """Points from (0, 0) to `top`, in whole `step`s; outside of them the curve is level. `names` are those of the axes.

    Moving a point does `move` with its number as `point`, and its place as `x` and `y`. `marks` are places by name.
    """

    __slots__ = ("high", "marks", "names", "points", "step", "top")

    def __init__(
        self,
        points: Sequence[tuple[int, int]],
        top: tuple[int, int],
        step: tuple[int, int],
        names: tuple[str, str],
        marks: Mapping[str, Point],
        high: float = 230.0,
    ) -> None:
        self.points, self.top, self.step, self.names = tuple(points), top, step, names
        self.marks, self.high = dict(marks), high

    def least(self) -> float:
        return 420.0

    def lay(self, width: float, key: str) -> Block:
        strip = self._strip((width - _LEFT - 20) / self.top[0])
        head = line_height() * (2 + max((row for *_, row in strip), default=0)) + 8
        return Block(
            head + self.high + _FOOT,
            lambda x, y, _height: self._draw((x, y), y + head + self.high, width, strip, key),
        )

    def _strip(self, unit: float) -> list[tuple[float, str, int]]:
        """The names of what lies at one place across, and the row in which there is room for them."""
        out: list[tuple[float, str, int]] = []
        places = sorted({place[0] for place in self.marks.values()})
        for across in places:
            named = [name for name, place in self.marks.items() if place[0] == across]
            words = ", ".join(named) if len(named) <= 4 else say("curve.many", count=len(named))
            half, row = text_width(words) / 2 + 5, 0
            while any(r == row and abs(across - a) * unit < half + text_width(w) / 2 + 5 for a, w, r in out):
                row += 1
            out.append((across, words, row))
        return out

    def _draw(
        self, corner: Point, base: float, width: float, strip: Sequence[tuple[float, str, int]], key: str
    ) -> Iterator[Mark]:
        x, y = corner
        unit = ((width - _LEFT - 20) / self.top[0], -self.high / self.top[1])

        def at(across: float, up: float) -> Point:
            return x + _LEFT + across * unit[0], base + up * unit[1]

        yield word(f"{key}/up", x, y + 13, self.names[1], anchor="start")
        yield word(f"{key}/across", x + width, base + 44, self.names[0], anchor="end")
        for n in range(6):
            across, up = self.top[0] * n / 5, self.top[1] * n / 5
            yield Line(f"{key}/across/{n}", (at(across, 0), at(across, self.top[1])), "rule")
            yield Line(f"{key}/up/{n}", (at(0, up), at(self.top[0], up)), "rule")
            yield word(f"{key}/across/{n}/words", at(across, 0)[0], base + 24, f"{across:g}")
            yield word(f"{key}/up/{n}/words", x + _LEFT - 14, at(0, up)[1] + 5, f"{up:g}", anchor="end")
        for across, words, row in strip:
            foot = y + line_height() * (row + 2)
            lowest = min(place[1] for place in self.marks.values() if place[0] == across)
            yield Line(
                f"{key}/{across:g}/down",
                ((at(across, 0)[0], foot + 2), at(across, lowest)),
                "faint",
                dashed=True,
            )
            yield word(f"{key}/{across:g}/name", at(across, 0)[0], foot - 4, words, "ink")
        ends = [(0, self.points[0][1]), *self.points, (self.top[0], self.points[-1][1])]
        yield Line(f"{key}/curve", tuple(at(*point) for point in ends), "strong")
        yield Dots(f"{key}/marks", tuple(at(*place) for place in self.marks.values()), 5, "reusable")
        for n, point in enumerate(self.points):
            before = self.points[n - 1][0] + self.step[0] if n else 0
            after = self.points[n + 1][0] - self.step[0] if n + 1 < len(self.points) else self.top[0]
            limits = ((before, 0), (after, self.top[1]))
            words = f"{self.names[0]} {point[0]}, {self.names[1]} {point[1]}"
            yield Handle(
                f"{key}/{n}", *at(*point), point, *limits, self.step, unit, act("move", point=n), words
            )

    def says(self) -> str:
        return ", ".join(f"{across}: {up}" for across, up in self.points)
