"""A lab with everything real: gRPC, plugins and containers as processes. What it leaves, and what it survives."""

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from kubedev.api.manifests import load
from kubedev.cluster import events as e
from kubedev.cluster.state import ClusterState
from kubedev.deviceplugin.plugin import Plugin, make_devices
from kubedev.lab.session import Lab
from kubedev.wire.plugin_process import PluginProcess
from kubedev.wire.runtime import Follower, ProcessRuntime
from tests.contract.harness import PATIENCE, Notes, nothing_left_behind

GPU = "nvidia.com/gpu"
UNSUPPORTED = 'requested API version "v1alpha" is not supported by kubelet. Supported version is ["v1beta1"]'
HOLDER = """
import json, os, sys
from kubedev.lab.session import Lab
lab = Lab(sys.argv[1])
lab.plugin("nvidia.com/gpu", 4)
lab.apply("two-gpus")
lab.apply("one-gpu")
state = lab.state
print(json.dumps({
    "pids": [c.pid for c in state.containers.values()] + [p.pid for p in state.plugins.values()],
    "directories": list(lab.cluster._world.directories.values()),
    "phases": [pod.phase for pod in state.store.pods.values()],
}), flush=True)
"""
STAYS = HOLDER + "sys.stdin.read()\n"
WAITS = HOLDER + "lab.wait(lambda state: False, timeout=60)\nlab.close()\nprint('closed', flush=True)\n"


def pod(name: str, gpus: int = 0, policy: str = "Always", more: str = "") -> str:
    resources = f"resources: {{limits: {{{GPU}: {gpus}}}}}" if gpus else ""
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  restartPolicy: {policy}
  {more}
  containers:
  - {{name: main, image: cuda, {resources}}}
"""


@pytest.fixture
def lab() -> Iterator[Lab]:
    with nothing_left_behind():
        with Lab("real", nodes=1) as lab:
            directories = directories_of(lab)
            yield lab
            started = pids(lab.state)
        assert not any(map(alive, started))
        assert not any(map(os.path.exists, directories))


def directories_of(lab: Lab) -> list[str]:
    return list(lab.cluster._world.directories.values())  # type: ignore[attr-defined]


def pids(state: ClusterState) -> list[int]:
    found = [*state.containers.values(), *state.plugins.values()]
    return [each.pid for each in found if each.pid is not None]


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie, which somebody has still to wait for, does not."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def eventually(what: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while not what() and time.monotonic() < deadline:
        time.sleep(0.05)
    return what()


@contextmanager
def holding(program: str, name: str = "lab") -> Iterator[subprocess.Popen[str]]:
    """A process of its own that holds a lab, as a notebook's kernel does."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def first_line(process: subprocess.Popen[str]) -> dict[str, list[object]]:
    assert process.stdout is not None
    found: dict[str, list[object]] = json.loads(process.stdout.readline())
    return found


def tcp_sockets(pid: int) -> set[str]:
    """The sockets of a process that speak TCP."""
    tables = [Path(f"/proc/{pid}/net/{kind}").read_text().splitlines()[1:] for kind in ("tcp", "tcp6")]
    inodes = {line.split()[9] for table in tables for line in table}
    found = set()
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            found.add(os.readlink(path).removeprefix("socket:[").removesuffix("]"))
    return found & inodes


# What a lab opens, and what it leaves


def test_two_labs_at_once_share_nothing() -> None:
    with holding(STAYS) as one, holding(STAYS) as two:
        first, second = first_line(one), first_line(two)
        assert first["phases"] == second["phases"] == ["Running", "Running"]
        directories = [*first["directories"], *second["directories"]]
        assert len(set(directories)) == 4
        assert not set(first["pids"]) & set(second["pids"])


def test_directories_are_private_and_short(lab: Lab) -> None:
    for directory in directories_of(lab):
        assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700
        assert len(directory) < 54, "a path of 107 bytes has room for two names and more"


def test_nothing_speaks_tcp(lab: Lab) -> None:
    with socket.create_server(("127.0.0.1", 0)):
        assert tcp_sockets(os.getpid()), "the test would see one"
    before = tcp_sockets(os.getpid())
    lab.plugin(GPU, 4)
    lab.apply(pod("web", 2))
    assert tcp_sockets(os.getpid()) == before
    for pid in pids(lab.state):
        assert tcp_sockets(pid) == set(), pid


