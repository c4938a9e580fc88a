"""A whole kubelet and plugins that break the protocol: a clear line, and a state that is right."""

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from kubedev.api.messages import Device, ListAndWatchResponse, RegisterRequest
from kubedev.deviceplugin.plugin import Plugin, make_devices
from kubedev.kubelet.devices.capacity import get_capacity
from kubedev.tools.kubelet_tool import KubeletTool
from kubedev.wire import v1beta1_pb2 as pb
from kubedev.wire.codec import METHODS, REGISTER
from kubedev.wire.plugin_process import PluginProcess
from kubedev.wire.server import SocketServer
from kubedev.wire.sockets import private_directory
from tests.contract.bad_peers import Never, raw_call
from tests.contract.harness import Notes, nothing_left_behind

GPU = "example.com/gpu"
Answers = dict[str, Callable[[bytes, Any], bytes]]


def listed(*devices: Device) -> bytes:
    return METHODS["ListAndWatch"].encode_response(ListAndWatchResponse(devices))


def allocated(count: int) -> Callable[[bytes, Any], bytes]:
    response = pb.ContainerAllocateResponse(envs={"A": "b"})
    data = pb.AllocateResponse(container_responses=[response] * count).SerializeToString()
    return lambda *_: data


class BadPlugin:
    """A plugin of hand-made bytes: each list that is put into `lists` is sent."""

    def __init__(self, directory: Path, answers: Answers | None = None) -> None:
        self.lists: list[bytes | None] = [listed(*make_devices(4))]
        self._more = threading.Condition()
        handlers = {
            METHODS[name].path: grpc.unary_unary_rpc_method_handler(answer)
            for name, answer in {"GetDevicePluginOptions": lambda *_: b"", **(answers or {})}.items()
        }
        handlers[METHODS["ListAndWatch"].path] = grpc.unary_stream_rpc_method_handler(self._stream)
        self._server = SocketServer(str(directory / "bad.sock"), handlers)
        self._server.start()
        self._kubelet = str(directory / "kubelet.sock")

    def register(self) -> str | bytes:
        request = RegisterRequest(endpoint="bad.sock", resource_name=GPU)
        return raw_call(self._kubelet, REGISTER.path, REGISTER.encode_request(request))

    def send(self, data: bytes | None) -> None:
        """Send a list, or end the stream with None."""
        with self._more:
            self.lists.append(data)
            self._more.notify_all()

    def stop(self) -> None:
        self.send(None)
        self._server.stop()

    def _stream(self, _: bytes, context: Any) -> Iterator[bytes]:
        context.add_callback(lambda: self.send(None))
        sent = 0
        while True:
            with self._more:
                self._more.wait_for(lambda sent=sent: len(self.lists) > sent)  # type: ignore[misc]
                data = self.lists[sent]
            if data is None:
                return
            yield data
            sent += 1


class Node:
    """The tool on a thread, and what it says."""

    def __init__(self, directory: Path) -> None:
        self.lines = Notes()
        self.tool = KubeletTool(str(directory), 0, self.lines.add)
        self._thread = threading.Thread(target=self.tool.run)
        self._thread.start()

    def hear(self, event: str, **fields: Any) -> dict[str, Any]:
        def matching(lines: list[Any]) -> list[dict[str, Any]]:
            return [
                line
                for line in lines
                if line["event"] == event and all(fields[f] == line.get(f) for f in fields)
            ]

        return matching(self.lines.wait(lambda lines: bool(matching(lines))))[0]

    def counts(self) -> tuple[int, int]:
        """Capacity and allocatable."""
        _, capacity = get_capacity(self.tool.state.devices, self.tool.now)
        return capacity.capacity.get(GPU, 0), capacity.allocatable.get(GPU, 0)

    def close(self) -> None:
        self.tool.post("quit")
        self._thread.join()


@contextmanager
def node() -> Iterator[tuple[Node, Path]]:
    directory = Path(private_directory())
    with nothing_left_behind():
        made = Node(directory)
        try:
            yield made, directory
        finally:
            made.close()
    shutil.rmtree(directory)


@pytest.mark.parametrize(
    ("answer", "phase", "message"),
    [
        (allocated(0), "Failed", "no containers return in allocation response"),
        (allocated(3), "Running", ""),
        (lambda *_: b"\x0a\xff", "Failed", "failed to unmarshal the received message"),
    ],
    ids=["no container response", "too many", "malformed"],
)
def test_answers_of_allocate(answer: Callable[[bytes, Any], bytes], phase: str, message: str) -> None:
    with node() as (kubelet, directory):
        plugin = BadPlugin(directory, {"Allocate": answer})
        assert plugin.register() == b""
        kubelet.hear("list", devices=4)
        kubelet.tool.post(f"allocate p1 {GPU}=2")
        assert message in kubelet.hear("pod", pod="p1", phase=phase).get("message", "")
        assert kubelet.counts() == (4, 4)
        plugin.stop()


