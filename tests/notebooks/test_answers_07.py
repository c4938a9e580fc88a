"""Lab 07: what its predictions are compared with, what it states, and its exercises, answered rightly and wrongly."""

import re
from typing import Any

import nbformat
import pytest

from kubedev.lab import Lab, Machine, holdings, numa, on, pods
from tests.conftest import ROOT
from tests.notebooks.exercises import Notebook, answers, check_with

LAB = "07-init-and-sidecars"
GPU = "example.com/gpu"


def asks(name: str, count: int, sidecar: bool = False) -> Any:
    return pods.container(name, {GPU: count}, {GPU: count}, sidecar)


@pytest.fixture
def lab() -> Notebook:
    return Notebook(LAB)


def facts(gap: Any) -> dict[str, object]:
    return {name: right[0] for name, _, right, _ in gap.rows}


def test_q8_init_and_app_get_the_same_devices(lab: Notebook) -> None:
    lab.run("predict-scene", "predict-same", "predict-same-run")
    seen = facts(lab.run("predict-same-gap"))
    assert seen == {"the_pod": "runs", "app_gets": "those that load had", "allocate_calls": 2}
    assert lab.say("load") == {"device gpu-node-1 d0", "device gpu-node-1 d1"}


def test_q8_a_sidecar_costs_the_sum(lab: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    lab.run("predict-scene", "predict-sidecar", "predict-sidecar-run")
    assert facts(lab.run("predict-sidecar-gap")) == {
        "the_pod": "waits, Pending",
        "counted_by_the_scheduler": 4,
    }
    assert "0/1 nodes are available: 1 Insufficient example.com/gpu." in capsys.readouterr().out
    picture = lab.run("predict-sidecar-forced").picture
    assert picture.sentence == (
        "app is refused: requested number of devices unavailable for example.com/gpu. Requested: 2, Available: 0."
    )
    pod = pods.pod(asks("app", 2), init=[asks("load", 2, True)], name="web")
    refusal = Machine.of(1, gpu=2).admit(pod)[1].refusal
    assert refusal is not None
    assert refusal.message == (
        "Allocate failed due to requested number of devices unavailable for example.com/gpu. "
        "Requested: 2, Available: 0, which is unexpected"
    )


def test_b23_idle_devices_are_not_free_and_an_agent_calls_them_so(lab: Notebook) -> None:
    lab.run("predict-idle-scene", "predict-idle", "predict-idle-run")
    assert facts(lab.run("predict-idle-gap")) == {"for_the_next_pod": 1, "as_the_agent_says": 3}


def test_b23_a_pod_of_four_waits_and_one_of_three_fits() -> None:
    with Lab("b23", nodes=1, transport="memory") as lab:
        lab.plugin(GPU, devices=8, numa=1)
        pods.apply(lab, pods.manifest(asks("app", 2), init=[asks("warm", 5)], name="first"))
        pods.apply(lab, pods.manifest(asks("main", 4), name="four"))
        pods.apply(lab, pods.manifest(asks("main", 3), name="three"))
        assert (lab.pod("four").phase or "Pending", lab.pod("three").phase) == ("Pending", "Running")
        assert lab.devices_of("first") == ("d0", "d1", "d2", "d3", "d4")


def test_four_policies_and_a_tray_on_two_numa_nodes(lab: Notebook) -> None:
    lab.run("mask-scene", "mask-predict")
    seen = facts(lab.run("mask-gap"))
    assert [seen[policy] for policy in numa.POLICIES] == ["admitted", "admitted", "refused", "refused"]
    halves, pod = lab.say("halves"), lab.say("pod")
    restricted = [hints for a in halves.admit(pod, "restricted")[1].alignments for _, hints in a.answers]
    masks = [
        [(h.numa_node_affinity, h.preferred) for h in hints[GPU].hints]
        for hints in restricted
        if GPU in hints
    ]
    assert masks == [[(0b11, True)], [(0b11, False)]]
    assert len(halves.admit(pod, "single-numa-node")[1].alignments) == 1  # it refuses load already


def test_s19_a_reusable_device_whose_topology_has_no_node_leaves_no_hint() -> None:
    machine = Machine.of(2, gpu=on((), "x0") + on(0, "y0 y1"))
    pod = pods.pod(asks("app", 1), init=[asks("load", 3)], name="web")
    admission = machine.admit(pod, "best-effort")[1]
    (hints,) = [answer[GPU].hints for _, answer in admission.alignments[-1].answers if GPU in answer]
    assert hints == ()


def test_q9_any_other_pods_allocate_empties_the_tray(
    lab: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.run("emptied-scene", "emptied-predict", "emptied-run")
    assert facts(lab.run("emptied-gap")) == {"the_tray_of_web": "nothing", "web_still_holds": 3}
    assert capsys.readouterr().out.splitlines() == [
        "{'web': ['d1', 'd2']}",
        "trays: {'plain': []} | web holds d0 d1 d2",
    ]


def test_s19_records_go_at_the_next_allocation(lab: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    lab.run("graph-scene", "graph-before", "graph-after")
    lines = [re.sub("default/", "", line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "container web load (init): d0 d1 d2",
        "container web app (app): d0",
        "container web load (gone): d0 d1 d2",
        "container web app (gone): d0",
        "The next pod asks: pod/next created",
        "container next main (app): d0 d1",
    ]


@pytest.mark.parametrize(
    ("counts", "gets"),
    [
        ((2, 1, 1, 2), {"load": "d0 d1", "check": "d0", "proxy": "d0", "app": "d1 d2"}),
        ((2, 3, 1, 2), {"load": "d0 d1", "check": "d0 d1 d2", "proxy": "d0", "app": "d1 d2"}),
        ((2, 3, 2, 3), {"load": "d0 d1", "check": "d0 d1 d2", "proxy": "d0 d1", "app": ""}),
        ((2, 1, 2, 3), {"load": "d0 d1", "check": "d0", "proxy": "d0 d1", "app": ""}),
    ],
)
def test_s19_the_three_rules(lab: Notebook, counts: tuple[int, ...], gets: dict[str, str]) -> None:
    lab.run("step-explore")
    lab.names["counts"] = counts
    shown, _ = lab.say("holdings.told(four, web(*counts))")
    assert {turn.name: " ".join(sorted(turn.taken)) for turn in shown} == gets
    assert [turn.name for turn in shown if turn.error] == [name for name, ids in gets.items() if not ids]


def test_s19_scheduler_and_kubelet_come_to_the_same_number(lab: Notebook) -> None:
    """For pods of three containers in front of an app, each asking for one or three, each ordinary or a sidecar."""
    large = Machine.of(1, gpu=12)
    for number in range(8 * 8):
        large_ones, kinds = number // 8, number % 8
        inits = [asks(f"i{n}", 1 + 2 * (large_ones >> n & 1), bool(kinds >> n & 1)) for n in range(3)]
        _, (counted, held) = holdings.told(large, pods.pod(asks("app", 2), init=inits, name="web"))
        assert re.findall(r"\d+", counted)[0] == re.findall(r"\d+", held)[0], (large_ones, kinds)


def test_s19_the_order_of_a_sidecar_matters(lab: Notebook) -> None:
    told = lab.run("multiples-order").picture.sentence
    assert re.findall(r"counts (\d)", told) == ["2", "3", "3"]
    assert re.findall(r"counts (\d)", lab.run("multiples-sizes").picture.sentence) == ["3", "3", "4"]


def test_s15_nothing_before_the_first_question_says_what_app_gets(lab: Notebook) -> None:
    cells = nbformat.read(ROOT / f"labs/{LAB}.ipynb", as_version=4).cells
    before = cells[: next(n for n, cell in enumerate(cells) if cell.id == "predict-same")]
    told = " ".join(cell.source for cell in before) + (ROOT / "labs/img/07.svg").read_text("utf-8")
    assert not re.search("reused|the tray|take from|same ids", told)
    picture = str(lab.run("imports-see").picture.get_state()["whole"])
    assert "load gets d0, d1" in picture
    assert not re.search("reus|tray", picture)


@pytest.mark.parametrize("exercise", [1, 2, 3])
def test_the_answer_is_right(exercise: int) -> None:
    assert check_with(LAB, exercise, answers(LAB)[exercise - 1])


@pytest.mark.parametrize("order", ["[migrate, load, proxy]", "[migrate, proxy, load]"])
def test_more_than_one_order_is_right(order: str) -> None:
    assert check_with(LAB, 2, f"order = {order}")


SMALLER = "pods.apply(lab, pods.manifest(asks('app', 2), init=[asks('warm', 3)], name='first'))"
ANY = "idle = lambda g: [g.nodes[d]['id'] for d, k in g.nodes(data='kind') if k == 'device' and any(g.nodes[c]['role'] == 'init' for c in g.predecessors(d))]"  # noqa: E501
ALL = ANY.replace("any(", "all(")


@pytest.mark.parametrize(
    ("exercise", "answer", "sentence"),
    [
        (1, "", "pod second is Pending, not Running"),
        (1, SMALLER, "container warm of pod first holds 3 of example.com/gpu, not 4"),
        (1, "lab.delete('first')", "there is no pod first"),
        (1, SMALLER.replace("'warm', 3", "'warm', 2, True"), "container warm of pod first is of kind sidecar"),
        (2, "", "pod web is Pending, not Running"),
        (2, "order = [load, proxy, migrate]", "pod web is Pending, not Running"),
        (2, "order = [load, migrate]", "container proxy of pod web holds 0 of example.com/gpu, not 1"),
        (2, "order = [asks('proxy', 1), load, migrate]", "container proxy of pod web is of kind init, not sidecar"),
        (3, "", "device d2 is idle and not free: the record of container load holds it until the pod is over"),
        (3, ANY, "your function names d0, which is not idle"),
        (3, ALL, "your function names d4, which is not idle"),
        (3, "idle = lambda graph: None", "idle: your function raised TypeError"),
        (3, "lab.set_health('d2', False); lab.restart_kubelet()", "device d2 is idle and not free"),
        (3, "lab.kill_plugin(gpu)", "device d2 is idle and not free"),
        (3, "lab.plugin(gpu, devices=2, numa=1)\npods.apply(lab, pods.manifest(asks('main', 1), name='other'))",
         "device d2 is idle and not free"),
        (3, "lab.delete('web')", "there is no pod web"),
    ],
)  # fmt: skip
def test_a_wrong_answer_is_told_what_is_broken(exercise: int, answer: str, sentence: str) -> None:
    checked = check_with(LAB, exercise, answer)
    assert not checked
    assert any(sentence in broken for broken in checked.broken), checked.broken
