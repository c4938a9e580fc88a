"""Bad input: an error that names the place, what was expected and what came; and nothing has changed."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kubedev.api.manifests import ManifestError
from kubedev.api.messages import Device
from kubedev.cluster import events as e
from kubedev.cluster.cluster import ClusterError
from kubedev.kubelet.config import KubeletConfig
from kubedev.lab.session import Lab
from kubedev.tools.kubelet_tool import KubeletTool
from kubedev.wire.sockets import SocketDirectoryError, private_directory

GOOD = """apiVersion: v1
kind: Pod
metadata: {name: good}
spec: {containers: [{name: main, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}
---
"""
BAD = """apiVersion: v1
kind: Pod
metadata:
  name: bad
spec:
  containers:
    - name: main
      image: i
      resources:
        limits:
          nvidia.com/gpu: 1
          memory: 1Gi
"""
FIELD = "spec.containers[0].resources."


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bad input", transport="memory", nodes=1) as lab:
        lab.plugin("nvidia.com/gpu", 2)
        yield lab


# Manifests: the good document before the bad one is not created either


@pytest.mark.parametrize(
    ("text", "place", "parts"),
    [
        ("{", "line 6", ["error converting YAML to JSON"]),
        ("\tkind: Pod", "line 6", ["error converting YAML to JSON", "tabs"]),
        ("just a sentence", "document 2", ["expected an object", '"just a sentence"']),
        ("[1, 2]", "document 2", ["expected an object", "got [1, 2]"]),
        ("5", "document 2", ["expected an object", "5"]),
        (BAD.replace("1Gi", "1.5Gi."), "document 2", [FIELD + "limits[memory]", '"1.5Gi."', "must match"]),
        (BAD.replace("1Gi", "1GB"), "document 2", [FIELD + "limits[memory]", '"1GB"', "must match"]),
        (
            BAD.replace("gpu: 1", "gpu: 0.5"),
            "document 2",
            [FIELD + "limits[nvidia.com/gpu]", '"500m"', "must be an integer"],
        ),
        (
            BAD.replace("gpu: 1", "gpu: 2") + "        requests: {nvidia.com/gpu: 1}\n",
            "document 2",
            [FIELD + "requests", '"1"', "must be equal to nvidia.com/gpu limit of 2"],
        ),
        (
            BAD.replace("limits:", "requests:"),
            "document 2",
            [FIELD + "limits", "Limit must be set for non overcommitable resources"],
        ),
        (BAD.replace("gpu: 1", "gpu: -1"), "document 2", ["limits[nvidia.com/gpu]", '"-1"', "greater than"]),
        (BAD[: BAD.index("containers")], "document 2", ["spec.containers", "Required value"]),
        (BAD[: BAD.index("1Gi") - 2], "line ", ["error converting YAML to JSON", "cut off"]),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)
def test_a_bad_manifest_is_refused_whole(lab: Lab, text: str, place: str, parts: list[str]) -> None:
    before, steps = lab.state, len(lab.history)
    with pytest.raises(ManifestError) as error:
        lab.apply(GOOD + text, source="my.yaml")
    said = str(error.value)
    assert said.startswith("my.yaml")
    for part in (place, *parts):
        assert part in said
    assert lab.state is before
    assert len(lab.history) == steps


def test_a_file_names_itself(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "cut.yaml"
    path.write_text(BAD.replace("1Gi", "1.5Gi."))
    with pytest.raises(ManifestError, match=r"^cut\.yaml, document 1: .*1\.5Gi\."):
        lab.apply(path)


@pytest.mark.parametrize("what", ["one-gpus", "no/such/file.yaml", "a" * 300])
def test_a_name_that_is_no_manifest(lab: Lab, what: str) -> None:
    before = lab.state
    with pytest.raises(ManifestError, match=r"expected the path of a file, YAML text, or one of .*one-gpu,"):
        lab.apply(what)
    assert lab.state is before


def test_a_long_manifest_on_one_line(lab: Lab) -> None:
    text = " ".join(GOOD.removesuffix("---\n").split())
    with pytest.raises(ManifestError, match="pasted text"):
        lab.apply(text + " " * 300)


def test_bytes_that_are_no_text(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "picture.yaml"
    path.write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(ManifestError, match=r"^picture\.yaml: .*UTF-8"):
        lab.apply(path)


def test_a_missing_file_is_named(lab: Lab, tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"(?i)absent\.yaml: .*no such file"):
        lab.apply(tmp_path / "absent.yaml")


def test_a_name_that_is_taken_twice_over(lab: Lab) -> None:
    lab.apply(GOOD)
    before = lab.state
    with pytest.raises(ClusterError, match='pods "good" already exists'):
        lab.apply(BAD + "---\n" + GOOD.replace("gpu: 1", "gpu: 2"))
    assert lab.state is before
    lab.delete("good")


# Commands


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (lambda lab: lab.plugin("a.b/c", node="elsewhere"), "expected one of the nodes .*, got 'elsewhere'"),
        (lambda lab: lab.plugin("a.b/c", devices=-1), "-1"),
        (lambda lab: lab.kill_plugin("a.b/c"), "no such plugin runs; running: nvidia.com/gpu on gpu-node-1"),
        (lambda lab: lab.set_health("d7", healthy=False), r"expected a device .*\(d0, d1\), got 'd7'"),
        (lambda lab: lab.advance(-1), "expected 0 seconds or more, got -1"),
        (lambda lab: lab.delete("nobody"), "no pod 'nobody'; there are: "),
        (lambda lab: lab.seek(10**6), "expected a step from 0 to "),
        (lambda lab: lab.restart_kubelet("elsewhere"), "got 'elsewhere'"),
        (lambda _: Lab("other", nodes=9), "expected 1 to 4 nodes, got 9"),
        (lambda _: Lab("other", config=KubeletConfig(topology_manager_policy="best")), "best"),
        (lambda _: Lab("other", config=KubeletConfig(switches=frozenset({"1"}))), "expected switches among"),
    ],
)
def test_a_command_that_cannot_be(lab: Lab, command: Callable[[Lab], None], says: str) -> None:
    before = lab.state
    with pytest.raises((ValueError, LookupError), match=says):
        command(lab)
    assert lab.state is before


def test_late_commands_change_nothing(lab: Lab) -> None:
    """What buttons post may be about something that has just gone."""
    node = "gpu-node-1"
    with Lab("late", transport="memory", nodes=1) as late:
        late.plugin("nvidia.com/gpu", 2)
        late.apply(GOOD)
        uid = late.pod("good").uid
        for event in (
            e.PodDeletionAsked(uid),
            e.PodDeletionAsked(uid),
            e.PluginKilled(node, "nvidia.com/gpu"),
            e.PluginKilled(node, "nvidia.com/gpu"),
            e.HealthSet(node, "nvidia.com/gpu", "d0", "Unhealthy"),
            e.PluginLaunched(node, "nvidia.com/gpu", ()),
            e.HealthSet(node, "nvidia.com/gpu", "d0", "Unhealthy"),
        ):
            late.post(event)
        late.wait()
        late.apply(GOOD)
        assert late.pod("good").uid != uid, "a pod that is created again is another one"


def test_a_pod_that_is_created_again_may_ask_for_more(lab: Lab) -> None:
    lab.apply(GOOD)
    lab.delete("good")
    lab.apply(GOOD.replace("gpu: 1", "gpu: 2"))
    assert (lab.pod("good").phase, lab.devices_of("good")) == ("Running", ("d0", "d1"))
    lab.delete("good")


def test_a_namesake_of_a_pod_before_a_kubelet_restart_is_started(lab: Lab) -> None:
    lab.apply(GOOD)
    node = lab.pod("good").node_name
    lab.restart_kubelet(node)
    lab.delete("good")
    lab.apply(GOOD)
    assert "container main of pod good" in lab.output("good")
    lab.delete("good")


# Socket directories: refused before anything is started or removed


@pytest.fixture
def directory() -> Iterator[Path]:
    path = Path(private_directory())
    yield path
    path.chmod(0o700)
    for entry in path.iterdir():
        entry.unlink()
    path.rmdir()


def test_a_path_that_is_too_long(directory: Path) -> None:
    long = directory / ("d" * 100)
    with pytest.raises(SocketDirectoryError, match=r"may have 107 bytes, this one has 1\d\d.*shorter"):
        start_kubelet(long)
    assert not long.exists()


def test_a_directory_that_is_not_writable(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:  # root may write anywhere
        monkeypatch.setattr(os, "access", lambda *_: False)
    directory.chmod(0o500)
    with pytest.raises(SocketDirectoryError, match="not writable"):
        start_kubelet(directory)
    assert list(directory.iterdir()) == []


def test_a_directory_with_a_live_kubelet(directory: Path) -> None:
    with socket.socket(socket.AF_UNIX) as live, socket.socket(socket.AF_UNIX) as plugin:
        for each, name in ((live, "kubelet.sock"), (plugin, "gpu.sock")):
            each.bind(str(directory / name))
            each.listen()
        with pytest.raises(SocketDirectoryError, match="a kubelet serves here already"):
            start_kubelet(directory)
        assert {path.name for path in directory.iterdir()} == {"kubelet.sock", "gpu.sock"}


def test_a_directory_with_files_of_somebody(directory: Path) -> None:
    (directory / "thesis.odt").write_text("years of work")
    with socket.socket(socket.AF_UNIX) as old:
        old.bind(str(directory / "gpu.sock"))
    with pytest.raises(SocketDirectoryError, match=r"neither sockets nor .*: thesis\.odt.*move them away"):
        start_kubelet(directory)
    assert {path.name for path in directory.iterdir()} == {"thesis.odt", "gpu.sock"}
    assert (directory / "thesis.odt").read_text() == "years of work"


def start_kubelet(directory: Path) -> None:
    tool = KubeletTool(str(directory), 0, lambda event: None)
    tool.post("quit")
    tool.run()


@pytest.mark.parametrize("devices", [["s1", "s2"], "s1", [Device("d0"), 1], 2.5, None])
def test_n28_what_are_no_devices_is_refused_before_anything_begins(devices: Any) -> None:
    with Lab("devices", nodes=1, transport="memory") as lab:
        before = lab.state
        with pytest.raises(ValueError, match="expected a number of devices, or a list such as"):
            lab.plugin("example.com/gpu", devices)
        assert lab.state == before
        lab.plugin("example.com/gpu", 2)
        assert lab.node().allocatable["example.com/gpu"].value() == 2
