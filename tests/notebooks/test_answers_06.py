"""Lab 06: what its predictions are compared with, and its exercises, answered rightly and wrongly."""

from typing import Any

import nbformat
import pytest

from tests.conftest import ROOT
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
        "y0": ("no affinity",),
    }


def test_c1_two_answers_then_and_one_now(lab: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    lab.run("then-scene", "then-orders", "then-try")
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["v1.21 aligned: a", "v1.21 aligned:", "v1.32 {'a': 'aligned', 'b': 'unaligned'}"]
    lab.run("then-predict", "then-run")
    assert facts(lab.run("then-gap")) == {"v1.21": ("1 to 9",), "v1.32": ("never",)}


def test_c1_about_a_fifth_of_the_runs_align_nothing(lab: Notebook) -> None:
    lab.run("then-scene", "then-orders", "then-try", "then-run")
    runs = lab.say("[aligned_then(both.devices, 0b01, walk) for _ in range(4000)]")
    assert {tuple(run) for run in runs} == {("a",), ()}
    assert runs.count([]) / 4000 == pytest.approx(7 / 32, abs=0.03)


def test_c1_devices_on_one_node_were_split_as_they_are_now(lab: Notebook) -> None:
    lab.run("then-scene", "then-orders", "then-try", "then-run")
    lab.say('one = Machine.of(gpu=on(0, "a0 a1") + on(1, "b0"))')
    for mask in (0b01, 0b10, 0b11):
        now = lab.say(f"[i for i, name in numa.lists(one, {mask}).items() if name == 'aligned']")
        assert all(lab.say(f"aligned_then(one.devices, {mask}, walk)") == now for _ in range(20))


def test_s19_both_ways_of_merging_agree_and_the_policies_are_as_told(lab: Notebook) -> None:
    assert lab.run("explosion-same") is True
    lab.run("see-scene")
    assert lab.say('numa.admitted(node, gpu=2, cpu=4)["single-numa-node"]') == "admitted"
    assert lab.say('numa.admitted(node, gpu=3, cpu=4)["restricted"]') == "refused"
    assert set(lab.say("numa.admitted(node, gpu=6, cpu=4)").values()) == {"refused"}


def test_s15_nothing_before_the_question_says_what_asking_for_more_does(lab: Notebook) -> None:
    cells = nbformat.read(ROOT / "labs/06-numa-merge.ipynb", as_version=4).cells
    before = cells[: next(n for n, cell in enumerate(cells) if cell.id == "knob-predict")]
    text = " ".join(cell.source for cell in before if cell.cell_type == "markdown")
    assert "admitted when it asks" not in text
    assert "be admitted" not in text
    assert "gets a pod admitted" not in text


def test_b43_what_a_kubelet_says_at_its_start(lab: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    lab.run("explosion-start")
    eight, nine, sixteen, many, none = capsys.readouterr().out.splitlines()
    assert nine == "9 does not start: unsupported on machines with more than 8 NUMA Nodes"
    assert [line.strip() for line in (eight, sixteen, none)] == [
        "8 starts.", "16 starts.", "34, and policy none: starts.",
    ]  # fmt: skip
    assert many.startswith("34 starts. 34 NUMA nodes make 2^34 - 1 masks")
    assert "Kubernetes would try them all, and would not answer" in many


@pytest.mark.parametrize("answer", ["first=2, second=1", 'single="NUMA 0"'])
def test_b38_exercise_one(lab: Notebook, answer: str) -> None:
    lab.run("one-scene", "one-turn")
    assert lab.run("one-check").broken == [
        "policy restricted refuses pod asks-2 with TopologyAffinityError: the hints merge to {0,1}, not preferred",
        "mask {0,1} is a hint for pod asks-2, but not preferred: {0} has 2 in all (a0, a1), free or not, "
        "and 2 are asked",
    ]
    lab.say(f"turns.turn({answer})")
    assert lab.run("one-check")


def test_b38_exercise_one_answered_wrongly(lab: Notebook) -> None:
    lab.run("one-scene", "one-turn")
    lab.say("turns.turn(first=1, second=1)")
    assert lab.run("one-check").broken == ["there is no pod asks-2"]


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
    lab.run("three-scene")
    lab.say(f"def nodes_to_try(devices, numa_nodes):\n    return {body}")
    assert sentence in "\n".join(lab.run("three-check").broken)
