"""Lab 03: one resource over simulated time: its devices now, capacity and allocatable, the stream's messages."""

from collections import Counter
from dataclasses import dataclass

from kubedev.kubelet.devices.endpoint import STOP_GRACE_PERIOD
from kubedev.views.catalogue import say
from kubedev.views.grid import lay_out
from kubedev.views.path_devices import device_cell, numa_text, short_names
from kubedev.views.path_state import DeviceView
from kubedev.views.picture import Band, Dots, Line, Mark, Panel, Picture, Point, Table, Text, legend, table
from kubedev.views.style import WIDTH, DeviceState, fit, text_width

__all__ = ["Sample", "Timeline", "timeline_picture"]

_DEVICES_HEIGHT = 150.0
_CHART_TOP = 164.0
_CHART_HEIGHT = 330.0
_LEFT, _RIGHT = 130.0, WIDTH - 130.0
_TOP, _BASE = _CHART_TOP + 46, _CHART_TOP + 236
_TICKS = _CHART_TOP + 290
_LEGEND = (DeviceState.FREE, DeviceState.ALLOCATED, DeviceState.UNHEALTHY, DeviceState.UNHEALTHY_IN_USE)


@dataclass(frozen=True, slots=True)
class Sample:
    """What the node's status says from `at` seconds on; None is a key that is absent, which is not 0."""

    at: float
    capacity: int | None
    allocatable: int | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """A resource up to `now`; `messages` are the times and texts of its lists.

    `stops` are the times when the plugin stopped, `returns` those when it came back, in the same order; the
    ones that are missing, or None, say that it did not.
    """

    resource: str
    now: float
    devices: tuple[DeviceView, ...] = ()
    samples: tuple[Sample, ...] = ()
    messages: tuple[tuple[float, str], ...] = ()
    stops: tuple[float, ...] = ()
    returns: tuple[float | None, ...] = ()

    def graces(self) -> list[tuple[float, float]]:
        """From when to when a stopped plugin's devices went on counting as capacity."""
        known = (*self.returns, *(None for _ in self.stops[len(self.returns) :]))
        return [
            (stop, stop + STOP_GRACE_PERIOD if back is None else min(back, stop + STOP_GRACE_PERIOD))
            for stop, back in zip(self.stops, known, strict=True)
        ]


def timeline_picture(timeline: Timeline) -> Picture:
    """Draw the devices above, the lines and ticks below; the five minutes after a stop are shaded."""
    end = _end(timeline)
    marks: list[Mark] = [*_devices(timeline), Panel("chart", 0, _CHART_TOP, WIDTH, _CHART_HEIGHT)]
    marks += _grace(timeline, end)
    marks += _axes(timeline, end)
    marks += _lines(timeline, end)
    marks += _messages(timeline, end)
    marks += legend("legend", 18, _CHART_TOP + _CHART_HEIGHT + 28, _LEGEND)
    sentence = _sentence(timeline)
    title = say("timeline.title", resource=timeline.resource)
    alt = say("timeline.alt", sentence=sentence)
    height = _CHART_TOP + _CHART_HEIGHT + 38
    return Picture(title, sentence, height, tuple(marks), (_samples(timeline), _message_table(timeline)), alt)


