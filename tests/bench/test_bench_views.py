"""What one event costs a stage, in bytes to the browser and in time, beside a bare one-trait widget.

The bare widget of the same run sends a number; what the browser does with either is measured by the browser
tests. Seconds are printed and never asserted.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from time import perf_counter
from typing import Any

import anywidget
import pytest
import traitlets

from kubedev.views import samples
from kubedev.views.document import document, to_json
from kubedev.views.path import path_picture
from kubedev.views.path_state import DeviceView, MessageView, ResourceView
from kubedev.views.picture import Picture
from kubedev.views.stage import Frame, Stage
from kubedev.views.timeline import Sample, Timeline, timeline_picture

SIZES = (8, 64, 512)
GPU = "example.com/gpu"


class Bare(anywidget.AnyWidget):
    """One trait and nothing else."""

    _esm = "export default { render() {} }"
    value = traitlets.Int(0).tag(sync=True)


def devices(size: int, sick: int) -> tuple[DeviceView, ...]:
    return tuple(DeviceView(f"gpu-{i}", (i * 2 // size,), healthy=i != sick % size) for i in range(size))


def path(size: int, number: int) -> Picture:
    """A device falls sick and another recovers: a list comes from the plugin."""
    state = samples.sample_path()
    node = replace(state.nodes[0], resources=(ResourceView(GPU, size, size - 1, devices(size, number)),))
    message = MessageView(16 + number, "plugin", "kubelet", f"list {number}", "list", about=GPU, stream=True)
    return path_picture(replace(state, nodes=(node,), messages=(*state.messages, message)))


def list_and_watch(size: int, number: int) -> Picture:
    """The same, over time."""
    seen = tuple(Sample(float(i), size, size - 1) for i in range(number % 50 + 1))
    return timeline_picture(Timeline(GPU, float(number % 50), devices(size, number), seen))


PICTURES: dict[str, Callable[[int, int], Picture]] = {"path": path, "list-and-watch": list_and_watch}


def events(make: Callable[[int, int], Picture], size: int) -> Iterator[Picture]:
    return (make(size, number) for number in count(1))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", sorted(PICTURES))
def test_an_event(name: str, size: int, benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    stage = Stage([Frame(PICTURES[name](size, 0))], clock=count(0, 1).__next__)
    sent: list[int] = []
    stage.observe(lambda change: sent.append(len(json.dumps(change["new"]))), names="update")
    following = events(PICTURES[name], size)

    def event() -> None:
        stage.put(len(stage.frames), [Frame(next(following))])

    benchmark(event)
    took = timed(event)
    bare, value = Bare(), count(1)
    bare_took = min(timed(lambda: setattr(bare, "value", next(value))) for _ in range(5))
    whole = len(json.dumps(to_json(document(stage.picture))))
    with capsys.disabled():
        print(
            f"\n  {name}, {size} devices: an event {took * 1e3:.2f} ms of Python and {sent[len(sent) // 2]:,} bytes "
            f"(whole picture {whole:,}); a bare trait {bare_took * 1e3:.3f} ms; "
            f"goal: 64 devices follow 10 events a second, that is less than 100 ms"
        )
    assert len(sent) > 1
    benchmark.extra_info["times a bare trait"] = took / bare_took


def timed(work: Callable[[], object]) -> float:
    start = perf_counter()
    for _ in range(100):
        work()
    return (perf_counter() - start) / 100
