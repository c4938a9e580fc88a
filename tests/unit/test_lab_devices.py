"""The scenes of labs 03 and 04: what their pictures are drawn from, and what the cluster does for them."""

import re
from collections.abc import Iterator
from itertools import product

import pytest
from traitlets import TraitError

from kubedev.api.messages import Device
from kubedev.cluster.events import FromKubelet
from kubedev.kubelet.events import NodeStatus
from kubedev.lab import Lab, explore
from kubedev.lab.allocation_scene import (
    FRAMES,
    KNOBS,
    MASKS,
    MOMENTS,
    PLUGINS,
    allocation_scene,
    decide,
    draw_allocation,
    edge_of_alignment,
    plugins_side_by_side,
)
from kubedev.lab.device_checks import check_preference
from kubedev.lab.handover import (
    allocate_requests,
    allocate_with,
    flat_and_per_container,
    freeze,
    handover,
    post_pods,
    thaw,
    waits,
)
from kubedev.lab.node_scene import bind, patch_node, pod_yaml
from kubedev.lab.stream_ends import WAYS, check_list, end_stream
from kubedev.lab.streams import lists, numbers, timeline, timeline_of
from kubedev.views.masks import natural_list
from kubedev.views.picture import Cell, Dots, Text
from kubedev.views.stream_ends import stream_ends_picture
from kubedev.views.style import DeviceState
from tests.unit.picture_checks import problems

GPU = "nvidia.com/gpu"


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab("test-devices", nodes=1, transport="memory") as lab:
        yield lab


def test_a_timeline_is_the_labs_history(lab: Lab) -> None:
    lab.plugin(GPU, devices=4, numa=2)
    lab.advance(60)
    lab.set_health("d1", healthy=False)
    lab.advance(30)
    lab.kill_plugin(GPU)
    lab.advance(200)
    lab.plugin(GPU, devices=4, numa=2)
    shown = timeline_of(lab, GPU)
    numbers_over_time = [(s.at, s.capacity, s.allocatable) for s in shown.samples]
    assert numbers_over_time == [(0, None, None), (0, 4, 4), (60, 4, 3), (90, 4, 0), (290, 4, 4)]
    assert [at for at, _ in shown.messages] == [0, 60, 290]
    assert shown.graces() == [(90, 290)]
    assert [d.healthy for d in shown.devices] == [True] * 4


def test_every_step_of_a_history_can_be_drawn(lab: Lab) -> None:
    lab.plugin(GPU, devices=2, numa=1)
    lab.apply("one-gpu")
    lab.kill_plugin(GPU)
    lab.advance(301)
    draw = timeline(GPU)
    for step in range(len(lab.history)):
        assert problems(draw(lab, step)) == []


def test_e1_nothing_is_polled(lab: Lab) -> None:
    lab.plugin(GPU, devices=2)
    before = lists(lab, GPU)
    lab.advance(3600)
    assert lists(lab, GPU) == before == 1


def test_lists_of_one_moment_stand_on_one_another(lab: Lab) -> None:
    lab.plugin(GPU, devices=2)
    for healthy in (False, True, False, True):
        lab.set_health("d0", healthy=healthy)
    dots = next(mark for mark in timeline(GPU)(lab, lab.position).marks if isinstance(mark, Dots))
    assert len(dots.points) == 5
    assert len({y for _, y in dots.points}) == 3


def test_q5_zero_is_not_absent(lab: Lab) -> None:
    lab.plugin(GPU, devices=2)
    lab.kill_plugin(GPU)
    lab.advance(301)
    patch_node(lab, "example.com/dongle", 3)
    assert (numbers(lab, GPU), numbers(lab, "example.com/dongle")) == ((0, 0), (3, 3))
    assert bind(lab, "gone", GPU).startswith("Failed | OutOfnvidia.com/gpu | ")
    assert bind(lab, "patched", "example.com/dongle") == "Running"
    assert bind(lab, "unheard-of", "example.com/unheard-of") == "Running"
    assert lab.devices_of("patched") == lab.devices_of("unheard-of") == ()


def test_b08_a_key_goes_when_it_is_removed_by_hand(lab: Lab) -> None:
    lab.plugin(GPU, devices=2)
    lab.kill_plugin(GPU)
    lab.advance(301)
    lab.advance(3600)
    assert numbers(lab, GPU) == (0, 0)
    patch_node(lab, GPU, None)
    lab.advance(3600)
    assert numbers(lab, GPU) == (None, None)


