"""Lab 03: the ways in which a ListAndWatch stream ends, side by side: what the kubelet read, what it counts then."""

from collections.abc import Sequence
from dataclasses import dataclass

from kubedev.views.catalogue import register, say
from kubedev.views.picture import Cell, Mark, Panel, Picture, Text, legend, table
from kubedev.views.style import WIDTH, DeviceState, fit, wrap
from kubedev.views.timeline import Sample

__all__ = ["MOMENTS", "StreamEnd", "stream_ends_picture"]

MOMENTS = ("before", "at-once", "within", "after")
"""When is looked: before the end, right after it, 299 s after it, 301 s after it."""

register(
    {
        "ends.title": "Ways in which a ListAndWatch stream ends",
        "ends.sentence": (
            "{lost} of {count} leave nothing allocatable at once. Five minutes later it is back after {back}."
        ),
        "ends.back.none": "none of them",
        "ends.before": "before",
        "ends.at-once": "at once",
        "ends.within": "299 s",
        "ends.after": "301 s",
        "ends.counts": "{allocatable} of {capacity}",
        "ends.unseen": "nobody is left to read an end",
        "ends.numbers": "The cells are the capacity, the healthy ones are allocatable.",
        "ends.alt": "For each way: what the kubelet read, and the devices it counts at four moments. {sentence}",
        "ends.killed": "the plugin is killed (SIGKILL)",
        "ends.killed.next": "Its socket file stays. A new process must register.",
        "ends.stopped": "the plugin stops by itself (SIGTERM)",
        "ends.stopped.next": "It took its socket away. A new process must register.",
        "ends.closed": "the plugin returns from ListAndWatch",
        "ends.closed.next": "It lives and serves, and is not asked again until it registers.",
        "ends.too long": "the plugin's list is longer than 4 MiB",
        "ends.too long.next": "The kubelet hangs up; the plugin may well send the same again.",
        "ends.kubelet restarts": "the kubelet restarts",
        "ends.kubelet restarts.next": "The plugin sees a new kubelet.sock, and registers by itself.",
        "ends.second registers": "two register, then the first one ends",
        "ends.second registers.next": "The second one lives, but v1.32 closes its stream, too (issue 121994).",
        "ends.second registers.mended": "With the switch 121994 the first one's end means nothing.",
        "table.ends": "Ends of a stream",
        "table.way": "way",
        "table.read": "what the kubelet read",
        "table.before": "before",
        "table.at-once": "at once",
        "table.within": "after 299 s",
        "table.after": "after 301 s",
    }
)

_GAP = 14.0
_HEIGHT = 232.0
MOST = 4  # devices for which there is room


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """One way: `error` is what the kubelet read, empty where it read nothing; a sample for each of MOMENTS.

    `next` is the key of the sentence that says what happens then.
    """

    way: str
    error: str
    samples: tuple[Sample, ...]
    next: str = ""


def stream_ends_picture(ends: Sequence[StreamEnd]) -> Picture:
    """Draw a panel for each way, three in a row, or two where there are no more."""
    across = min(max(len(ends), 2), 3)
    width = (WIDTH - _GAP * (across - 1)) / across
    marks: list[Mark] = []
    for index, end in enumerate(ends):
        left, top = index % across * (width + _GAP), index // across * (_HEIGHT + _GAP)
        marks += _panel(end, f"{end.way}/{index}", (left, top), width)
    bottom = -(-len(ends) // across) * (_HEIGHT + _GAP) + 14
    marks += legend("legend", 18, bottom, (DeviceState.FREE, DeviceState.UNHEALTHY))
    marks.append(Text("numbers", WIDTH - 18, bottom, say("ends.numbers"), tone="muted", anchor="end"))
    lost = sum(not end.samples[1].allocatable for end in ends)
    back = "; ".join(say(f"ends.{end.way}") for end in ends if end.samples[-1].allocatable)
    sentence = say("ends.sentence", count=len(ends), lost=lost, back=back or say("ends.back.none"))
    rows = (
        (say(f"ends.{e.way}"), e.error or say("ends.unseen"), *(_counts(sample) for sample in e.samples))
        for e in ends
    )
    ways = table("ends", "way read before at-once within after", rows)
    return Picture(
        say("ends.title"), sentence, bottom + 12, tuple(marks), (ways,), say("ends.alt", sentence=sentence)
    )


def _panel(end: StreamEnd, key: str, place: tuple[float, float], width: float) -> list[Mark]:
    (left, top), room, mono = place, width - 36, bool(end.error)
    read, title = end.error or say("ends.unseen"), say(f"ends.{end.way}")
    label = fit(title[0].upper() + title[1:], room, bold=True)
    marks: list[Mark] = [Panel(key, left, top, width, _HEIGHT, label, tooltip=title)]
    for number, line in enumerate(wrap(read, room, 3, mono=mono)):
        at = (left + 18, top + 52 + 20 * number)
        marks.append(Text(f"{key}/read/{number}", *at, line, mono=mono, tooltip=read))
    for column, (moment, sample) in enumerate(zip(MOMENTS, end.samples, strict=True)):
        x = left + 18 + column * room / len(MOMENTS)
        part = f"{key}/{moment}"
        marks.append(Text(f"{part}/head", x, top + 120, say(f"ends.{moment}"), tone="muted"))
        marks += _cells(part, sample, x, top + 130)
        marks.append(Text(f"{part}/counts", x, top + 166, _counts(sample), bold=True))
    words = say(end.next or f"ends.{end.way}.next")
    for number, line in enumerate(wrap(words, room, 2)):
        marks.append(
            Text(
                f"{key}/next/{number}", left + 18, top + 194 + 20 * number, line, tone="muted", tooltip=words
            )
        )
    return marks


def _cells(key: str, sample: Sample, x: float, y: float) -> list[Mark]:
    capacity, allocatable = sample.capacity or 0, sample.allocatable or 0
    return [
        Cell(
            f"{key}/{i}",
            x + 18 * i,
            y,
            16,
            "",
            DeviceState.FREE if i < allocatable else DeviceState.UNHEALTHY,
        )
        for i in range(min(capacity, MOST))
    ]


def _counts(sample: Sample) -> str:
    return say("ends.counts", capacity=_n(sample.capacity), allocatable=_n(sample.allocatable))


def _n(count: int | None) -> str:
    return say("timeline.absent") if count is None else str(count)
