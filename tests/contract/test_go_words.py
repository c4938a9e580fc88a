"""Every way in which a call can fail is worded as a Go client words it.

The expected texts were read off a Go client (grpc-go 1.67, dialed as the kubelet dials) that met the same failures.
"""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from kubedev.api.messages import (
    AllocateRequest,
    Call,
    Device,
    Empty,
    ListAndWatchResponse,
    PreStartContainerRequest,
    RpcError,
)
from kubedev.deviceplugin.plugin import Plugin, make_devices
from kubedev.wire.client import PluginClient
from kubedev.wire.codec import METHODS, REGISTER
from kubedev.wire.grpc_transport import GrpcTransport
from kubedev.wire.memory import MemoryTransport
from kubedev.wire.memory_plugin import MemoryPlugin
from kubedev.wire.plugin_process import PluginProcess
from kubedev.wire.plugin_server import PluginServer
from kubedev.wire.server import RegistrationServer, SocketServer
from tests.contract.bad_peers import Never, bad_plugin, raw_call
from tests.contract.harness import Kubelet, Notes, allocate, ask
from tests.contract.raw_peer import DATA, GOAWAY, RST_STREAM, frame, headers, raw_peer

OK = ((":status", "200"), ("content-type", "application/grpc"))
GPU = Plugin("example.com/gpu", make_devices(4))
ALLOCATE = Call("example.com/gpu", "", "Allocate", AllocateRequest((("d0",),)))


def unreachable(path: str, why: str) -> str:
    dialing = f"dial unix {path}: connect: {why}"
    return f'connection error: desc = "transport: Error while dialing: {dialing}"'


def on_stream(client: PluginClient) -> Notes:
    """Follow the list, and wait for the first one; what comes after it is how the stream ends."""
    notes = Notes()
    client.list_and_watch(lambda devices: notes.add(len(devices)), notes.add)
    notes.wait(bool)
    return notes


# Nobody there


def test_p4_nobody_listens(directory: Path) -> None:
    path = str(directory / "gone.sock")
    client = PluginClient(path)
    assert allocate(client, "d0") == RpcError("Unavailable", unreachable(path, "no such file or directory"))
    dead = SocketServer(path, {})
    dead.start()
    dead.stop(remove_socket=False)
    time.sleep(0.3)  # it is tried again after at most 0.2 s
    assert allocate(client, "d0") == RpcError("Unavailable", unreachable(path, "connection refused"))
    client.close()


def test_p4_a_file_that_is_no_socket(directory: Path) -> None:
    path = directory / "notes.txt"
    path.touch()
    client = PluginClient(str(path))
    assert allocate(client, "d0") == RpcError("Unavailable", unreachable(str(path), "connection refused"))
    client.close()


@pytest.mark.parametrize(
    ("greeting", "why"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "error reading server preface: http2: frame too large"),
        (frame(GOAWAY, bytes(8), stream=0), "error reading server preface: EOF"),
    ],
    ids=["HTTP/1.1", "no settings"],
)
def test_p4_who_listens_speaks_something_else(directory: Path, greeting: bytes, why: str) -> None:
    path = str(directory / "odd.sock")
    with raw_peer(path, [], greeting):
        client = PluginClient(path)
        assert allocate(client, "d0") == RpcError("Unavailable", f'connection error: desc = "{why}"')
        client.close()


# It ends


def test_p4_a_plugin_that_is_killed(directory: Path) -> None:
    """Mid-call, on its stream, and asked again."""
    kubelet = Kubelet(GrpcTransport(str(directory)))
    plugin = PluginProcess(GPU, str(directory))
    plugin.start()
    kubelet.notes.has(("list", 1, GPU.devices))
    client = PluginClient(kubelet.socket("example.com-gpu.sock"))
    ended = on_stream(client)
    plugin.kill()
    lost = RpcError("Unavailable", "error reading from server: EOF")
    ended.has(str(lost))
    refused = unreachable(client.socket, "connection refused")
    assert allocate(client, "d0") == RpcError("Unavailable", refused)
    client.close()
    kubelet.stop()


