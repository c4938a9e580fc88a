"""The wire in memory: a kubelet and its plugins in one thread, without sockets and without gRPC.

A history that was forked goes on here, as does a lab in a browser or on a platform without unix sockets. It
does what server.py, client.py and the plugin's process do, at once and in the order of the calls: a plugin
that registers is called back before `start` returns. The contract tests run the same scenarios over both.
"""

import errno
import posixpath
from collections.abc import Callable, Collection
from typing import Protocol

from kubedev.api.messages import Answer, Call, Device, Empty, RpcError
from kubedev.api.podresources import PodResourcesAnswer, PodResourcesRequest
from kubedev.api.protowire import list_size
from kubedev.deviceplugin.plugin import Plugin, answer
from kubedev.wire.go_errors import CLOSING, DEADLINE, MAX_MESSAGE, not_connected, too_large
from kubedev.wire.sockets import KUBELET_SOCKET
from kubedev.wire.transport import OnAnswer, OnEnd, OnList, OnPodResources, OnRegister

__all__ = ["MemoryClient", "MemoryListener", "MemoryPodResources", "MemoryServer", "MemoryTransport"]

_CLOSED = RpcError("Canceled", CLOSING)
_LOST = RpcError("Unavailable", "error reading from server: EOF")


class Waiting(Protocol):
    """Who wants to know of a new kubelet."""

    def kubelet_appeared(self) -> None:
        """There is a new kubelet.sock."""


class MemoryTransport:
    """A socket directory that exists in memory only; its path is a name and no place on a disk."""

    threaded = False

    def __init__(self, directory: str = "/memory") -> None:
        self.directory = directory
        self.on_register: OnRegister | None = None
        self.on_pod_resources: OnPodResources | None = None
        self.plugins: list[Waiting] = []
        self.serving: dict[str, MemoryServer] = {}
        self.left: set[str] = set()
        """Sockets whose plugin was killed: they lie there, and nobody listens."""

    def listen(self, on_register: OnRegister) -> "MemoryListener":
        """Serve Registration: all plugins that are up see a new kubelet.sock, and register."""
        self.on_register = on_register
        self.serving.clear()  # a kubelet's start removes all sockets
        self.left.clear()
        for plugin in list(self.plugins):
            plugin.kubelet_appeared()
        return MemoryListener(self)

    def serve_pod_resources(self, on_request: OnPodResources) -> "MemoryPodResources":
        """Answer `ask_pod_resources` from now on."""
        self.on_pod_resources = on_request
        return MemoryPodResources(self)

    def ask_pod_resources(
        self, request: PodResourcesRequest, on_answer: Callable[[PodResourcesAnswer], None]
    ) -> None:
        """Ask as an agent does; `on_answer` is called when the kubelet has come to it."""
        if self.on_pod_resources is None:
            on_answer(RpcError("Unavailable", f"connection error: {self.directory}: nobody listens"))
        else:
            self.on_pod_resources(request, on_answer)

    def connect(self, socket: str) -> "MemoryClient":
        """A client for the plugin at `socket`."""
        return MemoryClient(self, socket)

    def files(self) -> list[str]:
        """The names of the files that a directory would have."""
        sockets = {posixpath.basename(socket) for socket in (*self.serving, *self.left)}
        return sorted(sockets | ({KUBELET_SOCKET} if self.on_register else set()))


class MemoryListener:
    """Registration while it is served."""

    def __init__(self, transport: MemoryTransport) -> None:
        self._transport = transport

    def stop(self) -> None:
        """Serve no more; plugins wait for the next kubelet."""
        self._transport.on_register = None

    def abandon(self) -> None:
        """There is no file."""


class MemoryPodResources:
    """The PodResources API while it is served."""

    def __init__(self, transport: MemoryTransport) -> None:
        self._transport = transport

    def abandon(self) -> None:
        """There is no file."""

    def stop(self) -> None:
        """Serve no more."""
        self._transport.on_pod_resources = None


