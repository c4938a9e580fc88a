"""Lab 04: one decision of devices_to_allocate as columns of sets; a device is a row and is followed by eye.

Devices with the same fate share a row where there are many, so sixty-four stay as readable as eight.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kubedev.api.messages import Device
from kubedev.kubelet.devices.allocation import DevicesToAllocate
from kubedev.views.board import Board, BoardRow, Decision, Decisions, Head
from kubedev.views.catalogue import say
from kubedev.views.grammar import Card, Column, Facts, picture
from kubedev.views.masks import mask_words, natural, natural_list
from kubedev.views.parts import Device as Shown
from kubedev.views.parts import Legend
from kubedev.views.path_devices import numa_text, short_names
from kubedev.views.picture import Picture, Table, table
from kubedev.views.style import WIDTH, DeviceState, text_width

__all__ = ["COLUMNS", "allocation_picture"]

COLUMNS = (
    "all",
    "healthy",
    "reusable",
    "in_use",
    "available",
    "aligned",
    "unaligned",
    "no_affinity",
    "preferred",
    "taken",
)
"""The sets in the order in which they are looked at; the names of `DeviceSets`."""

_SINGLE = 16
_LEGEND = (DeviceState.FREE, DeviceState.ALLOCATED, DeviceState.UNHEALTHY, DeviceState.REUSABLE)


@dataclass(frozen=True, slots=True)
class _Row:
    """One device, or several with the same fate."""

    ids: tuple[str, ...]
    numa: tuple[int, ...]
    member: tuple[bool, ...]


def allocation_picture(
    decision: DevicesToAllocate,
    devices: Mapping[str, Device],
    affinity: int | None = None,
    follow: str = "",
    width: float = WIDTH,
) -> Picture:
    """Draw a decision; `devices` are all of the resource, `follow` is the id of a device to light up."""
    rows = _rows(decision, devices, follow)
    size = 30.0 if len(rows) <= 8 else 25.0
    names = short_names(sorted(devices, key=natural))
    board = Board(
        [_head(decision, name) for name in COLUMNS],
        [_board_row(row, names, size, followed=follow in row.ids) for row in rows],
        size=size,
    )
    sentence = _sentence(decision, affinity)
    if follow in devices:
        followed = say("sets.followed", device=follow, path=_path(rows, follow))
        sentence = f"{sentence.removesuffix('.')}. {followed}"
    steps = Card(say("sets.steps"), Decisions(*_steps(decision), caption=say("table.steps")))
    legend = Legend(*_LEGEND, preferred=True)
    body = Column(Facts(_sets(decision)), Card("", board), steps, legend)
    return picture(say("sets.title", container=decision.request.container), sentence, body, width)


def _rows(decision: DevicesToAllocate, devices: Mapping[str, Device], follow: str) -> list[_Row]:
    sets = [getattr(decision.sets, column) for column in COLUMNS]
    known = sorted(
        {*devices, *decision.sets.all}, key=lambda d: (_numa(devices, d) or (1 << 30,), natural(d))
    )
    fates: dict[object, list[str]] = {}
    for device in known:
        member = tuple(device in members for members in sets)
        alone = len(known) <= _SINGLE or device == follow
        fates.setdefault(device if alone else (_numa(devices, device), member), []).append(device)
    return [
        _Row(tuple(ids), _numa(devices, ids[0]), tuple(ids[0] in members for members in sets))
        for ids in fates.values()
    ]


def _numa(devices: Mapping[str, Device], device: str) -> tuple[int, ...]:
    return (devices[device].numa_nodes or ()) if device in devices else ()


def _head(decision: DevicesToAllocate, name: str) -> Head:
    count = str(len(getattr(decision.sets, name)))
    return Head(say(f"sets.{name}"), count, say(f"sets.about.{name}"))


def _board_row(row: _Row, names: Mapping[str, str], size: float, *, followed: bool) -> BoardRow:
    listed = ", ".join(row.ids)
    label = names.get(row.ids[0], "") if len(row.ids) == 1 else str(len(row.ids))
    cells = [
        Shown(
            label,
            _state(row, name),
            key=f"row/{row.ids[0]}/{name}",
            starred=name == "preferred",
            tooltip=f"{listed}: {say(f'sets.{name}')}",
            action=f"follow:{row.ids[0]}",
        )
        if member
        else None
        for name, member in zip(COLUMNS, row.member, strict=True)
    ]
    thread: Literal["faint", "strong"] = "strong" if row.member[-1] else "faint"
    tooltip = f"{listed} · {numa_text(row.numa)}"
    return BoardRow(_label(row, names, size), tuple(cells), thread, followed, tooltip)


def _label(row: _Row, names: Mapping[str, str], size: float) -> str:
    """Where the row's devices are; and which, or how many, where the cells do not say it."""
    numa = numa_text(row.numa)
    if len(row.ids) > 1:
        return say("sets.label", numa=numa, what=say("sets.many", count=len(row.ids)))
    name = names.get(row.ids[0], row.ids[0])
    return numa if text_width(name, bold=True) <= size - 4 else say("sets.label", numa=numa, what=name)


def _state(row: _Row, column: str) -> DeviceState:
    member = dict(zip(COLUMNS, row.member, strict=True))
    if column == "taken":
        return DeviceState.ALLOCATED
    if column == "reusable":
        return DeviceState.REUSABLE
    if column in ("all", "in_use") and not member["healthy"]:
        return DeviceState.UNHEALTHY_IN_USE if member["in_use"] else DeviceState.UNHEALTHY
    if column in ("all", "healthy", "in_use") and member["in_use"]:
        return DeviceState.ALLOCATED
    return DeviceState.FREE


def _path(rows: list[_Row], device: str) -> str:
    row = next(row for row in rows if device in row.ids)
    return " → ".join(say(f"sets.{name}") for name, member in zip(COLUMNS, row.member, strict=True) if member)


def _sentence(decision: DevicesToAllocate, affinity: int | None) -> str:
    if decision.error is not None:
        outcome = decision.error
    elif decision.devices is None:
        outcome = say("sets.outcome.nothing")
    else:
        outcome = say("sets.outcome.taken", devices=natural_list(decision.devices))
    mask = say("sets.mask.none") if affinity is None else say("sets.mask", mask=mask_words(affinity))
    request = decision.request
    return say(
        "sets.sentence",
        container=request.container,
        required=request.required,
        resource=request.resource,
        mask=mask,
        outcome=outcome,
    )


def _steps(decision: DevicesToAllocate) -> list[Decision]:
    failed = decision.error is not None
    return [
        Decision(
            step.rule,
            say("sets.step.taken", devices=natural_list(step.taken)) if step.taken else say("sets.step.none"),
            step.why,
            failed=failed and number == len(decision.steps),
        )
        for number, step in enumerate(decision.steps, 1)
    ]


def _sets(decision: DevicesToAllocate) -> Table:
    rows = []
    for column in COLUMNS:
        members = getattr(decision.sets, column)
        rows.append(
            (say(f"sets.{column}"), str(len(members)), natural_list(members), say(f"sets.about.{column}"))
        )
    return table("sets", "set count devices.list why", rows)
