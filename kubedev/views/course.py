"""A part for numbers over time: stepped lines over one axis, what is shaded, and dots for what came when."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from kubedev.views.catalogue import say
from kubedev.views.part import Block, Part, line_height, word
from kubedev.views.picture import Band, Dot, Dots, Line, Mark, Point, Text
from kubedev.views.style import flow, text_width

__all__ = ["Course", "Dotted", "Shade", "Track"]

Scale = Callable[[float], float]

_BRIEF = 8.0  # a change that lasts for fewer pixels gets a mark: it is never so short that it vanishes


@dataclass(frozen=True, slots=True)
class Track:
    """A number by name: from each time on it has a value; None is not there, which is not 0."""

    name: str
    values: tuple[tuple[float, int | None], ...]
    look: Literal["quiet", "strong"] = "strong"


@dataclass(frozen=True, slots=True)
class Shade:
    """A stretch of time on its own ground, with words."""

    start: float
    end: float
    words: str = ""


@dataclass(frozen=True, slots=True)
class Dotted:
    """What came when, in a row of its own below the axis; the last one is told."""

    name: str
    times: tuple[float, ...]
    last: str = ""


class Course(Part):
    """Tracks from 0 to `now` on a time axis that ends at `until`, and on a scale that ends at `top`."""

    __slots__ = ("dotted", "high", "now", "shades", "top", "tracks", "until")

    def __init__(
        self,
        tracks: Sequence[Track],
        now: float,
        until: float,
        top: int,
        *,
        shades: Sequence[Shade] = (),
        dotted: Dotted | None = None,
        high: float = 150.0,
    ) -> None:
        self.tracks = tuple(tracks)
        self.now, self.until, self.top = now, until or 1.0, top or 1
        self.shades = tuple(shades)
        self.dotted = dotted
        self.high = high

    def _left(self) -> float:
        names = [self.dotted.name] if self.dotted else []
        return max(text_width(name) for name in [*names, str(self.top)]) + 16

    def _right(self) -> float:
        last = (
            text_width(say("timeline.seconds", seconds=f"{self.until:g}")) / 2
        )  # stands under the end of the axis
        return max(last, *(text_width(words, bold=True) for _, words in self._ends()), 0.0) + 14

    def _ends(self) -> list[tuple[Track, str]]:
        """The tracks that have a value now, and the words at their ends: the highest first."""
        ends = [(track, track.values[-1][1]) for track in self.tracks if track.values]
        held = sorted(((t, v) for t, v in ends if v is not None), key=lambda each: -each[1])
        return [(track, f"{track.name} {value}") for track, value in held]

    def least(self) -> float:
        return self._left() + self._right() + 260

    def about(self) -> str:
        names = ", ".join(track.name for track in self.tracks)
        return say("grammar.course", names=names, until=f"{self.until:g}")

    def lay(self, width: float, key: str) -> Block:
        left, right = self._left(), width - self._right()
        head = line_height() + 10  # also where nothing is shaded yet: the scale stays where it is
        said = flow(self.dotted.last, width, mono=True) if self.dotted else ()
        row = (30 + line_height() * len(said)) * (self.dotted is not None)

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            base = y + head + self.high

            def at(time: float) -> float:
                return x + left + (right - left) * min(time / self.until, 1.0)

            def up(value: float) -> float:
                return base - self.high * value / self.top

            for n, shade in enumerate(self.shades):
                start, end = at(shade.start), at(shade.end)
                yield Band(
                    f"{key}/shade/{n}", start, y, end - start, base - y, "wash", 4, tooltip=shade.words
                )
                last = n == len(self.shades) - 1
                if last and shade.words and text_width(shade.words) + 12 <= x + width - start:
                    yield word(f"{key}/shade/{n}/words", start + 6, y + 14, shade.words, "ink", "start")
            for value in sorted({0, self.top // 2, self.top}):
                end = x + right if not value else at(self.now)
                yield Line(f"{key}/value/{value}", ((x + left, up(value)), (end, up(value))), "rule")
                yield word(
                    f"{key}/value/{value}/words", x + left - 10, up(value) + 5, str(value), anchor="end"
                )
            for time, words in self._times(right - left):
                yield word(f"{key}/time/{time:g}", at(time), base + 20, words)
            yield Line(f"{key}/now", ((at(self.now), y), (at(self.now), base)), "quiet", dashed=True)
            for track in self.tracks:
                yield from self._track(f"{key}/{track.name}", track, at, up)
            yield from self._labels(key, at(self.now) + 10, up, base)
            if self.dotted:
                yield from self._dots(f"{key}/dots", self.dotted, said, (x, x + width), base + 42, at)

        return Block(head + self.high + 30 + row, draw)

    def _times(self, room: float) -> Iterator[tuple[float, str]]:
        words = {n: say("timeline.seconds", seconds=f"{self.until * n / 6:g}") for n in range(7)}
        every = 1 if 7 * (max(map(text_width, words.values())) + 12) <= room else 3
        yield from ((self.until * n / 6, text) for n, text in words.items() if n % every == 0)

    def _track(self, key: str, track: Track, at: Scale, up: Scale) -> Iterator[Mark]:
        raised = 3.0 if track.look == "quiet" else 0.0  # two tracks with one value are both seen
        pieces: list[list[Point]] = [[]]
        ends = [*(time for time, _ in track.values[1:]), self.now]
        for n, ((time, value), end) in enumerate(zip(track.values, ends, strict=False)):
            if value is None:
                pieces.append([])
                continue
            start, stop = at(time), at(end)
            level = up(value) - raised
            pieces[-1] += [(start, level), (stop, level)]
            if n and stop - start < _BRIEF and n < len(track.values) - 1:
                yield Dot(f"{key}/brief/{n}", (start + stop) / 2, level, 3.5, "accent")
        for n, points in enumerate(piece for piece in pieces if piece):
            yield Line(f"{key}/{n}", tuple(points), track.look)

    def _labels(self, key: str, x: float, up: Scale, base: float) -> Iterator[Mark]:
        """Names and values at the ends of the tracks: not over one another, nor over the axis."""
        ends = self._ends()
        places: list[float] = []
        for track, _ in ends:
            wanted = up(track.values[-1][1] or 0) + 5
            places.append(max(wanted, places[-1] + line_height() + 2) if places else wanted)
        lowest = base - 6
        for n in reversed(range(len(places))):
            places[n] = min(places[n], lowest)
            lowest = places[n] - line_height() - 2
        for (track, words), y in zip(ends, places, strict=True):
            tone = "muted" if track.look == "quiet" else "accent"
            yield word(f"{key}/{track.name}/words", x, y, words, tone, "start", bold=True)

    def _dots(
        self,
        key: str,
        dotted: Dotted,
        said: Sequence[str],
        ends: tuple[float, float],
        y: float,
        at: Scale,
    ) -> Iterator[Mark]:
        """A dot for each; those of one moment stand on one another, as far as there is room."""
        seen, points = Counter[float](), []
        for time in dotted.times:
            points.append((at(time), y - 7 * min(seen[time], 2)))
            seen[time] += 1
        yield word(f"{key}/name", ends[0], y + 5, dotted.name, anchor="start")
        yield Line(f"{key}/axis", ((ends[0] + self._left(), y), (ends[1] - self._right(), y)), "rule")
        yield Dots(key, tuple(points), 4)
        for n, line in enumerate(said):
            half = text_width(line, mono=True) / 2
            middle = min(max(at(dotted.times[-1]), ends[0] + half), ends[1] - half)
            place = (middle, y + 24 + line_height() * n)
            yield Text(f"{key}/last/{n}", *place, line, tone="muted", mono=True, anchor="middle")
