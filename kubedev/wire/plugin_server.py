"""The plugin's end of the wire: its DevicePlugin service, and its call to the kubelet's Registration."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from kubedev.api.messages import ListAndWatchResponse, RegisterRequest, RpcError
from kubedev.deviceplugin.plugin import Plugin, answer
from kubedev.wire.client import CHANNEL_OPTIONS, rpc_error
from kubedev.wire.codec import METHODS, REGISTER
from kubedev.wire.server import SocketServer, target, unary

__all__ = ["PluginServer", "register"]

# The server reads the plugin's state anew for each request, since commands change it meanwhile.
State = Callable[[], Plugin]


class PluginServer:
    """Serves a plugin on a socket. `changed` sends the list of devices again to all who follow it."""

    def __init__(self, path: str, state: State) -> None:
        self._state = state
        self._wake = threading.Condition()
        self._version = 0
        self._stopped = False
        handlers = {
            METHODS[name].path: unary(METHODS[name], self._answer)
            for name in METHODS
            if name != "ListAndWatch"
        }
        stream = METHODS["ListAndWatch"]
        handlers[stream.path] = grpc.unary_stream_rpc_method_handler(
            self._list_and_watch, response_serializer=stream.encode_response
        )
        self._server = SocketServer(path, handlers)

    @property
    def path(self) -> str:
        """The path of the plugin's socket."""
        return self._server.path

    def start(self) -> None:
        """Serve. Raises SocketDirectoryError."""
        self._server.start()

    def stop(self, remove_socket: bool = True) -> None:
        """End all streams and calls; without `remove_socket` the file stays, as after a kill."""
        self._wake_streams(stop=True)
        self._server.stop(remove_socket)

    def changed(self) -> None:
        """Send the list again: the state has changed."""
        self._wake_streams()

    def _wake_streams(self, stop: bool = False) -> None:
        with self._wake:
            self._version += 1
            self._stopped = self._stopped or stop
            self._wake.notify_all()

    def _answer(self, request: Any, context: grpc.ServicerContext) -> Any:
        response = answer(self._state(), request)
        if isinstance(response, RpcError):
            context.abort(grpc.StatusCode.UNKNOWN, response.message)
        return response

    def _list_and_watch(self, _: bytes, context: grpc.ServicerContext) -> Iterator[ListAndWatchResponse]:
        ended = not context.add_callback(self._wake_streams)
        while not (ended or self._stopped):
            seen = self._version
            yield ListAndWatchResponse(self._state().devices)
            with self._wake:
                self._wake.wait_for(lambda seen=seen: self._version != seen or self._stopped)  # type: ignore[misc]
            ended = not context.is_active()


def register(kubelet_socket: str, request: RegisterRequest, timeout: float = 15) -> RpcError | None:
    """Call Register on the kubelet, and give back None or its error.

    The kubelet connects back before it answers, and tries that for 10 s; hence `timeout`, in seconds.
    """
    with grpc.insecure_channel(target(kubelet_socket), options=CHANNEL_OPTIONS) as channel:
        call = channel.unary_unary(REGISTER.path, REGISTER.encode_request, None)
        try:
            call(request, timeout=timeout)
        except grpc.RpcError as error:
            return rpc_error(error)
    return None