def _end(timeline: Timeline) -> float:
    """The right end of the axis: a round number of seconds, so that it does not move with every event."""
    wanted = max([timeline.now, *(end for _, end in timeline.graces())]) * 1.05
    steps = (2, 5, 10, 20, 30, 60, 100, 150, 300, 600, 1200, 1800, 3600)
    return float(next((6 * step for step in steps if wanted <= 6 * step), 21600 * -(-wanted // 21600)))


def _x(at: float, end: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * min(at / end, 1)


def _y(count: int, most: int) -> float:
    return _BASE - (_BASE - _TOP) * count / most


def _most(timeline: Timeline) -> int:
    numbers = [n for sample in timeline.samples for n in (sample.capacity, sample.allocatable) if n]
    return max([len(timeline.devices), *numbers, 1])


def _devices(timeline: Timeline) -> list[Mark]:
    label = say("timeline.devices", resource=timeline.resource)
    marks: list[Mark] = [Panel("devices", 0, 0, WIDTH, _DEVICES_HEIGHT, fit(label, WIDTH - 40, bold=True))]
    if not timeline.devices:
        marks.append(Text("devices/none", 18, 62, say("path.no-devices"), tone="muted"))
    numas = sorted({device.numa for device in timeline.devices})
    groups = [[device for device in timeline.devices if device.numa == numa] for numa in numas]
    grid = lay_out([len(group) for group in groups], WIDTH - 60, 70, label_width=62)
    names = short_names([device.id for device in timeline.devices])
    labelled = all(text_width(name, bold=True) <= grid.size - 4 for name in names.values())
    for numa, group, placed in zip(numas, groups, grid.groups, strict=True):
        for device, (dx, dy) in zip(group, placed.places, strict=True):
            name = names[device.id] if labelled else ""
            place = (30 + dx, 42 + dy)
            marks.append(device_cell(timeline.resource, device, name, place, grid.size))
            if grid.named and device.owner:
                owner = fit(device.owner, 60)
                x, y = 30 + dx + grid.size / 2, 42 + dy + grid.size + 17
                marks.append(Text(f"owner/{device.id}", x, y, owner, tone="muted", anchor="middle"))
        words = fit(numa_text(numa), placed.width + 14)
        middle = 30 + placed.x + placed.width / 2
        key = f"numa/{'.'.join(map(str, numa))}"
        marks.append(Text(key, middle, 136, words, tone="muted", anchor="middle"))
    return marks


def _grace(timeline: Timeline, end: float) -> list[Mark]:
    marks: list[Mark] = []
    for index, (stop, until) in enumerate(timeline.graces()):
        left, right = _x(stop, end), _x(until, end)
        marks.append(Band(f"grace/{index}", left, _TOP - 12, right - left, _BASE - _TOP + 12, "wash", 4))
        words = fit(say("timeline.grace"), right - left - 12)
        if len(words) > 8 and index == len(timeline.stops) - 1:
            marks.append(Text(f"grace/{index}/label", left + 8, _CHART_TOP + 24, words))
    return marks


def _axes(timeline: Timeline, end: float) -> list[Mark]:
    marks: list[Mark] = []
    most = _most(timeline)
    now = _x(timeline.now, end)
    for count in sorted({0, most, most // 2}):
        y = _y(count, most)
        marks.append(Line(f"axis/{count}", ((_LEFT, y), (now if count else _RIGHT, y)), "rule"))
        marks.append(Text(f"axis/{count}/label", _LEFT - 12, y + 5, str(count), tone="muted", anchor="end"))
    for part in range(7):
        at = end * part / 6
        x = _x(at, end)
        words = say("timeline.seconds", seconds=f"{at:g}")
        marks.append(Text(f"time/{part}", x, _BASE + 24, words, tone="muted", anchor="middle"))
    marks.append(Text("messages/label", 18, _TICKS + 5, fit(say("timeline.messages.row"), 108), tone="muted"))
    marks.append(Line("messages/axis", ((_LEFT, _TICKS), (_RIGHT, _TICKS)), "rule"))
    marks.append(Line("now", ((now, _TOP - 12), (now, _BASE)), "quiet", dashed=True))
    return marks


def _lines(timeline: Timeline, end: float) -> list[Mark]:
    """Two stepped lines, the names at their ends; where a key is absent there is no line."""
    marks: list[Mark] = []
    most = _most(timeline)
    last: dict[str, float] = {}
    for name, look in (("capacity", "quiet"), ("allocatable", "strong")):
        pieces = _steps(timeline, name, end, most)
        for index, points in enumerate(pieces):
            raised = tuple((x, y - 3 if name == "capacity" else y) for x, y in points)
            marks.append(Line(f"{name}/{index}", raised, look))  # type: ignore[arg-type]
        value = getattr(timeline.samples[-1], name) if timeline.samples else None
        if value is not None:
            last[name] = _y(value, most)
    return marks + _line_labels(timeline, last, _x(timeline.now, end) + 10)


def _line_labels(timeline: Timeline, last: dict[str, float], x: float) -> list[Mark]:
    """The names and values at the ends of the lines: not over each other, nor over the axis below."""
    order = sorted(last, key=lambda name: (last[name], name == "allocatable"))
    places = [last[name] + 5 for name in order]
    for index in range(1, len(places)):
        places[index] = max(places[index], places[index - 1] + 20)
    above = max(0.0, max(places, default=0.0) - (_BASE - 8))
    marks: list[Mark] = []
    for name, y in zip(order, places, strict=True):
        words = f"{say(f'timeline.{name}')} {getattr(timeline.samples[-1], name)}"
        tone = "muted" if name == "capacity" else "accent"
        left = min(x, WIDTH - 8 - text_width(words, bold=True))
        marks.append(Text(f"{name}/label", left, y - above, words, tone=tone, bold=True))
    return marks


def _steps(timeline: Timeline, name: str, end: float, most: int) -> list[tuple[Point, ...]]:
    pieces: list[tuple[Point, ...]] = []
    current: list[Point] = []
    ends = [*(sample.at for sample in timeline.samples[1:]), timeline.now]
    for sample, until in zip(timeline.samples, ends, strict=False):  # without samples there are no lines
        value = getattr(sample, name)
        if value is None:
            pieces += [tuple(current)] if current else []
            current = []
            continue
        y = _y(value, most)
        current += [(_x(sample.at, end), y), (_x(until, end), y)]
    return pieces + ([tuple(current)] if current else [])


def _messages(timeline: Timeline, end: float) -> list[Mark]:
    """A dot for each list; those of one moment stand on one another, as far as there is room."""
    seen = Counter[float]()
    points: list[Point] = []
    for at, _ in timeline.messages:
        points.append((_x(at, end), _TICKS - 8 * min(seen[at], 2)))
        seen[at] += 1
    marks: list[Mark] = [Dots("messages", tuple(points), 4)]
    if timeline.messages:
        at, text = timeline.messages[-1]
        x = _x(at, end)
        room = WIDTH - 24
        words = fit(text, min(420, room), mono=True)
        half = text_width(words, mono=True) / 2
        middle = min(max(x, half + 12), WIDTH - half - 12)
        marks.append(
            Text("messages/last", middle, _TICKS + 28, words, mono=True, anchor="middle", tooltip=text)
        )
    return marks


def _number(count: int | None) -> str:
    return say("timeline.absent") if count is None else str(count)


def _sentence(timeline: Timeline) -> str:
    count = len(timeline.messages)
    messages = say("timeline.messages.one") if count == 1 else say("timeline.messages", count=count)
    last = timeline.samples[-1] if timeline.samples else Sample(0, None, None)
    return say(
        "timeline.sentence",
        now=f"{timeline.now:g}",
        capacity=_number(last.capacity),
        allocatable=_number(last.allocatable),
        messages=messages,
    )


def _samples(timeline: Timeline) -> Table:
    rows = tuple((f"{s.at:g}", _number(s.capacity), _number(s.allocatable)) for s in timeline.samples)
    return table("samples", "time capacity allocatable", rows)


def _message_table(timeline: Timeline) -> Table:
    rows = tuple((f"{at:g}", text) for at, text in timeline.messages)
    return table("messages", "time text", rows)
