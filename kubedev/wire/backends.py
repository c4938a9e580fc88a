"""The two worlds a lab can run in: everything real, or everything in memory."""

import os
import shutil
import time
from collections.abc import Callable, Collection
from typing import Literal

from kubedev.api.messages import RegisterRequest
from kubedev.cluster.state import PluginState
from kubedev.deviceplugin.plugin import Plugin
from kubedev.wire.memory import MemoryServer, MemoryTransport
from kubedev.wire.memory_plugin import MemoryPlugin, MemoryRegistration
from kubedev.wire.node import Backend, endpoint_of
from kubedev.wire.runtime import MemoryRuntime, ProcessRuntime, Runtime
from kubedev.wire.sockets import KUBELET_SOCKET, have_grpc, private_directory
from kubedev.wire.transport import (
    OnPluginEvent,
    OnRegistered,
    PluginHandle,
    Registering,
    Reply,
    Server,
    Transport,
)
from kubedev.wire.world import World

__all__ = ["MemoryBackend", "RealBackend", "backend", "world"]


def _plugin(plugin: PluginState) -> Plugin:
    """A plugin as a state has it; a second one of a resource has a socket of its own."""
    return Plugin(
        plugin.resource,
        plugin.devices,
        plugin.options,
        endpoint=endpoint_of(plugin),
        registers_again=plugin.registers_again,
        left_out=plugin.left_out,
    )


class MemoryBackend:
    """No socket and no process: for forks, and for where there is no gRPC."""

    adopts = True

    def transport(self, node: str) -> Transport:
        return MemoryTransport(f"/memory/{node}")

    def runtime(self) -> Runtime:
        return MemoryRuntime()

    def plugin(self, transport: Transport, plugin: PluginState, on_event: OnPluginEvent) -> PluginHandle:
        assert isinstance(transport, MemoryTransport)
        return MemoryPlugin(_plugin(plugin), transport, on_event)

    def server(
        self, transport: Transport, name: str, state: Callable[[], Plugin], methods: Collection[str]
    ) -> Server:
        assert isinstance(transport, MemoryTransport)
        return MemoryServer(transport, name, state, methods)

    def register(self, transport: Transport, request: RegisterRequest, on_done: OnRegistered) -> Registering:
        assert isinstance(transport, MemoryTransport)
        return MemoryRegistration(transport, request, on_done)

    def adopt(self, handle: PluginHandle) -> None:
        assert isinstance(handle, MemoryPlugin)
        handle.adopt()

    def reply(self, handle: PluginHandle) -> Reply:
        assert isinstance(handle, MemoryPlugin)
        return handle.registered

    def close(self) -> None:
        """There is nothing to remove."""


class RealBackend:
    """gRPC on unix sockets in private directories, containers as processes.

    Plugins run as processes of their own, or, with `plugins="thread"`, in this process.
    """

    adopts = False

    def __init__(self, plugins: Literal["process", "thread"] = "process") -> None:
        self._plugins = plugins
        self._directories: list[str] = []

    def transport(self, node: str) -> Transport:
        from kubedev.wire.grpc_transport import GrpcTransport

        self._directories.append(private_directory())
        return GrpcTransport(self._directories[-1])

    def runtime(self) -> Runtime:
        return ProcessRuntime()

    def plugin(self, transport: Transport, plugin: PluginState, on_event: OnPluginEvent) -> PluginHandle:
        from kubedev.wire.plugin_process import PluginProcess
        from kubedev.wire.plugin_thread import PluginThread

        kind = PluginProcess if self._plugins == "process" else PluginThread
        return kind(_plugin(plugin), transport.directory, on_event)

    def server(
        self, transport: Transport, name: str, state: Callable[[], Plugin], methods: Collection[str]
    ) -> Server:
        from kubedev.wire.plugin_server import PluginServer

        return PluginServer(os.path.join(transport.directory, name), state, methods)

    def register(self, transport: Transport, request: RegisterRequest, on_done: OnRegistered) -> Registering:
        from kubedev.wire.plugin_server import Registration

        return Registration(os.path.join(transport.directory, KUBELET_SOCKET), request, on_done)

    def adopt(self, handle: PluginHandle) -> None:
        raise NotImplementedError("a real process cannot be taken over from a state: start it anew")

    def reply(self, handle: PluginHandle) -> Reply:
        raise NotImplementedError("a real process hears its answer itself")

    def close(self) -> None:
        for directory in self._directories:
            for _ in range(3):  # a plugin that ends may make its socket in it meanwhile
                shutil.rmtree(directory, ignore_errors=True)
                if not os.path.exists(directory):
                    break
                time.sleep(0.05)


def world(
    transport: Literal["grpc", "memory"] = "grpc", plugins: Literal["process", "thread"] = "process"
) -> World:
    """A world of the wanted kind; in memory where there is no gRPC, whatever was wanted."""
    return World(backend(transport, plugins))


def backend(
    transport: Literal["grpc", "memory"] = "grpc", plugins: Literal["process", "thread"] = "process"
) -> Backend:
    """What makes the things of such a world."""
    return MemoryBackend() if transport == "memory" or not have_grpc() else RealBackend(plugins)
