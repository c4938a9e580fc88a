"""Peers that break the protocol, hang or die: a clear error, and no thread or descriptor left."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubedev.api.messages import (
    AllocateRequest,
    AllocateResponse,
    Call,
    ContainerAllocateResponse,
    Device,
    Empty,
    ListAndWatchResponse,
    PreStartContainerRequest,
    RegisterRequest,
    RpcError,
)
from kubedev.deviceplugin.plugin import Plugin, make_devices
from kubedev.wire import v1beta1_pb2 as pb
from kubedev.wire.client import PluginClient
from kubedev.wire.codec import METHODS, REGISTER
from kubedev.wire.grpc_transport import GrpcTransport
from kubedev.wire.plugin_process import PluginProcess
from kubedev.wire.server import RegistrationServer, SocketServer
from kubedev.wire.sockets import private_directory
from kubedev.wire.transport import Reply
from tests.contract.bad_peers import Never, bad_plugin, raw_call
from tests.contract.harness import Kubelet, Notes, allocate, ask, code_of, ids, nothing_left_behind

BROKEN = b"\x0a\xff\xff"  # a field that is longer than what follows
ENCODE_LIST = METHODS["ListAndWatch"].encode_response


def follow(stream: Any) -> list[object]:
    """All that comes of a ListAndWatch stream."""
    notes = Notes()
    with bad_plugin(stream=stream) as client:
        client.list_and_watch(lambda devices: notes.add(ids(devices)), notes.add)
        notes.wait(lambda all_notes: bool(all_notes) and isinstance(all_notes[-1], str))
    return notes.all


@pytest.mark.parametrize("stale", [False, True], ids=["no file", "file of a dead process"])
def test_b03_a_plugin_that_serves_late_is_waited_for(stale: bool) -> None:
    directory = private_directory()
    path = str(Path(directory, "late.sock"))
    with nothing_left_behind():
        if stale:
            dead = SocketServer(path, {})
            dead.start()
            dead.stop(remove_socket=False)
        client = PluginClient(path)
        answers = Notes()
        client.ask(Call("", path, "Dial", timeout=10), answers.add)
        time.sleep(0.3)
        assert answers.all == []
        server = SocketServer(path, {})
        server.start()
        answers.has(Empty())
        client.close()
        server.stop()
    Path(directory).rmdir()


def test_malformed_answer() -> None:
    with bad_plugin(unary=lambda *_: BROKEN) as client:
        for method in ("GetDevicePluginOptions", "Allocate"):
            request = AllocateRequest() if method == "Allocate" else Empty()
            answer = ask(client, method, request)
            assert isinstance(answer, RpcError)
            assert str(answer).startswith(
                "rpc error: code = Internal desc = grpc: failed to unmarshal the received message"
            )


def test_malformed_list_ends_the_stream() -> None:
    def stream(_: bytes, context: Any) -> Iterator[bytes]:
        yield ENCODE_LIST(ListAndWatchResponse((Device("d0"),)))
        yield BROKEN
        yield ENCODE_LIST(ListAndWatchResponse((Device("d1"),)))

    first, end = follow(stream)
    assert first == ["d0"]
    assert "code = Internal desc = grpc: failed to unmarshal" in str(end)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_number_of_container_responses_is_handed_on(count: int) -> None:
    answer = pb.AllocateResponse(container_responses=[pb.ContainerAllocateResponse()] * count)
    with bad_plugin(unary=lambda *_: answer.SerializeToString()) as client:
        assert allocate(client, "d0") == AllocateResponse((ContainerAllocateResponse(),) * count)


def test_a_plugin_that_never_answers_is_left_by_close() -> None:
    never = Never()
    answers = Notes()
    with bad_plugin(unary=never) as client:
        client.ask(Call("example.com/gpu", "", "Allocate", AllocateRequest((("d0",),))), answers.add)
        assert never.called.wait(10)
        assert answers.all == []
        client.close()
        (answer,) = answers.wait(lambda notes: len(notes) == 1)
    assert code_of(answer) == "Canceled"  # type: ignore[arg-type]


def test_other_calls_go_on_while_one_hangs() -> None:
    never = Never()

    def unary(data: bytes, context: Any) -> bytes:
        return never(data, context) if data else b""

    with bad_plugin(unary=unary) as client:
        client.ask(Call("", "", "Allocate", AllocateRequest((("d0",),))), lambda _: None)
        assert never.called.wait(10)
        assert code_of(ask(client, "GetDevicePluginOptions")) == "OK"
        never.released.set()


def test_a_timeout_is_deadline_exceeded() -> None:
    with bad_plugin(unary=Never()) as client:
        answer = ask(client, "PreStartContainer", PreStartContainerRequest(("d0",)), timeout=0.1)
        assert code_of(answer) == "DeadlineExceeded"


def test_b06_a_list_over_4_mib_ends_the_stream() -> None:
    def stream(_: bytes, context: Any) -> Iterator[bytes]:
        yield ENCODE_LIST(ListAndWatchResponse(tuple(Device(f"{i:036}") for i in range(20_000))))
        yield ENCODE_LIST(ListAndWatchResponse(tuple(Device(f"{i:064}") for i in range(100_000))))

    notes = follow(stream)
    assert len(notes) == 2
    assert len(notes[0]) == 20_000  # type: ignore[arg-type]
    assert "code = ResourceExhausted" in str(notes[1])
    assert "4194304" in str(notes[1])


@pytest.mark.parametrize(
    "devices",
    [
        (Device("d0"), Device("d0", "Unhealthy")),
        (Device(""),),
        (Device("x" * 10_000),),
        tuple(Device(f"d{i}", numa_nodes=(i % 2,)) for i in range(10_000)),
    ],
    ids=["duplicates", "empty", "10,000 bytes", "10,000 devices"],
)
def test_odd_lists_come_as_they_are(devices: tuple[Device, ...]) -> None:
    def stream(_: bytes, context: Any) -> Iterator[bytes]:
        yield ENCODE_LIST(ListAndWatchResponse(devices))

    assert follow(stream) == [ids(devices), "EOF"]


def test_a_flapping_stream() -> None:
    """A hundred changes in a row all come, in order."""

    def stream(_: bytes, context: Any) -> Iterator[bytes]:
        for i in range(100):
            yield ENCODE_LIST(ListAndWatchResponse((Device("d0", "Healthy" if i % 2 else "Unhealthy"),)))
            time.sleep(0.001)

    notes = Notes()
    with bad_plugin(stream=stream) as client:
        client.list_and_watch(lambda devices: notes.add(devices[0].health), notes.add)
        assert notes.wait(lambda n: "EOF" in n) == ["Unhealthy", "Healthy"] * 50 + ["EOF"]


def test_streams_that_break_a_hundred_times() -> None:
    with bad_plugin(stream=lambda *_: iter(())) as client:
        ends = Notes()
        for _ in range(100):
            client.list_and_watch(lambda _: None, ends.add)
        assert ends.wait(lambda n: len(n) == 100) == ["EOF"] * 100


def test_a_method_that_is_missing_is_unimplemented_in_gos_words() -> None:
    with bad_plugin() as client:
        assert ask(client, "GetDevicePluginOptions") == RpcError(
            "Unimplemented", "unknown service v1beta1.DevicePlugin"
        )


def test_b01_another_package_is_an_unknown_service() -> None:
    """A plugin of the time before v1beta1 calls a service of another name: v1.32 does not know it."""
    with registration(lambda _, reply: reply(None)) as server:
        unknown = raw_call(server.path, "/deviceplugin.Registration/Register", b"")
        assert unknown == "rpc error: code = Unimplemented desc = unknown service deviceplugin.Registration"
        method = raw_call(server.path, "/v1beta1.Registration/Unregister", b"")
        assert method == (
            "rpc error: code = Unimplemented desc = unknown method Unregister for service v1beta1.Registration"
        )


@pytest.mark.parametrize(
    "authority", ["localhost", "/var/lib/x.sock", "%2Fvar%2Flib%2Fx.sock", "kubelet.sock"]
)
def test_any_authority_is_accepted(authority: str) -> None:
    """Go's gRPC has sent several: the path, the quoted path, localhost."""
    with registration(lambda _, reply: reply(None)) as server:
        assert raw_call(server.path, REGISTER.path, b"", authority) == b""


