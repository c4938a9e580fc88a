"""The plugin's end of the wire: its DevicePlugin service, and its call of the kubelet's Registration."""

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from queue import Empty, Full, Queue
from typing import Any, TypeAlias

import grpc

from kubedev.api.messages import Device, ListAndWatchResponse, RegisterRequest, RpcError
from kubedev.deviceplugin.plugin import Plugin, answer
from kubedev.wire.client import CHANNEL_OPTIONS, rpc_error
from kubedev.wire.codec import METHODS, REGISTER
from kubedev.wire.server import SocketServer, in_utf8, target, unary

__all__ = ["PluginServer", "Registration"]

# The server reads the plugin's state anew for each request, since commands change it meanwhile.
State = Callable[[], Plugin]
Lists: TypeAlias = "Queue[tuple[Device, ...] | None]"

BEHIND = 100
"""So many lists wait for a kubelet that reads slowly; older ones are left out, since each list is complete."""


class PluginServer:
    """Serves a plugin on a socket. `changed` sends the list of devices again to all who follow it.

    Calls that are not among `methods` are refused as Unimplemented, as by a plugin that was written without them.
    """

    def __init__(self, path: str, state: State, methods: Collection[str] = tuple(METHODS)) -> None:
        self._state = state
        self._lock = threading.Lock()
        self._streams: set[Lists] = set()
        handlers = {
            METHODS[name].path: unary(METHODS[name], self._answer)
            for name in methods
            if name != "ListAndWatch"
        }
        stream = METHODS["ListAndWatch"]
        if stream.name in methods:
            handlers[stream.path] = grpc.unary_stream_rpc_method_handler(
                self._list_and_watch, response_serializer=stream.encode_response
            )
        self._server = SocketServer(path, handlers)

    @property
    def path(self) -> str:
        """The path of the plugin's socket."""
        return self._server.path

    def owns_path(self) -> bool:
        """Whether the socket is still there: a kubelet removes all sockets when it starts."""
        return self._server.owns_path()

    def start(self) -> None:
        """Serve. Raises SocketDirectoryError."""
        self._server.start()

    def end_streams(self) -> None:
        """Return from ListAndWatch, and go on serving."""
        self._send(None)

    def stop(self) -> None:
        """End the streams, then serve no more, and remove the socket."""
        self.end_streams()
        self._server.stop(grace=1)

    def kill(self) -> None:
        """Break all connections and leave the socket's file behind, as the end of the process would."""
        self._server.stop(remove_socket=False)

    def changed(self) -> None:
        """Send the list again: the state has changed. A kubelet that is slow misses all but the last `BEHIND` lists."""
        self._send(self._state().devices)

    def _send(self, devices: tuple[Device, ...] | None) -> None:
        with self._lock:
            for stream in self._streams:
                _put(stream, devices)

    def _answer(self, request: Any, context: grpc.ServicerContext) -> Any:
        response = answer(self._state(), request)
        if isinstance(response, RpcError):
            context.abort(grpc.StatusCode.UNKNOWN, in_utf8(response.message))
        return response

    def _list_and_watch(self, _: bytes, context: grpc.ServicerContext) -> Iterator[ListAndWatchResponse]:
        stream: Lists = Queue(BEHIND)
        with self._lock:
            stream.put(self._state().devices)
            self._streams.add(stream)
        try:
            if context.add_callback(lambda: _put(stream, None)):
                yield from map(ListAndWatchResponse, iter(stream.get, None))
        finally:
            with self._lock:
                self._streams.discard(stream)


def _put(stream: Lists, devices: tuple[Device, ...] | None) -> None:
    """Add a list, or None for the end, which nothing comes after."""
    while True:
        try:
            stream.put_nowait(devices)
            return
        except Full:
            with suppress(Empty):
                devices = devices if stream.get_nowait() is not None else None


class Registration:
    """A call of Register that is under way; `on_done` gets None or its error, on a thread of gRPC.

    The kubelet connects back before it answers, and tries that for 10 s; hence `timeout`, in seconds.
    """

    def __init__(
        self,
        kubelet_socket: str,
        request: RegisterRequest,
        on_done: Callable[[RpcError | None], None],
        timeout: float = 15,
    ) -> None:
        self._channel = grpc.insecure_channel(target(kubelet_socket), options=CHANNEL_OPTIONS)
        method = self._channel.unary_unary(REGISTER.path, REGISTER.encode_request, None)
        self._future = method.future(request, timeout=timeout)
        self._future.add_done_callback(lambda done: on_done(_error_of(done, kubelet_socket)))

    def close(self) -> None:
        """Give the call up if it is still under way, and close the connection."""
        self._channel.close()


def _error_of(done: Any, socket: str) -> RpcError | None:
    try:
        done.result()
    except grpc.RpcError as error:
        return rpc_error(error, socket)
    except grpc.FutureCancelledError:
        return RpcError("Canceled", "the call was given up")
    return None
