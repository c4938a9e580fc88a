"""The lives of a node, the checkpoint file as a tree, and what can end: at any size, and after any death."""

import pytest

from kubedev.lab import Lab, pods, restarts
from kubedev.views.checkpoint import file_leaves
from kubedev.views.grammar import picture
from kubedev.views.lanes import Lanes, Life
from kubedev.views.picture import Box, Cell, Dot, Picture, Text
from kubedev.views.tree import Leaf, Tree
from tests.unit.picture_checks import problems

GPU = "example.com/gpu"


def node(count: int) -> Lab:
    lab = Lab("restart pictures", nodes=1, transport="memory")
    lab.plugin(GPU, devices=count, numa=2)
    lab.apply(pods.manifest(pods.container("app", {}, {GPU: count // 2}), name="trainer"))
    return lab


def texts(shown: Picture) -> list[str]:
    return [mark.text for mark in shown.marks if isinstance(mark, Text)]


@pytest.mark.parametrize("count", [8, 64])
@pytest.mark.parametrize("width", [1080, 700])
def test_nothing_overlaps_or_is_cut_at_any_step(count: int, width: int) -> None:
    with node(count) as lab:
        lab.kill_plugin(GPU)
        lab.advance(10)
        lab.restart_kubelet()
        lab.plugin(GPU, devices=count, numa=2)
        lab.restart_kubelet(reboot=True, checkpoint=restarts.file(lab).replace("d0", "d3", 1))
        lab.restart_kubelet(checkpoint=restarts.file(lab)[:200])
        for step in range(0, len(lab.history), 1 if count == 8 else 7):
            shown = restarts.draw(lab, step, width)
            assert problems(shown) == [], step
            assert not any("…" in text for text in texts(shown))
            assert width < 1080 or count == 64 or shown.height <= 430


def test_a_record_is_read_back_and_the_devices_are_not() -> None:
    with node(4) as lab:
        lab.kill_plugin(GPU)
        lab.restart_kubelet()
        leaves = {
            leaf.text: leaf.note
            for leaf in file_leaves(restarts.file(lab), lab.state.kubelets["gpu-node-1"].devices)
        }
    assert leaves["default/trainer app example.com/gpu"] == leaves["example.com/gpu"] == "read back"
    assert leaves["[d0, d1, d2, d3]"] == "not used"
    (checked,) = (note for text, note in leaves.items() if text.startswith("Checksum"))
    assert checked == "right"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"Data": {"PodDeviceEntries": [7]}, "Checksum": 1}', "no JSON"]
)
def test_a_file_of_any_kind_has_lines(text: str) -> None:
    assert problems(picture("", "A file", Tree(*file_leaves(text)), 500)) == []


def test_a_lane_breaks_where_a_new_life_begins() -> None:
    one = Life("a", (("x", "plain", 0), ("x", "plain", 0), ("x", "plain", 1), ("y", "dead", 1)))
    shown = picture("", "Lanes", Lanes(["1 s", "2 s", "3 s", "4 s"], one), 600)
    assert len([mark for mark in shown.marks if isinstance(mark, Box)]) == 3
    assert len([mark for mark in shown.marks if isinstance(mark, Dot)]) == 1
    assert problems(shown) == []


def test_a_changed_line_is_marked() -> None:
    shown = picture("", "A tree", Tree(Leaf(0, "a"), Leaf(1, "b", "changed", "changed")), 300)
    assert "changed" in texts(shown)


def test_memory_is_what_the_kubelet_has() -> None:
    with node(4) as lab:
        before = [mark for mark in restarts.draw(lab, lab.position).marks if isinstance(mark, Cell)]
        lab.kill_plugin(GPU)
        lab.restart_kubelet()
        after = [mark for mark in restarts.draw(lab, lab.position).marks if isinstance(mark, Cell)]
    assert [cell.label for cell in before] == ["d0", "d1", "d0", "d1", "d2", "d3"]
    assert [cell.label for cell in after] == ["d0", "d1", "d0", "d1"]  # held, before and now; none is healthy


def test_a_pod_may_be_called_as_a_lane_and_a_node_may_be_gone() -> None:
    with node(4) as lab:
        lab.apply(pods.pod_yaml("kubelet", {GPU: 1}))
        assert "kubelet: no. 1" in restarts.draw(lab, lab.position).sentence
        assert "kubelet: Running" in restarts.draw(lab, lab.position).sentence
        lab.delete_node()
        assert problems(restarts.draw(lab, lab.position)) == []


# What can be done to a lab


def test_a_container_is_killed_and_starts_again() -> None:
    with node(4) as lab:
        running = lab.position
        lab.kill_container("trainer")
        assert lab.state.containers["default/trainer", "app"].attempt == 1
        assert lab.actions[-1].action == {"do": "kill_container", "pod": "trainer"}
        with pytest.raises(
            ValueError, match=r"expected a container of trainer that runs \(app\), got 'other'"
        ):
            lab.kill_container("trainer", "other")
        lab.seek(running - 1)
        lab.kill_container("trainer")
        assert lab.mode == "fork"


def test_a_kubelet_finds_the_file_that_somebody_left() -> None:
    with node(4) as lab:
        lab.restart_kubelet(checkpoint="")
        devices = lab.state.kubelets["gpu-node-1"].devices
        assert (devices.read_error, devices.pod_devices) == (None, {})
        lab.restart_kubelet(checkpoint="{")
        assert lab.state.kubelets["gpu-node-1"].devices.read_error


def test_a_plugin_may_ask_to_be_told_of_each_start() -> None:
    with Lab("pre-start", nodes=1, transport="memory") as lab:
        lab.plugin(GPU, devices=2, pre_start=True)
        lab.apply(pods.pod_yaml("web", {GPU: 1}))
        assert [m.key for m in lab.state.messages].count("ask-pre-start") == 1


def test_a_pod_that_is_bound_under_a_name_that_was_there_before() -> None:
    from kubedev.lab import admin

    with node(4) as lab:
        lab.delete("trainer")
        assert admin.bind(lab, "trainer", GPU) == "Running"
