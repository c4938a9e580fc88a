"""Agents ask PodResources while devices come and go: the same answers in memory and over gRPC to a second process."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from kubedev.api.messages import RpcError
from kubedev.api.objects import Container, Node, Pod
from kubedev.api.podresources import (
    AllocatableResourcesRequest,
    AllocatableResourcesResponse,
    ContainerDevices,
    ContainerMemory,
    ContainerResources,
    GetPodResourcesRequest,
    ListPodResourcesRequest,
    ListPodResourcesResponse,
    PodResources,
    PodResourcesAnswer,
    PodResourcesRequest,
)
from kubedev.api.quantity import Quantity
from kubedev.deviceplugin.plugin import Plugin, make_devices
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.events import ContainerExited, KubeletEvent, PodBound, PodDeleted, StopContainer
from kubedev.kubelet.kubelet import new_kubelet, step
from kubedev.lab.session import Lab
from kubedev.tools import devices as command
from kubedev.tools.kubelet import main as kubelet_main
from kubedev.wire.grpc_transport import GrpcTransport
from kubedev.wire.kubelet_wire import KubeletWire
from kubedev.wire.memory import MemoryTransport
from kubedev.wire.memory_plugin import MemoryPlugin
from kubedev.wire.plugin_thread import PluginThread
from kubedev.wire.pod_resources import ask_pod_resources, pod_resources_path
from kubedev.wire.sockets import SocketDirectoryError
from kubedev.wire.transport import PluginHandle
from tests.contract.harness import PATIENCE, nothing_left_behind

GPU = "example.com/gpu"
HUGE = {name: Quantity.parse(text) for name, text in (("cpu", "1k"), ("memory", "1Ti"), ("pods", "110"))}
Shown = dict[str, Any]


class RunningKubelet:
    """A whole kubelet on a transport, a plugin beside it, and the loop that applies what comes."""

    def __init__(self, transport: GrpcTransport | MemoryTransport, config: KubeletConfig) -> None:
        self.transport = transport
        self.inbox: SimpleQueue[KubeletEvent] = SimpleQueue()
        self.state = new_kubelet(Node("node", capacity=HUGE, allocatable=HUGE), transport.directory, config)
        self.wire = KubeletWire(transport, self.inbox.put, transport.directory, count(1))
        plugin = Plugin(GPU, make_devices(4, 2))
        self.plugin: PluginHandle
        if isinstance(transport, MemoryTransport):
            self.plugin = MemoryPlugin(plugin, transport)
        else:
            self.plugin = PluginThread(plugin, transport.directory)
        self.plugin.start()
        self.until(lambda: GPU in self.state.devices.all_devices)

    def apply(self, event: KubeletEvent) -> None:
        self.state, effects = step(self.state, event, 0.0)
        for effect in effects:
            if isinstance(effect, StopContainer):
                self.inbox.put(ContainerExited(effect.pod_uid, effect.container, 0))
            self.wire.carry_out(effect)
        self.wire.handled(event)

    def until(self, enough: Callable[[], bool]) -> None:
        while not enough():
            try:
                self.apply(self.inbox.get(timeout=PATIENCE))
            except Empty:
                raise AssertionError(f"nothing more comes: {self.state}") from None

    def run_pod(self, name: str, gpus: int) -> None:
        wants = {
            GPU: Quantity.of(gpus),
            "cpu": Quantity.of(1),
            "memory": Quantity.parse("1Gi"),
        }
        container = Container("app", requests=wants, limits=wants)
        self.apply(PodBound(Pod(name, uid=f"uid-{name}", containers=(container,))))
        self.until(lambda: bool(self.state.pods[f"uid-{name}"].running))

    def end(self) -> None:
        self.plugin.stop()
        self.wire.close()


@contextmanager
def running(kind: str, directory: Path, config: KubeletConfig) -> Iterator[RunningKubelet]:
    transport = MemoryTransport() if kind == "memory" else GrpcTransport(str(directory))
    kubelet = RunningKubelet(transport, config)
    try:
        yield kubelet
    finally:
        kubelet.end()


def ask(kubelet: RunningKubelet, request: PodResourcesRequest) -> PodResourcesAnswer:
    """In memory: an agent in this very thread."""
    assert isinstance(kubelet.transport, MemoryTransport)
    answers: list[PodResourcesAnswer] = []
    kubelet.transport.ask_pod_resources(request, answers.append)
    kubelet.until(lambda: bool(answers))
    return answers[0]


def shown(kubelet: RunningKubelet) -> Shown:
    """What `kubedev devices --json` says: in a second process, or in memory of the same answers."""
    if isinstance(kubelet.transport, MemoryTransport):
        listed, there_is = (
            ask(kubelet, ListPodResourcesRequest()),
            ask(kubelet, AllocatableResourcesRequest()),
        )
        assert isinstance(listed, ListPodResourcesResponse)
        assert isinstance(there_is, AllocatableResourcesResponse)
        return json.loads(json.dumps(command.by_numa_node(listed, there_is)))  # type: ignore[no-any-return]
    arguments = ["--json", "--socket", kubelet.transport.pod_resources]
    agent = subprocess.Popen(
        [sys.executable, "-m", "kubedev", "devices", *arguments], stdout=subprocess.PIPE, text=True
    )

    def ended() -> bool:
        return agent.poll() is not None

    while not ended():
        try:
            kubelet.apply(kubelet.inbox.get(timeout=0.05))
        except Empty:
            continue
    output, _ = agent.communicate()
    assert agent.returncode == 0
    return json.loads(output)  # type: ignore[no-any-return]


def held(found: Shown) -> dict[str, list[str]]:
    """Device: its holders, `-` in front where it is not allocatable."""
    return {
        ("" if device["allocatable"] else "-") + device["id"]: [h["pod"] for h in device["holders"]]
        for node in found["numa_nodes"]
        for device in node["devices"]
    }


@pytest.mark.parametrize("kind", ["memory", "grpc"])
def test_an_agent_sees_devices_come_and_go(kind: str, directory: Path) -> None:
    with nothing_left_behind(), running(kind, directory, KubeletConfig()) as kubelet:
        assert held(shown(kubelet)) == {"d0": [], "d1": [], "d2": [], "d3": []}
        kubelet.run_pod("web", 2)
        found = shown(kubelet)
        assert held(found) == {"d0": ["web"], "d1": ["web"], "d2": [], "d3": []}
        assert [node["id"] for node in found["numa_nodes"]] == [0, 1]
        kubelet.plugin.set_health("d1", False)
        kubelet.until(lambda: "d1" in kubelet.state.devices.unhealthy_devices[GPU])
        assert held(shown(kubelet)) == {"d0": ["web"], "-d1": ["web"], "d2": [], "d3": []}
        kubelet.plugin.set_count(2)
        kubelet.until(lambda: len(kubelet.state.devices.all_devices[GPU]) == 2)
        kubelet.apply(PodDeleted("uid-web"))
        kubelet.until(lambda: not kubelet.state.pods)
        assert kubelet.state.devices.pod_devices, "the record stays until somebody looks"
        assert held(shown(kubelet)) in ({"d0": []}, {"d0": [], "d1": []})
        assert not kubelet.state.devices.pod_devices, "List had it forgotten"


def test_get_and_errors_are_the_same_in_memory_and_over_grpc(directory: Path) -> None:
    seen = {}
    for kind in ("memory", "grpc"):
        for switches in (frozenset[str](), frozenset({"KubeletPodResourcesGet"})):
            with running(kind, directory, KubeletConfig(switches=switches)) as kubelet:
                kubelet.run_pod("web", 1)
                for name in ("web", "none"):
                    request = GetPodResourcesRequest(name, "default")
                    seen[kind, len(switches), name] = _asked(kubelet, request)
    for answer in ("web", "none"):
        for on in (0, 1):
            assert seen["memory", on, answer] == seen["grpc", on, answer]
    assert seen["grpc", 0, "web"] == RpcError("Unknown", "PodResources API Get method disabled")
    assert seen["grpc", 1, "none"] == RpcError("Unknown", "pod none in namespace default not found")
    (container,) = seen["grpc", 1, "web"].pod_resources.containers
    assert container.devices == (ContainerDevices(GPU, ("d0",), (0,)),)


def _asked(kubelet: RunningKubelet, request: PodResourcesRequest) -> Any:
    if isinstance(kubelet.transport, MemoryTransport):
        return ask(kubelet, request)
    import threading

    answers: list[Any] = []
    path = kubelet.transport.pod_resources
    agent = threading.Thread(target=lambda: answers.extend(ask_pod_resources(path, request)))
    agent.start()
    while not answers:
        try:
            kubelet.apply(kubelet.inbox.get(timeout=0.05))
        except Empty:
            continue
    agent.join()
    return answers[0]


def test_the_command_serves_below_its_directory_and_leaves_nothing(directory: Path) -> None:
    kubelet = subprocess.Popen(
        [sys.executable, "-m", "kubedev", "kubelet", "--dir", str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert kubelet.stdin is not None
    assert kubelet.stdout is not None
    listening = json.loads(kubelet.stdout.readline())
    assert listening["pod_resources"] == f"{directory}/pod-resources/kubelet.sock"
    listed, there_is = ask_pod_resources(
        listening["pod_resources"], ListPodResourcesRequest(), AllocatableResourcesRequest()
    )
    assert (listed, there_is) == (ListPodResourcesResponse(), AllocatableResourcesResponse())
    kubelet.stdin.write("quit\n")
    kubelet.stdin.flush()
    assert kubelet.wait(PATIENCE) == 0
    kubelet.stdout.close()
    kubelet.stdin.close()
    assert list(directory.iterdir()) == []


def test_a_path_that_is_too_long_is_refused_before_anything_is_made(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = f"{directory}/{'x' * 120}/kubelet.sock"
    assert kubelet_main(["--dir", str(directory), "--pod-resources", path]) == 1
    assert "a socket's path may have 107 bytes" in capsys.readouterr().err
    assert list(directory.iterdir()) == []
    with pytest.raises(SocketDirectoryError, match="may have 107 bytes"):
        ask_pod_resources(path, ListPodResourcesRequest())


def test_a_socket_where_nobody_answers(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--socket", f"{directory}/none.sock"]) == 1
    assert "there is no such socket" in capsys.readouterr().err
    (directory / "file").touch()
    assert command.main(["--socket", f"unix://{directory}/file"]) == 1
    assert "/file: is a file, and no socket. Expected the PodResources socket" in capsys.readouterr().err


def test_a_kubelet_in_the_same_place_is_not_pushed_aside(directory: Path) -> None:
    path = pod_resources_path(str(directory))
    other = GrpcTransport(f"{directory}/other", path)
    os.mkdir(other.directory)
    server = GrpcTransport(str(directory)).serve_pod_resources(lambda request, reply: None)
    with pytest.raises(SocketDirectoryError, match="a kubelet serves here already"):
        other.serve_pod_resources(lambda request, reply: None)
    server.stop()


def test_the_table_groups_by_numa_node() -> None:
    web = ContainerResources(
        "app",
        (ContainerDevices(GPU, ("d0",), (0,)), ContainerDevices("example.com/nic", ("n0",), None)),
        (1, 2, 3),
        (ContainerMemory("memory", 2 << 30, (0,)),),
    )
    listed = ListPodResourcesResponse((PodResources("web", "shop", (web,)),))
    there_is = AllocatableResourcesResponse(
        (ContainerDevices(GPU, ("d10",), (1,)), ContainerDevices(GPU, ("d2",), (1,))),
        (0, 1, 2, 3, 4),
        (ContainerMemory("memory", 8 << 30, (0,)),),
    )
    assert command.table(command.by_numa_node(listed, there_is)) == "\n".join(
        [
            "NUMA node 0",
            "  example.com/gpu  d0          shop/web/app (not among the healthy ones any more)",
            "  memory           2Gi of 8Gi  shop/web/app",
            "NUMA node 1",
            "  example.com/gpu  d2   free",
            "  example.com/gpu  d10  free",
            "without NUMA node",
            "  example.com/nic  n0  shop/web/app (not among the healthy ones any more)",
            "CPUs",
            "  1-3  shop/web/app",
            "  0-4 can be had, whoever has them now",
        ]
    )


def test_a_labs_kubelet_answers_agents_too() -> None:
    with Lab("asked by agents", nodes=1, plugins="thread") as lab:
        lab.plugin("nvidia.com/gpu", 2)
        lab.apply("one-gpu")
        (directory,) = lab.directories.values()
        output = subprocess.run(
            [
                *(sys.executable, "-m", "kubedev", "devices", "--json"),
                *("--socket", pod_resources_path(directory)),
            ],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        (pod,) = lab.state.store.pods.values()
        holders = held(json.loads(output))
        assert holders == {"d0": [pod.name], "d1": []}