def test_malformed_registration() -> None:
    with registration(lambda _, reply: reply(None)) as server:
        text = raw_call(server.path, REGISTER.path, BROKEN)
        assert str(text).startswith("rpc error: code = Internal desc = grpc: error unmarshalling request")


def test_a_long_refusal_comes_whole() -> None:
    """Go lets metadata be 16 MiB; gRPC's own default would cut the connection at 16 KiB."""
    text = 'the ResourceName "' + "é/" * 40_000 + '" is invalid'
    with registration(lambda _, reply: reply(text)) as server:
        assert raw_call(server.path, REGISTER.path, b"") == f"rpc error: code = Unknown desc = {text}"


def test_a_kubelet_that_stops_lets_waiting_plugins_go() -> None:
    waiting = threading.Event()
    answers = Notes()
    with registration(lambda *_: waiting.set()) as server:
        call = threading.Thread(target=lambda: answers.add(raw_call(server.path, REGISTER.path, b"")))
        call.start()
        assert waiting.wait(10)
    call.join()
    assert "code = Unavailable" in str(answers.all[0])


def test_a_stopped_process_is_not_noticed_but_left(request: pytest.FixtureRequest) -> None:
    """SIGSTOP: the stream stays open, calls hang, and go on when the process does."""
    directory = private_directory()
    with nothing_left_behind():
        kubelet = Kubelet(GrpcTransport(directory))
        plugin = PluginProcess(Plugin("example.com/gpu", make_devices(2)), directory)
        plugin.start()
        request.addfinalizer(plugin.kill)
        kubelet.notes.wait(lambda notes: len(notes) == 3)
        client = kubelet.clients[0]
        assert plugin.pid is not None
        os.kill(plugin.pid, signal.SIGSTOP)
        assert code_of(ask(client, "GetDevicePluginOptions", timeout=0.2)) == "DeadlineExceeded"
        answers = Notes()
        client.ask(Call("", "", "Allocate", AllocateRequest((("d0",),))), answers.add)
        os.kill(plugin.pid, signal.SIGCONT)
        (answer,) = answers.wait(lambda notes: len(notes) == 1)
        assert code_of(answer) == "OK"  # type: ignore[arg-type]
        assert len(kubelet.notes.all) == 3
        os.kill(plugin.pid, signal.SIGSTOP)
        client.ask(Call("", "", "Allocate", AllocateRequest((("d0",),))), answers.add)
        kubelet.stop()
        answers.wait(lambda notes: len(notes) == 2)
        kubelet.notes.has(("end", 1, "Canceled"))
        plugin.kill()
    Path(directory, "example.com-gpu.sock").unlink()
    Path(directory).rmdir()


class registration:  # noqa: N801
    """A registration server in a directory of its own, which leaves nothing behind."""

    def __init__(self, on_register: Any) -> None:
        self._directory = private_directory()
        self._check = nothing_left_behind()
        self._on_register = on_register

    def __enter__(self) -> RegistrationServer:
        self._check.__enter__()
        self._server = RegistrationServer(self._directory, self._on_register)
        self._server.start()
        return self._server

    def __exit__(self, *error: Any) -> None:
        self._server.stop()
        self._check.__exit__(*error)
        Path(self._directory).rmdir()


def test_the_request_is_handed_on_as_it_came() -> None:
    seen: list[RegisterRequest] = []

    def on_register(request: RegisterRequest, reply: Reply) -> None:
        seen.append(request)
        reply(None)

    with registration(on_register) as server:
        raw_call(
            server.path,
            REGISTER.path,
            pb.RegisterRequest(version="V1beta1", endpoint="../x").SerializeToString(),
        )
    assert seen == [RegisterRequest("V1beta1", "../x", "")]
