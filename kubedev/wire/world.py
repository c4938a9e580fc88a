"""The world of a cluster: its kubelets' sockets, its plugins and containers, real or in memory.

`World` carries out what the events ask for, and posts what comes of it. Nothing here decides anything.
"""

import posixpath
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Protocol

from kubedev.api.messages import HEALTHY
from kubedev.cluster import events as e
from kubedev.cluster.kubelets import SOCKET_DIR
from kubedev.cluster.state import ClusterState, PluginState
from kubedev.kubelet import events as k
from kubedev.kubelet.devices import registration
from kubedev.kubelet.pods import to_stop
from kubedev.wire.kubelet_wire import KubeletWire
from kubedev.wire.runtime import Follower, Runtime
from kubedev.wire.transport import (
    OnPluginEvent,
    PluginEvent,
    PluginHandle,
    Transport,
)

__all__ = ["Backend", "World"]

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

    def adopt(self, handle: PluginHandle) -> None:
        """Have a plugin serve as if it had registered already."""

    def close(self) -> None:
        """Remove what was made."""


class World:
    """Carries out the effects of a cluster with the things that a backend makes."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._runtime = backend.runtime()
        self._nodes: dict[str, _Node] = {}
        self._register_ids = count(1)

    @property
    def directories(self) -> dict[str, str]:
        """The real socket directory of each node."""
        return {name: node.transport.directory for name, node in self._nodes.items()}

    def open(self, post: Post, state: ClusterState, recorded: Sequence[e.Event] = ()) -> None:
        """Take over from a state. In memory, what runs there is taken as it is, and what is under way goes on
        from the answers `recorded` in the run that was forked; in the real world it is started anew.
        """
        self._post = post
        for name in state.kubelets:
            self._add_node(name)
        for plugin in state.plugins.values():
            if plugin.alive and (plugin.phase != "registered" or not self._backend.adopts):
                post(e.PluginLaunched(plugin.node, plugin.resource, plugin.devices, plugin.options))
        if self._backend.adopts:
            self._adopt(state, recorded)
        for container in state.containers.values():
            if container.phase != "ended":
                effect = k.StartContainer(container.pod_uid, container.name, container.envs)
                said = (
                    1 + len(container.output) if self._backend.adopts and container.phase == "running" else 0
                )
                self._start_container(effect, state, _without(said, self._post))
        for name, agent in state.kubelets.items():
            for uid, record in agent.pods.items():
                for stop in (k.StopContainer(uid, container) for container in to_stop(record)):
                    if e.FromKubelet(name, stop) not in state.pending:  # it was asked to end, and has not yet
                        self.carry_out(e.FromKubelet(name, stop), state)

    def _adopt(self, state: ClusterState, recorded: Sequence[e.Event]) -> None:
        answers = {
            (event.node, event.event.call_id): event
            for event in recorded
            if isinstance(event, e.OnKubelet) and isinstance(event.event, k.Answered)
        }
        to_come = [event.effect for event in state.pending if isinstance(event, e.FromKubelet)]
        for plugin in state.plugins.values():
            if plugin.phase == "registered":
                self._nodes[plugin.node].adopt(plugin)
        for name, agent in state.kubelets.items():
            for client in registration.clients(agent.devices):
                endpoint = agent.devices.connections[client]
                known = agent.devices.all_devices.get(endpoint.resource)
                stream = k.OpenStream(client, endpoint.resource, endpoint.socket)
                if endpoint.phase == "connected" and stream not in to_come:
                    self._nodes[name].wire.follow(
                        client, endpoint.socket, tuple(known.values()) if known else None
                    )
            for call_id, talk in agent.talks.items():
                if (name, call_id) in answers:
                    self._post(answers[name, call_id])
                elif k.Ask(call_id, talk.call) not in to_come:
                    self._nodes[name].wire.carry_out(k.Ask(call_id, talk.call))

    def carry_out(self, event: e.Event, state: ClusterState) -> None:
        """Do what an event asks of the world."""
        match event:
            case e.NodeCreated(node):
                self._add_node(node.name)
            case e.PluginLaunched(node, resource):
                self._nodes[node].launch(state.plugins[node, resource])
            case e.HealthSet(node, resource, device_id, health):
                if device_id in [device.id for device in state.plugins[node, resource].devices]:
                    self._nodes[node].set_health(resource, device_id, health == HEALTHY)
            case e.PluginKilled(node, resource):
                self._nodes[node].kill(resource)
            case e.KubeletStopped(node, reboot):
                self._nodes[node].restart(reboot)
                if reboot:
                    for uid, name in [key for key, c in state.containers.items() if c.node == node]:
                        self._runtime.stop((uid, name))
            case e.FromKubelet(_, k.StartContainer() as effect):
                self._start_container(effect, state, self._post)
            case e.FromKubelet(_, k.StopContainer(uid, name)):
                self._runtime.stop((uid, name))
            case e.FromKubelet(node, effect):
                self._nodes[node].wire.carry_out(effect)

    def close(self) -> None:
        """End everything, and wait for it."""
        for node in self._nodes.values():
            node.close()
        self._runtime.close()
        self._backend.close()

    def _add_node(self, name: str) -> None:
        self._nodes[name] = _Node(name, self._backend, self._post, self._register_ids)

    def _start_container(self, effect: k.StartContainer, state: ClusterState, post: Post) -> None:
        uid, name = effect.pod_uid, effect.container
        attempt = state.containers[uid, name].attempt
        pod = state.store.pods[uid]
        ends = any(c.name == name and not c.restartable for c in pod.init_containers)
        self._runtime.start(
            (uid, name),
            pod.name,
            dict(effect.envs),
            not ends,
            Follower(
                started=lambda pid: post(e.ContainerStarted(uid, name, pid, attempt)),
                printed=lambda line: post(e.ContainerPrinted(uid, name, line, attempt)),
                ended=lambda code: self._post(e.ContainerEnded(uid, name, code, attempt)),
            ),
        )


def _without(said: int, post: Post) -> Post:
    """Post all but the first `said` events: what a container that runs already has told before."""
    numbers = count(1)
    return lambda event: post(event) if next(numbers) > said else None


class _Node:
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
        if plugin.resource in self.plugins:
            self.plugins.pop(plugin.resource).stop()
        handle = self._backend.plugin(self.transport, plugin, lambda told: self._told(plugin, handle, told))
        self.plugins[plugin.resource] = handle
        handle.start()

    def kill(self, resource: str) -> None:
        """Kill a plugin, unless it has ended meanwhile."""
        if resource in self.plugins:
            self.plugins.pop(resource).kill()

    def set_health(self, resource: str, device_id: str, healthy: bool) -> None:
        if resource in self.plugins:
            self.plugins[resource].set_health(device_id, healthy)

    def _told(self, plugin: PluginState, handle: PluginHandle, told: PluginEvent) -> None:
        if self.plugins.get(plugin.resource) is not handle:  # its successor was started already
            return
        if told.event == "serving":
            pid = getattr(handle, "pid", None)
            socket = posixpath.basename(told.socket)
            self._post(e.PluginServing(plugin.node, plugin.resource, socket, pid, plugin.launch))
        elif told.event == "stopped":
            self._post(
                e.PluginExited(plugin.node, plugin.resource, plugin.launch, getattr(handle, "killed", False))
            )

    def restart(self, reboot: bool) -> None:
        if reboot:
            while self.plugins:
                self.plugins.popitem()[1].kill()
        self.wire.restart()

    def adopt(self, plugin: PluginState) -> None:
        """Have a plugin that is registered already, without a word on the wire."""
        handle = self._backend.plugin(self.transport, plugin, lambda told: self._told(plugin, handle, told))
        self.plugins[plugin.resource] = handle
        self._backend.adopt(handle)

    def close(self) -> None:
        for plugin in self.plugins.values():
            plugin.stop()
        self.wire.close()