def test_p4_killed_while_it_is_asked(directory: Path) -> None:
    path = str(directory / "dies.sock")
    answers = Notes()
    with raw_peer(path, [headers(*OK), b""]):
        client = PluginClient(path)
        client.ask(ALLOCATE, answers.add)
        answers.has(RpcError("Unavailable", "error reading from server: EOF"))
        client.close()


def test_p4_an_orderly_end(directory: Path) -> None:
    server = PluginServer(str(directory / "gpu.sock"), lambda: GPU)
    server.start()
    client = PluginClient(server.path)
    ended = on_stream(client)
    server.stop()
    ended.has("EOF")
    time.sleep(0.3)
    gone = unreachable(server.path, "no such file or directory")
    assert allocate(client, "d0") == RpcError("Unavailable", gone)
    client.close()


def test_p4_the_same_in_memory() -> None:
    transport = MemoryTransport()
    kubelet = Kubelet(transport)
    plugin = MemoryPlugin(GPU, transport)
    plugin.start()
    client = transport.connect(plugin.socket)
    plugin.kill()
    assert allocate(client, "d0") == RpcError("Unavailable", unreachable(plugin.socket, "connection refused"))  # type: ignore[arg-type]
    again = MemoryPlugin(GPU, transport)
    again.start()
    again.stop()
    gone = unreachable(plugin.socket, "no such file or directory")
    assert allocate(client, "d0") == RpcError("Unavailable", gone)  # type: ignore[arg-type]
    kubelet.stop()


# Given up


def test_p4_prestart_that_takes_too_long() -> None:
    never = Never()
    with bad_plugin(unary=never) as client:
        answer = ask(client, "PreStartContainer", PreStartContainerRequest(("d0",)), timeout=0.2)
        assert answer == RpcError("DeadlineExceeded", "context deadline exceeded")


def test_p4_the_kubelet_closes_the_connection() -> None:
    never, answers = Never(), Notes()

    def stream(_: bytes, context: Any) -> Iterator[bytes]:
        yield b""
        never(b"", context)

    with bad_plugin(unary=never, stream=stream) as client:
        client.ask(ALLOCATE, answers.add)
        assert never.called.wait(10)
        ended = on_stream(client)
        client.close()
        closing = RpcError("Canceled", "grpc: the client connection is closing")
        answers.has(closing)
        ended.has(str(closing))
        assert allocate(client, "d0") == closing


# Too large


def test_p4_an_answer_over_4_mib() -> None:
    with bad_plugin(unary=lambda *_: bytes(5_000_000)) as client:
        text = "grpc: received message larger than max (5000000 vs. 4194304)"
        assert allocate(client, "d0") == RpcError("ResourceExhausted", text)


def test_p4_a_question_over_4_mib(directory: Path) -> None:
    server = PluginServer(str(directory / "gpu.sock"), lambda: GPU)
    server.start()
    client = PluginClient(server.path)
    text = "grpc: received message larger than max (5000010 vs. 4194304)"
    assert allocate(client, "x" * 5_000_000) == RpcError("ResourceExhausted", text)
    client.close()
    server.stop()


def test_p4_a_registration_over_4_mib(directory: Path) -> None:
    server = RegistrationServer(str(directory), lambda _, reply: reply(None))
    server.start()
    answer = raw_call(server.path, REGISTER.path, bytes(4_194_305))
    text = "grpc: received message larger than max (4194305 vs. 4194304)"
    assert answer == f"rpc error: code = ResourceExhausted desc = {text}"
    server.stop()


