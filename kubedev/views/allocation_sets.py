"""Lab 04: one decision of devices_to_allocate as columns of sets; a device is a row and is followed by eye.

Devices with the same fate share a row where there are many, so sixty-four stay as readable as eight.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from kubedev.api.messages import Device
from kubedev.kubelet.devices.allocation import DevicesToAllocate, Step
from kubedev.views.catalogue import say
from kubedev.views.masks import mask_words, natural, natural_list
from kubedev.views.path_devices import numa_text, short_names
from kubedev.views.picture import Band, Cell, Line, Mark, Panel, Picture, Table, Text, legend, table
from kubedev.views.style import WIDTH, DeviceState, fit, text_width, wrap

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
_LABEL_WIDTH = 124.0
_HEAD = 62.0
_PITCH = (WIDTH - _LABEL_WIDTH) / len(COLUMNS)


@dataclass(frozen=True, slots=True)
class _Row:
    """One device, or several with the same fate."""

    ids: tuple[str, ...]
    numa: tuple[int, ...]
    member: tuple[bool, ...]


def allocation_picture(
    decision: DevicesToAllocate, devices: Mapping[str, Device], affinity: int | None = None, follow: str = ""
) -> Picture:
    """Draw a decision; `devices` are all of the resource, `follow` is the id of a device to light up."""
    rows = _rows(decision, devices, follow)
    pitch = 38.0 if len(rows) <= 8 else 30.0 if len(rows) <= 12 else 25.0
    size = 30.0 if pitch > 30 else pitch - 5
    marks: list[Mark] = [Panel("sets", 0, 0, WIDTH, _HEAD + pitch * len(rows) + 14)]
    marks += _headers(decision)
    names = short_names(sorted(devices, key=natural))
    for index, row in enumerate(rows):
        marks += _row_marks(row, _HEAD + pitch * index, (pitch, size), names, followed=follow in row.ids)
    bottom = _HEAD + pitch * len(rows) + 28
    steps = _step_marks(decision, bottom)
    sentence = _sentence(decision, affinity)
    if follow in devices:
        followed = say("sets.followed", device=follow, path=_path(rows, follow))
        sentence = f"{sentence.removesuffix('.')}. {followed}"
    height = bottom + _steps_height(decision) + 36
    title = say("sets.title", container=decision.request.container)
    alt = say("sets.alt", sentence=sentence)
    return Picture(
        title,
        sentence,
        height,
        (*marks, *steps, *legend("legend", 18, height - 8, _LEGEND, preferred=True)),
        (_sets(decision), _steps(decision)),
        alt,
    )


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


def _centre(column: int) -> float:
    return _LABEL_WIDTH + _PITCH * (column + 0.5)


def _headers(decision: DevicesToAllocate) -> list[Mark]:
    marks: list[Mark] = []
    for column, name in enumerate(COLUMNS):
        x = _centre(column)
        count = len(getattr(decision.sets, name))
        tone = "ink" if count else "muted"
        about = say(f"sets.about.{name}")
        marks.append(
            Text(
                f"head/{name}",
                x,
                26,
                say(f"sets.{name}"),
                tone=tone,
                bold=True,
                anchor="middle",
                tooltip=about,
            )
        )
        marks.append(Text(f"head/{name}/count", x, 47, str(count), tone="muted", anchor="middle"))
    return marks


def _row_marks(
    row: _Row, y: float, sizes: tuple[float, float], names: Mapping[str, str], *, followed: bool
) -> list[Mark]:
    pitch, size = sizes
    key = f"row/{row.ids[0]}"
    middle = y + pitch / 2
    marks: list[Mark] = []
    if followed:
        marks.append(Band(f"{key}/band", 6, y, WIDTH - 12, pitch))
    label = _label(row, names, size)
    tooltip = ", ".join(row.ids) + f" · {numa_text(row.numa)}"
    marks.append(Text(f"{key}/label", 18, middle + 5, fit(label, 136), tone="muted", tooltip=tooltip))
    columns = [column for column, member in enumerate(row.member) if member]
    taken = row.member[-1]
    for left, right in pairwise(columns):
        start, end = _centre(left) + size / 2 + 2, _centre(right) - size / 2 - 2
        look = "strong" if taken else "faint"
        marks.append(Line(f"{key}/{COLUMNS[left]}/on", ((start, middle), (end, middle)), look))  # type: ignore[arg-type]
    for column in columns:
        text = names.get(row.ids[0], "") if len(row.ids) == 1 else str(len(row.ids))
        text = text if text_width(text, bold=True) <= size - 4 else ""
        x = _centre(column) - size / 2
        name = COLUMNS[column]
        tip = f"{', '.join(row.ids)}: {say(f'sets.{name}')}"
        star = name == "preferred"
        state = _state(row, name)
        marks.append(
            Cell(
                f"{key}/{name}",
                x,
                middle - size / 2,
                size,
                text,
                state,
                starred=star,
                tooltip=tip,
                action=f"follow:{row.ids[0]}",
            )
        )
    return marks


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


def _steps_height(decision: DevicesToAllocate) -> float:
    error = wrap(decision.error or "", WIDTH - 200, 2)
    return 44 + 26 * max(len(decision.steps), 1) + 20 * max(len(error) - 1, 0)


def _step_marks(decision: DevicesToAllocate, top: float) -> list[Mark]:
    failed = decision.error is not None
    height = _steps_height(decision)
    marks: list[Mark] = [Panel("steps", 0, top, WIDTH, height, say("sets.steps"))]
    for index, step in enumerate(decision.steps):
        y = top + 54 + 26 * index
        last = failed and index == len(decision.steps) - 1
        marks += _step(step, index, y, error=last)
    return marks


def _step(step: Step, index: int, y: float, *, error: bool) -> list[Mark]:
    key = f"step/{index}"
    tone = "unhealthy" if error else "ink"
    marks: list[Mark] = [
        Text(f"{key}/number", 18, y, str(index + 1), tone="muted", bold=True),
        Text(f"{key}/rule", 44, y, fit(step.rule, 130, bold=True), tone=tone, bold=True),
    ]
    if error:
        lines = wrap(step.why, WIDTH - 200, 2)
        return marks + [
            Text(f"{key}/why/{i}", 184, y + 20 * i, line, tone=tone) for i, line in enumerate(lines)
        ]
    taken = natural_list(step.taken)
    words = say("sets.step.taken", devices=taken) if step.taken else say("sets.step.none")
    shown = fit(words, 300, mono=True)
    marks.append(Text(f"{key}/taken", 184, y, shown, mono=True, tooltip=words))
    marks.append(Text(f"{key}/why", 500, y, fit(step.why, WIDTH - 520), tone="muted", tooltip=step.why))
    return marks


def _sets(decision: DevicesToAllocate) -> Table:
    rows = []
    for column in COLUMNS:
        members = getattr(decision.sets, column)
        rows.append(
            (say(f"sets.{column}"), str(len(members)), natural_list(members), say(f"sets.about.{column}"))
        )
    return table("sets", "set count devices.list why", rows)


def _steps(decision: DevicesToAllocate) -> Table:
    rows = tuple(
        (step.rule, natural_list(step.offered), natural_list(step.taken), step.why) for step in decision.steps
    )
    return table("steps", "rule offered taken why", rows)
