"""A lab's scheduler: configured from a file, from pasted text, and with a plugin of the reader's own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubedev.api.manifests import ManifestError
from kubedev.cluster.history import History, HistoryError
from kubedev.lab.session import Lab
from kubedev.scheduler.configuration.errors import ConfigurationError

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PACKING = (
    HEADER
    + "profiles:\n- schedulerName: default-scheduler\n- schedulerName: packing\n  plugins:\n    score:\n"
    '      disabled: [{name: "*"}]\n      enabled: [{name: NodeResourcesFit}]\n  pluginConfig:\n'
    "  - name: NodeResourcesFit\n    args: {scoringStrategy: {type: MostAllocated}}\n"
)


def a_pod(name: str, scheduler: str = "default-scheduler") -> str:
    requests = "resources: {requests: {cpu: '1', memory: 1Gi}}"
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\n"
        f"spec: {{schedulerName: {scheduler}, containers: [{{name: c, image: i, {requests}}}]}}\n"
    )


def a_lab(**more: Any) -> Lab:
    return Lab("scheduler", transport="memory", plugins="thread", **more)


@pytest.fixture
def lab() -> Iterator[Lab]:
    with a_lab() as made:
        yield made


def node_of(lab: Lab, name: str) -> str:
    return lab.pod(name).node_name


def test_a_lab_takes_its_schedulers_configuration_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "scheduler.yaml").write_text(PACKING)
    with a_lab(scheduler=tmp_path / "scheduler.yaml") as lab:
        for i in range(2):
            lab.apply(a_pod(f"p{i}", "packing"))
            lab.apply(a_pod(f"s{i}"))
        assert node_of(lab, "p0") == node_of(lab, "p1")
        assert lab.state.scheduler.queue.handles("packing")
        assert History.from_json(lab.history.to_json()).state == lab.state


def test_r13_a_pasted_configuration_starts_the_scheduler_anew(lab: Lab) -> None:
    loaded = lab.apply(a_pod("p", "packing"))
    assert node_of(lab, "p") == ""
    assert [note for note in loaded.notes if "packing" in note] == [
        "pod p asks for the scheduler packing, and there are only default-scheduler: nobody will look at it. "
        "Write another schedulerName, or configure a profile of this name."
    ]
    lab.apply(a_pod("other"))
    loaded = lab.apply(f"{PACKING}---\n{a_pod('q', 'packing')}")
    assert loaded.notes == ()
    assert node_of(lab, "p") == node_of(lab, "q") != ""
    assert node_of(lab, "other") != ""


def test_a_configuration_that_is_refused_changes_nothing(lab: Lab) -> None:
    before = lab.state
    with pytest.raises(ManifestError) as caught:
        lab.apply(f"{a_pod('p')}---\n{HEADER}parallelism: 0\n")
    assert "parallelism: Invalid value: 0: should be an integer value greater than zero" in str(caught.value)
    assert lab.state is before
    with pytest.raises(ConfigurationError, match="should be an integer value greater than zero"):
        Lab("scheduler", transport="memory", scheduler=f"{HEADER}parallelism: 0\n")
    assert lab.apply(a_pod("p")).pods  # the lab of the same name is still open


def test_a_plugin_of_ones_own_places_pods_of_a_lab_and_one_that_breaks_breaks_nothing() -> None:
    class LastNode:
        def score(self, state: None, pod: Any, node_info: Any) -> int:
            if pod.name == "bad":
                raise LookupError("no score")
            return 100 * (node_info.name == "gpu-node-2")

    text = f"{HEADER}profiles:\n- plugins: {{score: {{enabled: [{{name: LastNode, weight: 50}}]}}}}\n"
    for given in ({"scheduler": text}, {}):
        with a_lab(scheduler_plugins=[LastNode], **given) as lab:
            lab.apply(a_pod("p"))
            if given:
                assert node_of(lab, "p") == "gpu-node-2"
            lab.apply(a_pod("bad"))
            assert lab.pod("bad").conditions[0].reason == "SchedulerError"
            assert "LookupError: no score" in lab.pod("bad").conditions[0].message
            lab.apply(a_pod("next"))
            assert node_of(lab, "next") != ""
            with pytest.raises(HistoryError, match="cannot write a LastNode to JSON: expected a run of what"):
                lab.history.to_json()
