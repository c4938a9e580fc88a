"""One node of a world: the kubelet's end of the wire and the plugins that were started there; who makes them."""

import posixpath
from collections.abc import Callable, Collection, Iterator
from typing import Protocol

from kubedev.api.messages import RegisterRequest
from kubedev.cluster import events as e
from kubedev.cluster.kubelets import SOCKET_DIR
from kubedev.cluster.state import PluginState
from kubedev.deviceplugin.plugin import Plugin
from kubedev.wire.kubelet_wire import KubeletWire
from kubedev.wire.runtime import Runtime
from kubedev.wire.transport import (
    OnPluginEvent,
    OnRegistered,
    PluginEvent,
    PluginHandle,
    Registering,
    Reply,
    Server,
    Transport,
    endpoint_name,
)

__all__ = ["Backend", "Node", "Post", "endpoint_of"]

Post = Callable[[e.Event], None]


class Backend(Protocol):
    """Makes the things of one kind of world: gRPC and processes, or all in memory.

    `adopts` says that a state's plugins and containers can be taken as they are: only in memory.
    """

    adopts: bool

    def transport(self, node: str) -> Transport:
        """A kubelet's transport; its `directory` is the socket directory."""

    def runtime(self) -> Runtime:
        """A container runtime."""

    def plugin(self, transport: Transport, plugin: PluginState, on_event: OnPluginEvent) -> PluginHandle:
        """A plugin, not yet started, that is to serve and register where `transport` listens."""

    def server(
        self, transport: Transport, name: str, state: Callable[[], Plugin], methods: Collection[str]
    ) -> Server:
        """A plugin's end of the wire, at a socket of this name; calls that are not among `methods` are refused."""

    def register(self, transport: Transport, request: RegisterRequest, on_done: OnRegistered) -> Registering:
        """Call Register where `transport` listens."""

    def adopt(self, handle: PluginHandle) -> None:
        """Have a plugin serve as if it had registered already."""

    def reply(self, handle: PluginHandle) -> Reply:
        """How a plugin that was adopted hears the answer to a Register call."""

    def close(self) -> None:
        """Remove what was made."""


def endpoint_of(plugin: PluginState) -> str:
    """The name of a plugin's socket."""
    return endpoint_name(plugin.name.replace("#", "-"))


class Node:
    """One node: the kubelet's end of the wire, and the plugins that were started there."""

    def __init__(self, name: str, backend: Backend, post: Post, register_ids: Iterator[int]) -> None:
        self._backend, self._post = backend, post
        self.transport = backend.transport(name)
        self.plugins: dict[str, PluginHandle] = {}
        self.wire = KubeletWire(
            self.transport, lambda event: post(e.OnKubelet(name, event)), SOCKET_DIR, register_ids
        )

    def launch(self, plugin: PluginState) -> None:
        """Start a plugin, in place of an older one of the same resource."""
        if plugin.name in self.plugins:
            self.plugins.pop(plugin.name).stop()
        self.wire.release(posixpath.join(SOCKET_DIR, endpoint_of(plugin)))
        self.start(plugin)

    def start(self, plugin: PluginState) -> None:
        """Have a plugin serve and register; one that said that it serves does not say it again."""
        self._made(plugin, quiet=plugin.phase == "serving").start()

    def _made(self, plugin: PluginState, quiet: bool = False) -> PluginHandle:
        said = {"serving"} if quiet else set()

        def told(event: PluginEvent) -> None:
            if event.event in said:
                said.discard(event.event)
            else:
                self._told(plugin, handle, event)

        handle = self._backend.plugin(self.transport, plugin, told)
        self.plugins[plugin.name] = handle
        return handle

    def kill(self, resource: str) -> None:
        """Kill a plugin, unless it has ended meanwhile."""
        if resource in self.plugins:
            self.plugins.pop(resource).kill()

    def set_health(self, resource: str, device_id: str, healthy: bool) -> None:
        if resource in self.plugins:
            self.plugins[resource].set_health(device_id, healthy)

    def set_listed(self, resource: str, device_id: str, listed: bool) -> None:
        if resource in self.plugins:
            self.plugins[resource].set_listed(device_id, listed)

    def _told(self, plugin: PluginState, handle: PluginHandle, told: PluginEvent) -> None:
        if self.plugins.get(plugin.name) is not handle:  # its successor was started already
            return
        if told.event == "serving":
            pid = getattr(handle, "pid", None)
            socket = posixpath.basename(told.socket)
            self._post(e.PluginServing(plugin.node, plugin.name, socket, pid, plugin.launch))
        elif told.event == "stopped":
            self._post(
                e.PluginExited(plugin.node, plugin.name, plugin.launch, getattr(handle, "killed", False))
            )

    def restart(self, reboot: bool) -> None:
        if reboot:
            while self.plugins:
                self.plugins.popitem()[1].kill()
        self.wire.restart()

    def adopt(self, plugin: PluginState) -> None:
        """Have a plugin that serves already, without a word on the wire."""
        self._backend.adopt(self._made(plugin))

    def expect_reply(self, register_id: int, plugin: PluginState) -> None:
        """Have a plugin that was adopted hear the answer to the Register call that it has sent."""
        self.wire.expect_reply(register_id, self._backend.reply(self.plugins[plugin.name]))

    def close(self) -> None:
        for plugin in self.plugins.values():
            plugin.stop()
        self.wire.close()
