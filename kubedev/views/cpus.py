"""Lab 13: the machine's CPUs as a tree of sockets, NUMA nodes, cores and threads, and who may run on which.

A CPU keeps its column: what stands below a CPU is about that CPU. On large machines the threads of a core stand below
one another, and a NUMA node's head names its CPUs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from kubedev.kubelet.cpu.cpu_assignment import CPUStep
from kubedev.kubelet.cpu.cpu_manager import CPUDecision
from kubedev.kubelet.cpu.cpu_policy import NO_CPUS
from kubedev.kubelet.cpu.cpu_topology import CPUTopology, Level
from kubedev.kubelet.cpu.cpuset import CPUSet, format_cpus
from kubedev.views.catalogue import say
from kubedev.views.grammar import Block, Card, Column, Facts, Field, Grid, Part, Words, picture, stacked
from kubedev.views.listing import Entry, Listing
from kubedev.views.part import word
from kubedev.views.parts import Device, Legend
from kubedev.views.picture import Band, Line, Mark, Picture, table
from kubedev.views.style import WIDTH, DeviceState, flow, text_width

__all__ = ["CPUBoard", "May", "cpus_picture", "requests_picture", "starts_picture", "steps", "why"]

_STACKED = 32  # with more CPUs the threads of a core stand below one another
_APART: dict[Level, float] = {
    "socket": 1.2,
    "numa_node": 0.75,
    "uncore_cache": 0.6,
    "core": 0.3,
}  # in columns
_LARGEST, _TOP = 40.0, 30.0
_REACH = 750.0  # words go no farther, so that they are read in a narrow column without scrolling

Places = Mapping[int, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class May:
    """A container: what it is, and the CPUs that it may run on, its `own` or the shared ones.

    With None for CPUs it runs nowhere; `instead` is said then.
    """

    name: str
    about: str
    cpus: CPUSet | None
    own: bool = False
    instead: str = ""

    def says(self) -> str:
        """Its CPUs in words."""
        how = say("cpus.own" if self.own else "cpus.shared")
        return self.instead if self.cpus is None else f"{format_cpus(self.cpus)} {how}"

    @property
    def tone(self) -> str:
        """The colour of these words."""
        return "unhealthy" if self.cpus is None else "allocated" if self.own else "free"


class CPUBoard(Part):
    """CPUs in columns, and a row for each container; `taken` are somebody's own, `lit` those that were taken last.

    `reserved` CPUs are in the pool and never given away, those `withheld` are not even in the pool.
    There is room for names of `names` pixels, so that the columns stay where they are when containers come.
    """

    def __init__(
        self,
        topology: CPUTopology,
        taken: CPUSet = NO_CPUS,
        reserved: CPUSet = NO_CPUS,
        rows: Sequence[May] = (),
        lit: CPUSet = NO_CPUS,
        names: float = 0.0,
        withheld: CPUSet = NO_CPUS,
    ) -> None:
        self.infos, self.lit = topology.details.infos, lit
        self.taken, self.reserved, self.withheld = taken, reserved, withheld
        self.rows, self.names = rows, names
        places = {
            c: (i.socket, i.numa_node, i.uncore_cache, i.core, c) for c, i in topology.details.infos.items()
        }
        order = sorted(places, key=places.__getitem__)
        self._order = order
        self._place(stacked=len(order) > _STACKED)

    def _place(self, *, stacked: bool) -> None:
        """Give each CPU its column and its line; `stacked`: the threads of a core stand below one another."""
        self.stacked, order = stacked, self._order
        gaps = [self._gap(*pair) for pair in pairwise(order)]
        across = accumulate((gap + (not self.stacked or gap > 0) for gap in gaps), initial=0.0)
        threads = accumulate(
            gaps, lambda thread, gap: 0 if gap or not self.stacked else thread + 1, initial=0
        )
        self.at = {c: (x, y) for c, x, y in zip(order, across, threads, strict=True)}
        self.lines = 1 + max(int(y) for _, y in self.at.values())

    def _gap(self, one: int, other: int) -> float:
        """How far apart two neighbours are: the more the outer the place is that parts them."""
        levels = (gap for level, gap in _APART.items() if self._id(level, one) != self._id(level, other))
        return next(levels, 0.0)

    def _id(self, level: Level, cpu: int) -> int:
        return int(getattr(self.infos[cpu], level))

    def lay(self, width: float, key: str) -> Block:
        names = [max(text_width(row.name, bold=True), text_width(row.about)) for row in self.rows]
        left = max([self.names - 6, *names]) + 22
        unit, size, wide = self._sizes(width - left - 14)
        if not self.stacked and not self._labelled(size):
            self._place(stacked=True)
            unit, size, wide = self._sizes(width - left - 14)
        above = Block(_TOP + unit * self.lines + 8, lambda x, y, _: self._board(x + left, y, unit, size, key))
        rows = [self._row(row, left, unit, size, left + unit * wide + 24, width) for row in self.rows]
        return stacked([above, *rows], 8)

    def _sizes(self, width: float) -> tuple[float, float, float]:
        """How far apart columns are, how large a CPU is, and how many columns there are."""
        wide = max(x for x, _ in self.at.values()) + 1
        unit = min(_LARGEST, width / wide)
        return unit, unit - (6 if unit > 20 else 2), wide

    def _labelled(self, size: float) -> bool:
        return all(text_width(str(cpu), bold=True) <= size - 3 for cpu in self.infos)

    def _row(self, row: May, left: float, unit: float, size: float, end: float, width: float) -> Block:
        """A container: its name, its mark below each CPU, and its CPUs in words, beside the marks or below them."""
        key, small = f"row/{row.name}", size if self.stacked else min(size, 18.0)
        cells, reach = unit * (self.lines - 1) + small, min(width, _REACH) - 10
        beside = text_width(row.says(), bold=True) < reach - end
        lines = flow(row.says(), reach - left - 10, bold=True)
        high = max(46.0, cells + 12 + 20 * len(lines) * (not beside))

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            yield Band(f"{key}/ground", x, y, width, high, "panel", 10)
            yield word(f"{key}/name", x + 10, y + 19, row.name, "ink", "start", bold=True)
            yield word(f"{key}/about", x + 10, y + 37, row.about, anchor="start")
            over = (high - cells) / 2 if beside else 6
            for cpu, (cx, cy) in self.at.items() if row.cpus is not None else ():
                yield self._may(
                    row, cpu, x + left + cx * unit + (size - small) / 2, y + over + cy * unit, small
                )
            if beside:
                yield word(f"{key}/says", x + end, y + high / 2 + 5, row.says(), row.tone, "start", bold=True)
                return
            for n, line in enumerate(lines):
                at = y + cells + 24 + 18 * n
                yield word(f"{key}/says/{n}", x + left, at, line, row.tone, "start", bold=True)

        return Block(high, draw)

    def _board(self, x: float, y: float, unit: float, size: float, key: str) -> Iterator[Mark]:
        at = {c: (x + cx * unit, y + _TOP + cy * unit) for c, (cx, cy) in self.at.items()}
        yield from self._grounds(at, unit, size, y, key)
        labelled = self._labelled(size)
        for cpu, place in at.items():
            yield from self._cpu(cpu, *place, size, f"{key}/{cpu}", labelled=labelled)

    def _grounds(self, at: Places, unit: float, size: float, y: float, key: str) -> Iterator[Mark]:
        """The tree: a ground for each socket, the head of each NUMA node, a ground for each core."""
        high = unit * (self.lines - 1) + size
        for level, pad in (
            ("socket", min(13.0, unit * 0.45)),
            ("numa_node", 0.0),
            ("core", min(3.0, unit * 0.1)),
        ):
            held: dict[int, list[int]] = {}
            for cpu, info in self.infos.items():
                held.setdefault(getattr(info, level), []).append(cpu)
            for id_, cpus in held.items():
                x, wide = min(at[c][0] for c in cpus), max(at[c][0] for c in cpus) + size
                name, across = f"{key}/{level}/{id_}", wide - x + 2 * pad
                if level == "numa_node":
                    yield word(f"{name}/name", x, y + 19, self._head(id_, cpus, across), anchor="start")
                else:
                    up, down = (_TOP - 2, high + _TOP + 8) if level == "socket" else (pad, high + 2 * pad)
                    yield Band(name, x - pad, y + _TOP - up, across, down, "line", 10, outlined=True)

    def _head(self, node: int, cpus: Sequence[int], wide: float) -> str:
        """What a NUMA node is called, as long as there is room."""
        about = {"node": node, "socket": self.infos[cpus[0]].socket, "cpus": format_cpus(frozenset(cpus))}
        names = [say(f"cpus.head.{n}", **about) for n in range(1 - self.stacked, 3)]
        return next((name for name in names if text_width(name) <= wide), names[-1])

    def _cpu(self, cpu: int, x: float, y: float, size: float, key: str, *, labelled: bool) -> Iterator[Mark]:
        label, info = str(cpu) * labelled, self.infos[cpu]
        tip = say("cpus.cpu", cpu=cpu, core=info.core, node=info.numa_node, socket=info.socket)
        state = self._state(cpu, own=cpu in self.taken)
        yield Device(label, state, key, lit=cpu in self.lit, tooltip=tip).cell("", x, y, size)

    def _state(self, cpu: int, *, own: bool) -> DeviceState:
        if cpu in self.withheld:
            return DeviceState.WITHHELD
        shared = DeviceState.RESERVED if cpu in self.reserved else DeviceState.FREE
        return DeviceState.ALLOCATED if own else shared

    def _may(self, row: May, cpu: int, x: float, y: float, size: float) -> Mark:
        """A container's mark below a CPU: may it run there?"""
        key = f"row/{row.name}/{cpu}"
        if cpu not in (row.cpus or ()):
            return Line(key, ((x + size * 0.3, y + size / 2), (x + size * 0.7, y + size / 2)), "rule")
        return Device("", self._state(cpu, own=row.own), key, tooltip=str(cpu)).cell("", x, y, size)

    def says(self) -> str:
        return "; ".join(f"{row.name}: {row.says()}" for row in self.rows)

    def about(self) -> str:
        return say("cpus.about", count=len(self.infos), taken=format_cpus(self.taken) or say("set.none"))


