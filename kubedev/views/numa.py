"""Labs 05 and 06: the machine with its NUMA nodes, what is taken on each, and the affinity mask laid over it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubedev.views.catalogue import say
from kubedev.views.grammar import Block, Card, Column, Facts, Grid, Part, Row, Words, picture
from kubedev.views.masks import mask_words
from kubedev.views.parts import Cells, Legend
from kubedev.views.parts import Device as Shown
from kubedev.views.path_devices import device_state, device_words, numa_text, short_names
from kubedev.views.path_state import DeviceView, ResourceView
from kubedev.views.picture import Band, Look, Mark, Picture, Table, table
from kubedev.views.style import ON_A_NODE, WIDTH, DeviceState

__all__ = ["CpuView", "NumaBoard", "NumaNodeView", "numa_part", "numa_picture"]


@dataclass(frozen=True, slots=True)
class CpuView:
    """A CPU; `owner` is the container that has it for itself, `reserved` how it is kept for the system, if it is."""

    id: int
    owner: str = ""
    reserved: DeviceState | None = None


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


def numa_picture(board: NumaBoard, width: float = WIDTH) -> Picture:
    """Draw the machine: NUMA nodes side by side, from five on in two rows."""
    return picture(board.title or say("numa.title"), _sentence(board), numa_part(board), width)


def numa_part(board: NumaBoard, clicks: Mapping[str, str] | None = None) -> Part:
    """The same as a part of a larger picture; `clicks` are the actions of devices, by id."""
    named = _Named(board, clicks or {})
    nodes = Grid(*(_node(board, node, named) for node in board.nodes), across=4)
    loose = sorted(
        (
            named.shown(r, d, numa_text(d.numa))
            for r in board.resources
            for d in r.devices
            if len(d.numa) != 1
        ),
        key=lambda shown: shown.group,
    )
    between = [Card(say("numa.between"), Cells(*loose, high=40.0), look="plain")] if loose else []
    kept = {cpu.reserved for node in board.nodes for cpu in node.cpus}
    reserved = [state for state in (DeviceState.RESERVED, DeviceState.WITHHELD) if state in kept]
    facts = map(Facts, (_table(board), _devices(board)))
    return Column(Card("", nodes, *between, Legend(*ON_A_NODE, *reserved)), *facts)


class _Named:
    """Devices as cells, each by its whole id where all are short, and what a click on it does."""

    def __init__(self, board: NumaBoard, clicks: Mapping[str, str]) -> None:
        self._clicks = clicks
        self._names: dict[str, str] = {}
        for resource in board.resources:
            ids = [device.id for device in resource.devices]
            self._names |= {i: i for i in ids} if all(len(i) < 4 for i in ids) else short_names(ids)

    def shown(self, resource: ResourceView, device: DeviceView, group: str = "") -> Shown:
        """A device's cell."""
        key, name = f"device/{resource.name}/{device.id}", self._names[device.id]
        action = self._clicks.get(device.id, "")
        words, owner = device_words(device), device.owner
        return Shown(name, device_state(device), key, group, owner, tooltip=words, action=action)


def _node(board: NumaBoard, node: NumaNodeView, named: _Named) -> Card:
    sections: list[Part] = []
    many = sum(bool(each) for each in (node.cpus, node.memory, *board.resources)) > 2
    high = 40.0 if many or len(board.nodes) > 2 else 66.0
    if any(other.cpus for other in board.nodes):
        cells = [_cpu(cpu) for cpu in node.cpus]
        sections.append(_section(say("numa.cpus"), _free(cells), len(cells), Cells(*cells, high=40.0)))
    for resource in board.resources:
        cells = [named.shown(resource, device) for device in _here(node, resource)]
        sections.append(_section(resource.name, _free(cells), len(cells), Cells(*cells, high=high)))
    if node.memory:
        free, total = node.memory
        words = say("numa.memory.free", free=_bytes(free), total=_bytes(total))
        heads = Row(Words(say("numa.memory"), "muted"), Words(words, anchor="end"), shares=(1, 1))
        sections.append(Column(heads, _Meter(1 - free / total if total else 0.0), gap=4))
    inside = board.mask is not None and bool(board.mask >> node.id & 1)
    corner = [Words(say("numa.mask"), "accent", bold=True)] * inside
    corner.append(Words(say("numa.socket", socket=node.socket), "muted"))
    look: Look = "mask" if inside else "plain"
    return Card(
        numa_text((node.id,)), Column(*sections, gap=8), look=look, corner=corner, key=f"numa/{node.id}"
    )


