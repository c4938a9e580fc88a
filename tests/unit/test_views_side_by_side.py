"""Pictures that compare: one pod in several clusters, a fork beside its run, a setting on its way."""

import pytest

from kubedev.views.document import document
from kubedev.views.fork import End, Event, fork_picture
from kubedev.views.multiples import ClusterView, multiples_picture
from kubedev.views.parts import Device
from kubedev.views.path_state import DeviceView
from kubedev.views.picture import Box, Cell, Line, Picture, Text
from kubedev.views.style import DeviceState
from tests.unit.picture_checks import problems

WIDTHS = (1080.0, 700.0)
MESSAGE = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."


def check(picture: Picture) -> None:
    assert problems(picture) == []
    document(picture)
    assert not [mark.text for mark in picture.marks if isinstance(mark, Text) and "…" in mark.text]


def devices(count: int, sick: int = 0, held: int = 0) -> tuple[DeviceView, ...]:
    return tuple(
        DeviceView(f"d{n}", healthy=n >= sick, owner="web" if sick <= n < sick + held else "")
        for n in range(count)
    )


def cluster(count: int, sick: int = 0, held: int = 0) -> ClusterView:
    phase, reason = ("Running", "") if held else ("Pending", "Insufficient nvidia.com/gpu")
    allocatable = count - sick if count else None
    title = f"{count} devices, {sick} unhealthy"
    return ClusterView(
        title, "a note", devices(count, sick, held), allocatable, phase, reason, MESSAGE * (not held)
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_one_pod_in_several_clusters(width: float) -> None:
    clusters = [cluster(0), cluster(1), cluster(2, 1), cluster(2, held=2), cluster(8, 3, 2)]
    picture = multiples_picture("web", "nvidia.com/gpu", 2, clusters, width)
    check(picture)
    assert "It runs in 2 of 5 clusters" in picture.sentence
    assert [row[2] for row in picture.tables[0].rows] == ["absent", "1", "1", "2", "5"]
    assert picture.tables[0].rows[0][4] == MESSAGE
    said = [mark.text for mark in picture.marks if isinstance(mark, Text)]
    assert {"2 > 0", "2 > 1", "2 ≤ 2", "2 ≤ 5"} <= set(said)


def test_a_request_is_met_by_a_healthy_device_alone() -> None:
    picture = multiples_picture("web", "nvidia.com/gpu", 2, [cluster(2, 1)])
    met = [m.points[0][0] for m in picture.marks if isinstance(m, Line) and m.look == "strong"]
    healthy = [m.x + m.size / 2 for m in picture.marks if isinstance(m, Cell) and m.state is DeviceState.FREE]
    assert met == pytest.approx(healthy[:1])


def test_a_device_that_is_not_there_is_dashed() -> None:
    picture = multiples_picture("web", "nvidia.com/gpu", 3, [cluster(1)])
    assert len([m for m in picture.marks if isinstance(m, Box) and m.look == "impossible"]) == 2


def end(name: str, events: str, held: tuple[int, ...]) -> End:
    parsed = [event.split("|") for event in events.split(";")]
    shown = tuple(Device(str(n), DeviceState.ALLOCATED if n in held else DeviceState.FREE) for n in range(4))
    numbers = (("capacity", "4"), ("holds", ", ".join(f"d{n}" for n in held)))
    stations = (("Kubelet", "admits"), ("Device plugin", f"prefers {held}"))
    return End(name, "about it", tuple(Event(*event) for event in parsed), stations, shown, numbers)


RUN = end("live", "pod|+ pod;bind|bind;prefer|prefers d0, d1;run|runs with d0, d1", (0, 1))
FORK = end(
    "in memory",
    "health|d0 unhealthy;list|a list;pod|+ pod;bind|bind;prefer|prefers d2, d3;run|runs with d2, d3",
    (2, 3),
)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_fork_is_aligned_with_its_run_by_event(width: float) -> None:
    picture = fork_picture(13, RUN, FORK, width)
    check(picture)
    assert picture.tables[0].rows[:4] == (
        ("", "d0 unhealthy"),
        ("", "a list"),
        ("+ pod", "+ pod"),
        ("bind", "bind"),
    )
    texts = {mark.text: mark for mark in picture.marks if isinstance(mark, Text)}
    assert texts["prefers d0, d1"].x == texts["prefers d2, d3"].x
    assert "bind" not in texts  # the same in both, told by the table
    assert "holds d0, d1" in picture.sentence
    assert "holds d2, d3" in picture.sentence


def test_what_differs_is_marked_and_what_is_the_same_is_not() -> None:
    def marks(run: End, fork: End) -> int:
        return sum(m.text == "≠" for m in fork_picture(3, run, fork).marks if isinstance(m, Text))

    assert marks(RUN, RUN) == 0
    assert marks(RUN, FORK) == 2 + 2  # two events, and one number at either end


def test_ends_without_a_message_can_be_drawn() -> None:
    nothing = End("fork", "nothing yet", ())
    check(fork_picture(0, nothing, nothing))
    check(fork_picture(200, RUN, nothing))
