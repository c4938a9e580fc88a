"""Lab 03: the ways in which a ListAndWatch stream ends, side by side: what the kubelet read, what it counts then."""

from collections.abc import Sequence
from dataclasses import dataclass

from kubedev.views.catalogue import say
from kubedev.views.grammar import Card, Column, Field, Grid, Row, Words, picture
from kubedev.views.parts import Cells, Device, Legend
from kubedev.views.picture import Picture
from kubedev.views.style import WIDTH, DeviceState
from kubedev.views.timeline import Sample

__all__ = ["MOMENTS", "StreamEnd", "stream_ends_picture"]

MOMENTS = ("before", "at-once", "within", "after")
"""When is looked: before the end, right after it, 299 s after it, 301 s after it."""


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """One way: `error` is what the kubelet read, empty where it read nothing; a sample for each of MOMENTS.

    `next` is the key of the sentence that says what happens then.
    """

    way: str
    error: str
    samples: tuple[Sample, ...]
    next: str = ""


def stream_ends_picture(ends: Sequence[StreamEnd], width: float = WIDTH) -> Picture:
    """Draw a card for each way, three in a row where there is room."""
    cards = Grid(*map(_card, ends), caption=say("table.ends"))
    numbers = Words(say("ends.numbers"), tone="muted", anchor="end")
    legend = Row(Legend(DeviceState.FREE, DeviceState.UNHEALTHY), numbers, shares=(0, 1))
    lost = sum(not end.samples[1].allocatable for end in ends)
    back = "; ".join(say(f"ends.{end.way}") for end in ends if end.samples[-1].allocatable)
    sentence = say("ends.sentence", count=len(ends), lost=lost, back=back or say("ends.back.none"))
    return picture(say("ends.title"), sentence, Column(cards, legend), width)


def _card(end: StreamEnd) -> Card:
    title = say(f"ends.{end.way}")
    read = Words(end.error or say("ends.unseen"), mono=bool(end.error))
    moments = Row(*(_moment(*each) for each in zip(MOMENTS, end.samples, strict=True)), gap=8)
    then = Words(say(end.next or f"ends.{end.way}.next"), tone="muted")
    return Card(title[0].upper() + title[1:], Field(say("table.read"), read), moments, then)


def _moment(moment: str, sample: Sample) -> Field:
    capacity, allocatable = sample.capacity or 0, sample.allocatable or 0
    states = (DeviceState.FREE if n < allocatable else DeviceState.UNHEALTHY for n in range(capacity))
    counts = say("ends.counts", capacity=_n(sample.capacity), allocatable=_n(sample.allocatable))
    cells = Cells(*(Device("", state) for state in states), high=20)
    return Field(say(f"ends.{moment}"), cells, Words(counts, bold=True), shown=True)


def _n(count: int | None) -> str:
    return say("timeline.absent") if count is None else str(count)