def test_r13_a_list_over_4_mib_says_larger_than_max() -> None:
    data = METHODS["ListAndWatch"].encode_response(
        ListAndWatchResponse(tuple(Device(f"{i:064}") for i in range(100_000)))
    )
    with bad_plugin(stream=lambda *_: iter((b"", data))) as client:
        ended = on_stream(client)
        (_, end) = ended.wait(lambda notes: len(notes) == 2)
    text = f"grpc: received message larger than max ({len(data)} vs. 4194304)"
    assert end == f"rpc error: code = ResourceExhausted desc = {text}"


# What the plugin says itself


@pytest.mark.parametrize(
    ("code", "name", "text"),
    [
        (grpc.StatusCode.UNKNOWN, "Unknown", "no é % \n text"),
        (grpc.StatusCode.NOT_FOUND, "NotFound", "gone"),
        (grpc.StatusCode.CANCELLED, "Canceled", "context canceled"),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "DeadlineExceeded", "context deadline exceeded"),
        (grpc.StatusCode.UNIMPLEMENTED, "Unimplemented", "method Allocate not implemented"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_p4_a_plugins_own_error_is_left_as_it_is(code: grpc.StatusCode, name: str, text: str) -> None:
    with bad_plugin(unary=lambda _, context: context.abort(code, text)) as client:
        assert allocate(client, "d0") == RpcError(name, text)


def test_p4_a_service_that_is_not_there() -> None:
    with bad_plugin() as client:
        missing = RpcError("Unimplemented", "unknown service v1beta1.DevicePlugin")
        assert allocate(client, "d0") == missing


# HTTP/2 broken by hand


def reset(number: int) -> list[bytes]:
    return [frame(RST_STREAM, struct.pack(">I", number))]


def goaway(last: int, number: int, debug: bytes = b"") -> bytes:
    return frame(GOAWAY, struct.pack(">II", last, number) + debug, stream=0)


@pytest.mark.parametrize(
    ("reply", "code", "text"),
    [
        (reset(2), "Internal", "stream terminated by RST_STREAM with error code: INTERNAL_ERROR"),
        (
            reset(3),
            "ResourceExhausted",
            "stream terminated by RST_STREAM with error code: FLOW_CONTROL_ERROR",
        ),
        (reset(8), "Canceled", "stream terminated by RST_STREAM with error code: CANCEL"),
        (
            reset(12),
            "PermissionDenied",
            "stream terminated by RST_STREAM with error code: INADEQUATE_SECURITY",
        ),
        ([goaway(0, 0)], "Unavailable", "the connection is draining"),
        (
            [goaway(1, 2, b"why"), b""],
            "Unavailable",
            'closing transport due to: connection error: desc = "error reading from server: EOF", '
            'received prior goaway: code: INTERNAL_ERROR, debug data: "why"',
        ),
        ([b""], "Unavailable", "error reading from server: EOF"),
        ([b"x" * 100], "Unavailable", "error reading from server: http2: frame too large"),
        (
            [headers(*OK), frame(DATA, flags=1)],
            "Internal",
            "server closed the stream without sending trailers",
        ),
        ([headers(*OK, end=True)], "Unknown", ""),
        (
            [headers((":status", "404"), OK[1], end=True)],
            "Unimplemented",
            "unexpected HTTP status code received from server: 404 (Not Found)",
        ),
        (
            [headers(*OK), frame(DATA, b"\1" + bytes(4)), headers(("grpc-status", "0"), end=True)],
            "Internal",
            "grpc: compressed flag set with identity or empty encoding",
        ),
        (
            [headers(*OK), frame(DATA, b"\0\0\0\0\x0aabc"), headers(("grpc-status", "0"), end=True)],
            "Internal",
            "unexpected EOF",
        ),
    ],
    ids=lambda value: value[:60] if isinstance(value, str) else "",
)
def test_p4_http2_that_is_broken(directory: Path, reply: list[bytes], code: str, text: str) -> None:
    path = str(directory / "raw.sock")
    with raw_peer(path, reply):
        client = PluginClient(path)
        assert allocate(client, "d0") == RpcError(code, text)
        client.close()


# What is not UTF-8


def test_p6_device_ids_that_are_not_utf8_come_and_go_as_they_are() -> None:
    listed = b"\x0a\x05\x0a\x03\x78\xff\xfe\x0a\x04\x0a\x02d1"
    asked: list[bytes] = []

    def unary(data: bytes, _: Any) -> bytes:
        asked.append(data)
        return b"\x0a\x0b\x0a\x09\x0a\x01A\x12\x04b\xff\xfec"  # envs {"A": "b\xff\xfec"}

    with bad_plugin(unary=unary, stream=lambda *_: iter((listed,))) as client:
        lists = Notes()
        client.list_and_watch(lists.add, lists.add)
        devices, end = lists.wait(lambda notes: len(notes) == 2)
        assert [device.id.encode(errors="surrogateescape") for device in devices] == [b"x\xff\xfe", b"d1"]  # type: ignore[attr-defined]
        assert end == "EOF"
        answer = allocate(client, devices[0].id)  # type: ignore[index]
    assert asked == [b"\x0a\x05\x0a\x03x\xff\xfe"]
    assert answer.container_responses[0].envs == (("A", "b\udcff\udcfec"),)  # type: ignore[union-attr]


def test_p6_an_error_that_names_such_an_id_is_sent_in_utf8(directory: Path) -> None:
    """As Go sends it: each odd byte becomes U+FFFD."""
    server = PluginServer(str(directory / "gpu.sock"), lambda: GPU)
    server.start()
    client = PluginClient(server.path)
    answer = allocate(client, "x\udcff")
    assert isinstance(answer, RpcError)
    assert answer.code == "Unknown"
    assert "unknown device" in answer.message
    client.close()
    server.stop()


def test_p6_a_registration_that_is_not_utf8_is_refused_in_go_quotes(directory: Path) -> None:
    seen: list[str] = []

    def on_register(request: Any, reply: Callable[[str | None], None]) -> None:
        seen.append(request.resource_name)
        reply(f"no {request.resource_name}")

    server = RegistrationServer(str(directory), on_register)
    server.start()
    answer = raw_call(server.path, REGISTER.path, b"\x1a\x04a.\xffb")
    assert answer == "rpc error: code = Unknown desc = no a.\ufffdb"
    assert seen == ["a.\udcffb"]
    server.stop()


# A list is read as fast as it is handled


def test_r1_a_reader_that_waits_holds_the_plugin_back() -> None:
    sent, go_on = [0], threading.Event()
    data = METHODS["ListAndWatch"].encode_response(ListAndWatchResponse(make_devices(100)))

    def stream(_: bytes, context: Any) -> Iterator[bytes]:
        while context.is_active() and sent[0] < 20_000:
            sent[0] += 1
            yield data

    with bad_plugin(stream=stream) as client:
        client.list_and_watch(lambda _: go_on.wait() and None, lambda _: None)
        before = -1
        while before != sent[0]:
            before = sent[0]
            time.sleep(0.5)
        assert before < 2_000, "what a window of HTTP/2 holds, and a few more"
        client.close()
        go_on.set()


def test_p4_a_stopped_plugin_that_is_killed(directory: Path) -> None:
    """With a question unread in its socket, the system tells of a reset; Go names both ends."""
    path = str(directory / "mute.sock")
    answers = Notes()
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    client = PluginClient(path)
    client.ask(ALLOCATE, answers.add)
    peer, _ = server.accept()
    peer.sendall(frame(4, stream=0))
    peer.recv(24)
    time.sleep(0.3)
    peer.close()
    server.close()
    reset_ = f"error reading from server: read unix @->{path}: read: connection reset by peer"
    answers.has(RpcError("Unavailable", reset_))
    client.close()


def test_p4_empty_answers_are_answers() -> None:
    with bad_plugin(unary=lambda *_: b"") as client:
        assert ask(client, "PreStartContainer", PreStartContainerRequest(("d0",))) == Empty()
