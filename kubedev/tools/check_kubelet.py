"""The kubelet of `kubedev check-plugin`: it answers Register as a real one does, and dies and comes back when told.

What happens is posted as events; nothing is decided here.
"""

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from kubedev.api.gourl import URLError, dial_address
from kubedev.api.messages import (
    Answer,
    Call,
    Device,
    DevicePluginOptions,
    Dial,
    RegisterRequest,
    converse,
)
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.kubelet.devices.registration import register, socket_path
from kubedev.wire.client import PluginClient
from kubedev.wire.inflow import Inflow
from kubedev.wire.server import RegistrationServer
from kubedev.wire.sockets import is_live, remove_sockets
from kubedev.wire.transport import Reply

__all__ = ["CheckKubelet", "Event", "LetIn", "ListCame", "StreamEnded"]


@dataclass(frozen=True, slots=True)
class LetIn:
    """A call of Register came at `time`, and was answered with `error`, or None; `client` is the connection then.

    A silent kubelet answers nothing: `answered` is false.
    """

    request: RegisterRequest
    time: float
    serving: bool
    error: str | None = None
    options: DevicePluginOptions | None = None
    client: PluginClient | None = None
    answered: bool = True


@dataclass(frozen=True, slots=True)
class ListCame:
    """A list of the stream with this number, at `time`; `inflow` is to be told when it was handled."""

    stream: int
    devices: tuple[Device, ...]
    time: float
    inflow: Inflow


@dataclass(frozen=True, slots=True)
class StreamEnded:
    """ListAndWatch of this number ended."""

    stream: int
    error: str


Event = LetIn | ListCame | StreamEnded


class CheckKubelet:
    """A kubelet in a socket directory. `tell` is called on threads of gRPC."""

    def __init__(self, directory: str, tell: Callable[[Event], None], call_timeout: float) -> None:
        self.directory = directory
        self._tell = tell
        self._timeout = call_timeout
        self._server: RegistrationServer | None = None
        self._clients: list[PluginClient] = []
        self._inflows: list[Inflow] = []
        self._lock = threading.Lock()
        self._silent = False
        self.answering = 0
        """So many calls of Register are being answered."""

    def appear(self, renamed: bool = False, silent: bool = False) -> None:
        """Remove all sockets and serve on a new kubelet.sock, as a kubelet that starts.

        It is created there; with `renamed` it is moved there. Raises SocketDirectoryError.
        """
        self._silent = silent
        self._server = RegistrationServer(self.directory, self._on_register)
        self._server.start(_renamed if renamed else _created)

    def die(self) -> None:
        """Break all connections, and leave kubelet.sock behind."""
        self.disconnect()
        if self._server is not None:
            self._server.kill()
            self._server = None
        self.disconnect()

    def disconnect(self) -> None:
        """Close the connections to the plugins."""
        with self._lock:
            clients, self._clients = self._clients, []
            inflows, self._inflows = self._inflows, []
        for client in clients:
            client.close()
        for inflow in inflows:
            inflow.close()

    def close(self) -> None:
        """End everything, and remove kubelet.sock."""
        self.disconnect()
        if self._server is not None:
            self._server.stop()
            self._server = None
        self.disconnect()

    def abandon(self) -> None:
        """Remove kubelet.sock, from any thread: the process is about to end."""
        if self._server is not None:
            self._server.abandon()

    def follow(self, client: PluginClient, stream: int) -> None:
        """Call ListAndWatch: its lists and its end are told under the number."""
        inflow = Inflow(
            lambda devices: self._tell(ListCame(stream, devices, time.monotonic(), inflow)),
            lambda error: self._tell(StreamEnded(stream, error)),
        )
        with self._lock:
            self._inflows.append(inflow)
        client.list_and_watch(inflow.put, inflow.end)

    def socket_of(self, request: RegisterRequest) -> str:
        """The path of the socket that a plugin registers."""
        path = socket_path(self.directory, request.endpoint)
        with suppress(URLError):
            return dial_address(path)
        return path

    def _on_register(self, request: RegisterRequest, reply: Reply) -> None:
        with self._lock:
            self.answering += 1
        try:
            self._answer(request, reply)
        finally:
            with self._lock:
                self.answering -= 1

    def _answer(self, request: RegisterRequest, reply: Reply) -> None:
        came = time.monotonic()
        serving = is_live(self.socket_of(request))
        if self._silent:
            self._tell(LetIn(request, came, serving, answered=False))
            return
        clients: list[PluginClient] = []
        options: list[DevicePluginOptions] = []

        def answer(call: Call) -> Answer:
            if isinstance(call.request, Dial):
                clients.append(PluginClient(call.socket))
                with self._lock:
                    self._clients.append(clients[-1])
            answered = clients[-1].call(replace(call, timeout=call.timeout or self._timeout))
            if isinstance(answered, DevicePluginOptions):
                options.append(answered)
            return answered

        _, error = converse(register(DeviceManagerState(), request, self.directory, 1), answer)
        if error is not None and clients:
            clients[-1].close()
        reply(error)
        client = clients[-1] if clients and error is None else None
        self._tell(LetIn(request, came, serving, error, options[-1] if options else None, client))


def _created(hidden: str, path: str) -> None:
    remove_sockets(os.path.dirname(path), hidden)  # as a kubelet does before it listens
    try:
        os.link(hidden, path)
    except OSError:  # a file system without links
        os.rename(hidden, path)
    else:
        os.unlink(hidden)


def _renamed(hidden: str, path: str) -> None:
    remove_sockets(os.path.dirname(path), hidden)  # as a kubelet does before it listens
    os.rename(hidden, path)
