"""Arrows between the cards of a picture, and the messages that travel on them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kubedev.views.part import Around, Block, Part, line_height
from kubedev.views.picture import Box, Line, Mark, Panel, Pill, Point, Text
from kubedev.views.style import PILL_PADDING, text_width

__all__ = ["Tag", "Way", "Wired"]

_HEAD = 5.0  # between an arrow's head and the card
_SHARED = 20.0  # two cards that share less of an edge are not neighbours
_CORRIDOR = 420.0  # how wide a message may be between two grounds
_PILL = 26.0
Rect = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Way:
    """A connection from one card to another, by their keys; with `pill` a message is on it and it is lit.

    `short` takes the place of a pill that has no room; `number` tells one message from the next. One that goes
    `round` the corner, past what is between, is drawn only while it is lit.
    """

    source: str
    target: str
    label: str = ""
    dashed: bool = False
    round: bool = False
    pill: str = ""
    short: str = ""
    number: int = 0

    @property
    def key(self) -> str:
        """Its identity from step to step."""
        return f"way/{self.source}/{self.target}"


@dataclass(frozen=True, slots=True)
class Tag(Part):
    """A message that stays where it is: something that a party decides by itself."""

    text: str
    short: str
    number: int = 0
    key: str = ""

    def lay(self, width: float, key: str) -> Block:
        text = _fitting(self.text, self.short, width)
        across = text_width(text, bold=True) + PILL_PADDING

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            if text:
                yield Pill(self.key or f"lit/{self.number}", x + across / 2, y + 16, text, tooltip=self.text)

        return Block(_PILL + 3, draw)

    def says(self) -> str:
        return self.text


class Wired(Around):
    """A part, and the ways between the cards in it.

    Ways between the same two share the edge that they have in common. Where a message is, labels make room.
    """

    def __init__(self, body: Part, *ways: Way) -> None:
        super().__init__(body)
        self.ways = ways

    def lay(self, width: float, key: str) -> Block:
        block = self.part.lay(width, key)

        def draw(x: float, y: float, height: float) -> Iterator[Mark]:
            marks = list(block.draw(x, y, height))
            yield from marks
            yield from _wires(self.ways, marks, (x, x + width))

        return Block(block.height, draw)


@dataclass(frozen=True, slots=True)
class _Route:
    """Where a way goes, where its label begins or ends, and the room (across, down) around its middle."""

    points: tuple[Point, ...]
    middle: Point
    room: tuple[float, float]
    label: Point
    anchor: Literal["start", "middle", "end"] = "middle"


def _wires(ways: Sequence[Way], marks: Sequence[Mark], ends: tuple[float, float]) -> Iterator[Mark]:
    cards = [mark for mark in marks if isinstance(mark, Box | Panel)]
    places = {m.key: (m.x, m.y, m.x + m.width, m.y + m.height) for m in cards}
    grounds = [places[m.key] for m in cards if isinstance(m, Panel)]
    boxes = [places[m.key] for m in cards if isinstance(m, Box)]
    drawn = [w for w in ways if w.source in places and w.target in places and (w.pill or not w.round)]
    pairs = [frozenset((way.source, way.target)) for way in drawn]
    taken: list[Rect] = []
    pills: list[Pill] = []
    lines: list[Mark] = []
    labels: list[Text] = []
    for n, way in enumerate(drawn):
        lane = (pairs[:n].count(pairs[n]), pairs.count(pairs[n]))
        route = _route(way, places, lane, grounds, boxes)
        if way.pill:
            lines.append(Line("lit/way", route.points, "lit", arrow=True))
            taken.append(_around(route.points))
            pills += _pill(way, route, ends)
            continue
        lines.append(Line(way.key, route.points, dashed=way.dashed, arrow=True))
        words = way.label if text_width(way.label) <= route.room[0] else way.label.partition(",")[0]
        if words and text_width(words) <= route.room[0] and route.room[1] >= line_height():
            at = f"{way.key}/label"
            labels.append(Text(at, *route.label, words, tone="muted", anchor=route.anchor))
    taken += [_pill_place(pill) for pill in pills]
    free = [label for label in labels if not any(_meet(_text_place(label), place) for place in taken)]
    yield from sorted(lines, key=lambda mark: mark.key == "lit/way")
    yield from free
    yield from pills


def _route(
    way: Way,
    places: Mapping[str, Rect],
    lane: tuple[int, int],
    grounds: Sequence[Rect],
    cards: Sequence[Rect],
) -> _Route:
    a, b = places[way.source], places[way.target]
    share = (lane[0] + 1) / (lane[1] + 1)
    top, bottom = max(a[1], b[1]), min(a[3], b[3])
    if bottom - top > _SHARED:
        y = top + share * (bottom - top)
        start, end = (a[2], b[0] - _HEAD) if a[0] < b[0] else (a[0], b[2] + _HEAD)
        below = lane[1] > 1 and lane[0] == lane[1] - 1
        middle = ((start + end) / 2, y)
        room = (abs(end - start) - 2, bottom - top)
        return _Route(((start, y), (end, y)), middle, room, (middle[0], y + (17 if below else -7)))
    down = a[1] < b[1]
    corridor = _corridor(*((a, b) if down else (b, a)), grounds)
    y, room = sum(corridor) / 2, (_CORRIDOR, corridor[1] - corridor[0])
    ends = (a[3], b[1] - _HEAD) if down else (a[1], b[3] + _HEAD)
    left, right = max(a[0], b[0]), min(a[2], b[2])
    if not way.round and right - left > _SHARED:
        x = left + share * (right - left)
        before = lane[1] > 1 and lane[0] == 0
        if any(_meet((x - 1, y - 1, x + 1, y + 1), card) for card in cards if card not in (a, b)):
            room = (0.0, 0.0)  # something else is in between
        label = (x - 8 if before else x + 8, y + 5)
        return _Route(((x, ends[0]), (x, ends[1])), (x, y), room, label, "end" if before else "start")
    out = a[0] + (a[2] - a[0]) * 0.4
    if right - left > _SHARED:  # past what is between, and in from the side
        side, inner = b[0] - 7, (b[1] + b[3]) / 2
        way_in: tuple[Point, ...] = ((side, y), (side, inner), (b[0] - 1, inner))
    else:
        side = b[0] + 12 if a[0] < b[0] else b[2] - 12
        way_in = ((side, y), (side, ends[1]))
    return _Route(((out, ends[0]), (out, y), *way_in), ((out + side) / 2, y), room, (out, y))


def _corridor(upper: Rect, lower: Rect, grounds: Sequence[Rect]) -> tuple[float, float]:
    """From the lower edge of the ground that one card stands on to the upper edge of the other's."""
    above = [ground[3] for ground in grounds if _holds(ground, upper) and not _holds(ground, lower)]
    below = [ground[1] for ground in grounds if _holds(ground, lower) and not _holds(ground, upper)]
    return max([upper[3], *above]), min([lower[1], *below])


