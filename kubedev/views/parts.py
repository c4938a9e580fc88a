"""Parts that show devices: cells, and the legend of their marks."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from kubedev.views.catalogue import say
from kubedev.views.controls import Action
from kubedev.views.grammar import Block, Part, line_height
from kubedev.views.grid import Grid as Places
from kubedev.views.grid import Group, lay_out
from kubedev.views.picture import Band, Cell, Line, Mark, Text
from kubedev.views.style import DeviceState, flow, text_width

__all__ = ["Cells", "Device", "Legend"]


_NAMED = ((44, 70, 66), (44, 62, 66), (38, 64, 59), (38, 56, 59))  # with room for an owner's name below


@dataclass(frozen=True, slots=True)
class Device:
    """A device (or a CPU) as a cell: its label stands in it where there is room, its `owner` below it.

    Devices of one `group` stand together, above the group's name.
    """

    label: str
    state: DeviceState
    key: str = ""
    group: str = ""
    owner: str = ""
    starred: bool = False
    lit: bool = False
    tooltip: str = ""
    action: Action | str = ""

    def cell(self, key: str, x: float, y: float, size: float, *, labelled: bool = True) -> Cell:
        """Return its mark at a place."""
        label = self.label if labelled and text_width(self.label, bold=True) <= size - 3 else ""
        return Cell(
            self.key or key, x, y, size, label, self.state, self.starred, self.lit, self.tooltip, self.action
        )


class Cells(Part):
    """Devices, as large as there is room for in `high` pixels: eight are large, five hundred are all there."""

    __slots__ = ("devices", "high")

    def __init__(self, *devices: Device, high: float = 66.0) -> None:
        self.devices = devices
        self.high = high

    def _groups(self) -> list[tuple[str, list[Device]]]:
        return [(name, list(held)) for name, held in groupby(self.devices, lambda device: device.group)]

    def _places(self, width: float) -> Places:
        label = max((text_width(name) + 1 for name, _ in self._groups()), default=0.0)
        counts = [len(held) for _, held in self._groups()]
        return lay_out(counts, width, self.high, label_width=label, first=_NAMED)

    def lay(self, width: float, key: str) -> Block:
        groups, places = self._groups(), self._places(width)
        labelled = all(text_width(d.label, bold=True) <= places.size - 3 for d in self.devices)
        pitch = places.pitch
        named = places.named and all(text_width(d.owner) <= pitch - 4 for d in self.devices)
        owners = [] if named else flow(self._owners(), width)
        cells = places.rows * places.row_height - (places.row_height - places.size) * (not named)
        names = 22.0 if any(name for name, _ in groups) else 0.0
        below = cells + 4 + names if names else max(cells + 4, self.high)

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            for (name, held), group in zip(groups, places.groups, strict=True):
                for n, (device, (dx, dy)) in enumerate(zip(held, group.places, strict=True)):
                    cell = device.cell(f"{key}/{name}/{n}", x + dx, y + dy, places.size, labelled=labelled)
                    yield cell
                    if named and device.owner:
                        middle = (x + dx + places.size / 2, y + dy + places.size + 16)
                        yield Text(f"{cell.key}/owner", *middle, device.owner, tone="muted", anchor="middle")
                if name:
                    yield from _group_name(f"{key}/{name}", name, group, x, y + cells + 4)
            for n, line in enumerate(owners):
                at = y + below + 4 + line_height() * n + 13
                yield Text(f"{key}/owners/{n}", x, at, line, tone="muted")

        return Block(below - 4 * (not names) + (4 + line_height() * len(owners)) * bool(owners), draw)

    def _owners(self) -> str:
        owners = Counter(device.owner for device in self.devices if device.owner)
        listed = ", ".join(f"{owner} {count}" for owner, count in sorted(owners.items()))
        return say("path.in-use", owners=listed) if listed else ""

    def least(self) -> float:
        groups = self._groups()
        names = sum(text_width(name) + 24 for name, _ in groups)
        return max(names, 17.0 * min(len(self.devices), 8))

    def wish(self) -> float:
        last = self._places(10_000).groups[-1:]
        return last[0].x + last[0].width if last else 0.0

    def says(self) -> str:
        counts = Counter(device.state.word for device in self.devices)
        return ", ".join(f"{count} {word}" for word, count in counts.items()) or say("set.none")

    def about(self) -> str:
        return self.says()


def _group_name(key: str, name: str, group: Group, x: float, y: float) -> Iterator[Mark]:
    left, right = x + group.x, x + group.x + group.width
    shown = name if text_width(name) <= group.width + 12 else name.rpartition(" ")[2]
    yield Line(f"{key}/rule", ((left, y), (right, y)), "rule")
    yield Text(f"{key}/name", (left + right) / 2, y + 17, shown, tone="muted", anchor="middle", tooltip=name)


class Legend(Part):
    """The marks of states with their words, in rows or, where it stands beside something, one below the other.

    `tones` are colours that bars have, or states by other words: words, colour, and whether it is an outline. At a
    picture's own edge the marks' outlines need some pixels of `inset`.
    """

    __slots__ = ("inset", "items", "upright")

    def __init__(
        self,
        *states: DeviceState,
        preferred: bool = False,
        wash: str = "",
        tones: Sequence[tuple[str, str | DeviceState, bool]] = (),
        upright: bool = False,
        inset: float = 0.0,
    ) -> None:
        items: list[tuple[str, Device | tuple[str, bool]]] = [
            (state.word, Device("", state)) for state in states
        ]
        if preferred:
            items.append((say("state.preferred"), Device("", DeviceState.FREE, starred=True)))
        if wash:
            items.append((wash, ("wash", False)))
        items += [
            (word, Device("", tone) if isinstance(tone, DeviceState) else (tone, outlined))
            for word, tone, outlined in tones
        ]
        self.items = items
        self.upright = upright
        self.inset = inset

    def lay(self, width: float, key: str) -> Block:
        places: list[tuple[float, float]] = []
        x, row = self.inset, 0
        for word, _ in self.items:
            needed = 24 + text_width(word)
            if places and (self.upright or x + needed > width):
                x, row = self.inset, row + 1
            places.append((x, row * 22.0))
            x += needed + 18

        def draw(left: float, top: float, _height: float) -> Iterator[Mark]:
            for n, ((word, device), (dx, dy)) in enumerate(zip(self.items, places, strict=True)):
                at, name = (left + dx, top + dy + 1), f"{key}/{n}"
                if isinstance(device, Device):
                    yield device.cell(name, *at, 16)
                else:
                    yield Band(name, *at, 16, 16, device[0], 4, device[1])
                yield Text(f"{name}/word", left + dx + 24, top + dy + 14, word, tone="muted")

        return Block(22.0 * (row + 1), draw)

    def least(self) -> float:
        return max(24 + text_width(word) for word, _ in self.items)

    def wish(self) -> float:
        return self.least() if self.upright else sum(42 + text_width(word) for word, _ in self.items) - 17

    def about(self) -> str:
        return ""
