"""Lab 05: what its predictions are compared with, and its exercises, answered rightly and wrongly."""

import pytest

from tests.notebooks.exercises import Notebook, answers


@pytest.fixture
def lab() -> Notebook:
    return Notebook("05-numa-hints")


def test_the_request_that_is_spread_is_no_better_for_want_of_another(lab: Notebook) -> None:
    lab.run("predict-scene")
    assert lab.say('numa.verdicts(apart, gpu=2)["{0,1}"]') == "not preferred"
    lab.run("predict-run")
    assert lab.say('numa.verdicts(whole.taken("a0"), gpu=3)["{0,1}"]') == "preferred"


def test_q11_one_device_with_a_node_switches_the_resource(lab: Notebook) -> None:
    silent = lab.run("knob-scene")
    try:
        assert silent == "null: it does not care"
        lab.run("knob-predict", "knob-turn", "knob-gap")
        assert lab.say("updated.devices['x1'].numa_nodes, updated.devices['x0'].numa_nodes") == ((), None)
        right = [row[2] for row in lab.run("knob-gap").rows]
        assert right == [("hints",), ("[]: no place will do",)]
    finally:
        lab.say("lab.close()")


def test_an_unhealthy_device_counts_and_one_that_is_gone_does_not(lab: Notebook) -> None:
    lab.run("count-scene", "count-predict")
    assert [row[2] for row in lab.run("count-gap").rows] == [("not preferred",), ("preferred",)]


@pytest.mark.parametrize("device", ["a0", "a1", "a2"])
def test_exercise_one(lab: Notebook, device: str) -> None:
    lab.run("one-scene")
    assert lab.run("one-check").broken == [
        "mask {0} is preferred as well: a0, a1, a2 are free there",
        "mask {1} is no hint for pod new: 2 free of 3, 3 asked",
    ]
    lab.say(f'wiring.turn({device}="NUMA 1")')
    assert lab.run("one-check")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ('c0="NUMA 1"', "mask {0} is preferred as well: a0, a1, a2 are free there"),
        ('a3="NUMA 1"', "mask {1} is no hint for pod new: 2 free of 4, 3 asked"),
        ('a0="NUMA 1", a1="NUMA 2"', "2 devices were changed (a0, a1); one is allowed"),
        ('b0="NUMA 2"', "mask {1} is no hint for pod new: 1 free of 2, 3 asked"),
    ],
)
def test_exercise_one_answered_wrongly(lab: Notebook, wrong: str, sentence: str) -> None:
    lab.run("one-scene")
    lab.say(f"wiring.turn({wrong})")
    assert sentence in lab.run("one-check").broken


@pytest.mark.parametrize("pods", ["one='a0', two='a1'", "one='b1', two='b0'"])
def test_b36_exercise_two(lab: Notebook, pods: str) -> None:
    lab.run("two-scene")
    assert lab.run("two-check").broken == [
        "policy restricted refuses pod new with TopologyAffinityError: the hints merge to {0,1}, not preferred",
        "mask {0,1} is a hint for pod new, but not preferred: {0} has 2 in all (a0, a1), free or not, "
        "and 2 are asked",
    ]
    lab.say(f"holders.turn({pods})")
    assert lab.run("two-check")


def test_b36_exercise_two_with_one_device_for_both_pods(lab: Notebook) -> None:
    lab.run("two-scene")
    lab.say("holders.turn(one='b0')")
    assert lab.run("two-check").broken == ["pods one and two hold the same device b0"]


@pytest.mark.parametrize(
    "change", ['x2="no topology"', 'x2="topology without nodes"', 'x0="NUMA 0"', 'x1="NUMA 0 and 1"']
)
def test_b39_exercise_three(lab: Notebook, change: str) -> None:
    lab.run("three-scene")
    assert not lab.run("three-check")
    lab.say(f"listing.turn({change})")
    assert lab.run("three-check")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ('x1="no topology"', "free, and with a NUMA node, there is only this: x2"),
        ('x2="NUMA 1"', "free, and with a NUMA node, there is only this: x2"),
        ('x0="NUMA 1"', "policy single-numa-node refuses pod new with TopologyAffinityError"),
        ('x0="NUMA 0", x1="NUMA 0"', "2 devices were changed (x0, x1); one is allowed"),
    ],
)
def test_b39_exercise_three_answered_wrongly(lab: Notebook, wrong: str, sentence: str) -> None:
    lab.run("three-scene")
    lab.say(f"listing.turn({wrong})")
    assert sentence in "\n".join(lab.run("three-check").broken)


def test_exercise_four(lab: Notebook) -> None:
    lab.run("four-scene", "four-yours")
    assert not lab.run("four-check")
    lab.say(answers("05-numa-hints")[-1])
    assert lab.run("four-check")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (
            "[facts['number'] for node, facts in graph.nodes(data=True)"
            " if facts['kind'] == 'numa node' and graph.out_degree(node) >= count]",
            "4 NUMA nodes, 1 asked for: your answer gives {0, 1, 2, 3}, and it has to be {1, 3}",
        ),
        ("graph.enough", "your function raised AttributeError"),
    ],
)
def test_exercise_four_answered_wrongly(lab: Notebook, wrong: str, sentence: str) -> None:
    lab.run("four-scene")
    lab.say(f"enough = lambda graph, count: {wrong}")
    assert sentence in "\n".join(lab.run("four-check").broken)


def test_s19_what_the_text_says_of_four_and_five(lab: Notebook) -> None:
    lab.run("see-scene")
    four, five, six = (lab.say(f"numa.verdicts(eight, gpu={count})") for count in (4, 5, 6))
    assert "preferred" not in four.values()
    assert five["{0,1}"] == "preferred"
    assert six == {}


def test_s19_what_the_text_says_of_six_machines(lab: Notebook) -> None:
    lab.run("multiples-scene")
    rows = [lab.say(f"numa.verdicts(machines[{name!r}], gpu=2)") for name in lab.names["machines"]]
    assert [row["{0,1}"] == "preferred" for row in rows] == [False, False, False, False, True, False]
    (hints,) = lab.say('machines["a0, b0 on both"].hints(gpu=2)')
    assert [mask.counts.all for mask in hints.masks] == [3, 3, 4]


def test_s19_what_the_text_says_of_the_staircase(lab: Notebook) -> None:
    lab.run("large-scene")
    bright = [
        count
        for count in range(1, 17)
        if "preferred" in lab.say(f"numa.verdicts(large, gpu={count})").values()
    ]
    assert bright == list(range(1, 16))


def test_s19_null_is_admitted_by_all_and_no_place_by_two(
    lab: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.run("knob-scene")
    try:
        lab.run("knob-turn")
        capsys.readouterr()
        lab.run("knob-policies")
        assert capsys.readouterr().out.splitlines() == [
            "null is admitted by: none best-effort restricted single-numa-node",
            "[] is admitted by: none best-effort",
        ]
    finally:
        lab.say("lab.close()")
