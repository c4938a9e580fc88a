"""The pictures of lab 10: a pod's way, the table of scores, the curve, where pods were placed; the reader's turns."""

from collections import Counter
from typing import Any

import pytest

from kubedev.lab import explore, pods, scheduling, turns
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.default_plugins import default_framework
from kubedev.views.cycle import Cycle
from kubedev.views.document import document
from kubedev.views.grammar import picture
from kubedev.views.picture import Box, Handle, Picture, Pill, Text
from kubedev.views.pipeline import Pipeline, Stop
from kubedev.views.scored import explained
from kubedev.views.stage import Stage
from tests.unit.picture_checks import problems

GPU = "nvidia.com/gpu"
WIDTHS = (1080.0, 700.0)
TRAINER = pods.pod(pods.container("main", {"cpu": 4, "memory": "16Gi", GPU: 2}), name="trainer")


def fleet(count: int) -> list[NodeInfo]:
    """Nodes of which some are tainted, some full, and some fit."""
    have = {"cpu": 16, "memory": "64Gi", GPU: 8}
    return [
        scheduling.node(
            f"n{n:03}", have, {"cpu": n % 11, GPU: 5 + n % 4}, "x:NoSchedule" if n % 6 == 5 else ""
        )
        for n in range(count)
    ]


def moments(count: int) -> list[Cycle]:
    framework = default_framework()
    return Cycle.of(scheduling.decide(TRAINER, fleet(count), framework), framework)


def texts(shown: Picture) -> list[str]:
    return [mark.text for mark in shown.marks if isinstance(mark, Text | Pill)]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [1, 8, 24, 200])