def steps(decision: CPUDecision) -> list[CPUStep]:
    """The pieces in which a container's CPUs were taken."""
    return [*decision.aligned.steps, *decision.remaining.steps]


def why(decision: CPUDecision, piece: int = 99) -> str:
    """What a container got, and why: the first pieces in which its CPUs were taken, or why it shares."""
    kinds: dict[str, list[CPUSet]] = {}
    for step in steps(decision)[:piece]:
        kinds.setdefault(step.what, []).append(step.cpus)
    taken = [
        say(
            f"cpus.{'step' if len(pieces) == 1 else 'steps'}.{what}",
            count=len(pieces),
            cpus=format_cpus(NO_CPUS.union(*pieces)),
        )
        for what, pieces in kinds.items()
    ]
    still = sum(len(step.cpus) for step in steps(decision)[piece:])
    said = [say("cpus.gets", pieces=", ".join(taken))] * bool(taken)
    said += [say("cpus.needed", count=still)] * bool(still)
    about = {"error": decision.error, "steps": "; ".join(said), "because": decision.qos.because}
    return say(f"cpus.why.{decision.reason}", qos=decision.qos.qos_class, **about)


def cpus_picture(title: str, sentence: str, board: CPUBoard, *more: Part, width: float = WIDTH) -> Picture:
    """Draw the board, and below it who may run on which CPUs."""
    rows = [(row.name, row.about, row.says()) for row in board.rows]
    facts = Facts(table("cpus", "container asks cpus", rows))
    return picture(title, sentence, Column(board, *more, _legend(board), facts), width)