def test_a_killed_kernel_leaves_no_process() -> None:
    with holding(STAYS) as kernel:
        found = first_line(kernel)
        assert len(found["pids"]) == 3
        assert all(alive(int(str(pid))) for pid in found["pids"])
        kernel.kill()
        assert eventually(lambda: not any(alive(int(str(pid))) for pid in found["pids"]))
        for directory in found["directories"]:  # nobody was left to remove them
            names = {path.name for path in Path(str(directory)).iterdir()}
            assert names <= {"kubelet.sock", "pod-resources"}
            shutil.rmtree(str(directory))


@pytest.mark.parametrize("whom", ["the process", "its whole group"])
def test_ctrl_c_while_waiting_leaves_the_lab_as_it_is(whom: str) -> None:
    with holding(WAITS) as kernel:
        found = first_line(kernel)
        time.sleep(0.3)  # until it waits
        send = os.kill if whom == "the process" else os.killpg
        send(kernel.pid, signal.SIGINT)
        said, _ = kernel.communicate(timeout=PATIENCE)
        assert said.splitlines() == ["stopped by you; the lab goes on", "closed"]
        assert not any(alive(int(str(pid))) for pid in found["pids"])
        assert not any(Path(str(directory)).exists() for directory in found["directories"])


def test_a_temporary_directory_with_a_long_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    long = tmp_path / ("d" * 80)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with Lab("long", nodes=1) as lab:
        lab.plugin(GPU, 1)
        assert lab.node().allocatable[GPU].value() == 1
    assert list(long.iterdir()) == []


# Plugins that the kubelet refuses


@pytest.mark.parametrize(
    ("resource", "version", "text"),
    [
        (GPU, "v1alpha", UNSUPPORTED),
        ("gpu", "v1beta1", 'the ResourceName "gpu" is invalid'),
        ("kubernetes.io/gpu", "v1beta1", 'the ResourceName "kubernetes.io/gpu" is invalid'),
    ],
)
def test_a_refused_plugin_hears_kubernetes_text_and_stops(
    lab: Lab, resource: str, version: str, text: str
) -> None:
    notes = Notes()
    plugin = PluginProcess(
        Plugin(resource, make_devices(2)),
        directories_of(lab)[0],
        lambda event: notes.add((event.event, event.error)),
        version,
    )
    plugin.start()
    notes.has(("stopped", ""))
    assert ("refused", f"rpc error: code = Unknown desc = {text}") in notes.all
    lab.wait()
    assert resource not in lab.node().capacity


def test_a_refused_plugin_is_shown_as_refused(lab: Lab) -> None:
    lab.plugin("gpu", 2)
    plugin = lab.state.plugins["gpu-node-1", "gpu"]
    assert (plugin.phase, plugin.error) == ("refused", 'the ResourceName "gpu" is invalid')
    assert plugin.pid is not None
    pid = plugin.pid
    assert eventually(lambda: not alive(pid))


# What happens to plugins and containers


def test_a_kubelet_restart_keeps_running_pods_and_their_devices(lab: Lab) -> None:
    lab.plugin(GPU, 4)
    lab.apply(pod("web", 2))
    container = lab.state.containers["default/web", "main"]
    lab.restart_kubelet()
    assert lab.pod("web").phase == "Running"
    assert lab.devices_of("web") == ("d0", "d1")
    assert lab.state.containers["default/web", "main"] == container
    assert container.pid is not None
    assert alive(container.pid)
    lab.apply(pod("next", 2))
    assert lab.devices_of("next") == ("d2", "d3")


def test_a_kubelet_restart_does_not_run_an_init_container_again(lab: Lab) -> None:
    lab.apply(pod("web", more="initContainers: [{name: first, image: i}]"))
    lab.restart_kubelet()
    assert lab.state.containers["default/web", "first"].attempt == 0
    assert lab.pod("web").phase == "Running"


def test_a_reboot_ends_all_and_refuses_pods_whose_plugin_is_not_there_yet(lab: Lab) -> None:
    lab.plugin(GPU, 4)
    lab.apply(pod("web", 2))
    lab.apply(pod("plain"))
    before = pids(lab.state)
    lab.restart_kubelet(reboot=True)
    assert eventually(lambda: not any(map(alive, before)))
    web = lab.pod("web")
    assert (web.phase, web.reason) == ("Failed", "UnexpectedAdmissionError")
    assert web.message == (
        "Pod was rejected: Allocate failed due to no healthy devices present; "
        f"cannot allocate unhealthy devices {GPU}, which is unexpected"
    )
    plain = lab.state.containers["default/plain", "main"]
    assert (lab.pod("plain").phase, plain.phase, plain.attempt) == ("Running", "running", 1)
    assert plain.pid not in before