def _section(name: str, free: int, total: int, cells: Cells) -> Column:
    words = Words(say("numa.some.free", free=free, total=total), anchor="end")
    return Column(Row(Words(name, "muted"), words, shares=(1, 0)), cells, gap=4)


def _cpu(cpu: CpuView) -> Shown:
    state = cpu.reserved or (DeviceState.ALLOCATED if cpu.owner else DeviceState.FREE)
    tip = say("numa.cpu.owned" if cpu.owner else "numa.cpu", id=cpu.id, state=state.word, owner=cpu.owner)
    return Shown(str(cpu.id), state, f"cpu/{cpu.id}", tooltip=tip)


def _free(cells: Sequence[Shown]) -> int:
    return sum(cell.state is DeviceState.FREE for cell in cells)


def _here(node: NumaNodeView, resource: ResourceView) -> list[DeviceView]:
    return [device for device in resource.devices if device.numa == (node.id,)]


class _Meter(Part):
    """A bar of which a share is filled."""

    def __init__(self, share: float) -> None:
        self.share = share

    def lay(self, width: float, key: str) -> Block:
        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            yield Band(f"{key}/all", x, y, width, 12, "line", 6)
            filled = max(0.1, width * self.share)
            yield Band(f"{key}/used", x, y, filled, 12, "allocated", min(6, filled / 2))

        return Block(12.0, draw)


def _bytes(number: int) -> str:
    for unit in ("", "Ki", "Mi"):
        if number < 1024 * 10:
            return f"{number}{unit}"
        number = round(number / 1024)
    return f"{number}Gi" if number < 10240 else f"{number // 1024}Ti"


def _sentence(board: NumaBoard) -> str:
    rows = {node.id: _counts(board, node) for node in board.nodes}
    words = [
        say(
            "numa.node.free",
            node=node,
            what=", ".join(say("numa.free", count=r[1], what=r[0]) for r in found),
        )
        for node, found in rows.items()
        if board.mask is None or board.mask >> node & 1
    ]
    if board.mask is None:
        return say("numa.sentence", free="; ".join(words))
    return say("numa.sentence.mask", mask=mask_words(board.mask), free="; ".join(words))


def _counts(board: NumaBoard, node: NumaNodeView) -> list[tuple[str, int, int]]:
    """What is free on a NUMA node, and how much there is."""
    cpus = [(say("numa.cpus"), sum(not cpu.owner for cpu in node.cpus), len(node.cpus))] if node.cpus else []
    here = [(resource.name, _here(node, resource)) for resource in board.resources]
    return [
        *cpus,
        *((n, sum(device_state(d) is DeviceState.FREE for d in held), len(held)) for n, held in here),
    ]


def _table(board: NumaBoard) -> Table:
    rows = []
    for node in board.nodes:
        ids = (str(node.id), str(node.socket))
        rows += [(*ids, name, str(free), str(total)) for name, free, total in _counts(board, node)]
        if node.memory:
            free, total = map(_bytes, node.memory)
            rows.append((*ids, say("numa.memory"), free, total))
    return table("numa.board", "numa socket what free total", rows)


def _devices(board: NumaBoard) -> Table:
    rows = tuple(
        (resource.name, device.id, ",".join(map(str, device.numa)), device_state(device).word, device.owner)
        for resource in board.resources
        for device in resource.devices
    )
    return table("devices", "resource device numa health owner", rows)