def test_allocate_that_is_never_answered_holds_up_pods_and_nothing_else() -> None:
    never = Never()
    with node() as (kubelet, directory):
        plugin = BadPlugin(directory, {"Allocate": never})
        plugin.register()
        kubelet.hear("list", devices=4)
        kubelet.tool.post(f"allocate p1 {GPU}=2")
        assert never.called.wait(10)
        plugin.send(listed(*make_devices(3)))
        kubelet.hear("list", devices=3)
        assert kubelet.counts() == (3, 3)
        kubelet.tool.post("restart")
        kubelet.hear("restarted")
        plugin.stop()


def test_methods_that_are_missing() -> None:
    with node() as (kubelet, directory):
        plugin = BadPlugin(directory)
        plugin.register()
        kubelet.hear("list", devices=4)
        kubelet.tool.post(f"allocate p1 {GPU}=2")
        text = "code = Unimplemented desc = unknown method Allocate for service v1beta1.DevicePlugin"
        assert text in kubelet.hear("pod", phase="Failed")["message"]
        plugin.stop()


def test_b06_a_list_over_4_mib_is_the_end_of_the_plugin() -> None:
    with node() as (kubelet, directory):
        plugin = BadPlugin(directory)
        plugin.register()
        kubelet.hear("list", devices=4)
        plugin.send(listed(*(Device(f"{i:064}") for i in range(100_000))))
        error = kubelet.hear("stream ended")["error"]
        assert "code = ResourceExhausted" in error
        kubelet.hear("node status", capacity={GPU: 4}, allocatable={GPU: 0})
        assert kubelet.counts() == (4, 0)
        plugin.stop()


def test_b06_a_first_list_over_4_mib_leaves_nothing() -> None:
    with node() as (kubelet, directory):
        plugin = BadPlugin(directory)
        plugin.lists = [listed(*(Device(f"{i:064}") for i in range(100_000)))]
        assert plugin.register() == b""
        kubelet.hear("stream ended")
        assert kubelet.counts() == (0, 0)
        plugin.stop()


@pytest.mark.parametrize(
    ("devices", "counts"),
    [
        ((Device("d0"), Device("d0")), (1, 1)),
        ((Device(""), Device("d0")), (2, 2)),
        ((Device("x" * 10_000),), (1, 1)),
        (make_devices(10_000, 2), (10_000, 10_000)),
        ((Device("d0", "healthy"), Device("d1", "")), (2, 0)),
    ],
    ids=["duplicates", "empty id", "id of 10,000 bytes", "10,000 devices", "other words for health"],
)
def test_odd_devices(devices: tuple[Device, ...], counts: tuple[int, int]) -> None:
    with node() as (kubelet, directory):
        plugin = BadPlugin(directory)
        plugin.lists = [listed(*devices)]
        plugin.register()
        kubelet.hear("node status", capacity={GPU: counts[0]}, allocatable={GPU: counts[1]})
        kubelet.tool.post(f"allocate p1 {GPU}=1")
        kubelet.hear("pod", pod="p1", phase="Failed")
        plugin.stop()


def test_a_malformed_list_is_the_end_of_the_plugin() -> None:
    with node() as (kubelet, directory):
        plugin = BadPlugin(directory)
        plugin.register()
        kubelet.hear("list", devices=4)
        plugin.send(b"\x0a\xff\xff")
        assert "code = Internal desc = grpc: failed to unmarshal" in kubelet.hear("stream ended")["error"]
        assert kubelet.counts() == (4, 0)
        plugin.stop()


def test_a_plugin_that_flaps_and_registers_over_and_over() -> None:
    """Registration a hundred times, each stream ending at once: one plugin and no connection is left."""
    with node() as (kubelet, directory):
        plugin = BadPlugin(directory)
        plugin.lists = [listed(*make_devices(2)), None]
        for _ in range(100):
            assert plugin.register() == b""
        plugin.lists = [listed(*make_devices(3))]
        assert plugin.register() == b""
        kubelet.hear("list", devices=3)
        plugin.stop()


def test_a_device_that_flaps_a_hundred_times_a_second() -> None:
    with node() as (kubelet, directory):
        plugin = BadPlugin(directory)
        plugin.register()
        for i in range(101):
            plugin.send(listed(Device("d0", "Healthy" if i % 2 else "Unhealthy")))
            time.sleep(0.002)
        kubelet.lines.wait(lambda lines: sum(line["event"] == "list" for line in lines) == 102)  # type: ignore[index]
        assert kubelet.counts() == (1, 0)
        plugin.stop()


def test_a_stopped_process_keeps_its_devices_until_it_is_killed(request: pytest.FixtureRequest) -> None:
    with node() as (kubelet, directory):
        plugin = PluginProcess(Plugin(GPU, make_devices(2)), str(directory))
        plugin.start()
        request.addfinalizer(plugin.kill)
        kubelet.hear("list", devices=2)
        assert plugin.pid
        os.kill(plugin.pid, signal.SIGSTOP)
        kubelet.tool.post(f"allocate p1 {GPU}=1")
        kubelet.hear("call", method="GetPreferredAllocation")
        assert kubelet.counts() == (2, 2)
        plugin.kill()
        message = kubelet.hear("pod", pod="p1", phase="Failed")["message"]
        assert "code = Unavailable" in message
        kubelet.hear("stream ended")
        assert kubelet.counts() == (2, 0)