def test_what_is_patched_by_hand_survives_the_kubelets_next_status(lab: Lab) -> None:
    lab.plugin(GPU, devices=2)
    patch_node(lab, "example.com/dongle", 3)
    lab.set_health("d0", healthy=False)
    written = [
        entry.event.effect
        for entry in map(lab.history.__getitem__, range(len(lab.history)))
        if isinstance(entry.event, FromKubelet) and isinstance(entry.event.effect, NodeStatus)
    ]
    assert str(written[-1].allocatable["example.com/dongle"]) == "3"
    assert numbers(lab, "example.com/dongle") == (3, 3)


# On a real wire


@pytest.mark.parametrize("way", WAYS)
def test_q4_a_stream_ends(way: str) -> None:
    end = end_stream(way)
    counts = [(s.capacity, s.allocatable) for s in end.samples]
    restart = way == "kubelet restarts"
    assert counts == ([(4, 4), (0, 0), (4, 4), (4, 4)] if restart else [(4, 4), (4, 0), (4, 0), (0, 0)])
    words = {"killed": "Unavailable", "too long": "ResourceExhausted", "kubelet restarts": ""}
    assert words.get(way, "EOF") in end.error
    assert bool(end.error) is not restart
    assert problems(stream_ends_picture([end] * 3)) == []


def test_the_first_ones_end_means_nothing_with_the_switch() -> None:
    end = end_stream("second registers", ["121994"])
    assert [s.allocatable for s in end.samples] == [4, 4, 4, 4]


def test_b06_the_limit_is_one_of_bytes() -> None:
    assert check_list([Device(f"m{i}") for i in range(60_000)], 60_000)
    long = check_list([Device(f"{i:064}") for i in range(60_000)], 60_000)
    assert "4620000 bytes" in long.broken[0]
    assert "ResourceExhausted" in long.broken[0]


# Decisions


def test_every_path_can_be_reached_with_the_knobs() -> None:
    rules: set[str] = set()
    for needed, mask, in_use, reusable in product((1, 3, 5, 8), (None, 1, 2), (0, 3), (0, 2)):
        for plugin, moment in product(PLUGINS.values(), MOMENTS.values()):
            scene = allocation_scene(needed, in_use, reusable=reusable, moment=moment)
            rules |= {step.rule for step in decide(scene, mask, plugin).steps}
    assert rules == {
        *("same request", "running", "registered", "healthy", "held healthy", "needed", "reusable"),
        *("available", "preferred", "aligned", "unaligned", "no affinity"),
    }


def test_only_an_error_of_the_plugin_refuses_a_container_that_fits() -> None:
    for plugin in PLUGINS.values():
        decision = decide(allocation_scene(3, in_use=3), None, plugin)
        assert (decision.error is None) is (plugin != "error"), plugin
        if decision.devices is not None:
            assert len(decision.devices) == 3
            assert decision.devices <= decision.sets.available


@pytest.mark.parametrize("moment", MOMENTS.values())
@pytest.mark.parametrize("mask", MASKS.values())
def test_every_moment_can_be_drawn(moment: str, mask: int) -> None:
    for needed, in_use, reusable in product((1, 4, 8), (0, 4), (0, 2)):
        picture = draw_allocation(needed, mask, in_use, 1, reusable, moment=moment, follow="d5")
        assert problems(picture) == []


def test_c8_exactly_enough_is_not_asked() -> None:
    picture = edge_of_alignment().picture
    assert problems(picture) == []
    offered = [row[2] for row in picture.tables[0].rows]
    assert offered == ["d0, d2, d3", "none", "d0, d2, d3, d4, d5, d6, d7"]


def test_b22_plugins_side_by_side() -> None:
    picture = plugins_side_by_side("honest", "not on offer", "empty", "error").picture
    assert problems(picture) == []
    taken = [row[4] for row in picture.tables[0].rows]
    assert taken[0] != taken[1] == taken[2] != taken[3] == "none"


def test_a_click_follows_a_device() -> None:
    explorer = explore(draw_allocation, **KNOBS, frames=FRAMES)
    action = next(m.action for m in explorer.picture.picture.marks if isinstance(m, Cell) and m.label == "5")
    explorer.act({"do": action})
    assert explorer.values["follow"] == "d5"
    with pytest.raises(TraitError):
        explorer.act({"do": "follow:nobody-knows"})
    with pytest.raises(KeyError, match="expected one of the knobs"):
        explorer.act({"do": "what:ever"})
    assert explorer.values["follow"] == "d5"


