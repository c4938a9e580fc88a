"""Parts with a scale: bars on an axis that does not move, rows of spans and points over time, and steps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kubedev.views.catalogue import say
from kubedev.views.part import Block, Part, line_height, word
from kubedev.views.picture import Band, Dot, Dots, Line, Mark, Table, Text
from kubedev.views.style import flow, text_width

__all__ = ["Bar", "Bars", "Lane", "Piece", "Span", "Steps", "TimeLine"]

_THIN = 3.0  # what there is of something is seen, however little it is


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a bar: how much, in which colour, and the words that stand in it where they or the `short` ones fit."""

    value: float
    tone: str = "accent"
    words: str = ""
    short: str = ""
    outlined: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its pieces from the bottom up, the label below it, and words above it."""

    label: str
    pieces: tuple[Piece, ...]
    above: str = ""

    @property
    def total(self) -> float:
        """How high it is."""
        return sum(piece.value for piece in self.pieces)


class Bars(Part):
    """Bars on an axis from 0 to `top`, which stays where it is whatever the bars do.

    `limit` is a line across, told by `limit_words` above the bars or, with `beside`, at its end.
    """

    __slots__ = ("bars", "beside", "high", "limit", "limit_words", "ticks", "top", "unit")

    def __init__(
        self,
        bars: Sequence[Bar],
        top: float,
        *,
        ticks: Sequence[float] = (),
        unit: str = "",
        limit: float | None = None,
        limit_words: str = "",
        beside: bool = False,
        high: float = 150.0,
    ) -> None:
        self.bars = tuple(bars)
        self.top = max([top, 1e-9, *(bar.total for bar in bars)])
        self.ticks = tuple(ticks) or (0.0, self.top)
        self.unit = unit
        self.limit = limit
        self.limit_words = limit_words
        self.beside = beside
        self.high = high

    def _number(self, value: float) -> str:
        return f"{value:g} {self.unit}".strip()

    def _left(self) -> float:
        return max([text_width(f"{tick:g}") for tick in self.ticks] + [text_width(self.unit)]) + 12

    def _apart(self) -> list[float]:
        """The ticks whose words do not stand on one another."""
        out: list[float] = []
        for tick in sorted(self.ticks):
            if not out or self.high * (tick - out[-1]) / self.top >= line_height():
                out.append(tick)
        return out

    def _right(self) -> float:
        """The room for the words at the end of the line."""
        words = self.limit_words.split() if self.beside else []
        return max((text_width(each, bold=True) + 8 for each in words), default=0.0)

    def least(self) -> float:
        return self._left() + sum(self._each(bar) for bar in self.bars) + self._right()

    def _each(self, bar: Bar) -> float:
        words = [text_width(word) + 12 for word in bar.label.split()] if self._all_named() else []
        return max([34.0 if words else 10.0, *words, text_width(bar.above, bold=True) * self._all_named()])

    def _all_named(self) -> bool:
        """Otherwise a label has the room of the bars without one beside it, and so have words above."""
        return all(bar.label for bar in self.bars)

    def _room(self, n: int, pitch: float) -> float:
        beside = (range(n - 1, -1, -1), range(n + 1, len(self.bars)))
        empty = [next((k for k, i in enumerate(side) if self.bars[i].label), len(side)) for side in beside]
        return pitch * (1 + min((e for e, side in zip(empty, beside, strict=True) if side), default=0)) - 6

    def lay(self, width: float, key: str) -> Block:
        left, end = self._left(), width - self._right()
        pitch = (end - left) / max(1, len(self.bars))
        labels = [flow(bar.label, self._room(n, pitch)) for n, bar in enumerate(self.bars)]
        close = any(bar.above and self._up(bar.total) > self.high - line_height() for bar in self.bars)
        head = line_height() * (1 + close * (not self.beside)) + 8
        below = line_height() * max(map(len, labels), default=0) + 6

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            base = y + head + self.high
            yield word(f"{key}/unit", x, y + 11, self.unit, anchor="start")
            for tick in self._apart():
                at = base - self._up(tick)
                yield Line(f"{key}/tick/{tick:g}", ((x + left, at), (x + end, at)), "rule")
                yield word(f"{key}/tick/{tick:g}/words", x + left - 8, at + 5, f"{tick:g}", anchor="end")
            told: list[tuple[float, float, float, float]] = []
            for n, bar in enumerate(self.bars):
                yield from self._bar(f"{key}/{n}", bar, x + left + pitch * n, base, pitch)
                if bar.above:
                    half = text_width(bar.above, bold=True) / 2
                    middle = min(max(x + left + pitch * (n + 0.5), x + left + half), x + end - half)
                    place = (middle, base - self._up(bar.total) - 7)
                    told.append((middle - half - 4, place[1] - 14, middle + half + 4, place[1] + 5))
                    yield word(f"{key}/{n}/above", *place, bar.above, "ink", bold=True)
                for number, line in enumerate(labels[n]):
                    middle = x + left + pitch * (n + 0.5)
                    yield word(f"{key}/{n}/label/{number}", middle, base + 17 + line_height() * number, line)
            if self.limit is not None:
                at = base - self._up(min(self.top, self.limit))
                gaps = sorted((a, b) for a, top, b, foot in told if top < at < foot)
                ends = [x + left, *(edge for gap in gaps for edge in gap), x + end]
                for n, (start, stop) in enumerate(zip(ends[::2], ends[1::2], strict=True)):
                    name = f"{key}/limit/{n}" if n else f"{key}/limit"
                    yield Line(name, ((start, at), (stop, at)), "strong", dashed=True)
            yield from self._limit_words(f"{key}/limit/words", x + width, y, base)

        return Block(head + self.high + below, draw)

    def _up(self, value: float) -> float:
        return self.high * value / self.top

    def _limit_words(self, key: str, end: float, top: float, base: float) -> Iterator[Mark]:
        if not self.beside or self.limit is None:
            if self.limit_words:
                yield word(key, end, top + 13, self.limit_words, "accent", "end", bold=True)
            return
        lines = flow(self.limit_words, self._right(), bold=True)
        at = base - self._up(min(self.top, self.limit)) + 5 - line_height() * (len(lines) - 1) / 2
        at = min(max(at, top + 11), base - line_height() * (len(lines) - 1))
        for n, line in enumerate(lines):
            yield word(f"{key}/{n}", end, at + line_height() * n, line, "accent", "end", bold=True)

    def _bar(self, key: str, bar: Bar, x: float, base: float, pitch: float) -> Iterator[Mark]:
        wide = min(pitch * 0.6, 110.0)
        for n, piece in enumerate(bar.pieces):
            high = max(_THIN, self.high * piece.value / self.top) if piece.value else 0.0
            base -= high
            left = x + (pitch - wide) / 2
            if not high:
                continue
            inset = 1.5 if piece.outlined and high > 6 else 0.0
            place = (left + inset, base + 1 + inset, wide - 2 * inset, high - 1 - 2 * inset)
            yield Band(f"{key}/{n}", *place, piece.tone, min(4, high / 2), inset > 0, piece.words)
            fitting = (w for w in (piece.words, piece.short) if w and text_width(w, bold=True) + 10 <= wide)
            said = next(fitting, "")
            if said and high >= line_height() + 2:
                plain = piece.outlined or piece.tone in ("wash", "panel", "card")
                at = (x + pitch / 2, base + high / 2 + 5)
                yield word(f"{key}/{n}/words", *at, said, "ink" if plain else "on-accent", bold=True)

    def about(self) -> str:
        return say(
            "grammar.bars", labels=", ".join(bar.label for bar in self.bars), top=self._number(self.top)
        )


@dataclass(frozen=True, slots=True)
class Span:
    """Something from one time to another; without an end it is a point."""

    start: float
    end: float | None = None
    tone: str = "accent"
    words: str = ""


@dataclass(frozen=True, slots=True)
class Lane:
    """A row of a time line: its name, and what is on it."""

    name: str
    spans: tuple[Span, ...]


class TimeLine(Part):
    """Rows over one axis from 0 to `until`; no span is so short that it vanishes. `now` is where we are."""

    __slots__ = ("caption", "lanes", "now", "ticks", "unit", "until")

    def __init__(
        self,
        lanes: Sequence[Lane],
        until: float,
        *,
        ticks: Sequence[float] = (),
        unit: str = "s",
        now: float | None = None,
        caption: str = "",
    ) -> None:
        self.lanes = tuple(lanes)
        self.until = until or 1.0
        self.ticks = tuple(ticks) or (0.0, self.until)
        self.unit = unit
        self.now = now
        self.caption = caption

    def _left(self) -> float:
        return max((text_width(lane.name) for lane in self.lanes), default=0.0) + 18

    def least(self) -> float:
        return self._left() + 240

    def lay(self, width: float, key: str) -> Block:
        left, pitch = self._left(), 30.0
        across = width - left - 24

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            def at(time: float) -> float:
                return x + left + across * min(1.0, max(0.0, time / self.until))

            foot = y + pitch * len(self.lanes) + 4
            for n, lane in enumerate(self.lanes):
                middle = y + pitch * (n + 0.5)
                yield Text(f"{key}/{n}/name", x, middle + 5, lane.name, tone="muted")
                yield Line(f"{key}/{n}/rule", ((x + left, middle), (x + left + across, middle)), "rule")
                for number, span in enumerate(lane.spans):
                    yield self._span(f"{key}/{n}/{number}", span, at(span.start), middle, at)
            yield Line(f"{key}/axis", ((x + left, foot), (x + left + across, foot)), "quiet")
            end = float("-inf")
            for tick in self.ticks:
                words = f"{tick:g} {self.unit}"
                half = text_width(words) / 2
                if at(tick) - half >= end:
                    yield Text(
                        f"{key}/tick/{tick:g}", at(tick), foot + 18, words, tone="muted", anchor="middle"
                    )
                    end = at(tick) + half + 8
            if self.now is not None:
                yield Line(f"{key}/now", ((at(self.now), y), (at(self.now), foot)), "strong", dashed=True)

        return Block(pitch * len(self.lanes) + 28, draw)

    def _span(self, key: str, span: Span, start: float, middle: float, at: object) -> Mark:
        assert callable(at)
        if span.end is None:
            return Dot(key, start, middle, 5, span.tone)
        wide = max(_THIN, at(span.end) - start)
        return Band(key, start, middle - 8, wide, 16, span.tone, radius=3, tooltip=span.words)

    def about(self) -> str:
        return say("grammar.timeline", rows=len(self.lanes))

    def tables(self) -> tuple[Table, ...]:
        if not self.caption:
            return ()
        rows = tuple(
            (lane.name, f"{s.start:g}", "" if s.end is None else f"{s.end:g}", s.words)
            for lane in self.lanes
            for s in lane.spans
        )
        heads = (say("table.what"), say("table.from"), say("table.to"), say("table.text"))
        return (Table(self.caption, heads, rows),)


class Steps(Part):
    """The names of the steps of something along a line, and which of them is now."""

    __slots__ = ("names", "now")

    def __init__(self, names: Sequence[str], now: int) -> None:
        self.names = tuple(names)
        self.now = now

    def least(self) -> float:
        return sum(text_width(name, bold=True) + 10 for name in self.names)

    def lay(self, width: float, key: str) -> Block:
        pitch = width / max(1, len(self.names))

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            places = [(x + pitch * (n + 0.5), y + 10) for n in range(len(self.names))]
            yield Line(f"{key}/line", (places[0], places[-1]), "rule")
            yield Line(f"{key}/past", (places[0], places[self.now]), "strong")
            yield Dots(f"{key}/come", tuple(places[self.now + 1 :]), 4, "edge")
            yield Dots(f"{key}/gone", tuple(places[: self.now + 1]), 4)
            yield Dot(f"{key}/now", *places[self.now], 7)
            for n, (name, (at, _)) in enumerate(zip(self.names, places, strict=True)):
                now = n == self.now
                yield Text(
                    f"{key}/{n}", at, y + 34, name, tone="ink" if now else "muted", bold=now, anchor="middle"
                )

        return Block(40.0, draw)
