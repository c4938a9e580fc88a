"""Lab 08: what its predictions are compared with, what it states, and its exercises, answered rightly and wrongly."""

import re
from typing import Any

import nbformat
import pytest

from kubedev.lab import Lab, Machine, holdings, pods, restarts, streams
from tests.conftest import ROOT
from tests.notebooks.exercises import Notebook, answers, check_with

LAB = "08-restart"
GPU = "example.com/gpu"
NO_HEALTHY = (
    "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices example.com/gpu, "
    "which is unexpected"
)


def asks(name: str, count: int, sidecar: bool = False) -> Any:
    return pods.container(name, {GPU: count}, {GPU: count}, sidecar)


@pytest.fixture
def lab() -> Notebook:
    return Notebook(LAB)


def facts(gap: Any) -> dict[str, object]:
    return {name: right[0] for name, _, right, _ in gap.rows}


# The two nights


def test_a_kubelet_restart_without_its_plugin(lab: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    lab.run("predict-restart", "predict-restart-run")
    assert facts(lab.run("predict-restart-gap")) == {
        "capacity": 0,
        "trainer": "Running",
        "new_pod": "Pending",
    }
    run = lab.say("lab")
    assert streams.numbers(run, GPU) == (0, 0)  # the key stays
    assert run.devices_of("trainer") == ("d0", "d1")
    assert "Insufficient example.com/gpu" in run.pod("new").conditions[0].message
    lab.run("predict-restart-bound")
    assert f"Failed | UnexpectedAdmissionError | Pod was rejected: {NO_HEALTHY}" in capsys.readouterr().out


def test_b11_a_bare_pod_does_not_come_back_after_a_reboot(lab: Notebook) -> None:
    lab.run("predict-reboot", "predict-reboot-run")
    assert facts(lab.run("predict-reboot-gap")) == {
        "capacity_at_once": 0,
        "trainer_at_once": "Failed",
        "trainer_in_the_end": "Failed",
    }
    run = lab.say("lab")
    assert run.pod("trainer").message == f"Pod was rejected: {NO_HEALTHY}"
    assert streams.numbers(run, GPU) == (4, 4)
    run.restart_kubelet()
    assert run.pod("trainer").phase == "Failed"  # another kubelet does not try it either


def test_b11_where_the_plugin_is_first_the_pod_has_its_devices_and_no_allocate_call() -> None:
    pod = pods.pod(asks("app", 2), name="trainer")
    trained = Machine.of(1, gpu=4).admit(pod)[0]
    refused, _ = restarts.again(restarts.restarted(trained, run=False), pod)
    assert refused == NO_HEALTHY
    machine = restarts.restarted(trained, run=False, listed="d0 d1 d2 d3")
    refused, decided = restarts.again(machine, pod)
    assert (refused, decided["app"].devices) == ("", None)
    assert machine.admit(pod)[0].held_by("trainer") == ("d0", "d1")


def test_the_first_status_of_the_new_kubelet_says_0(lab: Notebook) -> None:
    """Also where the plugin is well: for a moment."""
    run = lab.say("node('zero')")
    before = len(run.state.messages)
    run.restart_kubelet()
    said = [dict(m.values) for m in list(run.state.messages)[before:] if m.key == "node-status"]
    assert [(values["capacity"], values["allocatable"]) for values in said] == [("0", "0"), ("4", "4")]


# The lives


@pytest.mark.slow
def test_a_restart_of_the_kubelet_ends_neither_the_plugin_nor_the_container(
    lab: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.run("step-scene", "step-pids")
    assert capsys.readouterr().out == "the same processes: True | trainer Running d0 d1\n"
    lab.say("lab").close()


def test_four_deaths_side_by_side(lab: Notebook) -> None:
    picture = lab.run("multiples-run").picture
    assert picture.sentence == (
        "plugin: 4 / 0, trainer Running. kubelet: 4 / 4, trainer Running. "
        "plugin and kubelet: 0 / 0, trainer Running. machine: 0 / 0, trainer Failed."
    )
    machine = [[row[3] for row in table.rows] for table in picture.tables]
    assert [runs[-1] for runs in machine] == ["runs trainer", "runs trainer", "runs trainer", "runs nothing"]
    assert "0 / 0" in [row[4] for row in picture.tables[1].rows]  # for a moment


# Who is let through


def test_b13_an_ended_init_container_has_its_running_pod_refused(lab: Notebook) -> None:
    lab.run("again-predict", "again-run")
    assert facts(lab.run("again-gap")) == {"trainer": "Running", "web": "Failed"}
    run = lab.say("lab")
    assert run.pod("web").message == f"Pod was rejected: {NO_HEALTHY}"
    assert [c.phase for (uid, _), c in run.state.containers.items() if uid == "default/web"] == [
        "ended",
        "ended",
    ]


@pytest.mark.parametrize(
    ("knobs", "sentence"),
    [
        (("run", "not all ready", "away", 0, 2), r"web goes on\. Allocate calls: 0"),
        (("run", "not all ready", "away", 1, 1), "no healthy devices present"),
        (("run", "ready", "away", 0, 1), "no healthy devices present"),
        (("are gone", "not all ready", "lists d0 d1 d2 d3", 1, 1), r"web goes on\. Allocate calls: 0"),
        (("are gone", "ready", "lists d2 d3", 0, 1), "previously allocated devices are no longer healthy"),
        (("run", "not all ready", "lists d0 d1 d2 d3", 1, 2),
         'pod "web" container "app" changed request for resource "example.com/gpu" from 1 to 2, which is unexpected'),
    ],
)  # fmt: skip
def test_q12_the_questions_in_their_order(lab: Notebook, knobs: tuple[Any, ...], sentence: str) -> None:
    lab.run("again-questions")
    lab.names["knobs"] = knobs if knobs != ("run", "not all ready", "away", 0, 2) else (*knobs[:4], 1)
    assert re.search(sentence, lab.say("asked(*knobs)").sentence)


def test_c3_then_a_record_was_enough(lab: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    lab.run("again-then-run")
    lines = capsys.readouterr().out.splitlines()
    assert all("then: goes on with its record" in line for line in lines)
    now = [line.partition("now: ")[2] for line in lines]
    assert [said.split(";")[0] for said in now] == [
        "goes on",
        "Allocate failed due to no healthy devices present",
        "Allocate failed due to previously allocated devices are no longer healthy",
        "goes on",
    ]


# In place


def test_q12_a_start_in_place_asks_for_pre_start_only(lab: Notebook) -> None:
    lab.run("place-scene", "place-predict", "place-run")
    assert facts(lab.run("place-gap")) == {"Allocate": 0, "PreStartContainer": 1, "devices": "the same"}


def test_q12_a_start_in_place_needs_an_endpoint(lab: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    lab.run("place-scene", "place-away", "place-back")
    assert capsys.readouterr().out.splitlines() == [
        "device plugin PreStartContainer rpc failed with err: endpoint example.com/gpu has been stopped",
        "endpoint not found in cache for a registered resource: example.com/gpu",
        "Running no error d0 d1",
    ]


def test_without_pre_start_a_container_starts_within_the_grace_and_not_after_it(lab: Notebook) -> None:
    run = lab.say("node('grace')")
    run.kill_plugin(GPU)
    run.kill_container("trainer")
    assert (run.pod("trainer").message, run.devices_of("trainer")) == ("", ("d0", "d1"))
    run.advance(301)
    run.kill_container("trainer")
    run.advance(10)
    assert "endpoint not found in cache for a registered resource" in run.pod("trainer").message


# The file


def test_b18_a_wrong_checksum_is_forgotten_in_silence(
    lab: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.run("file-scene", "file-predict", "file-run")
    assert facts(lab.run("file-gap")) == {"starts": "yes", "trainer": "Running", "counted_as_free": 4}
    lab.run("file-twice")
    out = capsys.readouterr().out
    assert "read: checkpoint is corrupted | trainer holds: nothing" in out
    ways = re.findall(r"(\w+) Running \| \S+?=(\S+) \| record: (.*)", out)
    assert ways == [("trainer", "d0,d1", "none"), ("second", "d0,d1", "d0 d1")]


def test_of_a_full_node_nothing_is_given_out_twice(lab: Notebook) -> None:
    run = lab.say("node('full')")
    run.restart_kubelet(checkpoint=restarts.file(run).replace('"d0"', '"d3"', 1))
    run.apply(pods.pod_yaml("third", {GPU: 3}))
    assert (run.pod("third").phase or "Pending", run.devices_of("third")) == ("Pending", ())


def test_b17_what_a_kubelet_reads_of_four_files(lab: Notebook) -> None:
    lab.run("file-scene")
    right, wrong = lab.say("right"), lab.say("wrong")
    lab.run("file-ways")
    errors = [Machine.of(1).kubelet.devices.read_error]
    with Lab("ways", nodes=1, transport="memory") as run:
        for text in (
            right,
            wrong,
            right[: len(right) // 2],
            right.replace('{"0":["d0","d1"]}', '["d0","d1"]'),
        ):
            run.restart_kubelet(checkpoint=text)
            errors.append(run.state.kubelets["gpu-node-1"].devices.read_error)
    assert errors[:4] == [None, None, "checkpoint is corrupted", "unexpected end of JSON input"]
    assert "cannot unmarshal array" in str(errors[4])


def test_b10_kubelet_sock_is_taken_for_a_checkpoint(
    lab: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.run("file-none")
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "v1.32 | capacity, allocatable: 4 4",
        "   a pod: Running | devices: none",
        "126943 | capacity, allocatable: 0 0",
    ]
    assert lines[3].startswith("   a pod: Failed | OutOfexample.com/gpu")


def test_c2_without_a_numa_node_minus_1_is_written_where_0_was(
    lab: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.run("file-then")
    assert '"DeviceIDs":{"-1":["d0","d1"]}' in lab.say("now")
    lab.run("file-then-agent")
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "written by v1.32 | trainer: d0, d1 | allocatable: d0, d1, d2, d3",
        "written by v1.21 | trainer: d0 (NUMA 0), d1 (NUMA 0) | allocatable: d0, d1, d2, d3",
    ]
    texts = [
        t for mark in lab.run("file-then-show").picture.marks if (t := getattr(mark, "text", "")) == "changed"
    ]
    assert texts == ["changed"]


# The agent


def test_an_agent_knows_no_device_before_the_first_list(
    lab: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.run("agent-run")
    lines = [line.replace(" (NUMA 0)", "") for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "trainer: d0, d1 | allocatable: d0, d1, d2, d3",
        "trainer: d0, d1 | allocatable: none",
        "trainer: d0, d1 | allocatable: d0, d1, d2, d3",
        "trainer: none | allocatable: none",
    ]
    assert {pod for pod, *_ in holdings.listed(lab.say("lab").state)} == set()


def test_an_agent_is_told_the_same_over_a_socket(lab: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    lab.run("agent-wire")
    assert capsys.readouterr().out.startswith("True | trainer: d0 (NUMA 0), d1 (NUMA 0) | allocatable: d0")
    lab.say("lab").close()


def test_s15_nothing_before_the_first_question_says_what_is_left(lab: Notebook) -> None:
    cells = nbformat.read(ROOT / f"labs/{LAB}.ipynb", as_version=4).cells
    before = cells[: next(n for n, cell in enumerate(cells) if cell.id == "predict-restart")]
    told = " ".join(cell.source for cell in before) + (ROOT / "labs/img/08.svg").read_text("utf-8")
    assert not re.search("read back|not used|falls to 0|runs on|children|is refused|never comes back", told)
    picture = str(lab.run("imports-see").get_state()["whole"])
    assert "read back" not in picture
    assert "restart_kubelet" not in picture  # nothing that gives the answer stands in the first picture


# Exercises


@pytest.mark.parametrize("exercise", [1, 2, 3])
def test_the_answer_is_right(exercise: int) -> None:
    assert check_with(LAB, exercise, answers(LAB)[exercise - 1])


PLUGIN = "lab.plugin(gpu, devices=2, numa=1)"
AGAIN = "lab.delete('late'); admin.bind(lab, 'late', gpu)"
WEB = "pods.apply(lab, pods.manifest({}, name='web'))"


@pytest.mark.parametrize(
    ("exercise", "answer", "sentence"),
    [
        (1, "", "pod late is Failed, not Running"),
        (1, PLUGIN, "pod late is Failed, not Running"),
        (1, AGAIN, "pod late is Failed, not Running"),
        (1, f"{AGAIN}\n{PLUGIN}", "pod late is Failed, not Running"),
        (1, f"{PLUGIN}\nlab.restart_kubelet()", "pod late is Failed, not Running"),
        (1, "lab.delete('late')", "there is no pod late"),
        (1, "lab.delete('late'); lab.apply(pods.pod_yaml('late', {}))", "pod late runs on gpu-node-1 and holds no"),
        (2, "", "pod web is Failed, not Running"),
        (2, WEB.format("asks('app', 1)"), "container load of pod web holds 0 of example.com/gpu, not 1"),
        (2, WEB.format("asks('app', 1), init=[pods.container('load')]"), "container load of pod web holds 0"),
        (2, WEB.format("asks('load', 1), init=[asks('app', 1)]"), "pod web is Failed, not Running"),
        (2, "lab.delete('web')", "there is no pod web"),
        (2, "lab.kill_plugin(gpu)", "pod web is Failed, not Running"),
        (3, "", "runs=True, ready=False, healthy=none, asks=2: your answer gives 'refused'"),
        (3, "fate = lambda *case: 'goes on'", "healthy=none, asks=2: your answer gives 'goes on'"),
        (3, "fate = lambda runs, *case: 'goes on' if runs else 'refused'", "asks=3: your answer gives 'goes on'"),
        (3, "fate = lambda runs: None", "your function raised TypeError"),
        (3, "fate = lambda runs, ready, healthy, held, asks: 'goes on' if runs and asks == 2 else 'refused'",
         "runs=True, ready=True, healthy=none, asks=2: your answer gives 'goes on'"),
    ],
)  # fmt: skip
def test_a_wrong_answer_is_told_what_is_broken(exercise: int, answer: str, sentence: str) -> None:
    checked = check_with(LAB, exercise, answer)
    assert not checked
    assert any(sentence in broken for broken in checked.broken), checked.broken