def test_an_empty_answer_leaves_marks_behind() -> None:
    rows = {row[0]: row[1:3] for row in allocate_with("yes", "no", "empty").rows}
    assert rows == {"yes": ("d0, d1", "d0, d1"), "no": ("none", "none"), "empty": ("none", "d0, d1")}
    assert allocate_with("empty", switches=["130145"]).rows[0][1:3] == ("none", "none")


def test_e9_one_flat_list_then_one_request_a_container() -> None:
    flat, split = flat_and_per_container(["d0", "d1"], ["d2"]).rows
    assert flat[2] == "0a 02 64 30 0a 02 64 31 0a 02 64 32"
    assert split[2] == "0a 08 0a 02 64 30 0a 02 64 31 0a 04 0a 02 64 32"


def test_e9_the_kubelet_sends_one_container_at_a_time(lab: Lab) -> None:
    lab.plugin(GPU, devices=4)
    lab.apply(pod_yaml("pair", {GPU: 2}, {GPU: 1}))
    assert [row[1:] for row in allocate_requests(lab, "pair").rows] == [("1", "d0, d1"), ("1", "d2")]


def test_q3_the_answer_reaches_the_process(lab: Lab) -> None:
    lab.plugin(GPU, devices=2)
    lab.apply(pod_yaml("web", {GPU: 1}, env={"NVIDIA_VISIBLE_DEVICES": "mine"}))
    rows = handover(lab, "web").rows
    envs = [row for row in rows if row[0] == "env"]
    assert ("env", "– (the pod's own)", "NVIDIA_VISIBLE_DEVICES=mine", "NVIDIA_VISIBLE_DEVICES=mine") in envs
    assert ("env", *["NVIDIA_VISIBLE_DEVICES=d0"] * 2, "NVIDIA_VISIBLE_DEVICES=mine") in envs
    assert {row[0] for row in rows} == {"env", "mount", "device", "annotation"}


def test_a_preference_that_cannot_be_computed_is_told() -> None:
    def prefer(request: object) -> list[str]:
        raise RuntimeError("no topology file")

    assert "no topology file" in check_preference(prefer).broken[0]


@pytest.mark.parametrize("name", [name for name in MOMENTS.values() if name != "first"])
def test_a_moment_is_what_ends_the_decision_whatever_is_asked(name: str) -> None:
    """Each has a rule of its own, which the knobs of request and use do not change."""
    ends = {
        decide(allocation_scene(*knobs, moment=name)).steps[-1].rule
        for knobs in product(range(1, 9), range(7))
    }
    assert len(ends) == 1
    others = {
        decide(allocation_scene(2, moment=each)).steps[-1].rule for each in MOMENTS.values() if each != name
    }
    assert not ends & others


def test_a_row_that_is_in_no_set_says_why() -> None:
    for picture in (
        edge_of_alignment().picture,
        plugins_side_by_side("honest", "empty", "error", "unknown").picture,
    ):
        rows = {m.y + m.size / 2 for m in picture.marks if isinstance(m, Cell)}
        rows |= {m.y - 5 for m in picture.marks if isinstance(m, Text) and m.text == "in use"}
        labels = [m for m in picture.marks if isinstance(m, Text) and re.fullmatch("d[0-7]", m.text)]
        assert labels
        assert all(m.y - 5 in rows for m in labels)


@pytest.mark.parametrize("moment", ["held", "held more", "held unhealthy", "runs"])
def test_s18_held_devices_are_drawn_as_held(moment: str) -> None:
    scene = allocation_scene(2, in_use=1, moment=moment)
    held = scene.state.allocated_devices["example.com/gpu"]
    assert len(held) > 1
    picture = draw_allocation(needed=2, in_use=1, moment=moment)
    drawn = {m.state for m in picture.marks if isinstance(m, Cell) and f"d{m.label}" in held}
    assert drawn <= {DeviceState.ALLOCATED, DeviceState.UNHEALTHY_IN_USE}
    assert drawn
    assert natural_list(held) in [row[2] for row in picture.tables[0].rows if row[0] == "in use"]


def test_b28_a_plugin_that_is_frozen_keeps_its_node_waiting_until_it_goes_on(lab: Lab) -> None:
    lab.plugin(GPU, 2, numa=1, preferred_allocation=False)
    freeze(lab, GPU)
    asked = ("wants-gpu", {GPU: 1}), ("wants-none", {"cpu": 1})
    post_pods(lab, *(pod_yaml(*pod, node="gpu-node-1") for pod in asked))
    waits(lab, seconds=0.1)
    assert [lab.pod(name).phase for name, _ in asked] == ["Pending", "Pending"]
    thaw(lab, GPU)
    assert [lab.pod(name).phase for name, _ in asked] == ["Running", "Running"]
