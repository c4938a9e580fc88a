"""The kubelet's client of one plugin, over gRPC (`pkg/kubelet/cm/devicemanager/plugin/v1beta1/client.go`)."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import grpc

from kubedev.api.messages import Answer, Call, Empty, RpcError
from kubedev.wire.codec import METHODS, DecodeError, Method
from kubedev.wire.go_errors import CLOSING, DEADLINE, in_gos_words
from kubedev.wire.server import GO_LIMITS, target
from kubedev.wire.transport import OnAnswer, OnEnd, OnList

__all__ = ["CHANNEL_OPTIONS", "PluginClient", "go_code", "rpc_error"]

CHANNEL_OPTIONS = [
    *GO_LIMITS,
    ("grpc.default_authority", "localhost"),
    # A pool of its own: connections are shared otherwise, and a new channel would reach a deleted socket.
    ("grpc.use_local_subchannel_pool", 1),
    # What is not read yet waits at the sender, but for 64 KiB: a window that grows would let thousands of lists in.
    ("grpc.http2.bdp_probe", 0),
    # A plugin that is not there yet is tried again after 50 to 200 ms.
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 200),
]

_CLOSED = RpcError("Canceled", CLOSING)
_NO_MESSAGE = RpcError("Internal", "unexpected EOF")
"""The plugin said that all is well, and sent no answer."""


def go_code(code: grpc.StatusCode) -> str:
    """The name that Go gives to a status code: `DeadlineExceeded` for DEADLINE_EXCEEDED."""
    if code is grpc.StatusCode.CANCELLED:
        return "Canceled"
    return "".join(word.capitalize() for word in code.name.split("_"))


def rpc_error(error: grpc.RpcError, socket: str) -> RpcError:
    """An error of gRPC's call to `socket` as a value, in the words of a Go client."""
    return in_gos_words(go_code(error.code()), error.details() or "", socket)


class PluginClient:
    """A connection to the plugin at a socket: made when it is dialled or asked, and again when it broke.

    Calls without a timeout wait for ever, as a real kubelet's do; where a plugin hangs, until `close`.
    """

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self._channel = grpc.insecure_channel(target(socket), options=CHANNEL_OPTIONS)
        self._closed = False
        self._lock = threading.Lock()
        self._dials: set[Any] = set()
        self._methods = {
            name: self._channel.unary_unary(method.path, method.encode_request, None)
            for name, method in METHODS.items()
            if name != "ListAndWatch"
        }
        stream = METHODS["ListAndWatch"]
        self._stream = self._channel.unary_stream(stream.path, stream.encode_request, None)

    def ask(self, call: Call, on_answer: OnAnswer) -> None:
        """Send a call; `on_answer` is called once, on a thread of gRPC, with the answer or an RpcError."""
        if self._closed:
            on_answer(_CLOSED)
            return
        if call.method == "Dial":
            self._start_thread(lambda: on_answer(self.dial(call.timeout)))
            return
        try:
            future = self._methods[call.method].future(call.request, timeout=call.timeout)
        except ValueError:  # the channel is closed
            on_answer(_CLOSED)
            return
        future.add_done_callback(lambda done: on_answer(self._answer(METHODS[call.method], done)))

    def call(self, call: Call) -> Answer:
        """Send a call and wait for its answer."""
        answers: SimpleQueue[Answer] = SimpleQueue()
        self.ask(call, answers.put)
        return answers.get()

    def dial(self, timeout: float | None) -> Empty | RpcError:
        """Wait until the plugin accepts a connection and speaks HTTP/2, at most `timeout` seconds."""
        with self._lock:
            if self._closed:
                return _CLOSED
            ready = grpc.channel_ready_future(self._channel)
            self._dials.add(ready)
        try:
            ready.result(timeout)
        except grpc.FutureTimeoutError:
            return RpcError("DeadlineExceeded", DEADLINE)
        except grpc.FutureCancelledError:
            return _CLOSED
        finally:
            self._dials.discard(ready)
            self._cancel(ready)  # ends the thread that watches the channel
        return Empty()

    def _cancel(self, ready: Any) -> None:
        """Cancel a dial, once: gRPC fails where a future is cancelled twice."""
        with self._lock:
            if not ready.cancelled():
                ready.cancel()

    def list_and_watch(self, on_list: OnList, on_end: OnEnd) -> None:
        """Follow the plugin's list on a thread of its own, until it ends or the client is closed.

        The next list is read once `on_list` has returned: until then it waits at the plugin.
        """
        self._start_thread(lambda: on_end(self._follow(on_list)))

    def _follow(self, on_list: OnList) -> str:
        decode = METHODS["ListAndWatch"].decode_response
        try:
            stream = self._stream(Empty())
        except ValueError:  # the channel is closed
            return str(_CLOSED)
        try:
            for data in stream:
                on_list(decode(data).devices)
        except grpc.RpcError as error:
            return str(rpc_error(error, self.socket))
        except DecodeError as error:
            stream.cancel()  # type: ignore[no-untyped-call]
            return str(_malformed(error))
        return "EOF"

    def close(self) -> None:
        """End the stream and all calls under way. May be called twice.

        It does not wait: after a dial, gRPC takes up to 0.2 s to let go of its watch on the channel.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
        for dial in list(self._dials):
            self._cancel(dial)
        self._start_thread(self._channel.close)

    def _answer(self, method: Method, done: Any) -> Answer:
        try:
            data = done.result()
            return _NO_MESSAGE if data is None else method.decode_response(data)
        except grpc.RpcError as error:
            return rpc_error(error, self.socket)
        except grpc.FutureCancelledError:
            return _CLOSED
        except DecodeError as error:
            return _malformed(error)

    def _start_thread(self, run: Callable[[], None]) -> None:
        threading.Thread(target=run, name=f"client of {self.socket}", daemon=True).start()


def _malformed(error: Exception) -> RpcError:
    return RpcError("Internal", f"grpc: failed to unmarshal the received message: {error}")
