"""Lab 06: what its predictions are compared with, and its exercises, answered rightly and wrongly."""

from typing import Any

import pytest

from tests.notebooks.exercises import Notebook


@pytest.fixture
def lab() -> Notebook:
    return Notebook("06-numa-merge")


def facts(gap: Any) -> dict[str, tuple[object, ...]]:
    return {name: right for name, _, right, _ in gap.rows}


def test_three_machines_by_four_policies(lab: Notebook) -> None:
    lab.run("predict-scene", "predict-spread", "predict-silent", "predict-wide")
    seen = {
        name: [right[0] for right in facts(lab.run(f"predict-gap-{name}")).values()]
        for name in ("spread", "silent", "wide")
    }
    assert seen == {
        "spread": ["admitted", "admitted", "refused", "refused"],
        "silent": ["admitted"] * 4,
        "wide": ["admitted", "admitted", "admitted", "refused"],
    }


def test_asking_for_more_is_admitted(lab: Notebook) -> None:
    lab.run("knob-scene", "knob-predict")
    assert [right[0] for right in facts(lab.run("knob-gap")).values()] == ["refused", "refused", "admitted"]


def test_the_scopes_give_other_devices(lab: Notebook) -> None:
    lab.run("scopes-scene", "scopes-predict")
    assert facts(lab.run("scopes-gap")) == {"container": ("a0, b0",), "pod": ("b0, b1",)}


def test_q10_three_lists(lab: Notebook) -> None:
    lab.run("affinity-scene", "affinity-predict")
    assert facts(lab.run("affinity-gap")) == {
        "a0": ("aligned",),
        "b0": ("unaligned",),
        "x0": ("aligned",),
        "y0": ("no_affinity",),
    }


def test_c1_two_answers_then_and_one_now(lab: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    lab.run("then-scene", "then-orders")
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" | ")[0] for line in lines] == [
        "v1.21 aligned a",
        "v1.21 aligned -",
        "v1.32 aligned a",
    ]
    lab.run("then-predict", "then-run")
    assert facts(lab.run("then-gap")) == {"v1.21": ("1 to 9",), "v1.32": ("never",)}


def test_b43_what_a_kubelet_says_at_its_start(lab: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    lab.run("explosion-start")
    said = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert said["9"] == "unsupported on machines with more than 8 NUMA Nodes"
    assert (said["8"], said["16"], said["34, none"]) == ("starts",) * 3
    assert said["34"].startswith("starts. 34 NUMA nodes make 2^34 - 1 masks")
    assert "Kubernetes would try them all, and would not answer" in said["34"]


@pytest.mark.parametrize("answer", ["first=2, second=1", 'single="NUMA 0"'])
def test_b38_exercise_one(lab: Notebook, answer: str) -> None:
    lab.run("one-scene")
    assert lab.run("one-check").broken == [
        "policy restricted refuses pod asks-2 with TopologyAffinityError: the hints merge to {0,1}, not preferred",
        "mask {0,1} is a hint for pod asks-2, but not preferred: {0} has 2 in all (a0, a1), free or not, "
        "and 2 are asked",
    ]
    lab.say(f"turns.turn({answer})")
    assert lab.run("one-check")


def test_b38_exercise_one_answered_wrongly(lab: Notebook) -> None:
    lab.run("one-scene")
    lab.say("turns.turn(first=1, second=1)")
    assert lab.run("one-check").broken == ["the pod that asks for 2 is missing: create both"]


@pytest.mark.parametrize(
    "body",
    ['{"example.com/gpu": hints} if request else {}', 'None if not request else {"example.com/gpu": hints}'],
)
def test_b41_exercise_two(lab: Notebook, body: str) -> None:
    lab.run("two-scene")
    lab.run("two-yours")
    assert lab.run("two-check").broken == [
        "pod kube-dns asks for 0 and is refused by restricted: your provider said {'example.com/gpu': ()}"
    ]
    lab.say(f"def provider(request, hints):\n    return {body}")
    assert lab.run("two-check")


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ('{"example.com/gpu": hints} if hints else {}', "pod greedy asks for 9, which no mask can serve"),
        ("{}", "pod greedy asks for 9, which no mask can serve"),
        ('{"example.com/gpu": ()}', "pod trainer asks for 1 and is refused by restricted"),
        ("hints[0]", "pod kube-dns: your function raised IndexError"),
    ],
)
def test_b41_exercise_two_answered_wrongly(lab: Notebook, body: str, sentence: str) -> None:
    lab.say(f"def provider(request, hints):\n    return {body}")
    assert sentence in "\n".join(lab.run("two-check").broken)


def test_b43_exercise_three(lab: Notebook) -> None:
    lab.run("three-scene", "three-yours")
    assert lab.run("three-check").broken[0] == (
        "machine tray: 34 NUMA nodes are tried, which makes 17,179,869,183 masks for each resource; 2 would do"
    )
    lab.say(
        "def nodes_to_try(devices, numa_nodes):\n"
        "    return sorted({node for device in devices for node in device.numa_nodes or ()})"
    )
    assert lab.run("three-check")


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("[0, 1]", "machine far: device b0 is on NUMA 33, which is not tried: no hint could lead to it"),
        (
            "{device.numa_nodes[0] for device in devices if device.numa_nodes}",
            "machine wide: device b0 is on NUMA 2, which is not tried: no hint could lead to it",
        ),
        (
            "{node for device in devices for node in device.numa_nodes}",
            "machine wide: your function raised TypeError",
        ),
        ("[34]", "machine tray: NUMA 34 is tried, and the machine has no such node"),
    ],
)
def test_b43_exercise_three_answered_wrongly(lab: Notebook, body: str, sentence: str) -> None:
    lab.say(f"def nodes_to_try(devices, numa_nodes):\n    return {body}")
    assert sentence in "\n".join(lab.run("three-check").broken)
