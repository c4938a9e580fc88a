"""Lab 09: what its predictions are compared with, what it states, and its exercises, answered rightly and wrongly."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from kubedev.api.objects import Pod
from kubedev.api.requests import compute_pod_resource_request
from kubedev.lab import Lab, admin, pods, scheduling
from kubedev.scheduler.plugins.fits import fits
from tests.notebooks.exercises import Notebook, answers, read_before

GPU = "nvidia.com/gpu"
RIGHT = answers("09-fits")


@pytest.fixture
def lab() -> Iterator[Notebook]:
    notebook = Notebook("09-fits")
    yield notebook
    if "lab" in notebook.names:
        notebook.say("lab.close()")


def facts(gap: Any) -> dict[str, object]:
    return {name: right[0] for name, _, right, _ in gap.rows}


def test_the_sentence_of_the_first_picture_is_kubernetes_own(
    lab: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.run("see-scene", "see-show", "see-message")
    assert capsys.readouterr().out == (
        "0/24 nodes are available: 20 Insufficient nvidia.com/gpu, 4 node(s) had untolerated taint "
        "{dedicated: infra}. preemption: 0/24 nodes are available: 20 No preemption victims found for incoming "
        "pod, 4 Preemption is not helpful for scheduling.\n"
    )


def test_s15_the_first_picture_has_no_node_with_two_reasons(lab: Notebook) -> None:
    lab.run("see-scene", "see-show")
    checks = lab.say("scheduling.decide(trainer, nodes).found.checks")
    assert {len(check.status.reasons) for check in checks.values()} == {1}


def test_requests_decide_and_neither_usage_nor_limits(lab: Notebook) -> None:
    lab.run("predict-scene", "predict-nodes", "predict-sentence")
    assert facts(lab.run("predict-gap-nodes")) == {
        "n1": "fits", "n2": "refuses", "n3": "refuses", "n4": "fits", "n5": "refuses", "n6": "fits",
    }  # fmt: skip


def test_every_resource_is_told_and_only_the_first_plugin(lab: Notebook) -> None:
    lab.run("predict-scene", "predict-nodes", "predict-sentence")
    assert facts(lab.run("predict-gap-sentence")) == {
        "untolerated_taint": 1, "Insufficient_cpu": 2, f"Insufficient {GPU}": 5,
    }  # fmt: skip


def test_e4_the_scheduler_adds_and_allocatable_stays(
    lab: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.run("after-predict", "after-scene", "after-run")
    fields = capsys.readouterr().out.splitlines()[0]
    assert "requested" in fields
    assert not re.search("usage|limit|free", fields)
    assert facts(lab.run("after-gap")) == {
        "allocatable_in_the_node_object": 8,
        "requested_in_the_scheduler": 1,
    }
    assert lab.say("lab.node().capacity[gpu].value()") == 8


def test_usage_is_not_looked_at(lab: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    lab.run("after-scene", "after-usage")
    assert capsys.readouterr().out.splitlines() == ["second Running", "third Pending"]


def test_what_is_not_asked_fits_on_a_node_with_less_than_nothing_left(lab: Notebook) -> None:
    lab.run("knob-predict", "knob-turn")
    assert facts(lab.run("knob-gap")) == {"one_CPU_only": "fits", "one_GPU": "refuses"}


@pytest.mark.parametrize(("requested", "said"), [(8, "refuses"), (7, "refuses"), (6, "fits")])
def test_two_pods_have_to_go_before_one_fits(requested: int, said: str) -> None:
    node = scheduling.node("n", {"cpu": 16, GPU: 7}, {GPU: requested})
    assert scheduling.verdicts(pods.pod(pods.container("c", {GPU: 1})), [node]) == {"n": said}


def reasons(pod: Pod, node: Any) -> tuple[str, ...]:
    return tuple(lack.reason for lack in fits(compute_pod_resource_request(pod), node))


def test_b61_the_cards_side_by_side(lab: Notebook) -> None:
    lab.run("multiples-scene", "multiples-cases", "multiples-more")
    assert [reasons(*case) for case in lab.names["cases"].values()] == [
        (),
        ("Too many pods",),
        ("Too many pods", "Insufficient cpu"),
        ("Insufficient cpu",),
        (),
        ("Insufficient cpu",),
        ("Insufficient ephemeral-storage",),
        ("Insufficient example.com/flux",),
    ]


def test_extended_resources_can_be_ignored_and_cpus_cannot(
    lab: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.run("multiples-scene", "multiples-cases", "multiples-ignored")
    said = [line.partition("} ")[2] for line in capsys.readouterr().out.splitlines()]
    assert said == [
        "['Insufficient cpu', 'Insufficient example.com/flux']",
        "['Insufficient cpu']",
        "['Insufficient cpu']",
    ]


def test_the_kubelet_asks_again_and_differs(lab: Notebook) -> None:
    lab.run("kubelet-predict", "kubelet-scene", "kubelet-run")
    assert facts(lab.run("kubelet-gap")) == {
        "GPU is not in allocatable": "admitted",
        "GPU is 0 in allocatable": "refused",
        "taint is NoSchedule": "admitted",
        "taint is NoExecute": "refused",
        "resources_named_of_two_that_are_short": 1,
    }
    told = lab.say('scheduling.kubelet(*checked["cpu and memory are short"])')
    assert (told.reason, told.message) == (
        "OutOfcpu",
        "Node didn't have enough resource: cpu, requested: 4000, used: 14000, capacity: 16000",
    )


def test_allocation_comes_before_the_sums(lab: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    lab.run("kubelet-live")
    alive, gone, patched, unheard = capsys.readouterr().out.splitlines()
    assert "UnexpectedAdmissionError" in alive
    assert f"OutOf{GPU} | Pod was rejected: Node didn't have enough resource: {GPU}, requested: 1" in gone
    assert "OutOfexample.com/dongle" in patched
    assert unheard.endswith(": Running")


def test_a_plugin_that_is_gone_while_a_pod_holds_its_devices() -> None:
    with Lab("09-held", nodes=1, transport="memory") as lab:
        lab.plugin(GPU, devices=2)
        lab.apply("one-gpu")
        lab.kill_plugin(GPU)
        lab.advance(301)
        assert f"cannot allocate unregistered device {GPU}" in admin.bind(lab, "late", GPU, 1)
        admin.patch_node(lab, "example.com/dongle", 1)
        lab.apply(admin.pod_yaml("two", {"example.com/dongle": 2}))
        assert "Insufficient example.com/dongle" in lab.pod("two").conditions[0].message


def test_the_kubelet_leaves_noexecute_taints_to_static_pods() -> None:
    node = scheduling.node("n", {"cpu": 4}, taint="x:NoExecute")
    pod = pods.pod(pods.container("c"))
    assert not scheduling.kubelet(pod, node).admit
    static = Pod.parse(
        {"metadata": {"name": "s", "annotations": {"kubernetes.io/config.source": "file"}},
         "spec": {"containers": [{"name": "c"}]}}
    )  # fmt: skip
    assert scheduling.kubelet(static, node).admit


def test_s15_nothing_before_a_question_answers_it() -> None:
    text = read_before("09-fits")
    assert "add up to the number" not in text["predict-sentence"]
    assert "every" not in text["predict-sentence"].split("resource that is short")[0][-8:]
    assert "in its own cache" not in text["after-predict"]
    assert "always fits" not in text["knob-predict"]
    assert "dropped" not in text["kubelet-predict"]


@pytest.mark.parametrize(("name", "right"), list(zip(("one", "two", "three"), RIGHT, strict=True)))
def test_the_exercises_are_solved_by_their_answers_and_not_before(
    lab: Notebook, name: str, right: str
) -> None:
    assert not lab.exercise(name)
    assert lab.exercise(name, right)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("'no plugin' if not info.allocatable.get(gpu) else 'room'", "node b: your answer gives 'no plugin'"),
        (
            "'none healthy' if not info.allocatable.get(gpu) else 'room'",
            "node a: your answer gives 'none healthy'",
        ),
        ("info.node.allocatable[gpu]", "node a: your function raised KeyError"),
        (
            "'room' if info.requested.get(gpu) < info.allocatable.get(gpu) else 'all in use'",
            "node a: your answer gives 'all in use'",
        ),
    ],
)
def test_b52_exercise_one_answered_wrongly(lab: Notebook, body: str, sentence: str) -> None:
    said = lab.exercise("one", f"def cause(info):\n    return {body}")
    assert sentence in "\n".join(said.broken)


@pytest.mark.parametrize(
    ("smallest", "sentence"),
    [
        ('{"cpu": "2250m", "memory": "200Mi", gpu: 1}', "your node as it is: your answer gives 'refuses'"),
        ('{"cpu": "3", "memory": "320Mi", gpu: 1}', "with 1m of cpu less: your answer gives 'fits'"),
        ('{"cpu": "2250m", "memory": "1Gi", gpu: 1}', "with a byte less: your answer gives 'fits'"),
        ('{"cpu": "2250m", "memory": "320Mi", gpu: 2}', "with a GPU less: your answer gives 'fits'"),
        ('{"cpu": "4250m", "memory": "320Mi", gpu: 1}', "with 1m of cpu less: your answer gives 'fits'"),
        ('{"cpu": "2250m", "memory": "320Mi"}', "your node as it is: your answer gives 'refuses'"),
    ],
)
def test_b62_exercise_two_answered_wrongly(lab: Notebook, smallest: str, sentence: str) -> None:
    assert sentence in "\n".join(lab.exercise("two", f"smallest = {smallest}").broken)


@pytest.mark.parametrize(
    ("huge", "wrong"),
    [
        ('{"cpu": "9P", "memory": "50E"}', ["cpu 9P"]),
        ('{"cpu": "10P", "memory": "8Ei"}', ["memory 8Ei"]),
        ('{"cpu": "8", "memory": "32Gi"}', ["cpu 8", "memory 32Gi"]),
        ('{"cpu": "10E", "memory": "lots"}', ["memory lots"]),
        ('{"cpu": "10E"}', ["memory None"]),
    ],
)
def test_b60_exercise_three_answered_wrongly(lab: Notebook, huge: str, wrong: list[str]) -> None:
    said = lab.exercise("three", f"huge = {huge}").broken
    assert [sentence.partition(":")[0] for sentence in said] == wrong


@pytest.mark.parametrize(("cpu", "memory"), [("10E", "50E"), ("10P", "10E"), ("20P", "16E")])
def test_b60_what_turns_over_fits_and_with_plain_arithmetic_does_not(
    lab: Notebook, cpu: str, memory: str
) -> None:
    assert lab.exercise("three", f"huge = {{'cpu': '{cpu}', 'memory': '{memory}'}}")
    node = scheduling.node("small", {"cpu": 8, "memory": "32Gi"})
    pod = pods.pod(pods.container("c", cpu=cpu, memory=memory))
    assert scheduling.kubelet(pod, node).admit
    plain = fits(compute_pod_resource_request(pod, ["128684"]), node)
    assert [lack.resource_name for lack in plain] == ["cpu", "memory"]
