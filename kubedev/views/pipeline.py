"""Stages along a line that something travels through: what is behind it, where it is, and how many are left there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from kubedev.views.part import Block, Part, word
from kubedev.views.picture import Dot, Dots, Line, Mark, Pill
from kubedev.views.style import PILL_PADDING, text_width

__all__ = ["Pipeline", "Stop"]

_ROW = 90.0  # a group's name, the line, a stop's name and what stands below it
_FEW = 8  # so many tokens are drawn one by one


@dataclass(frozen=True, slots=True)
class Stop:
    """A stage: its name, its group, words below it; `left` of `of` tokens are drawn there. One may be `skipped`."""

    name: str
    group: str = ""
    below: str = ""
    left: int | None = None
    of: int = 0
    skipped: bool = False


class Pipeline(Part):
    """Stops along a line, in as many rows as there is room for; `now` is the stop that is lit."""

    __slots__ = ("now", "stops")

    def __init__(self, stops: Sequence[Stop], now: int) -> None:
        self.stops = tuple(stops)
        self.now = now

    def _wide(self, stop: Stop) -> float:
        tokens = 8.0 * min(stop.of, _FEW) + 16 if stop.of else 0.0
        return max(text_width(stop.name, bold=True) + PILL_PADDING, text_width(stop.below), tokens) + 1

    def least(self) -> float:
        return max(map(self._wide, self.stops))

    def lay(self, width: float, key: str) -> Block:
        rows: list[list[int]] = [[]]
        for n, stop in enumerate(self.stops):
            if sum(self._wide(self.stops[k]) for k in rows[-1]) + self._wide(stop) > width:
                rows.append([])
            rows[-1].append(n)

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            for k, row in enumerate(rows):
                wide = [self._wide(self.stops[n]) for n in row]
                spare = (width - sum(wide)) / len(row)
                lefts = accumulate((each + spare for each in wide), initial=x)
                places = {
                    n: left + (each + spare) / 2 for n, left, each in zip(row, lefts, wide, strict=False)
                }
                yield from self._row(places, y + _ROW * k, x + width, key)

        return Block(_ROW * len(rows), draw)

    def _row(self, places: dict[int, float], y: float, right: float, key: str) -> Iterator[Mark]:
        line, ends = y + 34, (min(places.values()), max(places.values()))
        yield Line(f"{key}/{min(places)}/line", ((ends[0], line), (ends[1], line)), "rule")
        if (gone := [at for n, at in places.items() if n <= self.now]) and gone[-1] > gone[0]:
            yield Line(f"{key}/{min(places)}/gone", ((gone[0], line), (gone[-1], line)), "strong")
        for n, at in places.items():
            stop, name = self.stops[n], f"{key}/{n}"
            if n == 0 or stop.group != self.stops[n - 1].group:
                start = min(at - 7, right - text_width(stop.group))
                yield word(f"{name}/group", start, y + 14, stop.group, anchor="start")
            passed = n <= self.now and not stop.skipped
            yield Dot(f"{name}/dot", at, line, 6 if n == self.now else 5, "accent" if passed else "edge")
            if n != self.now and not passed:
                yield Dot(f"{name}/hole", at, line, 3, "card")
            if n == self.now:
                yield Pill(f"{name}/name", at, line + 21, stop.name)
            else:
                yield word(f"{name}/name", at, line + 26, stop.name, "ink" if passed else "muted")
            yield from self._below(stop, name, at, line + 45)

    def _below(self, stop: Stop, key: str, at: float, y: float) -> Iterator[Mark]:
        if stop.left is None:
            if stop.below:
                yield word(f"{key}/below", at, y + 2, stop.below)
            return
        if stop.of > _FEW:
            yield word(f"{key}/below", at, y + 2, f"{stop.left} / {stop.of}")
            return
        start = at - 4 * (stop.of - 1) - 8
        spots = [(start + 8.0 * n, y - 3) for n in range(stop.of)]
        yield Dots(f"{key}/out", tuple(spots[stop.left :]), 2, "edge")
        yield Dots(f"{key}/left", tuple(spots[: stop.left]), 3.5)
        yield word(f"{key}/below", start + 8 * stop.of + 3, y + 2, str(stop.left), anchor="start")

    def about(self) -> str:
        return ", ".join(stop.name for stop in self.stops)