class MemoryClient:
    """The kubelet's connection to one plugin."""

    def __init__(self, transport: MemoryTransport, socket: str) -> None:
        self._transport = transport
        self.socket = socket
        self._closed = False
        self._server: MemoryServer | None = None
        self._on_end: OnEnd | None = None
        self._on_list: OnList | None = None

    def ask(self, call: Call, on_answer: OnAnswer) -> None:
        """Answer at once, as the plugin would; one that is frozen answers when it goes on."""
        server = None if self._closed else self._connected()
        if server is not None and server.frozen:
            server.waiting.append(lambda: on_answer(self.call(call)))
        else:
            on_answer(self.call(call))

    def call(self, call: Call) -> Answer:
        """The plugin's answer. A dial that would wait for its whole timeout fails at once."""
        if self._closed:
            return _CLOSED
        server = self._connected()
        if call.method == "Dial":
            return Empty() if server else RpcError("DeadlineExceeded", DEADLINE)
        return server.answer(call) if server else self._unreachable()

    def list_and_watch(self, on_list: OnList, on_end: OnEnd) -> None:
        """Follow the plugin's list: the first one comes before this returns."""
        server = None if self._closed else self._connected()
        if server is None:
            on_end(str(_CLOSED if self._closed else self._unreachable()))
        elif not server.implements("ListAndWatch"):
            on_end(str(_unknown("ListAndWatch")))
        else:
            self._on_list, self._on_end = on_list, on_end
            server.followers.append(self)
            self.send(server.state().devices)

    def close(self) -> None:
        """End the stream."""
        self._closed = True
        self.end(str(_CLOSED))

    def send(self, devices: tuple[Device, ...]) -> None:
        """Hand on the plugin's list. One that is too large for gRPC ends the stream, as there."""
        size = list_size(devices)
        if size > MAX_MESSAGE:
            self.end(str(RpcError("ResourceExhausted", too_large(size, MAX_MESSAGE))))
        elif self._on_list is not None:
            self._on_list(devices)

    def end(self, error: str) -> None:
        """End the stream, once."""
        on_end, self._on_end, self._on_list = self._on_end, None, None
        if self._server and self in self._server.followers:
            self._server.followers.remove(self)
        if on_end is not None:
            on_end(error)

    def _connected(self) -> "MemoryServer | None":
        """The plugin at the other end. A connection outlives the file of its socket, but not its plugin."""
        if self._server is None or not self._server.up:
            self._server = self._transport.serving.get(self.socket)
        return self._server

    def _unreachable(self) -> RpcError:
        why = errno.ECONNREFUSED if self.socket in self._transport.left else errno.ENOENT
        return not_connected(self.socket, why)


class MemoryServer:
    """A plugin's end of the wire while it serves: who follows its list, and which calls it implements (by default all).

    The plugin's state is read anew for each answer. While it is `frozen` it answers nothing.
    """

    def __init__(
        self,
        transport: MemoryTransport,
        name: str,
        state: Callable[[], Plugin],
        methods: Collection[str] | None = None,
    ) -> None:
        self.state, self._methods = state, methods
        self.socket = posixpath.join(transport.directory, name)
        self.followers: list[MemoryClient] = []
        self.waiting: list[Callable[[], None]] = []
        self.up = self.frozen = False
        self._transport = transport

    def start(self) -> None:
        """Serve on the socket."""
        self.up = True
        self._transport.serving[self.socket] = self
        self._transport.left.discard(self.socket)

    def implements(self, method: str) -> bool:
        """Whether the plugin has this call."""
        return self._methods is None or method in self._methods

    def answer(self, call: Call) -> Answer:
        """What the plugin answers to a call."""
        return answer(self.state(), call.request) if self.implements(call.method) else _unknown(call.method)

    def changed(self) -> None:
        """Send the list again to all who follow it."""
        for follower in list(self.followers):
            follower.send(self.state().devices)

    def end_streams(self, error: str = "EOF") -> None:
        """Return from ListAndWatch, and go on serving."""
        for follower in list(self.followers):
            follower.end(error)

    def stop(self, error: str = "EOF") -> None:
        """End the streams, serve no more, and remove the socket."""
        self.up = False
        if self._transport.serving.get(self.socket) is self:
            del self._transport.serving[self.socket]
        self.end_streams(error)

    def kill(self) -> None:
        """Break all connections and leave the socket's file behind, as the end of the process would."""
        if self._transport.serving.get(self.socket) is self:
            self._transport.left.add(self.socket)
        self.stop(str(_LOST))

    def thaw(self) -> None:
        """Answer again, first what was asked meanwhile."""
        self.frozen, waiting, self.waiting = False, self.waiting, []
        for told in waiting:
            told()


def _unknown(method: str) -> RpcError:
    return RpcError("Unimplemented", f"unknown method {method} for service v1beta1.DevicePlugin")
