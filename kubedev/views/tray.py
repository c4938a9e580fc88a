"""Lab 07: a pod's admission, container by container: who gets which devices, and what the tray holds after each.

The tray is what the kubelet calls devicesToReuse. A container keeps its row, its turn keeps its column.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kubedev.api.objects import Pod
from kubedev.kubelet.devices.device_manager import AllocationDecision
from kubedev.kubelet.devices.devices import Ids
from kubedev.views.catalogue import say
from kubedev.views.grammar import Card, Column, Facts, Grid, Row, Space, Words, picture
from kubedev.views.masks import natural, natural_list
from kubedev.views.part import Part
from kubedev.views.parts import Cells, Device
from kubedev.views.picture import Picture, table
from kubedev.views.style import WIDTH, DeviceState

__all__ = ["Turn", "tray_multiples", "tray_picture", "turns"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A container's turn. `tray` and `free` are so after it; `role` is init, sidecar or app."""

    name: str
    role: str
    asked: int
    taken: Ids = frozenset()
    reused: Ids = frozenset()
    tray: Ids = frozenset()
    free: Ids = frozenset()
    error: str = ""

    def source(self) -> str:
        """Where its devices come from, or why there are none."""
        counts = {"reused": len(self.reused), "new": len(self.taken - self.reused)}
        told = ", ".join(say(f"tray.{name}", count=count) for name, count in counts.items() if count)
        return self.error or told or say("tray.end.none")


def turns(
    pod: Pod, decisions: Iterable[AllocationDecision], resource: str, free: Ids, tray: Ids
) -> list[Turn]:
    """Return the turns up to the first refusal: `free` devices before the first one, the `tray` after the last."""
    found = {d.container: one for d in decisions for one in d.decisions if one.request.resource == resource}
    before, made = [one.sets.reusable for one in found.values()] + [tray], list[Turn]()
    for c in (*pod.init_containers, *pod.containers):
        role = "app" if c in pod.containers else "sidecar" if c.restartable else "init"
        asked, one = c.limits[resource].value() if resource in c.limits else 0, found.get(c.name)
        taken = (one.devices if one else None) or frozenset()
        reused, free = taken & before[0], free - taken
        before = before[1:] if one else before
        made.append(Turn(c.name, role, asked, taken, reused, before[0], free, (one and one.error) or ""))
        if made[-1].error:
            break
    return made


def tray_picture(
    pod: str, shown: Sequence[Turn], sums: Sequence[str], step: int, tray: bool = True, width: float = WIDTH
) -> Picture:
    """Draw the turns up to a step; after the last one, what becomes of the devices, and the `sums` of it.

    Without `tray` nothing says what is kept for reuse.
    """
    done, refused = step >= len(shown), bool(shown[-1].error)
    heads = [Words(say("tray.turn", number=n + 1), "muted") for n in range(len(shown))]
    rows: list[Part] = [
        _pair(_line(Words(say("tray.admission"), bold=True), heads), Words(say("tray.then"), bold=True))
    ]
    for n, turn in enumerate(shown):
        columns: list[Part] = [Space() for _ in shown]
        if n < step:
            columns[n] = _got(turn)
        role = "refused" if refused and not turn.error else turn.role
        end = say(f"tray.end.{role}", devices=natural_list(turn.taken)) if turn.taken else turn.source()
        rows.append(
            _pair(_line(_name(turn), columns), *[Words(end, "unhealthy" if turn.error else "ink")] * done)
        )
    tail: list[Part] = [Space() for _ in shown[step:]]
    kept = [_cells(t.tray, DeviceState.REUSABLE, f"{n}/tray") for n, t in enumerate(shown[:step])] + tail
    free = [_cells(t.free, DeviceState.FREE, f"{n}/free") for n, t in enumerate(shown[:step])] + tail
    below = [_line(Words(say("tray.name"), "reusable", bold=True), kept)] * tray
    below.append(_line(Words(say("tray.free"), "muted"), free))
    rows.append(_pair(Column(*below, gap=6), *map(Words, sums if done else ())))
    facts = [_facts({pod: shown[:step]})] * tray
    told = _told(shown[step - 1], tray) if step else say("tray.start")
    return picture(say("tray.title", pod=pod), told, Column(*rows, *facts, gap=4), width)


def _pair(left: Part, *right: Part) -> Row:
    return Row(Card("", left), Card("", *right), shares=(3, 1))


def _got(turn: Turn, where: str = "") -> Column:
    cells = _cells(turn.taken, DeviceState.ALLOCATED, f"{where}/{turn.name}")
    return Column(cells, Words(turn.source(), "unhealthy" if turn.error else "muted"), gap=2)


def _line(label: Part, columns: Sequence[Part]) -> Row:
    return Row(label, *columns, shares=(1.25, *(1.0 for _ in columns)))


def _name(turn: Turn) -> Column:
    return Column(
        Words(turn.name, bold=True), Words(say(f"tray.{turn.role}", count=turn.asked), "muted"), gap=2
    )


def _cells(ids: Ids, state: DeviceState, key: str) -> Part:
    shown = [Device(i, state, f"{key}/{i}") for i in sorted(ids, key=natural)]
    return Cells(*shown, high=34.0) if shown else Words(say("tray.empty"), "muted")


def _told(turn: Turn, tray: bool) -> str:
    if turn.error:
        return say("tray.refused", name=turn.name, error=turn.error)
    gets = say("tray.gets", name=turn.name, devices=natural_list(turn.taken))
    return f"{gets} {say('tray.kept', tray=natural_list(turn.tray))}" if tray else gets


def _facts(pods: Mapping[str, Sequence[Turn]]) -> Facts:
    rows = [
        (pod, t.name, str(t.asked), t.error or natural_list(t.taken), *map(natural_list, (t.reused, t.tray, t.free)))
        for pod, shown in pods.items() for t in shown
    ]  # fmt: skip
    return Facts(table("tray", "pod container asks gets reused tray free", rows))


def tray_multiples(
    cases: Mapping[str, tuple[Sequence[Turn], Sequence[str]]], width: float = WIDTH
) -> Picture:
    """Draw a card for each title with its turns and sums: what each container gets, and where it comes from."""
    cards = [
        Card(title, *(Row(_name(turn), _got(turn, title)) for turn in shown), *map(Words, sums))
        for title, (shown, sums) in cases.items()
    ]
    told = " ".join(f"{title}: {' '.join(sums)}" for title, (_, sums) in cases.items())
    facts = _facts({title: shown for title, (shown, _) in cases.items()})
    return picture(say("tray.multiples"), told, Column(Grid(*cards, across=3), facts), width)
