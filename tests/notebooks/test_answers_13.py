"""Lab 13: what its predictions are compared with, what it states, and its exercises, answered rightly and wrongly."""

import re
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest

from kubedev.api.podresources import ListPodResourcesRequest, ListPodResourcesResponse
from kubedev.kubelet.devices import device_manager
from kubedev.kubelet.pod_resources import answer
from kubedev.lab import Machine, cpus, numa
from tests.conftest import ROOT
from tests.notebooks.exercises import Notebook, answers, read_before

NAME = "13-cpus-are-not-devices"
RIGHT = answers(NAME)


@pytest.fixture
def lab() -> Iterator[Notebook]:
    notebook = Notebook(NAME)
    yield notebook
    if "lab" in notebook.names:
        notebook.say("lab.close()")


def text(cell: str) -> str:
    """The words of a cell."""
    cells = nbformat.read(ROOT / f"labs/{NAME}.ipynb", as_version=4).cells
    return next(str(each.source) for each in cells if each.id == cell)


def facts(gap: Any) -> dict[str, object]:
    return {name: right[0] for name, _, right, _ in gap.rows}


def given(lab: Notebook, count: int, **settings: Any) -> str:
    machine = Machine.set_up(cpus.settings(**settings))
    return cpus.of(cpus.admitted(machine, lab.names["asks"]("p", count)), "p")


def test_three_of_eleven_are_a_whole_core_and_one_whose_core_is_broken_already(lab: Notebook) -> None:
    lab.run("which-predict", "which-run")
    assert facts(lab.run("which-gap")) == {"it_gets": "2,6,8"}


@pytest.mark.parametrize(("count", "own"), [(6, "1,3,5,7,9,11"), (5, "2,4,6,8,10"), (2, "2,8")])
def test_the_largest_pieces_first_where_least_is_free(lab: Notebook, count: int, own: str) -> None:
    assert given(lab, count) == own


