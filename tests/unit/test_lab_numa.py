"""The machine of labs 05 and 06: it is the kubelet that answers, and every picture of it can be read."""

import pytest

from kubedev.kubelet.topology.hints import TopologyHint
from kubedev.lab import numa
from kubedev.lab.machine import POLICIES, Machine, on, pod_asking
from kubedev.lab.machine_scene import machine_board
from kubedev.views.document import document
from kubedev.views.numa import numa_picture
from kubedev.views.picture import Cell, Picture
from tests.unit.picture_checks import problems

TWO = Machine.of(gpu=on(0, "a0 a1") + on(1, "b0 b1"))
MIXED = Machine.of(gpu=on(0, "a0 a1") + on(1, "b0") + on((0, 1), "x0") + on(None, "y0") + on((), "y1"))
BUSY = Machine.of(cpus=8, gpu=on(0, "a0 a1") + on(1, "b0 b1"), nic=on(0, "n0") + on(1, "m0"))
BUSY = BUSY.cpus_taken(range(8, 13)).taken("b0 n0").unhealthy("a1")


def check(picture: Picture) -> None:
    assert problems(picture) == []
    document(picture)
    assert picture.alt
    assert picture.tables


# The machine


def test_a_change_makes_a_new_machine() -> None:
    changed = TWO.taken("a0").unhealthy("a1").without("b0").moved("b1", (0, 1))
    assert [(d.id, d.numa_nodes, d.health) for d in changed.devices.values()] == [
        ("a0", (0,), "Healthy"),
        ("a1", (0,), "Unhealthy"),
        ("b1", (0, 1), "Healthy"),
    ]
    assert (changed.owners, TWO.owners, len(TWO.devices)) == ({"a0": "web"}, {}, 4)


def test_one_pod_may_take_more_than_once() -> None:
    assert TWO.taken("a0").taken("b0").held_by("web") == ("a0", "b0")
    assert Machine.of(cpus=2, gpu=on(0, "a0")).cpus_taken([1]).taken("a0").kubelet.cpus.default == {0, 2, 3}


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="expected one of the devices a0, a1, b0, b1, got 'c0'"):
        TWO.unhealthy("c0")


def test_cpus_that_a_pod_has_are_not_free() -> None:
    hints = {answer.resource: answer for answer in BUSY.hints(cpu=4, gpu=1)}
    assert [mask.counts.available for mask in hints["cpu"].masks] == [7, 3, 10], "CPU 0 is reserved"
    assert [mask.counts.available for mask in hints["example.com/gpu"].masks] == [1, 1, 2]


def test_a_device_that_turns_keeps_its_place_and_owner() -> None:
    after = TWO.taken("a0", by="one").unhealthy("a0").moved("a0", 1)
    assert (after.devices["a0"].numa_nodes, after.devices["a0"].health, after.owners) == (
        (1,),
        "Unhealthy",
        {"a0": "one"},
    )


def test_an_admitted_pod_holds_devices_and_a_refused_one_none() -> None:
    pod = pod_asking("p", {"gpu": 2}, {"gpu": 2})
    by_container, admission = TWO.admit(pod, "single-numa-node", "container")
    assert admission.refusal is None
    assert by_container.held_by("p") == ("a0", "a1", "b0", "b1")
    by_pod, admission = TWO.admit(pod, "single-numa-node", "pod")
    assert admission.refusal is not None
    assert by_pod.held_by("p") == ()
    assert TWO.decide("restricted", gpu=2).hint == TopologyHint(0b01, True)


def test_turning_devices_by_words() -> None:
    words = {"a0": "allocated", "a1": "unhealthy", "b0": "not listed", "b1": "NUMA 0 and 1", "gpu": 3}
    machine = numa.turned(TWO, words)
    assert machine.owners == {"a0": "other"}
    assert machine.devices["a1"].health == "Unhealthy"
    assert machine.devices["b1"].numa_nodes == (0, 1)
    assert "b0" not in machine.devices
    silent = numa.turned(TWO, {"a0": "no topology", "a1": "topology without nodes"})
    assert (silent.devices["a0"].numa_nodes, silent.devices["a1"].numa_nodes) == (None, ())


