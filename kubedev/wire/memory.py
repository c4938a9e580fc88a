"""The wire in memory: a kubelet and its plugins in one thread, without sockets and without gRPC.

A history that was forked goes on here, as does a lab in a browser or on a platform without unix sockets. It
does what server.py, client.py and the plugin's process do, at once and in the order of the calls: a plugin
that registers is called back before `start` returns. The contract tests run the same scenarios over both.
"""

import errno
import os
from collections.abc import Callable

from kubedev.api.messages import VERSION, Answer, Call, Empty, RegisterRequest, RpcError
from kubedev.api.podresources import PodResourcesAnswer, PodResourcesRequest
from kubedev.api.protowire import list_size
from kubedev.deviceplugin.plugin import Plugin, answer, set_count, set_health, set_listed
from kubedev.wire.go_errors import CLOSING, DEADLINE, MAX_MESSAGE, not_connected, too_large
from kubedev.wire.sockets import KUBELET_SOCKET
from kubedev.wire.transport import (
    OnAnswer,
    OnEnd,
    OnList,
    OnPluginEvent,
    OnPodResources,
    OnRegister,
    PluginEvent,
    endpoint_name,
)

__all__ = ["MemoryClient", "MemoryListener", "MemoryPlugin", "MemoryPodResources", "MemoryTransport"]

_CLOSED = RpcError("Canceled", CLOSING)
_LOST = RpcError("Unavailable", "error reading from server: EOF")


class MemoryTransport:
    """A socket directory that exists in memory only; its path is a name and no place on a disk."""

    threaded = False

    def __init__(self, directory: str = "/memory") -> None:
        self.directory = directory
        self.on_register: OnRegister | None = None
        self.on_pod_resources: OnPodResources | None = None
        self.plugins: list[MemoryPlugin] = []
        self.serving: dict[str, MemoryPlugin] = {}
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
        self._plugin: MemoryPlugin | None = None
        self._on_end: OnEnd | None = None
        self._on_list: OnList | None = None

    def ask(self, call: Call, on_answer: OnAnswer) -> None:
        """Answer at once, as the plugin would."""
        on_answer(self.call(call))

    def call(self, call: Call) -> Answer:
        """The plugin's answer. A dial that would wait for its whole timeout fails at once."""
        if self._closed:
            return _CLOSED
        plugin = self._connected()
        if call.method == "Dial":
            return Empty() if plugin else RpcError("DeadlineExceeded", DEADLINE)
        return answer(plugin.state, call.request) if plugin else self._unreachable()

    def list_and_watch(self, on_list: OnList, on_end: OnEnd) -> None:
        """Follow the plugin's list: the first one comes before this returns."""
        plugin = None if self._closed else self._connected()
        if plugin is None:
            on_end(str(_CLOSED if self._closed else self._unreachable()))
            return
        self._on_list, self._on_end = on_list, on_end
        plugin.followers.append(self)
        self.send(plugin)

    def close(self) -> None:
        """End the stream."""
        self._closed = True
        self.end(str(_CLOSED))

    def send(self, plugin: "MemoryPlugin") -> None:
        """Hand on the plugin's list. One that is too large for gRPC ends the stream, as there."""
        size = list_size(plugin.state.devices)
        if size > MAX_MESSAGE:
            self.end(str(RpcError("ResourceExhausted", too_large(size, MAX_MESSAGE))))
        elif self._on_list is not None:
            self._on_list(plugin.state.devices)

    def end(self, error: str) -> None:
        """End the stream, once."""
        on_end, self._on_end, self._on_list = self._on_end, None, None
        if self._plugin and self in self._plugin.followers:
            self._plugin.followers.remove(self)
        if on_end is not None:
            on_end(error)

    def _connected(self) -> "MemoryPlugin | None":
        """The plugin at the other end. A connection outlives the file of its socket, but not its plugin."""
        if self._plugin is None or not self._plugin.up:
            self._plugin = self._transport.serving.get(self.socket)
        return self._plugin

    def _unreachable(self) -> RpcError:
        why = errno.ECONNREFUSED if self.socket in self._transport.left else errno.ENOENT
        return not_connected(self.socket, why)


class MemoryPlugin:
    """A plugin in memory, handled like one in a process of its own (plugin_process.py)."""

    def __init__(
        self,
        plugin: Plugin,
        transport: MemoryTransport,
        on_event: OnPluginEvent = lambda _: None,
        version: str = VERSION,
    ) -> None:
        self.state = plugin
        self.up = False
        self.followers: list[MemoryClient] = []
        self._transport = transport
        self._on_event = on_event
        self._version = version
        self._endpoint = plugin.endpoint or endpoint_name(plugin.resource)
        self._known = False
        self.socket = os.path.join(transport.directory, self._endpoint)

    def start(self) -> None:
        """Serve and register, as soon as a kubelet is there."""
        self._transport.plugins.append(self)
        self.kubelet_appeared()

    def adopt(self) -> None:
        """Serve as a plugin that has registered already: a fork begins in the middle of things."""
        self._transport.plugins.append(self)
        self._transport.serving[self.socket] = self
        self.up = self._known = True

    def kubelet_appeared(self) -> None:
        """Serve afresh and register with the kubelet that listens."""
        self._end_streams("EOF")
        if self._known and not self.state.registers_again:
            return
        on_register = self._transport.on_register
        if on_register is None:
            self._on_event(PluginEvent("away", error=f"{KUBELET_SOCKET}: nobody listens"))
            return
        self.up = True
        self._transport.serving[self.socket] = self
        self._transport.left.discard(self.socket)
        self._on_event(PluginEvent("serving", socket=self.socket))
        request = RegisterRequest(self._version, self._endpoint, self.state.resource, self.state.options)
        on_register(request, self.registered)

    def set_health(self, device_id: str, healthy: bool) -> None:
        """Turn a device healthy or unhealthy, and send the list. Raises PluginError."""
        self._change(set_health(self.state, device_id, healthy))

    def set_count(self, count: int) -> None:
        """Have `count` devices from now on, and send the list. Raises PluginError."""
        self._change(set_count(self.state, count))

    def set_listed(self, device_id: str, listed: bool) -> None:
        """Leave a device out of the list, or list it again. Raises PluginError."""
        self._change(set_listed(self.state, device_id, listed))

    def kill(self) -> None:
        """End like a process that is killed: the connections break, the socket's file stays behind."""
        if self._transport.serving.get(self.socket) is self:
            self._transport.left.add(self.socket)
        self._stop(str(_LOST))

    def stop(self) -> None:
        """End properly: streams are closed, the socket is removed."""
        self._stop("EOF")

    def registered(self, error: str | None) -> None:
        """Hear the kubelet's answer to Register."""
        if error is None:
            self._known = True
            self._on_event(PluginEvent("registered"))
            return
        self._on_event(PluginEvent("refused", error=str(RpcError("Unknown", error))))
        self.stop()

    def _change(self, state: Plugin) -> None:
        self.state = state
        for follower in list(self.followers):
            follower.send(self)

    def _stop(self, error: str) -> None:
        if self not in self._transport.plugins:
            return
        self.up = False
        self._transport.plugins.remove(self)
        if self._transport.serving.get(self.socket) is self:
            del self._transport.serving[self.socket]
        self._end_streams(error)
        self._on_event(PluginEvent("stopped"))

    def _end_streams(self, error: str) -> None:
        for follower in list(self.followers):
            follower.end(error)