def test_a_cpu_of_ones_own_is_not_a_core_of_ones_own(
    lab: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.run("which-predict", "which-run", "which-gap", "which-graph")
    assert "core 0 {'CPU 0': 'shared', 'CPU 6': 'trainer'}" in capsys.readouterr().out


def test_packing_does_not_look_for_one_node_and_the_topology_manager_does(lab: Notebook) -> None:
    lab.run("which-predict", "which-run", "which-large")
    details = lab.names["large"].kubelet.config.cpus_of_machine.details

    def nodes(policy: str) -> set[int]:
        config = cpus.settings(
            cores=32, dealt=False, reserved="0,64", topology_manager_policy=policy, options=""
        )
        after = cpus.admitted(
            Machine.set_up(config), lab.names["asks"]("first", 6), lab.names["asks"]("t", 57)
        )
        return set(details.keep_only(cpus.parse_cpus(cpus.of(after, "t"))).ids("numa_node"))

    assert (nodes("none"), nodes("best-effort")) == ({0, 1}, {1})


def test_when_the_others_lose_their_cpus_is_said_alike_everywhere() -> None:
    assert "in its next round (every ten seconds)" in text("see-words")
    assert "in the kubelet's next round" in text("proved")
    assert "in the kubelet's next round" in (ROOT / "labs/teaching.md").read_text("utf-8")


def test_the_others_lose_what_a_pod_takes_and_reserved_cpus_are_shared(lab: Notebook) -> None:
    lab.run("see-show")
    web, trainer = lab.names["web"], lab.names["trainer"]
    after = cpus.admitted(Machine.set_up(cpus.settings()), web, trainer)
    assert cpus.cgroup(after, "web")["main"]["cpuset.cpus"] == "0,2,4,6,8,10"
    shared = cpus.admitted(
        Machine.set_up(cpus.settings(cpu_manager_policy="none", reserved="")), web, trainer
    )
    assert cpus.of(shared, "trainer") == "shared"


def test_b44_who_gets_cpus_of_its_own(lab: Notebook) -> None:
    lab.run("which-predict", "which-run", "own-predict", "own-scene", "own-run")
    assert facts(lab.run("own-gap")) == {
        "2, no memory limit": "shared",
        "1500m": "shared",
        "2000m": "its own",
        "limits only": "its own",
        "a proxy without limits": "shared",
        "a proxy with limits": "its own",
        "a GPU and nothing else": "shared",
    }
    qos = {
        name: cpus.decisions(lab.names["empty"], pod)[0].qos.qos_class
        for name, pod in lab.names["comers"].items()
    }
    assert qos["2, no memory limit"] == qos["a proxy without limits"] == "Burstable"
    assert (qos["1500m"], qos["a GPU and nothing else"]) == ("Guaranteed", "BestEffort")


def test_across_numa_takes_as_few_nodes_as_will_do(lab: Notebook) -> None:
    lab.run("knob-predict", "knob-turn")
    assert facts(lab.run("knob-gap")) == {"three": 1, "five": 1, "eight": 2}


@pytest.mark.parametrize(
    ("option", "reserved", "own"),
    [
        ("", "0", "2,6,8"),
        ("", "0,6", "2,4,8"),
        ("distribute-cpus-across-cores", "0", "2,4,6"),
        ("distribute-cpus-across-cores", "0,6", "2,4,8"),
        ("distribute-cpus-across-numa", "0", "1,3,7"),
        ("distribute-cpus-across-numa", "0,6", "1,3,7"),
        ("distribute-cpus-across-numa", "0,1", "2,6,8"),
    ],
)
def test_three_cpus_by_option_and_reservation(lab: Notebook, option: str, reserved: str, own: str) -> None:
    assert given(lab, 3, options=option, reserved=reserved) == own


@pytest.mark.parametrize(
    ("option", "reserved", "says", "own"),
    [
        ("packed, the default", "0", "with `reserved` 0, three CPUs are 2, 6 and 8", "2,6,8"),
        ("packed, the default", "0,6", "turn `reserved` to `0,6`: the whole core", "2,4,8"),
        ("distribute-cpus-across-numa", "0,1", "`0,1`, both sockets have as much to give", "2,6,8"),
        ("distribute-cpus-across-numa", "0", "so 1, 3 and 7", "1,3,7"),
    ],
)
def test_the_knobs_show_what_the_text_says_of_them(
    lab: Notebook, option: str, reserved: str, says: str, own: str
) -> None:
    lab.run("knob-turn")
    drawn = lab.names["turned"](lab.names["choices"][option], reserved, 3)
    assert says in text("knob-why")
    assert drawn.tables[0].rows[-1][-1] == f"{own} its own"


def test_full_pcpus_only_refuses_three(lab: Notebook) -> None:
    machine = Machine.set_up(cpus.settings(options="full-pcpus-only"))
    (decision,) = cpus.decisions(machine, lab.names["asks"]("p", 3))
    assert decision.refusal is not None
    assert decision.refusal.reason == "SMTAlignmentError"
    assert decision.error == "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"


def test_three_options_that_need_another_machine(lab: Notebook) -> None:
    lab.run("multiples-more-scene", "multiples-more")
    got = {name: cpus.admitted(machine, pod) for name, (machine, pod) in lab.names["more"].items()}
    own = {name: cpus.of(after, "trainer") for name, after in got.items()}
    assert own["8 CPUs, two caches"] == "1-4,9-12"
    assert own["prefer-align-cpus-by-uncorecache"] == "4-7,12-15"
    assert own["align-by-socket"] == "4-5,12-13"
    assert not got["4 CPUs, restricted"].kubelet.pods["trainer"].active
    assert got["align-by-socket"].kubelet.pods["trainer"].active
    shared = [
        cpus.cgroup(got[name], "web")["main"]["cpuset.cpus"]
        for name in ("a pod that shares", "strict-cpu-reservation")
    ]
    assert shared == ["0-11", "1-11"]


def test_only_full_pcpus_only_needs_no_gate_and_a_reservation_is_needed(
    lab: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.run("multiples-gate")
    first, *others, last = capsys.readouterr().out.splitlines()
    assert first == "full-pcpus-only: starts"
    assert all("Alpha-level Options not enabled" in line for line in others)
    assert len(others) == 5
    assert "unable to determine reserved CPU resources" in last


def test_q2_a_cpu_is_not_mounted(lab: Notebook) -> None:
    lab.run("mount-predict", "mount-scene", "mount-calls", "mount-files")
    assert facts(lab.run("mount-gap")) == {
        "calls_to_a_plugin_for_CPUs": 0,
        "device_nodes_for_CPUs": 0,
        "quota_of_CPU_time": "two CPUs' worth",
        "what_keeps_it_on_them": "a file of its cgroup",
    }
    files = lab.names["files"]
    assert (files["trainer"]["cpu.weight"], files["web"]["cpu.weight"]) == ("79", "20")
    assert files["web"]["cpu.max"] == "max 100000"
    assert lab.names["called"] == ["gpu"]


def test_an_agent_is_told_whose_cpus_are_its_own(lab: Notebook) -> None:
    lab.run("mount-scene")
    (kubelet,) = lab.say("lab.state.kubelets.values()")
    said = answer(kubelet, ListPodResourcesRequest())[1]
    assert isinstance(said, ListPodResourcesResponse)
    assert {pod.name: pod.containers[0].cpu_ids for pod in said.pod_resources} == {
        "trainer": (1, 5),
        "web": (),
    }


def test_cpus_memory_and_devices_under_one_hint(lab: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    lab.run("hint-scene", "hint-predict", "hint-run")
    assert facts(lab.run("hint-gap")) == {
        "none": "admitted", "best-effort": "admitted", "restricted": "refused", "single-numa-node": "refused",
    }  # fmt: skip
    machine = lab.names["machine"]
    assert set(numa.admitted(machine, cpu=3, memory=8, gpu=1).values()) == {"admitted"}
    assert numa.admitted(machine, cpu=3, memory=16, gpu=1)["restricted"] == "refused"
    assert numa.admitted(machine, cpu=3, memory=15, gpu=1)["restricted"] == "admitted"
    hints = {each.resource: each for each in machine.hints(cpu=4, memory=8, gpu=1)}
    assert set(hints) == {"cpu", "memory", "example.com/gpu"}
    after = {
        policy: machine.admit(numa.pod_asking("t", {"cpu": 4, "memory": 8, "gpu": 1}), policy)[0]
        for policy in ("none", "best-effort")
    }
    assert (after["none"].held_by("t"), cpus.of(after["none"], "t", "c1")) == (("a0",), "1,3,5,7")
    assert set("246") < set(cpus.of(after["best-effort"], "t", "c1"))
    lab.run("hint-reserved")
    starts, error = capsys.readouterr().out.splitlines()[-2:]
    assert starts == "kubeReserved 0 + systemReserved 924Mi + evictionHard 100Mi: starts"
    assert error.startswith("kubeReserved 1Gi + systemReserved 924Mi + evictionHard 100Mi: ")
    assert 'the total amount "1Gi" of type "memory" is not equal to the value "2Gi"' in error


def test_the_two_managers_write_their_policies_differently() -> None:
    assert "unknown policy" in cpus.start_error(cpus.settings(cpu_manager_policy="Static"))
    assert "unknown policy" in cpus.start_error(cpus.settings(memory=16, memory_manager_policy="static"))


def test_b47_which_changes_keep_a_kubelet_down(lab: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    lab.run("files-scene", "files-predict", "files-cases", "files-run")
    assert facts(lab.run("files-gap")) == {
        "nothing has changed": "starts",
        "policy is none now": "does not",
        "0 and 4 are reserved now": "starts",
        "0 and 6 are reserved now": "does not",
        "a socket is gone": "does not",
        "a new option spreads CPUs": "starts",
    }
    lab.run("files-more")
    none, cut_off, strict, memory, deleted = capsys.readouterr().out.splitlines()[-5:]
    assert 'configured policy "static" differs from state checkpoint policy "none"' in none
    assert "cut off: could not restore state from checkpoint: unexpected end of JSON input" in cut_off
    assert 'some of strictly reserved cpus: "0" are present in defaultCpuSet' in strict
    assert "delete the memory manager checkpoint file" in memory
    assert deleted == "the file deleted: starts"


def test_what_is_taken_stays_and_what_is_reserved_anew_is_nobodys(lab: Notebook) -> None:
    lab.run("files-scene")
    after = cpus.restarted(lab.names["was"], cpus.settings(reserved="0,4"))
    assert cpus.of(after, "trainer") == "2,6,8"
    assert 4 not in after.kubelet.cpus.available


def test_the_device_manager_starts_over_a_broken_checkpoint() -> None:
    assert device_manager.restart("{", 0.0).pod_devices == {}


def test_s15_nothing_before_a_question_answers_it() -> None:
    before = read_before(NAME)
    assert not re.search(r"2,6,8|whole core|largest", before["which-predict"])
    assert not re.search(r"Guaranteed|QoS|whole number", before["own-predict"])
    assert "as few" not in before["knob-predict"]
    assert not re.search(r"cpu\.max|quota|cgroup", before["mount-predict"])
    assert "torn" not in before["hint-predict"]
    assert not re.search(r"delete|drain|policy.{0,20}differs", before["files-predict"])


# Exercises


@pytest.mark.parametrize(("name", "right"), list(zip(("one", "two", "three"), RIGHT, strict=True)))
def test_the_exercises_are_solved_by_their_answers_and_not_before(
    lab: Notebook, name: str, right: str
) -> None:
    assert not lab.exercise(name)
    assert lab.exercise(name, right)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ('mended["a"] = [container("main", {"cpu": 2}, {"cpu": 2})]', "pod a: your answer gives {'main': 0}"),
        (
            'mended["b"] = [container("main", limits={"cpu": 3, "memory": "1Gi"})]',
            "pod b: your answer gives {'main': 3}",
        ),
        ('mended["c"].pop()', "pod c: your answer gives {'main': 2}"),
        (
            'mended["c"][1] = container("proxy", limits={"cpu": 1, "memory": "64Mi"})',
            "pod c: your answer gives {'main': 2, 'proxy': 1}",
        ),
        (
            'mended["d"] = [container("main", limits={"cpu": 2, "memory": "1Gi"})]',
            "pod d: your answer gives {'main': 2}",
        ),
        ("mended = {}", "pod a: your function raised KeyError"),
    ],
)
def test_b44_exercise_one_answered_wrongly(lab: Notebook, change: str, sentence: str) -> None:
    assert sentence in "\n".join(lab.exercise("one", f"{RIGHT[0]}\n{change}").broken)


@pytest.mark.parametrize(
    ("sizes", "after"),
    [
        ([12], [12, 0]),
        ([6, 6], [12, 0]),
        ([4, 4, 4], [12, 0]),
        ([4, 2, 2, 2, 2], [12, 8]),
        ([6], [6, 6]),
        ([3, 3, 3, 3], [0, 0]),
        ([2] * 7, [14, 0]),
    ],
)
def test_b45_exercise_two_answered_wrongly(lab: Notebook, sizes: list[int], after: list[int]) -> None:
    assert f"your answer gives {after}" in "\n".join(lab.exercise("two", f"sizes = {sizes}").broken)


@pytest.mark.parametrize(("size", "left"), [(6, 6), (8, 0)])
def test_b45_six_is_the_largest_single_pod_that_survives(lab: Notebook, size: int, left: int) -> None:
    lab.run("two-scene")
    assert lab.say(f"held([{size}])") == [size, left]


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        (
            "''",
            [
                "none to static",
                "static to none",
                "0,8 reserved",
                "6 CPUs less",
                "a CPU more",
                "6 less, 0,2 reserved",
            ],
        ),
        (
            "'' if file['policyName'] == now['policy'] else 'policy'",
            ["0,8 reserved", "6 CPUs less", "a CPU more", "6 less, 0,2 reserved"],
        ),
        (
            "'policy' if file['policyName'] != now['policy'] else "
            "'' if now['reserved'] <= cpus.parse_cpus(file['defaultCpuSet']) else 'reserved'",
            ["none, as it was", "6 CPUs less", "a CPU more"],
        ),
    ],
)
def test_b47_exercise_three_answered_wrongly(lab: Notebook, body: str, wrong: list[str]) -> None:
    said = lab.exercise("three", f"def blocker(file, now):\n    return {body}").broken
    assert [sentence.partition(":")[0] for sentence in said] == wrong


def test_b47_what_exercise_three_calls_right_is_what_the_kubelet_says(lab: Notebook) -> None:
    lab.exercise("three")
    kinds = {"differs": "policy", "not all reserved": "reserved", "doesn't match": "cpus"}
    machines = {"static": lab.names["kept"], "none": Machine.set_up(cpus.settings(cpu_manager_policy="none"))}
    for name, ((file, now), right) in lab.names["cases"].items():
        threads = {12: (2, 3, 2), 6: (1, 3, 2), 13: (1, 13, 1)}[len(now["cpus"])]
        config = cpus.settings(
            *threads, reserved=cpus.format_cpus(now["reserved"]), cpu_manager_policy=now["policy"]
        )
        error = cpus.start_error(config, machines[file["policyName"]])
        said = next((kind for words, kind in kinds.items() if words in error), error)
        assert (name, said) == (name, right)
