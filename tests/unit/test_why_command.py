"""`kubedev why` as a command: arguments, exit status, JSON, lines; what a kubelet's refusal means."""

import json
import re
from pathlib import Path

import pytest

from kubedev.__main__ import main
from kubedev.tools.why import command, sources
from kubedev.tools.why.answer import VERSION
from kubedev.tools.why.dump import REFUSALS as REFUSED
from kubedev.tools.why.dump import read_dump
from kubedev.tools.why.refusals import REASONS
from tests.conftest import ROOT
from tests.unit.why_world import GPU, Values, dump, explain, node, pod

FORM = ROOT / "kubedev" / "tools" / "why" / "FORM.md"


def refused(reason: str, message: str, **requests: str) -> Values:
    return pod("gone", "n", status={"phase": "Failed", "reason": reason, "message": message}, **requests)


def test_the_exit_status_says_whether_the_pod_would_be_scheduled(tmp_path: Path) -> None:
    fits = dump(tmp_path, node("n"), pod("p"), name="fits.json")
    full = dump(
        tmp_path, node("n"), pod("q", on="n", cpu="4"), pod("p"), pod("r", on="n", cpu="0"), name="full.json"
    )
    assert main(["why", fits, "p"]) == 0
    assert main(["why", fits]) == 0
    assert main(["why", full, "default/p"]) == 1
    assert main(["why", full]) == 1
    assert main(["why", full, "q"]) == 0
    assert main(["why", str(tmp_path / "none.json")]) == 2
    assert main(["why", full, "nobody"]) == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["DUMP", "trainr"], "no file and no pod in the dump with the name trainr"),
        (["DUMP", "default/trainr"], "is it default/trainer?"),
        (["DUMP", "trainer-2"], "is it default/trainer?"),
        (["DUMP", "nobody"], "it has 3 pods"),
        (["FOLDER", "p"], "is a directory, expected a file"),
        (["EMPTY"], "empty.json: expected pods and nodes"),
        (["DUMP", "one", "two"], "there is no file one: expected files, and at most one pod"),
        (["none.json", "p"], "there is no file none.json"),
        (["DUMP", "twice"], "there are several pods twice: say which of a/twice, b/twice"),
        (["DUMP", "-f", "none.yaml"], "none.yaml: No such file or directory"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = [pod("twice"), pod("twice")]
    twice[0]["metadata"]["namespace"], twice[1]["metadata"]["namespace"] = "a", "b"
    path = dump(tmp_path, node("n"), pod("trainer"), *twice)
    (tmp_path / "empty.json").write_text("{}")
    given = {"DUMP": path, "FOLDER": str(tmp_path), "EMPTY": str(tmp_path / "empty.json")}
    assert main(["why", *(given.get(one, one) for one in arguments)]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert len(said.splitlines()) == 1


def test_a_pod_that_is_not_there_yet_is_defaulted_and_gets_its_priority(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    urgent = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent"},
        "value": 50,
    }
    path = dump(tmp_path, node("n", gpu="1"), pod("q", on="n", gpu="1"), urgent)
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: new}\nspec:\n  priorityClassName: urgent\n"
        "  containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]\n"
    )
    assert main(["why", path, "-f", str(manifest), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)["pods"][0]
    assert told["pod"] == "default/new"
    assert told["message"] == f"0/1 nodes are available: 1 Insufficient {GPU}."
    assert told["preemption"]["victims"] == [{"pod": "default/q", "priority": 0}]
    assert told["preemption"]["priority"] == 50


def test_pods_that_wait_for_the_same_reason_stand_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = [pod(f"job-{n}", gpu="1") for n in range(20)]
    for one in job:
        one["metadata"]["labels"] = {}
    assert (
        main(["why", dump(tmp_path, node("n"), pod("small", cpu="0"), *job, refused("OutOfcpu", "too late"))])
        == 1
    )
    out = capsys.readouterr().out
    assert "20 pods: Unschedulable" in out
    assert "default/job-0, default/job-1, default/job-2, default/job-3 and 16 more" in out
    assert "1 pod: OutOfcpu" in out
    assert "1 pod: would be scheduled now" in out


def test_every_node_is_told_where_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [node(f"n{number:02d}", spec={"unschedulable": True}) for number in range(20)]
    assert main(["why", "--explain", dump(tmp_path, *nodes, pod("p")), "p"]) == 1
    out = capsys.readouterr().out
    assert all(f"  n{number:02d}: node(s) were unschedulable" in out for number in range(20))
    assert "kubectl uncordon n00" in out
    assert "\x1b" not in out


def test_the_json_has_a_version_and_every_name_in_it_is_documented(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = [node("n", gpu="1"), node("m", spec={"unschedulable": True}), pod("q", on="n", gpu="1")]
    main(
        ["why", "--json", "--explain", dump(tmp_path, *objects, pod("p", gpu="1", spec={"priority": 5})), "p"]
    )
    found = [json.loads(capsys.readouterr().out)]
    main(["why", "--json", dump(tmp_path, *objects, refused("OutOfcpu", "x")), "gone"])
    found.append(json.loads(capsys.readouterr().out))
    main(
        ["why", "--json", dump(tmp_path, *objects, pod("g", spec={"schedulingGates": [{"name": "x"}]})), "g"]
    )
    found.append(json.loads(capsys.readouterr().out))
    main(["why", "--json", dump(tmp_path, *objects, pod("s")), "s"])
    found.append(json.loads(capsys.readouterr().out))
    assert {one["version"] for one in found} == {VERSION}
    form = FORM.read_text("utf-8")
    assert VERSION in form
    names = set(re.findall(r'"([A-Za-z_]+)":', json.dumps([strip(one) for one in found])))
    assert {name for name in names if f"`{name}`" not in form} == set()


def strip(found: Values) -> Values:
    """Without the parts whose keys are names of resources, plugins and messages."""
    for one in found["pods"]:
        one["requests"] = {}
        one.get("queue", {}).get("events", {}).clear()
        (one.get("preemption") or {}).get("in_vain", {}).clear()
    return found


REFUSALS = {
    "UnexpectedAdmissionError": "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. "
    "Requested: 1, Available: 0, which is unexpected",
    "TopologyAffinityError": "Resources cannot be allocated with Topology locality",
    "SMTAlignmentError": "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2",
    "OutOfcpu": "Node didn't have enough resource: cpu, requested: 1000, used: 4000, capacity: 4000",
    "NodeAffinity": "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    "Preempting": "Preempted in order to admit critical pod",
    "Evicted": "The node was low on resource: memory.",
}


@pytest.mark.parametrize("reason", REFUSALS)
def test_a_refusal_is_explained_with_the_figures_of_its_node(
    reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = dump(
        tmp_path,
        node("n", capacity={GPU: "8"}, gpu="7"),
        pod("q", on="n", gpu="7"),
        refused(reason, REFUSALS[reason], gpu="1"),
    )
    told = explain(path)
    refusal = told["refusal"]
    assert (told["state"], told["scheduled"], told["node"]) == ("refused", False, "n")
    assert refusal["message"] == REFUSALS[reason]
    assert refusal["means"] == (REASONS.get(reason) or REASONS["OutOf"]).means
    gpus = next(one for one in refusal["figures"] if one["resource"] == GPU)
    assert (gpus["asked"], gpus["capacity"], gpus["allocatable"], gpus["requested"], gpus["unhealthy"]) == (
        1,
        8,
        7,
        7,
        1,
    )
    assert {"pod": "default/q", "resource": GPU, "amount": 7} in refusal["holders"]
    assert refusal["now"].startswith(f"OutOf{GPU}: Node didn't have enough resource")
    assert main(["why", path, "gone"]) == 1
    assert (
        f"{GPU}: the pod asks 1, requested by the pods there 7, allocatable 7, capacity 8 (1 unhealthy)"
        in capsys.readouterr().out
    )


def test_every_reason_that_counts_as_a_refusal_is_explained_and_no_other() -> None:
    assert set(REASONS) == REFUSED | {"OutOf"}


def test_a_job_that_failed_by_itself_was_not_refused(tmp_path: Path) -> None:
    failed = pod("late", "n", status={"phase": "Failed", "reason": "DeadlineExceeded"})
    told = explain(dump(tmp_path, node("n"), failed), "late")
    assert told["state"] == "failed"
    assert main(["why", dump(tmp_path, node("n"), failed)]) == 0


def test_a_pod_that_is_being_deleted_is_not_tried(tmp_path: Path) -> None:
    leaving = pod("p")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    told = explain(dump(tmp_path, node("n"), leaving))
    assert (told["scheduled"], told["message"]) == (False, "skip schedule deleting pod: default/p")


def test_colours_are_on_a_terminal_alone_and_not_where_they_are_unwanted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = dump(tmp_path, node("n"), pod("p", cpu="9"))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(command, "is_terminal", lambda descriptor: descriptor == 1)
    main(["why", path, "p"])
    assert "\x1b[31mwould not be scheduled\x1b[0m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    main(["why", path, "p"])
    assert "\x1b" not in capsys.readouterr().out


def test_devices_that_are_claimed_are_counted(tmp_path: Path) -> None:
    version = "resource.k8s.io/v1beta1"
    device = {"name": "gpu-0", "basic": {}}
    slice_ = {
        "apiVersion": version, "kind": "ResourceSlice", "metadata": {"name": "s"},
        "spec": {"driver": "gpu.example.com", "nodeName": "n", "devices": [device],
                 "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1}},
    }  # fmt: skip
    class_ = {"apiVersion": version, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}

    def claim(name: str, allocated: bool) -> Values:
        request = {"name": "r", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
        result = {"request": "r", "driver": "gpu.example.com", "pool": "n", "device": "gpu-0"}
        given = {"allocation": {"devices": {"results": [result]}}} if allocated else {}
        return {
            "apiVersion": version, "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"devices": {"requests": [request]}}, "status": given,
        }  # fmt: skip

    asks = pod("p", spec={"resourceClaims": [{"name": "g", "resourceClaimName": "mine"}]})
    free = explain(dump(tmp_path, node("n"), slice_, class_, claim("mine", False), asks))
    assert (free["scheduled"], free["node"]) == (True, "n")
    taken = explain(
        dump(tmp_path, node("n"), slice_, class_, claim("mine", False), claim("other", True), asks)
    )
    assert taken["message"].startswith("0/1 nodes are available: 1 cannot allocate all claims.")
    missing = explain(dump(tmp_path, node("n"), slice_, class_, asks))
    assert (missing["state"], missing["scheduled"]) == ("gated", False)
    assert missing["message"] == 'could not find ResourceClaim "default/mine"'
    other = {**slice_, "apiVersion": "resource.k8s.io/v1"}
    read = read_dump([dump(tmp_path, node("n"), other)])
    assert read.notes == [f"ResourceSlice of resource.k8s.io/v1 is not looked at: expected {version}"]


def test_every_lab_that_a_refusal_names_is_there() -> None:
    labs = {path.stem for path in (ROOT / "labs").glob("*.ipynb")}
    assert all(any(lab.startswith(reason.lab) for lab in labs) for reason in REASONS.values() if reason.lab)


def test_devices_are_held_as_the_nodes_own_file_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    holder = pod("q", on="n", gpu="1")
    listed = {"podResources": [
        {"name": "q", "namespace": "default", "containers": [
            {"name": "c", "devices": [
                {"resourceName": GPU, "deviceIds": ["GPU-1"], "topology": {"nodes": [{"ID": "1"}]}}
            ]}
        ]},
        {"name": "lost", "namespace": "default", "containers": [
            {"name": "c", "devices": [{"resourceName": GPU, "deviceIds": ["GPU-0"]}]}
        ]},
    ]}  # fmt: skip
    (tmp_path / "list.json").write_text(json.dumps(listed))
    objects = [node("n", gpu="2"), holder, refused("TopologyAffinityError", "x", gpu="1")]
    read = read_dump([dump(tmp_path, *objects), str(tmp_path / "list.json")])
    assert [(one.pod, one.devices, one.numa_nodes) for one in read.node_files[0].holdings] == [
        ("default/q", ("GPU-1",), (1,)),
        ("default/lost", ("GPU-0",), ()),
    ]
    main(["why", dump(tmp_path, *objects), str(tmp_path / "list.json"), "gone"])
    out = capsys.readouterr().out
    assert f"{GPU} GPU-1 on NUMA node 1: default/q/c, on n" in out
    assert f"{GPU} GPU-0: default/lost/c (a pod that is not in the dump)" in out


def test_a_broken_checkpoint_and_a_kubelets_settings_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "checkpoint").write_text(
        '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"nvidia.com/gpu":["a"]}},"Checksum":1}'
    )
    (tmp_path / "kubelet.yaml").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        "topologyManagerPolicy: single-numa-node\n"
    )
    path = dump(tmp_path, node("n", gpu="1"), refused("TopologyAffinityError", "x", gpu="1"))
    assert main(["why", path, str(tmp_path / "checkpoint"), str(tmp_path / "kubelet.yaml"), "gone"]) == 1
    out = capsys.readouterr().out
    assert "topologyManagerPolicy: single-numa-node" in out
    assert "checkpoint is corrupted: a kubelet that starts with it remembers nothing" in out


def test_progress_is_shown_on_a_terminal_after_a_second(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(sources.time, "monotonic", lambda: now[0])
    shown, hidden = sources.Progress(True), sources.Progress(False)
    shown.says("reading")
    assert capsys.readouterr().err == ""
    now[0] = 1.5
    for progress in (shown, hidden):
        progress.says("reading")
    assert capsys.readouterr().err.count("reading") == 1
    shown.clear()
    assert capsys.readouterr().err == "\r\x1b[K"
