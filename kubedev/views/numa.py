"""Labs 05 and 06: the machine with its NUMA nodes, what is taken on each, and the affinity mask laid over it."""

from collections.abc import Sequence
from dataclasses import dataclass

from kubedev.views.catalogue import say
from kubedev.views.grid import lay_out
from kubedev.views.masks import mask_words
from kubedev.views.path_devices import device_cell, device_state, numa_text, short_names
from kubedev.views.path_state import DeviceView, ResourceView
from kubedev.views.picture import Band, Cell, Line, Mark, Panel, Picture, Pill, Table, Text, legend, table
from kubedev.views.style import SIZE_HEAD, WIDTH, DeviceState, fit, fit_middle, text_width

__all__ = ["CpuView", "NumaBoard", "NumaNodeView", "numa_picture"]

_GAP = 16.0
_PAD = 18.0
_SECTION = 30.0  # from a section's base line to its cells' end is this plus the cells' area
_CELLS = 46.0
_LANE = 104.0
_LEGEND = (DeviceState.FREE, DeviceState.ALLOCATED, DeviceState.UNHEALTHY, DeviceState.UNHEALTHY_IN_USE)


@dataclass(frozen=True, slots=True)
class CpuView:
    """A CPU; `owner` is the container that has it for itself."""

    id: int
    owner: str = ""


@dataclass(frozen=True, slots=True)
class NumaNodeView:
    """A NUMA node with its CPUs, and its memory in bytes: (free, total)."""

    id: int
    socket: int = 0
    cpus: tuple[CpuView, ...] = ()
    memory: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class NumaBoard:
    """The machine at one moment; devices find their place by their own NUMA nodes. `mask` None: no affinity."""

    nodes: tuple[NumaNodeView, ...]
    resources: tuple[ResourceView, ...] = ()
    mask: int | None = None
    title: str = ""


