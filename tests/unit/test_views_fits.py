"""The pictures of lab 09: nodes with bars, the sentence that counts them, and cases beside one another."""

import pytest

from kubedev.lab import pods, scheduling
from kubedev.scheduler.diagnosis import fit_error
from kubedev.scheduler.node_info import NodeInfo
from kubedev.views.counted import Count, Counted
from kubedev.views.document import document
from kubedev.views.fills import Fill, Fills
from kubedev.views.fits import fits_picture
from kubedev.views.grammar import picture
from kubedev.views.picture import Band, Picture, Pill, Text
from tests.unit.picture_checks import problems

GPU = "nvidia.com/gpu"
WIDTHS = (1080.0, 700.0)
TRAINER = pods.pod(pods.container("main", {"cpu": 4, "memory": "16Gi", GPU: 2}), name="trainer")


def fleet(count: int) -> list[NodeInfo]:
    """Nodes that refuse for one reason, for several, or for a taint."""
    have = {"cpu": 16, "memory": "64Gi", GPU: 8}
    return [
        scheduling.node(
            f"n{n:03}",
            have,
            {"cpu": n * 5 % 17, "memory": f"{n * 7 % 65}Gi", GPU: 7 + n % 2},
            "dedicated=infra:NoSchedule" if n % 6 == 5 else "",
        )
        for n in range(count)
    ]


def texts(shown: Picture) -> list[str]:
    return [mark.text for mark in shown.marks if isinstance(mark, Text | Pill)]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [1, 24, 200])
def test_nodes_do_not_overlap_and_no_reason_is_cut(count: int, width: float) -> None:
    nodes = fleet(count)
    shown = fits_picture(scheduling.decide(TRAINER, nodes), nodes, width=width)
    assert problems(shown) == []
    assert not [text for text in texts(shown) if "…" in text]
    document(shown)
    assert len(shown.tables[0].rows) == count


@pytest.mark.parametrize("count", [24, 200])
def test_the_sentence_is_the_schedulers_at_the_end(count: int) -> None:
    nodes = fleet(count)
    decision = scheduling.decide(TRAINER, nodes)
    assert decision.found
    said = [mark for mark in fits_picture(decision, nodes).marks if isinstance(mark, Pill | Text)]
    first = next(n for n, mark in enumerate(said) if mark.text == f"0/{count}")
    words = [m.text for m in said[first:] if isinstance(m, Pill) or m.mono]
    assert " ".join(words) == fit_error(count, decision.found.statuses)


def test_the_sentence_grows_with_the_nodes_that_were_looked_at() -> None:
    nodes = fleet(24)
    decision = scheduling.decide(TRAINER, nodes)
    pills = [
        [m.text for m in fits_picture(decision, nodes, n).marks if isinstance(m, Pill)] for n in (0, 1, 6, 24)
    ]
    assert pills[0] == ["0/24"]
    assert pills[1] == ["0/24", "1"]
    assert "1" in pills[2]
    assert sum(map(int, pills[3][1:])) > 24  # some nodes give two reasons


def test_a_reason_keeps_its_place_while_the_others_come() -> None:
    nodes = fleet(24)
    decision = scheduling.decide(TRAINER, nodes)

    def places(looked: int) -> dict[str, tuple[float, float]]:
        marks = fits_picture(decision, nodes, looked).marks
        return {
            m.text: (m.x, m.y) for m in marks if isinstance(m, Text) and m.text.startswith("Insufficient")
        }

    end = places(24)
    for looked in range(1, 24):
        assert places(looked).items() <= end.items()


def test_where_a_node_has_room_the_picture_says_that_nobody_writes_the_sentence() -> None:
    nodes = [scheduling.node("a", {"cpu": 16, "memory": "64Gi", GPU: 8})]
    shown = fits_picture(scheduling.decide(TRAINER, nodes), nodes)
    assert "written only where none has" in shown.sentence
    assert "✓" in texts(shown)


def test_nodes_that_another_plugin_refused_were_not_compared() -> None:
    nodes = [scheduling.node("a", {"cpu": 1}, {"cpu": 1}, taint="x:NoSchedule")]
    shown = fits_picture(scheduling.decide(TRAINER, nodes), nodes)
    assert "taint" in texts(shown)
    bars = [m for m in shown.marks if isinstance(m, Band) and "/over" in m.key]
    assert bars == []


def bands(*fills: Fill) -> dict[str, Band]:
    marks = picture("a title", "a sentence", Fills(*fills), 400).marks
    return {mark.key.rpartition("/")[2]: mark for mark in marks if isinstance(mark, Band)}


def test_what_is_too_much_begins_at_the_line() -> None:
    short = bands(Fill("gpu", 7, 8, 2, short=True))
    assert short["over"].x == pytest.approx(short["room"].x + short["room"].width)
    assert short["ghost"].x == pytest.approx(short["taken"].x + short["taken"].width)
    assert "over" not in bands(Fill("gpu", 6, 8, 2))


@pytest.mark.parametrize("room", [1, 8, 10**19])
def test_what_there_is_ends_on_one_line_whatever_it_is(room: int) -> None:
    assert bands(Fill("gpu", 0, room, 1))["line"].x == bands(Fill("gpu", 0, 8, 1))["line"].x


@pytest.mark.parametrize(
    "fill", [Fill("gpu", 8, 7, 1, True), Fill("gpu", 0, 0, 1, True), Fill("gpu", 9, 0), Fill("x", 0, 5, -3)]
)
def test_bars_stay_within_their_width(fill: Fill) -> None:
    assert all(mark.x >= 0 and mark.x + mark.width <= 401 for mark in bands(fill).values())


@pytest.mark.parametrize("width", [900.0, 320.0])
def test_a_sentence_wraps_and_is_not_cut(width: float) -> None:
    reason = "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode,"
    pieces = [
        Count("0/24", "nodes are available:"),
        Count("3", reason, "a: VolumeRestrictions"),
        Count("21", "Too many pods."),
    ]
    shown = picture("a title", "a sentence", Counted(*pieces), width)
    assert problems(shown) == []
    assert reason.replace(" ", "") in "".join(texts(shown)).replace(" ", "")


@pytest.mark.parametrize("width", WIDTHS)
def test_cases_beside_one_another_have_both_answers(width: float) -> None:
    one = pods.pod(pods.container("main", {GPU: 1}))
    cases = {
        "unheard of": (one, scheduling.node("a", {"cpu": 4})),
        "none": (one, scheduling.node("b", {"cpu": 4, GPU: 0})),
        "full of pods": (
            pods.pod(pods.container("main")),
            scheduling.node("c", {"cpu": 4, "pods": 2}, pods=2),
        ),
    }
    shown = scheduling.side_by_side("Three", cases, kubelets=True).picture
    assert problems(shown) == []
    assert [row[2] for row in shown.tables[0].rows] == [
        f"Insufficient {GPU}",
        f"Insufficient {GPU}",
        "Too many pods",
    ]
    assert [row[3].partition(":")[0] for row in shown.tables[0].rows] == [
        "admitted",
        f"OutOf{GPU}",
        "OutOfpods",
    ]
