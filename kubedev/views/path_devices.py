"""The devices of a node: what its status says of each resource, and the devices by NUMA node."""

from collections import Counter
from collections.abc import Sequence

from kubedev.views.catalogue import say
from kubedev.views.grid import Grid, Group, lay_out
from kubedev.views.path_state import DeviceView, NodeView, ResourceView
from kubedev.views.picture import Band, Cell, Line, Mark, Text
from kubedev.views.style import DeviceState, fit, fit_middle, text_width

__all__ = ["device_cell", "device_state", "numa_text", "resource_marks", "short_names"]

_GAP = 28.0
_RESOURCES = 3
_CELLS = 14.0
_HEIGHT = 68.0
_WIDE = 400


def device_state(device: DeviceView) -> DeviceState:
    """Return the mark of a device."""
    if not device.healthy:
        return DeviceState.UNHEALTHY_IN_USE if device.owner else DeviceState.UNHEALTHY
    return DeviceState.ALLOCATED if device.owner else DeviceState.FREE


def device_cell(
    resource: str, device: DeviceView, label: str, place: tuple[float, float], size: float
) -> Cell:
    """Return the cell of a device, with its tooltip and the action `device:RESOURCE:ID`."""
    state = device_state(device)
    about = {"id": device.id, "state": state.word, "numa": numa_text(device.numa), "owner": device.owner}
    tooltip = say("path.device.owned" if device.owner else "path.device", **about)
    name = f"{resource}/{device.id}"
    action = f"device:{resource}:{device.id}"
    return Cell(f"device/{name}", *place, size, label, state, tooltip=tooltip, action=action)


def numa_text(numa: Sequence[int]) -> str:
    """Return where a device sits, in words."""
    return say("path.numa", nodes=",".join(map(str, sorted(numa)))) if numa else say("path.numa.none")


def short_names(ids: Sequence[str]) -> dict[str, str]:
    """Return what tells ids apart: each without the beginning all share, or its number where that is long."""
    shared = 0
    while ids and all(len(i) > shared + 1 and not i[shared].isdigit() for i in ids):
        if len({i[shared] for i in ids}) > 1:
            break
        shared += 1
    short = [i[shared:] for i in ids]
    if any(len(name) > 3 for name in short):
        short = [str(number) for number in range(len(ids))]
    return dict(zip(ids, short, strict=True))


def resource_marks(node: NodeView, x: float, y: float, width: float, *, told: bool) -> list[Mark]:
    """Return the resources of a node side by side from base line `y`; `told`: its status is being written."""
    shown = node.resources[:_RESOURCES]
    if not shown:
        return [Text("devices/none", x, y + 20, say("path.no-devices"), tone="muted")]
    each = (width - _GAP * (len(shown) - 1)) / len(shown)
    marks: list[Mark] = []
    for index, resource in enumerate(shown):
        left = x + index * (each + _GAP)
        narrow = 0.0 if each > _WIDE else 20.0
        groups = _by_numa(resource)
        counts = [len(devices) for _, devices in groups]
        grid = lay_out(counts, each, _HEIGHT - narrow, label_width=62)
        marks += _head(resource, (left, y, each), told=told, named=grid.named)
        marks += _cells(resource, groups, grid, (left, y + _CELLS + narrow))
        marks += _numa_labels(resource, groups, grid.groups, (left, y + _CELLS + _HEIGHT + 2))
    return marks


_Groups = list[tuple[tuple[int, ...], list[DeviceView]]]


def _by_numa(resource: ResourceView) -> _Groups:
    nodes = sorted({device.numa for device in resource.devices})
    return [(numa, [device for device in resource.devices if device.numa == numa]) for numa in nodes]


def _head(
    resource: ResourceView, place: tuple[float, float, float], *, told: bool, named: bool
) -> list[Mark]:
    """Name, what the status says, and at the end of the line how many are in use or by whom."""
    x, y, width = place
    wide = width > _WIDE
    key = f"resource/{resource.name}"
    name = fit_middle(resource.name, width * 0.4 if wide else width, bold=True)
    if resource.capacity is None:
        status = say("path.resource.absent")
    else:
        status = say("path.resource", capacity=resource.capacity, allocatable=resource.allocatable)
    status = fit(status, width)
    at, below = (x + text_width(name, bold=True) + 16, 0) if wide else (x, 20)
    marks: list[Mark] = [
        Text(key, x, y, name, bold=True, tooltip=resource.name),
        Text(f"{key}/status", at, y + below, status),
    ]
    if told:
        band = Band(f"{key}/told", at - 6, y + below - 16, text_width(status) + 12, 22, radius=6)
        marks.insert(0, band)
    room = x + width - at - text_width(status) - 20
    if wide and room > 60:
        counts = fit(_counts(resource, named=named), room)
        marks.append(Text(f"{key}/counts", x + width, y, counts, tone="muted", anchor="end"))
    return marks


def _counts(resource: ResourceView, *, named: bool) -> str:
    """Where owners stand under their devices, the counts; else who has how many."""
    owners = Counter(device.owner for device in resource.devices if device.owner)
    if owners and not named:
        listed = ", ".join(f"{owner} {count}" for owner, count in sorted(owners.items()))
        return say("path.in-use", owners=listed)
    healthy = sum(device.healthy for device in resource.devices)
    known = len(resource.devices)
    return say("path.resource.counts", known=known, healthy=healthy, used=owners.total())


def _cells(resource: ResourceView, groups: _Groups, grid: Grid, origin: tuple[float, float]) -> list[Mark]:
    names = short_names([device.id for device in resource.devices])
    labelled = all(text_width(name, bold=True) <= grid.size - 4 for name in names.values())
    marks: list[Mark] = []
    for (_, devices), group in zip(groups, grid.groups, strict=True):
        for device, (dx, dy) in zip(devices, group.places, strict=True):
            x, y = origin[0] + dx, origin[1] + dy
            label = names[device.id] if labelled else ""
            marks.append(device_cell(resource.name, device, label, (x, y), grid.size))
            if grid.named and device.owner:
                owner = fit_middle(device.owner, 60)
                at = (x + grid.size / 2, y + grid.size + 17)
                tooltip = device.owner
                key = f"device/{resource.name}/{device.id}"
                marks.append(Text(f"{key}/owner", *at, owner, tone="muted", anchor="middle", tooltip=tooltip))
    return marks


def _numa_labels(
    resource: ResourceView, groups: _Groups, places: tuple[Group, ...], origin: tuple[float, float]
) -> list[Mark]:
    marks: list[Mark] = []
    x, y = origin
    for (numa, _), group in zip(groups, places, strict=True):
        left, right = x + group.x, x + group.x + group.width
        key = f"numa/{resource.name}/{'.'.join(map(str, numa))}"
        words = numa_text(numa)
        label = words if text_width(words) <= group.width + 14 else ",".join(map(str, numa))
        marks.append(Line(key, ((left, y), (right, y)), "rule"))
        middle = (left + right) / 2
        marks.append(Text(f"{key}/label", middle, y + 18, label, tone="muted", anchor="middle"))
    return marks