def _holds(outer: Rect, inner: Rect) -> bool:
    return outer[0] <= inner[0] and outer[1] <= inner[1] and outer[2] >= inner[2] and outer[3] >= inner[3]


def _pill(way: Way, route: _Route, ends: tuple[float, float]) -> list[Pill]:
    text = _fitting(way.pill, way.short, route.room[0])
    if not text or route.room[1] < _PILL:
        return []
    half = (text_width(text, bold=True) + PILL_PADDING) / 2
    x = min(max(route.middle[0], ends[0] + half + 2), ends[1] - half - 2)
    return [Pill(f"lit/{way.number}", x, route.middle[1], text, start=route.points[0], tooltip=way.pill)]


def _fitting(text: str, short: str, room: float) -> str:
    """The longer text that fits, otherwise as many of its first words as do."""
    for words in (text, short):
        if text_width(words, bold=True) + PILL_PADDING <= room:
            return words
    words = short or text
    while words and text_width(words, bold=True) + PILL_PADDING > room:
        words = words.rpartition(" ")[0]
    return words.rstrip(" ,:")


def _pill_place(pill: Pill) -> Rect:
    half = (text_width(pill.text, bold=True) + PILL_PADDING) / 2
    return (pill.x - half, pill.y - _PILL / 2, pill.x + half, pill.y + _PILL / 2)


def _text_place(text: Text) -> Rect:
    width = text_width(text.text)
    left = text.x - {"start": 0.0, "middle": width / 2, "end": width}[text.anchor]
    return (left, text.y - 11, left + width, text.y + 3)


def _around(points: Sequence[Point]) -> Rect:
    across, down = [x for x, _ in points], [y for _, y in points]
    return (min(across), min(down) - 1, max(across), max(down) + 1)


def _meet(a: Rect, b: Rect) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