def numa_picture(board: NumaBoard) -> Picture:
    """Draw the machine: NUMA nodes side by side, from five on in two rows."""
    columns = min(len(board.nodes), 4)
    width = (WIDTH - _GAP * (columns - 1)) / columns
    height = _panel_height(board)
    marks: list[Mark] = []
    places: dict[int, tuple[float, float]] = {}
    for index, node in enumerate(board.nodes):
        x = (index % columns) * (width + _GAP)
        y = (index // columns) * (height + _GAP)
        places[node.id] = (x + width / 2, y + height)
        marks += _node(board, node, (x, y, width, height))
    bottom = (-(-len(board.nodes) // columns)) * (height + _GAP)
    lane = _lane(board, bottom, places)
    bottom += _LANE if lane else 0
    marks += [*lane, *legend("legend", _PAD, bottom + 18, _LEGEND)]
    sentence = _sentence(board)
    title = board.title or say("numa.title")
    alt = say("numa.alt", sentence=sentence)
    return Picture(title, sentence, bottom + 28, tuple(marks), (_table(board), _devices(board)), alt)


def _panel_height(board: NumaBoard) -> float:
    sections = bool(any(node.cpus for node in board.nodes)) + len(board.resources)
    memory = 46.0 if any(node.memory for node in board.nodes) else 0.0
    return 44 + (_SECTION + _CELLS) * sections + memory + 10


def _node(board: NumaBoard, node: NumaNodeView, place: tuple[float, float, float, float]) -> list[Mark]:
    x, y, width, height = place
    key = f"numa/{node.id}"
    name = numa_text((node.id,))
    socket = say("numa.socket", socket=node.socket)
    at = x + _PAD + text_width(name, SIZE_HEAD, bold=True) + 12
    marks: list[Mark] = [
        Panel(key, x, y, width, height),
        Text(f"{key}/name", x + _PAD, y + 29, name, SIZE_HEAD, bold=True),
        Text(f"{key}/socket", at, y + 29, socket, tone="muted"),
    ]
    if board.mask is not None and board.mask >> node.id & 1:
        marks.append(Band(f"{key}/mask", x + 1.5, y + 1.5, width - 3, height - 3, "mask", 13, outlined=True))
        tag = say("numa.mask")
        half = (text_width(tag, bold=True) + 16) / 2
        marks.append(Pill(f"{key}/tag", x + width - 12 - half, y + 25, tag))
    top = y + 62
    if any(other.cpus for other in board.nodes):
        marks += _cpus(node, (x + _PAD, top, width - 2 * _PAD))
        top += _SECTION + _CELLS
    for resource in board.resources:
        marks += _resource(node, resource, (x + _PAD, top, width - 2 * _PAD))
        top += _SECTION + _CELLS
    if node.memory:
        marks += _memory(node, node.memory, (x + _PAD, top, width - 2 * _PAD))
    return marks


def _head(key: str, label: str, free: int, total: int, place: tuple[float, float, float]) -> list[Mark]:
    x, y, width = place
    words = say("numa.some.free", free=free, total=total)
    room = width - text_width(words) - 10
    return [
        Text(key, x, y, fit_middle(label, room), tone="muted", tooltip=label),
        Text(f"{key}/free", x + width, y, words, anchor="end"),
    ]


def _cpus(node: NumaNodeView, place: tuple[float, float, float]) -> list[Mark]:
    x, y, width = place
    free = sum(not cpu.owner for cpu in node.cpus)
    key = f"numa/{node.id}/cpus"
    marks = _head(key, say("numa.cpus"), free, len(node.cpus), place)
    grid = lay_out([len(node.cpus)], width, _CELLS)
    labelled = all(text_width(str(cpu.id), bold=True) <= grid.size - 4 for cpu in node.cpus)
    for cpu, (dx, dy) in zip(node.cpus, grid.groups[0].places, strict=True):
        state = DeviceState.ALLOCATED if cpu.owner else DeviceState.FREE
        tip = say("numa.cpu.owned" if cpu.owner else "numa.cpu", id=cpu.id, state=state.word, owner=cpu.owner)
        label = str(cpu.id) if labelled else ""
        marks.append(Cell(f"cpu/{cpu.id}", x + dx, y + 10 + dy, grid.size, label, state, tooltip=tip))
    return marks


def _here(node: NumaNodeView, resource: ResourceView) -> list[DeviceView]:
    return [device for device in resource.devices if device.numa == (node.id,)]


def _resource(node: NumaNodeView, resource: ResourceView, place: tuple[float, float, float]) -> list[Mark]:
    devices = _here(node, resource)
    free = sum(device_state(device) is DeviceState.FREE for device in devices)
    key = f"numa/{node.id}/{resource.name}"
    marks = _head(key, resource.name, free, len(devices), place)
    names = short_names([device.id for device in resource.devices])
    return marks + _cells(resource, devices, names, place)


def _cells(
    resource: ResourceView,
    devices: Sequence[DeviceView],
    names: dict[str, str],
    place: tuple[float, float, float],
) -> list[Mark]:
    x, y, width = place
    grid = lay_out([len(devices)], width, _CELLS)
    labelled = all(text_width(name, bold=True) <= grid.size - 4 for name in names.values())
    return [device_cell(resource.name, device, names[device.id] if labelled else "", (x + dx, y + 10 + dy), grid.size)
            for device, (dx, dy) in zip(devices, grid.groups[0].places, strict=True)]  # fmt: skip


def _memory(node: NumaNodeView, memory: tuple[int, int], place: tuple[float, float, float]) -> list[Mark]:
    x, y, width = place
    free, total = memory
    words = say("numa.memory.free", free=_bytes(free), total=_bytes(total))
    key = f"numa/{node.id}/memory"
    used = width * (1 - free / total) if total else 0
    return [
        Text(key, x, y, say("numa.memory"), tone="muted"),
        Text(f"{key}/free", x + width, y, fit(words, width - 70), anchor="end"),
        Band(f"{key}/all", x, y + 10, width, 12, "line", 6),
        Band(f"{key}/used", x, y + 10, max(used, 0.1), 12, "allocated", min(6, used / 2)),
    ]


def _bytes(number: int) -> str:
    for unit in ("", "Ki", "Mi"):
        if number < 1024 * 10:
            return f"{number}{unit}"
        number = round(number / 1024)
    return f"{number}Gi" if number < 10240 else f"{number // 1024}Ti"


def _lane(board: NumaBoard, top: float, places: dict[int, tuple[float, float]]) -> list[Mark]:
    """Devices that are on several nodes, or on none, under all nodes, with a line to each of theirs."""
    loose = [(r, d) for r in board.resources for d in r.devices if len(d.numa) != 1]
    if not loose:
        return []
    marks: list[Mark] = [Panel("between", 0, top, WIDTH, _LANE - _GAP, say("numa.between"))]
    pitch = min(110.0, (WIDTH - 340) / len(loose))
    names = {r.name: short_names([d.id for d in r.devices]) for r in board.resources}
    for index, (resource, device) in enumerate(loose):
        x = 320 + index * pitch
        size = min(34.0, pitch - 6)
        for node in device.numa:
            nx, ny = places[node]
            ends = ((x + size / 2, top + 14.0), (nx, ny))
            marks.append(Line(f"between/{device.id}/{node}", ends, "quiet", dashed=True))
        name = names[resource.name][device.id]
        label = name if text_width(name, bold=True) <= size - 4 else ""
        marks.append(device_cell(resource.name, device, label, (x, top + 16), size))
        if pitch > 70:
            words = fit(numa_text(device.numa), pitch - 6)
            at = x + size / 2
            marks.append(
                Text(f"between/{device.id}/numa", at, top + 70, words, tone="muted", anchor="middle")
            )
    return marks


def _free(board: NumaBoard, node: NumaNodeView) -> str:
    cpus = sum(not cpu.owner for cpu in node.cpus)
    parts = [say("numa.free", count=cpus, what=say("numa.cpus"))] if node.cpus else []
    for resource in board.resources:
        free = sum(device_state(device) is DeviceState.FREE for device in _here(node, resource))
        parts.append(say("numa.free", count=free, what=resource.name))
    return say("numa.node.free", node=node.id, what=", ".join(parts))


def _sentence(board: NumaBoard) -> str:
    if board.mask is None:
        return say("numa.sentence", free="; ".join(_free(board, node) for node in board.nodes[:2]))
    inside = [node for node in board.nodes if board.mask >> node.id & 1]
    free = "; ".join(_free(board, node) for node in inside[:3])
    return say("numa.sentence.mask", mask=mask_words(board.mask), free=free)


def _table(board: NumaBoard) -> Table:
    rows = []
    for node in board.nodes:
        ids = (str(node.id), str(node.socket))
        if node.cpus:
            free = sum(not cpu.owner for cpu in node.cpus)
            rows.append((*ids, say("numa.cpus"), str(free), str(len(node.cpus))))
        for resource in board.resources:
            here = _here(node, resource)
            free = sum(device_state(device) is DeviceState.FREE for device in here)
            rows.append((*ids, resource.name, str(free), str(len(here))))
        if node.memory:
            rows.append((*ids, say("numa.memory"), _bytes(node.memory[0]), _bytes(node.memory[1])))
    return table("numa.board", "numa socket what free total", rows)


def _devices(board: NumaBoard) -> Table:
    rows = tuple(
        (resource.name, device.id, ",".join(map(str, device.numa)), device_state(device).word, device.owner)
        for resource in board.resources
        for device in resource.devices
    )
    return table("devices", "resource device numa health owner", rows)
