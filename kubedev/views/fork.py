"""Lab 00: a fork beside the run that it left: one history, two ends, aligned by event and not by number."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from kubedev.views.catalogue import say
from kubedev.views.controls import Button
from kubedev.views.grammar import (
    Block,
    Card,
    Column,
    Facts,
    Grid,
    Knob,
    Part,
    Row,
    Space,
    Words,
    picture,
)
from kubedev.views.parts import Cells, Device, Legend
from kubedev.views.picture import Dot, Dots, Line, Look, Mark, Picture, Table, Text
from kubedev.views.style import SIZE_HEAD, WIDTH, DeviceState, text_width
from kubedev.views.wires import Way, Wired

__all__ = ["End", "Event", "fork_picture"]

_TRUNK = 190.0
_LANE = 26.0  # from the middle to either end
_TIER = 18.0


@dataclass(frozen=True, slots=True)
class Event:
    """One message of an end; events of one `kind` stand below one another, and differ if their texts do."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class End:
    """One end: what it is called, its messages since the fork, its stations (title, what it does), devices, numbers."""

    name: str
    about: str
    events: tuple[Event, ...]
    stations: tuple[tuple[str, str], ...] = ()
    devices: tuple[Device, ...] = ()
    numbers: tuple[tuple[str, str], ...] = ()
    button: Button | None = None


def fork_picture(shared: int, run: End, fork: End, width: float = WIDTH) -> Picture:
    """Draw the run and the fork, which share the first `shared` messages."""
    pairs = _aligned(run.events, fork.events)
    about = {"first": run.name, "second": fork.name}
    sentence = say("fork.sentence", count=shared, left=len(run.events), right=len(fork.events), **about)
    told = [
        say("fork.differs", left=f"{name} {value}", right=f"{name} {dict(fork.numbers)[name]}", **about)
        for name, value in run.numbers
        if value != dict(fork.numbers).get(name, value)
    ]
    ends = Grid(_end(run, fork, "run", "lit"), _end(fork, run, "fork", "dead"), across=2)
    rows = [(a.text if a else "", b.text if b else "") for a, b in pairs]
    facts = Facts(Table(say("table.fork"), (run.name, fork.name), (*rows, *_numbers(run, fork))))
    states = (DeviceState.FREE, DeviceState.ALLOCATED, DeviceState.UNHEALTHY)
    body = Column(facts, Card("", _History(shared, tuple(pairs))), ends, Legend(*states))
    return picture(say("fork.title"), " ".join([sentence, *told[:1]]), body, width)


def _numbers(run: End, fork: End) -> list[tuple[str, str]]:
    other = dict(fork.numbers)
    return [(f"{name}: {value}", f"{name}: {other.get(name, '')}") for name, value in run.numbers]


def _aligned(a: Sequence[Event], b: Sequence[Event]) -> list[tuple[Event | None, Event | None]]:
    """Pair the events of one kind, in their order; what only one end has stands alone."""
    kinds = SequenceMatcher(None, [event.kind for event in a], [event.kind for event in b], autojunk=False)
    pairs: list[tuple[Event | None, Event | None]] = []
    for how, i, j, k, m in kinds.get_opcodes():
        if how == "equal":
            pairs += zip(a[i:j], b[k:m], strict=True)
        else:
            pairs += [(event, None) for event in a[i:j]] + [(None, event) for event in b[k:m]]
    return pairs


def _end(end: End, other: End, key: str, look: Look) -> Card:
    """One end: its stations in a row, then its devices beside its numbers; what differs is bold."""
    theirs = dict(other.stations)
    cards = [
        Card(title, Words(line, bold=line != theirs.get(title)), key=f"{key}/{title}", look="plain")
        for title, line in end.stations
    ]
    ways = [Way(f"{key}/{a}", f"{key}/{b}") for (a, _), (b, _) in pairwise(end.stations)]
    stations = Wired(Row(*cards, shares=[card.wish() for card in cards], gap=18), *ways)
    numbers = dict(other.numbers)
    lines = [_number(name, value, differs=value != numbers.get(name, value)) for name, value in end.numbers]
    below = Row(Cells(*end.devices, high=60), Column(*lines, gap=4), shares=(1.2, 1), gap=20)
    corner = [Knob(end.button, f"control/{key}")] if end.button else []
    held = Column(Space(6), stations, Space(6), below, Space(2), gap=4)
    return Card(say("fork.end", name=end.name, about=end.about), held, corner=corner, look=look)