def test_a_click_turns_a_device_to_its_next_choice() -> None:
    explorer = numa.turn_devices(TWO, "a0 b0", ("NUMA 0", "NUMA 1"), gpu=range(1, 4))
    assert explorer.values == {"gpu": 1, "a0": "NUMA 0", "b0": "NUMA 1"}, "it starts where the devices are"
    actions = {m.label: m.action for m in explorer.picture.picture.marks if isinstance(m, Cell) and m.label}
    assert actions == {"a0": "a0:NUMA 1", "a1": "", "b0": "b0:NUMA 0", "b1": ""}
    explorer.act({"do": "a0:NUMA 1"})
    assert explorer.values["a0"] == "NUMA 1"
    assert numa.turned(TWO, explorer.values).devices["a0"].numa_nodes == (1,)


# Pictures


@pytest.mark.parametrize("machine", [TWO, MIXED, BUSY, Machine.of(8, gpu=on(3, "a0 a1") + on(7, "b0"))])
@pytest.mark.parametrize("gpu", [1, 3])
def test_every_picture_can_be_read(machine: Machine, gpu: int) -> None:
    check(numa_picture(machine_board(machine.kubelet, 0b10)))
    check(numa.draw_hints(machine, gpu=gpu))
    check(numa.draw_policies(machine, gpu=gpu))
    check(numa.draw_merge(machine, "restricted", 1, gpu=gpu))
    for mask in (1, 2, None):
        check(numa.draw_lists(machine, mask))
    for policy in POLICIES:
        for scope in ("container", "pod"):
            pod = pod_asking("pair", {"gpu": gpu}, {"gpu": 1})
            check(numa.draw_scopes(machine, pod, policy, scope))


def test_the_other_pictures_can_be_read() -> None:
    four = Machine.of(4, gpu=on(0, "a0 a1") + on(2, "b0 b1"))
    for step in (1, 7, 15):
        check(numa.draw_count(four, step, gpu=2))
    check(numa.side_by_side({"one": TWO, "a machine with a long name": MIXED}, gpu=2).picture)
    rows = {"one": (TWO, {"gpu": 2}), "two": (BUSY, {"gpu": 1, "cpu": 4}), "no": (TWO, {})}
    check(numa.compare_policies(rows).picture)
    turn = TWO.admit(pod_asking("first", {"gpu": 3}), "restricted")[0]
    check(numa.draw_pods(turn.admit(pod_asking("second", {"gpu": 2}), "restricted")[0]))
    check(numa.draw_merge(Machine.of(8, a=8, b=8, c=8, d=8), "restricted", a=1, b=1, c=1, d=1))


def test_the_sentence_of_a_step_does_the_arithmetic() -> None:
    machine = TWO.taken("a0 b0")
    sentences = [numa.draw_count(machine, step, gpu=2).sentence for step in (1, 3)]
    assert sentences[0] == "Mask 1 of 3: 1 free, 2 asked: too few, so no hint."
    assert sentences[1].endswith("on an empty machine a smaller mask could serve it: not preferred.")


# The merge


def test_a_machine_that_offers_every_mask_is_merged_alike_both_ways() -> None:
    asked = {"gpu": 1, "nic": 1, "fpga": 1}
    machine = Machine.of(3, gpu=3, nic=3, fpga=3)
    assert numa.merge(machine, **asked).permutations == 343
    assert numa.merge(machine, **asked) == numa.merge(machine, by_permutation=True, **asked)


def test_what_is_measured_is_counted_rightly() -> None:
    figure = numa.merge_times((2,), (2,))
    every, at_once = figure.data
    assert list(every.x) == [225, 3375, 16_581_375, 4_228_250_625]
    assert (list(at_once.x), at_once.y[0] > 0) == ([9], True)
