"""One resource over simulated time: its devices now, capacity and allocatable, the stream's messages."""

from dataclasses import dataclass
from itertools import groupby

from kubedev.kubelet.devices.endpoint import STOP_GRACE_PERIOD
from kubedev.views.catalogue import say
from kubedev.views.controls import Action, Button, act
from kubedev.views.course import Course, Dotted, Shade, Track
from kubedev.views.grammar import Card, Column, Facts, Knob, Row, Words, picture
from kubedev.views.parts import Cells, Device, Legend
from kubedev.views.path_devices import device_state, device_words, numa_text, short_names
from kubedev.views.path_state import DeviceView
from kubedev.views.picture import Picture, table
from kubedev.views.style import ON_A_NODE, WIDTH

__all__ = ["Sample", "Timeline", "timeline_picture"]


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
    ones that are missing, or None, say that it did not. Where a `node` is named, its plugin and devices can be acted
    on.
    """

    resource: str
    now: float
    devices: tuple[DeviceView, ...] = ()
    samples: tuple[Sample, ...] = ()
    messages: tuple[tuple[float, str], ...] = ()
    stops: tuple[float, ...] = ()
    returns: tuple[float | None, ...] = ()
    node: str = ""

    def graces(self) -> list[tuple[float, float]]:
        """From when to when a stopped plugin's devices went on counting as capacity."""
        known = (*self.returns, *(None for _ in self.stops[len(self.returns) :]))
        return [
            (stop, stop + STOP_GRACE_PERIOD if back is None else min(back, stop + STOP_GRACE_PERIOD))
            for stop, back in zip(self.stops, known, strict=True)
        ]


def timeline_picture(timeline: Timeline, width: float = WIDTH) -> Picture:
    """Draw the devices above, the lines and dots below; the five minutes after a stop are shaded."""
    resource = timeline.resource
    devices = (
        Cells(*_devices(timeline), high=56) if timeline.devices else Words(say("path.no-devices"), "muted")
    )
    beside = Row(devices, Legend(*ON_A_NODE, upright=True), shares=(1, 0), gap=24)
    samples = [(f"{s.at:g}", _number(s.capacity), _number(s.allocatable)) for s in timeline.samples]
    messages = [(f"{at:g}", text) for at, text in timeline.messages]
    body = Column(
        Facts(table("samples", "time capacity allocatable", samples)),
        Facts(table("messages", "time text", messages)),
        Card(say("timeline.devices", resource=resource), beside, corner=_knobs(timeline)),
        Card("", _course(timeline)),
    )
    return picture(say("timeline.title", resource=resource), _sentence(timeline), body, width)


def _knobs(timeline: Timeline) -> list[Knob]:
    """What acts on the plugin: it is started, or killed."""
    if not timeline.node:
        return []
    about = {"resource": timeline.resource, "node": timeline.node}
    alive = len(timeline.returns) == len(timeline.stops) and timeline.devices and None not in timeline.returns
    kill = Button(say("path.kill"), act("kill_plugin", **about))
    start = Button(say("path.start-plugin"), act("start_plugin", node=timeline.node))
    return [Knob(kill, "control/kill")] if alive else [Knob(start, "control/start_plugin")]


def _set_health(timeline: Timeline, device: DeviceView) -> Action | str:
    if not timeline.node:
        return ""
    about = {"node": timeline.node, "resource": timeline.resource, "device": device.id}
    return act("set_health", **about, healthy=not device.healthy)


def _devices(timeline: Timeline) -> list[Device]:
    names = short_names([device.id for device in timeline.devices])
    ordered = sorted(timeline.devices, key=lambda device: device.numa)
    return [
        Device(
            names[device.id],
            device_state(device),
            f"device/{timeline.resource}/{device.id}",
            numa_text(numa),
            device.owner,
            tooltip=device_words(device),
            action=_set_health(timeline, device),
        )
        for numa, held in groupby(ordered, key=lambda device: device.numa)
        for device in held
    ]


def _course(timeline: Timeline) -> Course:
    capacity = tuple((sample.at, sample.capacity) for sample in timeline.samples)
    allocatable = tuple((sample.at, sample.allocatable) for sample in timeline.samples)
    tracks = [
        Track(say("timeline.capacity"), capacity, "quiet"),
        Track(say("timeline.allocatable"), allocatable),
    ]
    numbers = [n for sample in timeline.samples for n in (sample.capacity, sample.allocatable) if n]
    times = tuple(at for at, _ in timeline.messages)
    last = timeline.messages[-1][1] if timeline.messages else ""
    return Course(
        tracks,
        timeline.now,
        _until(timeline),
        max([len(timeline.devices), *numbers, 1]),
        shades=[Shade(start, end, say("timeline.grace")) for start, end in timeline.graces()],
        dotted=Dotted(say("timeline.messages.row"), times, last),
    )


def _until(timeline: Timeline) -> float:
    """The right end of the axis: a round number of seconds, so that it does not move with every event."""
    wanted = max([timeline.now, *(end for _, end in timeline.graces())]) * 1.05
    steps = (2, 5, 10, 20, 30, 60, 100, 150, 300, 600, 1200, 1800, 3600)
    return float(next((6 * step for step in steps if wanted <= 6 * step), 21600 * -(-wanted // 21600)))


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
