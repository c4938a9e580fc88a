"""The board of CPUs on small and large machines, and the cards of requests and of kubelets that start or do not."""

import pytest

from kubedev.api.objects import Pod
from kubedev.lab import Machine, cpus, pods
from kubedev.lab.machine_scene import machine_board
from kubedev.views.document import document
from kubedev.views.firsts_cpus import taking
from kubedev.views.numa import numa_picture
from kubedev.views.picture import Band, Cell, Picture, Text
from kubedev.views.style import DeviceState, text_width
from tests.unit.picture_checks import problems

START = {"start": 1.0, "middle": 0.5, "end": 0.0}
WIDTHS = {
    "8": (1, 4, 2),
    "12": (2, 3, 2),
    "64": (2, 16, 2),
    "128": (2, 32, 2),
    "128 without threads": (4, 32, 1),
}


def asks(name: str, cpu: str | int) -> Pod:
    return pods.default_pod(pods.pod(pods.container("main", limits={"cpu": cpu, "memory": "1Gi"}), name=name))


def machine(sockets: int, cores: int, threads: int, nodes: int = 1, dealt: bool = True) -> Machine:
    empty = Machine.set_up(cpus.settings(sockets, cores, threads, nodes=nodes, dealt=dealt))
    return cpus.admitted(empty, asks("web", "500m"), asks("trainer", 2), asks("far-too-large", 1000))


def check(picture: Picture) -> None:
    assert problems(picture) == []
    assert not [mark for mark in picture.marks if isinstance(mark, Text) and "…" in mark.text]
    document(picture)
    assert picture.tables


@pytest.mark.parametrize("size", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("dealt", [False, True])
def test_nothing_overlaps_or_is_cut(size: tuple[int, int, int], dealt: bool) -> None:
    check(cpus.draw(machine(*size, dealt=dealt), asks("new", 3)))


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_grounds_of_sockets_do_not_meet(nodes: int) -> None:
    picture = cpus.draw(machine(2, 32 // nodes, 2, nodes), asks("new", 3))
    first, second = sorted(
        (m.x, m.x + m.width) for m in picture.marks if isinstance(m, Band) and "/socket/" in m.key
    )
    assert first[1] < second[0]


def test_every_cpu_is_on_the_board_once_and_keeps_its_column() -> None:
    picture = cpus.draw(machine(2, 3, 2), asks("new", 3))
    board = {
        m.key.rpartition("/")[2]: m.x + m.size / 2 for m in picture.marks if isinstance(m, Cell) and m.label
    }
    assert sorted(map(int, board)) == list(range(12))
    below = [m for m in picture.marks if isinstance(m, Cell) and m.key.startswith("row/")]
    assert below
    assert all(abs(board[m.key.rpartition("/")[2]] - m.x - m.size / 2) < 0.01 for m in below)


def test_columns_stay_where_they_are_when_pods_come() -> None:
    before, after = Machine.set_up(cpus.settings()), machine(2, 3, 2)
    places = [
        [(m.x, m.y) for m in cpus.draw(each).marks if isinstance(m, Cell) and m.label]
        for each in (before, after)
    ]
    assert places[0] == places[1]


def test_pieces_are_taken_one_after_another_and_the_sentence_says_how_many_are_left() -> None:
    empty = Machine.set_up(cpus.settings())
    said = [cpus.draw(empty, asks("t", 3), piece).sentence for piece in range(3)]
    assert said == [
        "t: needs 3 more",
        "t: gets a whole core (2,8); needs 1 more",
        "t: gets a whole core (2,8), CPU 6",
    ]
    rows = [cpus.draw(empty, asks("t", 3), piece).tables[0].rows[-1][-1] for piece in range(3)]
    assert rows[1:] == ["2,8 its own", "2,6,8 its own"]


def test_cards_are_whole_and_say_what_was_refused() -> None:
    small = {name or "packed": Machine.set_up(cpus.settings(options=name)) for name in ("", *cpus.OPTIONS)}
    check(
        picture := cpus.side_by_side("three", {name: (m, asks("t", 3)) for name, m in small.items()}).picture
    )
    assert "SMT Alignment Error" in repr(picture.tables)
    was = machine(2, 3, 2)
    changes = {"same": (was, cpus.settings()), "none": (was, cpus.settings(cpu_manager_policy="none"))}
    check(picture := cpus.restarts("files", changes).picture)
    assert picture.sentence == "1 of 2 kubelets start."
    assert 'configured policy "none" differs' in repr(picture.tables)


def test_the_first_screen_does_not_say_which_three() -> None:
    first = taking()
    for frame in first.frames:
        assert problems(frame) == []
    words = " ".join(m.text for m in first.frames[-1].marks if isinstance(m, Text))
    assert "which ones?" in words
    assert "2,6,8" not in words


def looks(picture: Picture, cpu: str) -> set[DeviceState]:
    """How a CPU looks on a board, and below it where a container may run on it."""
    named = {m.key for m in picture.marks if isinstance(m, Cell) and m.label == cpu}
    return {
        m.state
        for m in picture.marks
        if isinstance(m, Cell) and (m.key in named or m.key.endswith(f"row/web/{cpu}"))
    }


def test_a_reserved_cpu_looks_alike_wherever_it_is_shared_and_otherwise_where_it_is_nobodys() -> None:
    shares, strict = (
        Machine.set_up(cpus.settings(options=options, memory=16))
        for options in ("", "strict-cpu-reservation")
    )
    for each, state in ((shares, DeviceState.RESERVED), (strict, DeviceState.WITHHELD)):
        for drawn in (cpus.draw(each, asks("web", "500m")), numa_picture(machine_board(each.kubelet))):
            assert looks(drawn, "0") == {state}
            assert looks(drawn, "2") == {DeviceState.FREE}
    legends = [{m.state for m in cpus.draw(each).marks if isinstance(m, Cell)} for each in (shares, strict)]
    assert legends[0] ^ legends[1] == {DeviceState.RESERVED, DeviceState.WITHHELD}


def test_cards_of_sixteen_cpus_name_each_of_them() -> None:
    each = Machine.set_up(cpus.settings(sockets=1, cores=8, caches=2, dealt=False))
    picture = cpus.side_by_side("two", {"a": (each, asks("t", 8)), "b": (each, asks("t", 4))}).picture
    check(picture)
    named = [m.label for m in picture.marks if isinstance(m, Cell) and m.label]
    assert sorted(map(int, named)) == sorted([*range(16)] * 2)


def test_all_words_of_twelve_cpus_are_read_in_a_column_of_700_pixels() -> None:
    before = cpus.admitted(Machine.set_up(cpus.settings()), asks("web", "500m"), asks("far-too-large", 1000))
    picture = cpus.draw(before, asks("trainer", 6))
    check(picture)
    ends = {
        m.text: m.x + text_width(m.text, bold=m.bold) * START[m.anchor]
        for m in picture.marks
        if isinstance(m, Text)
    }
    assert {text for text, end in ends.items() if end * 0.92 > 700} == set()


def test_a_legends_first_mark_is_whole() -> None:
    picture = cpus.draw(Machine.set_up(cpus.settings()), asks("web", "500m"))
    assert min(m.x for m in picture.marks if isinstance(m, Cell)) >= 1, "half of a stroke of two pixels"
