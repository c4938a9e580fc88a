"""Plugins in memory: what plugin_server.py and plugin_process.py are to gRPC."""

from collections.abc import Callable

from kubedev.api.messages import VERSION, RegisterRequest, RpcError
from kubedev.deviceplugin.plugin import Plugin, set_count, set_health, set_listed
from kubedev.wire.memory import MemoryServer, MemoryTransport
from kubedev.wire.sockets import KUBELET_SOCKET
from kubedev.wire.transport import OnPluginEvent, PluginEvent, endpoint_name

__all__ = ["MemoryPlugin", "MemoryRegistration"]


class MemoryRegistration:
    """A call of Register that is under way; `on_done` gets None or its error, once."""

    def __init__(
        self, transport: MemoryTransport, request: RegisterRequest, on_done: Callable[[RpcError | None], None]
    ) -> None:
        self._on_done: Callable[[RpcError | None], None] | None = on_done
        if transport.on_register is None:
            self._done(RpcError("Unavailable", f"{KUBELET_SOCKET}: nobody listens"))
        else:
            transport.on_register(request, lambda error: self._done(error and RpcError("Unknown", error)))

    def close(self) -> None:
        """Give the call up if it is still under way."""
        self._done(RpcError("Canceled", "the call was given up"))

    def _done(self, error: RpcError | str | None) -> None:
        on_done, self._on_done = self._on_done, None
        if on_done is not None:
            on_done(error if isinstance(error, RpcError) else None)


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
        self._transport = transport
        self._on_event = on_event
        self._version = version
        self._endpoint = plugin.endpoint or endpoint_name(plugin.resource)
        self._known = False
        self._server = MemoryServer(transport, self._endpoint, lambda: self.state)
        self.socket = self._server.socket

    def start(self) -> None:
        """Serve and register, as soon as a kubelet is there."""
        self._transport.plugins.append(self)
        self.kubelet_appeared()

    def adopt(self) -> None:
        """Serve as a plugin that has registered already: a fork begins in the middle of things."""
        self._transport.plugins.append(self)
        self._server.start()
        self._known = True

    def kubelet_appeared(self) -> None:
        """Serve afresh and register with the kubelet that listens."""
        self._server.end_streams()
        if self._known and not self.state.registers_again:
            return
        on_register = self._transport.on_register
        if on_register is None:
            self._on_event(PluginEvent("away", error=f"{KUBELET_SOCKET}: nobody listens"))
            return
        self._server.start()
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

    def freeze(self) -> None:
        """Answer nothing until `thaw`, as a process does that SIGSTOP has stopped."""
        self._server.frozen = True

    def thaw(self) -> None:
        """Go on."""
        self._server.thaw()

    def kill(self) -> None:
        """End like a process that is killed: the connections break, the socket's file stays behind."""
        self._end(self._server.kill)

    def stop(self) -> None:
        """End properly: streams are closed, the socket is removed."""
        self._end(self._server.stop)

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
        self._server.changed()

    def _end(self, serve_no_more: Callable[[], None]) -> None:
        if self in self._transport.plugins:
            self._transport.plugins.remove(self)
            serve_no_more()
            self._on_event(PluginEvent("stopped"))