def _number(name: str, value: str, *, differs: bool) -> Row:
    mark = Words("≠" if differs else "", bold=True)
    return Row(
        Column(mark, Space(wide=16)),
        Words(name, "muted"),
        Words(value, bold=differs, mono=True),
        shares=(0, 1, 1),
        gap=6,
    )


@dataclass(frozen=True, slots=True)
class _History(Part):
    """A trunk that parts into two lanes, the run above and the fork below; differences carry their texts."""

    shared: int
    pairs: tuple[tuple[Event | None, Event | None], ...]

    def about(self) -> str:
        return say("fork.about", count=self.shared)

    def lay(self, width: float, key: str) -> Block:
        first = _TRUNK + 44
        pitch = (width - first - 16) / max(1, len(self.pairs))
        columns = [first + pitch * (n + 0.5) for n in range(len(self.pairs))]
        told = [n for n, (a, b) in enumerate(self.pairs) if a is None or b is None or a.text != b.text]
        labels = [self._labels(side, told, columns, width) for side in (0, 1)]
        above, below = (_TIER * (1 + max((tier for *_, tier in lane), default=0)) for lane in labels)
        middle = above + 8 + _LANE

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            at, fork, last = y + middle, x + _TRUNK, x + (columns[-1] if columns else first)
            yield from self._trunk(key, x, at)
            lanes = (at - _LANE, at + _LANE)
            for side, (lane, look) in enumerate(zip(lanes, ("strong", "quiet"), strict=True)):
                points = ((fork, at), (fork + 22, at), (fork + 32, lane), (last, lane))
                yield Line(f"{key}/lane/{side}", points, look, dashed=side == 1)  # type: ignore[arg-type]
                there = tuple((x + columns[n], lane) for n, pair in enumerate(self.pairs) if pair[side])
                yield Dots(f"{key}/dots/{side}", there, 4.5, "edge" if side else "accent")
                for n, (text, centre, tier) in enumerate(labels[side]):
                    down = lane + 22 + _TIER * tier if side else lane - 11 - _TIER * tier
                    yield Text(f"{key}/label/{side}/{n}", x + centre, down, text, bold=True, anchor="middle")
            for n in told:
                if all(self.pairs[n]):
                    place = (x + columns[n], at + 6, "≠", SIZE_HEAD)
                    yield Text(f"{key}/differs/{n}", *place, bold=True, anchor="middle")
            yield Dot(f"{key}/fork", fork, at, 8)

        return Block(middle + _LANE + 10 + below, draw)

    def _trunk(self, key: str, x: float, at: float) -> Iterator[Mark]:
        words = say("fork.shared", count=self.shared)
        yield Line(f"{key}/trunk", ((x + 8, at), (x + _TRUNK, at)), "strong")
        dots = min(self.shared, 12)
        places = tuple((x + 8 + (_TRUNK - 24) * n / max(1, dots), at) for n in range(dots))
        yield Dots(f"{key}/trunk/dots", places, 3.5)
        yield Text(f"{key}/trunk/words", x + 8, at + 28, words, tone="muted")

    def _labels(
        self, side: int, told: Sequence[int], columns: Sequence[float], width: float
    ) -> list[tuple[str, float, int]]:
        """The texts of what differs on one side: (text, middle, tier), each in the first tier that has room."""
        ends: list[float] = []  # of the last text in each tier
        out = []
        for n in told:
            if (event := self.pairs[n][side]) is None:
                continue
            half = text_width(event.text, bold=True) / 2
            centre = min(max(columns[n], half), width - half)
            tier = next((t for t, end in enumerate(ends) if end + 10 <= centre - half), len(ends))
            ends[tier : tier + 1] = [centre + half]
            out.append((event.text, centre, tier))
        return out
