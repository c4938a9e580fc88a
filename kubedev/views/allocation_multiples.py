"""Lab 04: several decisions side by side: what was offered to the plugin, what it prefers, what is taken."""

from collections.abc import Mapping, Sequence

from kubedev.api.messages import Device
from kubedev.kubelet.devices.allocation import DevicesToAllocate
from kubedev.views.catalogue import register, say
from kubedev.views.masks import natural, natural_list
from kubedev.views.path_devices import numa_text
from kubedev.views.picture import Band, Cell, Mark, Panel, Picture, Text, legend, table
from kubedev.views.style import WIDTH, DeviceState, fit, fit_middle, wrap

__all__ = ["COLUMNS", "allocation_multiples"]

COLUMNS = ("free", "offered", "preferred", "taken")

register(
    {
        "multiples.edge.title": "Both sides of the edge: needed < aligned",
        "multiples.edge": "{needed} needed, {aligned} aligned",
        "multiples.sentence": "{heading}: {outcome}",
        "multiples.free": "free",
        "multiples.offered": "offered",
        "multiples.preferred": "preferred",
        "multiples.taken": "taken",
        "multiples.free.tip": "healthy and not in use",
        "multiples.offered.tip": "in the request to the plugin",
        "multiples.preferred.tip": "in the plugin's answer",
        "multiples.taken.tip": "what the container gets",
        "multiples.asked": "the plugin is asked",
        "multiples.not-asked": "the plugin is not asked",
        "multiples.strangers": "it also said {devices}",
        "multiples.aligned": "a device on a node of the mask",
        "multiples.alt": "Devices by what was free, offered, preferred and taken, decision by decision. {sentence}",
        "table.multiples": "Decisions",
        "table.decision": "decision",
    }
)

_GAP, _PITCH, _SIZE = 14.0, 27.0, 22.0
_TOP, _LABEL = 76.0, 48.0
_NARROW = 300.0
Case = tuple[str, DevicesToAllocate, Mapping[str, Device]]


def allocation_multiples(title: str, cases: Sequence[Case]) -> Picture:
    """Draw a panel for each (heading, decision, all devices); four in a row leave out what is free."""
    across = min(max(len(cases), 2), 4)
    width = (WIDTH - _GAP * (across - 1)) / across
    height = _TOP + _PITCH * max(len(devices) for _, _, devices in cases) + 82
    marks: list[Mark] = []
    for index, case in enumerate(cases):
        left, top = index % across * (width + _GAP), index // across * (height + _GAP)
        marks += _panel(case, f"case/{index}", (left, top), (width, height))
    bottom = -(-len(cases) // across) * (height + _GAP) + 16
    marks += legend("legend", 18, bottom, (DeviceState.FREE, DeviceState.ALLOCATED), preferred=True)
    marks.append(Band("legend/aligned", 420, bottom - 14, 18, 18, radius=4))
    marks.append(Text("legend/aligned/word", 446, bottom, say("multiples.aligned"), tone="muted"))
    sentence = " ".join(
        say("multiples.sentence", heading=heading, outcome=_outcome(decision))
        for heading, decision, _ in cases
    )
    rows = tuple(_row(heading, decision) for heading, decision, _ in cases)
    tables = (table("multiples", "decision free offered preferred taken outcome", rows),)
    return Picture(
        title, sentence, bottom + 12, tuple(marks), tables, say("multiples.alt", sentence=sentence)
    )


def _panel(case: Case, key: str, place: tuple[float, float], size: tuple[float, float]) -> list[Mark]:
    heading, decision, devices = case
    (left, top), (width, height) = place, size
    marks: list[Mark] = [Panel(key, left, top, width, height, fit(heading, width - 36, bold=True))]
    columns = COLUMNS if width > _NARROW else COLUMNS[1:]
    pitch = (width - _LABEL - 8) / len(columns)
    centres = {name: left + _LABEL + pitch * (column + 0.5) for column, name in enumerate(columns)}
    for name, x in centres.items():
        tip = say(f"multiples.{name}.tip")
        head = fit(say(f"multiples.{name}"), pitch)
        marks.append(Text(f"{key}/{name}", x, top + 60, head, tone="muted", anchor="middle", tooltip=tip))
    for row, id_ in enumerate(sorted(devices, key=natural)):
        y = top + _TOP + _PITCH * row
        if id_ in decision.sets.aligned:
            marks.append(Band(f"{key}/{id_}/aligned", left + 8, y, width - 16, _PITCH, radius=4))
        tip = f"{id_} · {numa_text(devices[id_].numa_nodes or ())}"
        name = fit_middle(id_, _LABEL - 16)
        marks.append(Text(f"{key}/{id_}/name", left + 18, y + 18, name, tone="muted", tooltip=tip))
        marks += _cells(decision, id_, key, centres, y)
    return marks + _words(decision, devices, key, (left + 18, top + height - 58), width - 36)


def _cells(
    decision: DevicesToAllocate, id_: str, key: str, centres: Mapping[str, float], y: float
) -> list[Mark]:
    """A cell under each column whose set has the device."""
    marks: list[Mark] = []
    sets = _sets(decision)
    for name, x in centres.items():
        if id_ in sets[name]:
            held = name == "taken" or (name == "preferred" and id_ in decision.sets.in_use)
            state = DeviceState.ALLOCATED if held else DeviceState.FREE
            place = (x - _SIZE / 2, y + (_PITCH - _SIZE) / 2, _SIZE)
            marks.append(Cell(f"{key}/{id_}/{name}", *place, "", state, starred=name == "preferred"))
    return marks


def _words(
    decision: DevicesToAllocate,
    devices: Mapping[str, Device],
    key: str,
    place: tuple[float, float],
    width: float,
) -> list[Mark]:
    """Whether the plugin was asked and what came of it; an error may take the place of both."""
    x, y = place
    if decision.error is not None:
        lines = wrap(decision.error, width, 3)
        return [
            Text(f"{key}/words/{i}", x, y + 20 * i, line, tone="unhealthy", tooltip=decision.error)
            for i, line in enumerate(lines)
        ]
    asked = say("multiples.asked") if decision.asked else say("multiples.not-asked")
    strangers = decision.sets.preferred - devices.keys()
    if strangers:
        asked = f"{asked}; {say('multiples.strangers', devices=natural_list(strangers))}"
    lines = [fit(asked, width), fit(_outcome(decision), width, bold=True)]
    return [Text(f"{key}/words/{i}", x, y + 22 * i, line, bold=i == 1) for i, line in enumerate(lines)]


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