def test_a_plugin_that_is_killed_while_it_allocates(lab: Lab) -> None:
    lab.plugin(GPU, 4, preferred_allocation=False)
    pid = lab.state.plugins["gpu-node-1", GPU].pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    lab.post(e.PodCreated(load(pod("web", 2)).pods[0]))
    lab.wait(lambda state: any("Allocate of" in what for what in state.under_way()))
    os.kill(pid, signal.SIGKILL)
    lab.wait(lambda state: state.plugins["gpu-node-1", GPU].phase == "dead")
    lab.wait()
    web = lab.pod("web")
    assert (web.phase, web.reason) == ("Failed", "UnexpectedAdmissionError")
    assert web.message.startswith("Pod was rejected: Allocate failed due to rpc error: code = Unavailable")
    assert "nvidia.com-gpu.sock" in lab.state.sockets["gpu-node-1"], "killed, so it could not remove it"
    assert lab.node().allocatable[GPU].value() == 0
    lab.plugin(GPU, 4)
    lab.apply(pod("next", 4))
    assert lab.devices_of("next") == ("d0", "d1", "d2", "d3"), "what the refused pod had is free"


@pytest.mark.parametrize(
    ("policy", "phase", "attempts"),
    [("Always", "Running", 1), ("OnFailure", "Running", 1), ("Never", "Failed", 0)],
)
def test_a_container_killed_from_outside(lab: Lab, policy: str, phase: str, attempts: int) -> None:
    lab.plugin(GPU, 4)
    lab.apply(pod("web", 2, policy))
    before = lab.position
    kill_container(lab)
    container = lab.state.containers["default/web", "main"]
    assert (lab.pod("web").phase, container.attempt) == (phase, attempts)
    if policy == "Never":
        assert (container.phase, container.exit_code) == ("ended", -signal.SIGKILL)
        lab.apply(pod("next", 4))
        assert lab.pod("next").phase == "Running", "a pod that has failed holds no devices"
    else:
        assert lab.devices_of("web") == ("d0", "d1"), "a container that starts again keeps its devices"
        assert container.output == lab.history[before].state.containers["default/web", "main"].output


def test_a_container_killed_by_an_action_is_another_process_afterwards(lab: Lab) -> None:
    lab.plugin(GPU, 4)
    lab.apply(pod("web", 2))
    before = lab.state.containers["default/web", "main"]
    lab.kill_container("web")
    after = lab.state.containers["default/web", "main"]
    assert (before.attempt, after.attempt, after.phase) == (0, 1, "running")
    assert before.pid is not None
    assert after.pid is not None
    assert eventually(lambda: not alive(before.pid or 0))
    assert alive(after.pid)


def kill_container(lab: Lab) -> None:
    pid = lab.state.containers["default/web", "main"].pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    lab.wait(lambda state: state.containers["default/web", "main"].pid != pid or state_ended(state))
    lab.wait()


def state_ended(state: ClusterState) -> bool:
    return state.containers["default/web", "main"].phase == "ended"


def test_a_container_that_ends_again_and_again_is_held_back(lab: Lab) -> None:
    lab.apply(pod("web"))
    kill_container(lab)
    assert lab.state.containers["default/web", "main"].phase == "running", "the first time at once"
    kill_container(lab)
    web = lab.pod("web")
    assert (web.phase, web.reason) == ("Running", "CrashLoopBackOff")
    assert web.message == "back-off 10s restarting failed container=main pod=web_default(default/web)"
    lab.advance(9)
    assert lab.state.containers["default/web", "main"].phase == "ended"
    lab.advance(1)
    assert (lab.pod("web").reason, lab.state.containers["default/web", "main"].phase) == ("", "running")


def test_a_container_that_cannot_be_started() -> None:
    runtime, told = ProcessRuntime(), list[object]()
    envs = {"TOO_LONG": "x" * 200_000}
    runtime.start(("uid", "main"), "web", envs, True, Follower(told.append, told.append, told.append))
    assert told == [None, "cannot be started: Argument list too long", 128]
    runtime.close()
