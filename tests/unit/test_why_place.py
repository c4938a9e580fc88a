"""`kubedev place` and `cluster_from`: many pods on the nodes of a dump."""

import json
from pathlib import Path

import pytest

from kubedev import cluster_from
from kubedev.__main__ import main
from kubedev.views.live import LivePicture
from kubedev.views.picture import Picture, Text
from kubedev.views.placing import placing_picture
from tests.unit.why_world import GPU, Values, dump, node, pod

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  completions: 7
  parallelism: 7
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, resources: {requests: {cpu: 100m}, limits: {nvidia.com/gpu: 2}}}]
"""
MOST_ALLOCATED: Values = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {
                        "scoringStrategy": {
                            "type": "MostAllocated",
                            "resources": [{"name": GPU, "weight": 5}],
                        }
                    },
                }
            ]
        }
    ],
}


@pytest.fixture
def job(tmp_path: Path) -> str:
    (tmp_path / "job.yaml").write_text(JOB)
    return str(tmp_path / "job.yaml")


def test_a_job_of_seven_goes_where_there_are_devices_and_the_rest_is_left_over(
    job: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = dump(tmp_path, node("a", gpu="8"), node("b", gpu="4"), node("c"), pod("q", on="a", gpu="4"))
    assert main(["place", path, "-f", job, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["version"] == "kubedev.place/v1"
    assert sorted(found["placed"].values()) == ["a", "a", "b", "b"]
    assert list(found["left"]) == ["default/train-4", "default/train-5", "default/train-6"]
    message = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
    assert all(told.startswith(message) for told in found["left"].values())
    a = next(one for one in found["nodes"] if one["node"] == "a")
    assert a["resources"][GPU] == {"before": 4, "after": 8, "allocatable": 8}
    assert main(["place", path, "-f", job]) == 1
    out = capsys.readouterr().out
    assert "7 pods: 4 placed, 3 left over" in out
    assert "4 -> 8 of 8" in out
    assert "left over: 3 (default/train-4, default/train-5, default/train-6)" in out
    assert main(["place", dump(tmp_path, node("a", gpu="14")), "-f", job]) == 0


def test_where_none_is_placed_the_nodes_and_whom_preemption_would_evict_are_told(
    job: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    low, twin = pod("low", "b", {"priority": -5}, gpu="2"), pod("train-3", "a", gpu="1")
    path = dump(tmp_path, node("a", gpu="1"), node("b", gpu="2"), low, twin)
    assert main(["place", path, "-f", job]) == 1
    out = capsys.readouterr().out
    assert "7 pods: 0 placed, 7 left over" in out
    rows = {line.split()[0]: line for line in out.splitlines() if " of " in line}
    assert "1 -> 1 of 1" in rows["a"]
    assert "2 -> 2 of 2" in rows["b"]
    helps = "preemption would help the first of them: it would evict default/low (priority -5 < 0) on b"
    assert helps in out
    assert "running already under the same name, and counted beside: default/train-3 (on a)" in out
    main(["place", path, "-f", job, "--json"])
    found = json.loads(capsys.readouterr().out)
    evicts = {"node": "b", "evicts": [{"pod": "default/low", "priority": -5}]}
    assert list(found["preemption"].values()) == [evicts] * 7
    assert found["running"] == {"default/train-3": "a"}


def test_b58_the_scoring_strategy_of_a_configuration_decides_whether_all_of_them_fit(tmp_path: Path) -> None:
    nodes = [node("a", gpu="4"), node("b", gpu="4"), node("c", gpu="2")]
    (tmp_path / "scheduler.json").write_text(json.dumps(MOST_ALLOCATED))
    sizes = [pod("two", gpu="2"), pod("four", gpu="4"), pod("last", gpu="4")]
    path = dump(tmp_path, *nodes, *sizes)
    plain, packed = cluster_from(path), cluster_from(path, tmp_path / "scheduler.json")
    names = ("two", "four", "last")
    spread = plain.place([plain.pod(name) for name in names])
    assert dict(spread.placed) == {"default/two": "a", "default/four": "b"}
    assert list(spread.left) == ["default/last"]
    most = packed.place([packed.pod(name) for name in names])
    assert most.placed["default/two"] == "c"
    assert not most.left


def test_the_cluster_of_a_dump_answers_in_python(tmp_path: Path) -> None:
    cluster = cluster_from(dump(tmp_path, node("a", gpu="1"), pod("q", on="a", gpu="1"), pod("p", gpu="1")))
    assert repr(cluster) == "<a cluster of 1 nodes and 2 pods, v1.32.10>"
    assert [info.name for info in cluster.nodes] == ["a"]
    assert cluster.nodes[0].requested.get(GPU) == 1
    assert cluster.decide("p").message.startswith("0/1 nodes are available")
    assert cluster.why("p")["pods"][0]["groups"][0]["closest"] == "a"
    assert "held there by default/q (1)" in repr(cluster.why("p"))
    with pytest.raises(ValueError, match="no pod in the dump with the name nobody"):
        cluster.why("nobody")


def texts(drawn: Picture) -> list[str]:
    return [mark.text for mark in drawn.marks if isinstance(mark, Text)]


def test_what_went_where_is_a_picture_and_what_is_not_drawn_is_said(job: str, tmp_path: Path) -> None:
    cluster = cluster_from(dump(tmp_path, node("a", gpu="8"), node("b", gpu="4")))
    placement = cluster.place(job)
    assert isinstance(placement.picture(), LivePicture)
    drawn = placing_picture(placement.nodes, placement.resources, len(placement.placed), placement.reasons)
    assert drawn.sentence == "6 pods have a node, on 2 nodes; left over: 1."
    assert {"a", "b", "+4", "+2"} <= set(texts(drawn))
    many = [(before, after, 1) for before, after, _ in placement.nodes] * 30
    assert "and 24 nodes more, in the table" in texts(placing_picture(many, placement.resources, 60, {}))
    assert len(placing_picture(many, placement.resources, 60, {}).tables[0].rows) == 60
