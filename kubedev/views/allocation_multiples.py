"""Lab 04: several decisions side by side: what was offered to the plugin, what it prefers, what is taken."""

from collections.abc import Mapping, Sequence

from kubedev.api.messages import Device
from kubedev.kubelet.devices.allocation import DevicesToAllocate
from kubedev.views.board import Board, BoardRow, Head
from kubedev.views.catalogue import say
from kubedev.views.grammar import Card, Column, Facts, Grid, Words, picture
from kubedev.views.masks import natural, natural_list
from kubedev.views.parts import Device as Shown
from kubedev.views.parts import Legend
from kubedev.views.path_devices import numa_text
from kubedev.views.picture import Picture, table
from kubedev.views.style import WIDTH, DeviceState

__all__ = ["COLUMNS", "allocation_multiples"]

COLUMNS = ("free", "offered", "preferred", "taken")

Case = tuple[str, DevicesToAllocate, Mapping[str, Device]]


def allocation_multiples(title: str, cases: Sequence[Case], width: float = WIDTH) -> Picture:
    """Draw a card for each (heading, decision, all devices); four in a row leave out what is free."""
    columns = COLUMNS if len(cases) < 4 else COLUMNS[1:]
    cards = Grid(*(_card(*case, columns) for case in cases), across=4)
    states = (DeviceState.FREE, DeviceState.ALLOCATED)
    aligned = any(decision.sets.aligned for _, decision, _ in cases)
    legend = Legend(*states, preferred=True, wash=say("multiples.aligned") if aligned else "")
    sentence = " ".join(
        say("multiples.sentence", heading=heading, outcome=_outcome(decision))
        for heading, decision, _ in cases
    )
    rows = tuple(_row(heading, decision) for heading, decision, _ in cases)
    facts = Facts(table("multiples", "decision free offered preferred taken outcome", rows))
    return picture(title, sentence, Column(facts, cards, legend), width)


def _card(
    heading: str, decision: DevicesToAllocate, devices: Mapping[str, Device], columns: Sequence[str]
) -> Card:
    sets = _sets(decision)
    heads = [Head(say(f"multiples.{name}"), tooltip=say(f"multiples.{name}.tip")) for name in columns]
    rows = [
        BoardRow(
            id_,
            _cells(decision, sets, id_, columns),
            lit=id_ in decision.sets.aligned,
            tooltip=f"{id_} · {numa_text(devices[id_].numa_nodes or ())}",
        )
        for id_ in sorted(devices, key=natural)
    ]
    return Card(heading, Board(heads, rows, size=22), _words(decision, devices))


def _cells(
    decision: DevicesToAllocate, sets: Mapping[str, frozenset[str]], id_: str, columns: Sequence[str]
) -> tuple[Shown | str | None, ...]:
    """A device's place in each set; where it is in none, a word says why."""
    cells = tuple(_cell(decision, name, id_) if id_ in sets[name] else None for name in columns)
    if any(cells):
        return cells
    found = decision.sets
    why = "in-use" if id_ in found.in_use else "free" if id_ in found.healthy else "unhealthy"
    return (say(f"multiples.left.{why}"), *cells[1:])


def _cell(decision: DevicesToAllocate, name: str, id_: str) -> Shown:
    held = name == "taken" or (name == "preferred" and id_ in decision.sets.in_use)
    state = DeviceState.ALLOCATED if held else DeviceState.FREE
    return Shown("", state, starred=name == "preferred")


def _words(decision: DevicesToAllocate, devices: Mapping[str, Device]) -> Column:
    """Whether the plugin was asked and what came of it; an error takes the place of both."""
    if decision.error is not None:
        return Column(Words(decision.error, "unhealthy"))
    asked = say("multiples.asked") if decision.asked else say("multiples.not-asked")
    strangers = decision.sets.preferred - devices.keys()
    if strangers:
        asked = f"{asked}; {say('multiples.strangers', devices=natural_list(strangers))}"
    return Column(Words(asked), Words(_outcome(decision), bold=True), gap=2)


def _sets(decision: DevicesToAllocate) -> dict[str, frozenset[str]]:
    sets = decision.sets
    offered = frozenset(decision.asked.available_device_ids) if decision.asked else frozenset()
    return {
        "free": sets.available,
        "offered": offered,
        "preferred": sets.preferred,
        "taken": sets.taken if decision.devices is not None else frozenset(),
    }


def _outcome(decision: DevicesToAllocate) -> str:
    if decision.error is not None:
        return decision.error
    if decision.devices is None:
        return say("sets.outcome.nothing")
    return say("sets.outcome.taken", devices=natural_list(decision.devices))


def _row(heading: str, decision: DevicesToAllocate) -> tuple[str, ...]:
    sets = _sets(decision)
    return (heading, *(natural_list(sets[name]) for name in COLUMNS), _outcome(decision))