def test_nodes_do_not_overlap_and_nothing_is_cut(count: int, width: float) -> None:
    all_moments = moments(count)
    for moment in (all_moments[0], all_moments[len(all_moments) // 2], all_moments[-1]):
        shown = moment.picture(width)
        assert problems(shown) == []
        assert not [text for text in texts(shown) if "…" in text]
        document(shown)
        assert len(shown.tables[0].rows) == len(moment.nodes)


def test_of_many_nodes_those_that_were_stopped_alike_share_a_row_and_all_are_told() -> None:
    end = moments(200)[-1]
    stops = Counter(end.stop(node) for node in end.nodes)
    said = texts(end.picture())
    assert {f"{count} nodes" for stop, count in stops.items() if stop} <= set(said)
    assert f"{stops[0] - 6} more" in said


def test_a_node_keeps_its_row_from_moment_to_moment() -> None:
    def rows(moment: Cycle) -> dict[str, tuple[float, float]]:
        names = {f"n{n:03}" for n in range(8)}
        return {m.text: (m.x, m.y) for m in moment.picture().marks if isinstance(m, Text) and m.text in names}

    first, *others = moments(8)
    start = rows(first)
    assert len(start) == 8
    assert all(rows(other) == start or {*start} != {*rows(other)} for other in others)
    assert {k: v[0] for k, v in rows(others[-1]).items() if k in start}.items() <= {
        k: v[0] for k, v in start.items()
    }.items()


def test_a_decision_without_a_node_ends_at_post_filter() -> None:
    framework = default_framework()
    full = [scheduling.node("a", {"cpu": 1}), scheduling.node("b", {"cpu": 2})]
    last = Cycle.of(scheduling.decide(TRAINER, full, framework), framework)[-1]
    assert "PostFilter" in [m.text for m in last.picture().marks if isinstance(m, Pill)]
    assert problems(last.picture()) == []


def test_a_tie_is_told_as_one() -> None:
    nodes = [scheduling.node(name, {"cpu": 16, "memory": "64Gi", GPU: 8}) for name in "abc"]
    framework = default_framework()
    last = Cycle.of(scheduling.decide(TRAINER, nodes, framework), framework)[-1]
    assert last.picture().sentence.startswith("3 nodes share the highest sum")


def test_a_raw_score_opens_to_its_arithmetic() -> None:
    stage = scheduling.cycle(TRAINER, fleet(8))
    boxes = [m for m in stage.frames[-1].picture.marks if isinstance(m, Box) and m.action]
    assert boxes
    asked = dict(boxes[0].action) if not isinstance(boxes[0].action, str) else {}
    stage._message(None, {"act": asked, "at": len(stage.frames) - 1, "control": boxes[0].key}, None)
    assert stage._fields["report"]["text"] == boxes[0].tooltip
    assert stage._fields["report"]["control"] == boxes[0].key


def press(stage: Stage, do: str) -> Box:
    """Press the first box of the frame on show that does this."""
    pressed = next(
        m
        for m in stage.picture.marks
        if isinstance(m, Box) and not isinstance(m.action, str) and dict(m.action)["do"] == do
    )
    asked = {"act": dict(pressed.action), "at": stage.at, "control": pressed.key}  # type: ignore[arg-type]
    stage._message(None, asked, None)
    return pressed


def test_a_raw_score_opens_in_a_picture_with_knobs_until_one_is_turned() -> None:
    nodes = fleet(8)
    shown = explore(lambda pods: scheduling.draw_cycle(TRAINER, nodes[:pods]), pods=range(4, 9))
    for _ in "once", "and again":
        score = press(shown.picture, "open")
        said = {"text": score.tooltip, "control": score.key, "error": False}
        assert shown.picture._fields["report"] == said
        assert score.tooltip.endswith("for the sum.")
    assert len(shown.history) == 1
    shown.turn(pods=8)
    assert shown.picture._fields["report"] is None


def test_a_plugin_of_ones_own_is_said_to_have_returned_its_score() -> None:
    class Quiet:
        def score(self, _state: Any, _pod: Any, _node: Any) -> int:
            return 75

    scores = scheduling.decide(TRAINER, fleet(8), scheduling.profile("", Quiet)).scores
    assert scores
    (mine,) = (one for one in scores.plugins if one.plugin == "Quiet")
    assert explained(mine, min(mine.raw)).split(". ")[0].endswith("its method score returned 75")


def test_when_every_filter_was_asked_none_is_named_as_the_last() -> None:
    end = [moment for moment in moments(8) if moment.point == 3][-1]
    assert "After all filters" in end.picture().sentence


def test_letters_of_refusals_have_their_reasons_below_while_the_reader_plays() -> None:
    nodes = [scheduling.node(name, {"cpu": 4, GPU: count}) for name, count in (("a", 4), ("b", 1))]
    queue = [pods.pod(pods.container("main", {GPU: 2}), name=name) for name in ("one", "two")]
    game = scheduling.play(queue, nodes, GPU)
    assert f"a: Insufficient {GPU}" in " ".join(texts(game.picture))
    assert problems(game.picture) == []
    game.act({"do": "skip"})
    assert game.frames[-1].label == "leave it Pending"


def test_the_arithmetic_is_the_plugins_own() -> None:
    nodes = [
        scheduling.node("a", {"cpu": 16, "memory": "64Gi", GPU: 4}, {"cpu": 2, "memory": "16Gi"}),
        scheduling.node("b", {"cpu": 16, "memory": "64Gi", GPU: 4}, taint="slow=yes:PreferNoSchedule"),
    ]
    scores = scheduling.decide(TRAINER, nodes).scores
    assert scores
    said = {one.plugin: {name: explained(one, name) for name in ("a", "b")} for one in scores.plugins}
    fit = said["NodeResourcesFit"]["a"]
    assert "cpu would be 6 of 16 with the pod, which scores 62" in fit
    assert "memory would be 32Gi of 64Gi with the pod, which scores 50" in fit
    assert fit.endswith("56 × 1 = 56 for the sum.")
    assert "cpu would be 6 of 16, 0.375" in said["NodeResourcesBalancedAllocation"]["a"]
    assert "slow=yes:PreferNoSchedule is not tolerated" in said["TaintToleration"]["b"]
    assert said["TaintToleration"]["b"].endswith("0 × 3 = 0 for the sum.")


@pytest.mark.parametrize("width", [1080.0, 700.0, 480.0])
def test_the_stops_of_a_pipeline_wrap_and_do_not_overlap(width: float) -> None:
    stops = [Stop(f"Stop{n}", f"part {n // 3} of the way", "below", n, 8) for n in range(9)]
    for now in (0, 4, 8):
        assert problems(picture("a title", "a sentence", Pipeline(stops, now), width)) == []


def shape(count: int, width: float) -> Picture:
    pod = pods.pod(pods.container("main", {GPU: 1}))
    nodes = [scheduling.node(f"n{n:03}", {"cpu": 16, GPU: 16}, {GPU: n % 15}) for n in range(count)]
    from kubedev.views.shape import shape_picture

    decision = scheduling.decide(pod, nodes, scheduling.shaped(((0, 10), (50, 5), (100, 0)), GPU))
    return shape_picture(((0, 10), (50, 5), (100, 0)), decision, width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [2, 24, 200])
def test_the_names_on_a_curve_do_not_overlap(count: int, width: float) -> None:
    shown = shape(count, width)
    assert problems(shown) == []
    assert len(shown.tables[0].rows) == min(count, 100)  # of very many nodes not all are looked at


def test_a_point_of_a_curve_can_go_as_far_as_its_neighbours() -> None:
    handles = [mark for mark in shape(3, 1080).marks if isinstance(mark, Handle)]
    assert [(h.at, h.low, h.high) for h in handles] == [
        ((0, 10), (0, 0), (45, 10)),
        ((50, 5), (5, 0), (95, 10)),
        ((100, 0), (55, 0), (100, 10)),
    ]
    assert handles[0].x < handles[1].x < handles[2].x
    assert handles[0].y < handles[1].y < handles[2].y


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [3, 24, 200])
def test_placements_side_by_side(count: int, width: float) -> None:
    from kubedev.views.placed import placed_picture

    nodes, queue = fleet(count), [TRAINER, pods.pod(pods.container("main", {GPU: 9}), name="huge")]
    placed = scheduling.place(queue, nodes)
    shown = placed_picture("Two pods", {"one way": placed, "the same again": placed}, GPU, width)
    assert problems(shown) == []
    assert [row[-1] for row in shown.tables[0].rows] == ["huge", "huge"]


# What the reader does


def doubled() -> Any:
    def draw(value: int) -> Picture:
        return picture("a title", f"It is {value}", Pipeline([Stop("one")], 0))

    def add(value: int, much: int) -> int:
        if much < 0:
            raise ValueError("expected more than nothing")
        return value + much

    return turns(1, draw, add=add)


def test_a_turn_makes_the_next_value_and_can_be_taken_back() -> None:
    shown = doubled()
    shown.act({"do": "add", "much": 2})
    shown.act({"do": "add", "much": 4})
    assert (shown.value, [frame.picture.sentence for frame in shown.frames]) == (
        7,
        ["It is 1", "It is 3", "It is 7"],
    )
    shown._message(None, {"at": 1}, None)
    assert shown.value == 3
    shown._message(None, {"act": {"do": "add", "much": 10}, "at": 1, "control": ""}, None)
    assert (shown.value, len(shown.frames)) == (13, 3)


def test_a_drag_is_one_step_however_far_it_goes() -> None:
    shown = doubled()
    shown.act({"do": "add", "much": 5})
    for much in (1, 2, 3):
        shown.act({"do": "add", "much": much, "dragging": True})
    shown.act({"do": "add", "much": 4})
    assert (shown.value, len(shown.frames)) == (10, 3)


def test_what_is_refused_is_told_where_it_was_done_and_changes_nothing() -> None:
    shown = doubled()
    shown._message(None, {"act": {"do": "add", "much": -1}, "at": 0, "control": "there"}, None)
    assert shown._fields["report"] == {
        "text": "expected more than nothing",
        "control": "there",
        "error": True,
    }
    assert (shown.value, len(shown.frames)) == (1, 1)
    with pytest.raises(ValueError, match="expected one of add; got take"):
        shown.act({"do": "take"})