def requests_picture(
    title: str, sentence: str, cases: Mapping[str, tuple[CPUBoard, May, str]], width: float = WIDTH
) -> Picture:
    """Draw a card for each title: a board, the container that has come last, and what came of its request."""
    cards = [
        Card(
            name,
            board,
            Field(title, Words(said, may.tone if may.cpus is None else "muted")),
            look="plain",
            corner=[Words(("✕ " if may.cpus is None else "") + may.says(), may.tone, bold=True)],
        )
        for name, (board, may, said) in cases.items()
    ]
    legend = _legend(*(board for board, _, _ in cases.values()))
    return picture(title, sentence, Column(Grid(*cards, across=2, caption=title), legend), width)


def starts_picture(title: str, sentence: str, errors: Mapping[str, str]) -> Picture:
    """List kubelets by what has changed, each with the error with which it does not start, or none."""
    entries = [
        Entry((name, "✕" if e else "✓", e or say("cpus.starts")), quiet=not e) for name, e in errors.items()
    ]
    listing = Listing(
        *entries, caption=title, heads=[say(f"cpus.{head}") for head in ("now", "is-up", "kubelet")]
    )
    return picture(title, sentence, Card("", listing))


def _legend(*boards: CPUBoard) -> Legend:
    states = {"shared": DeviceState.FREE, "own": DeviceState.ALLOCATED}
    if any(board.reserved for board in boards):
        states["reserved"] = DeviceState.RESERVED
    if any(board.withheld for board in boards):
        states["withheld"] = DeviceState.WITHHELD
    return Legend(tones=[(say(f"cpus.is.{name}"), state, True) for name, state in states.items()], inset=2.0)
