"""The world of a cluster: its kubelets' sockets, its plugins and containers, real or in memory.

`World` carries out what the events ask for, and posts what comes of it. Nothing here decides anything.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import count

from kubedev.api.messages import HEALTHY, RegisterRequest
from kubedev.cluster import events as e
from kubedev.cluster.plugins import plugin_at
from kubedev.cluster.state import ClusterState, ContainerState
from kubedev.deviceplugin.plugin import Plugin
from kubedev.kubelet import events as k
from kubedev.wire import underway
from kubedev.wire.node import Backend, Node, Post
from kubedev.wire.runtime import Follower
from kubedev.wire.transport import (
    OnRegistered,
    PluginHandle,
    Registering,
    Server,
)

__all__ = ["World"]


class World:
    """Carries out the effects of a cluster with the things that a backend makes."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._runtime = backend.runtime()
        self._nodes: dict[str, Node] = {}
        self._opened = ClusterState()
        self._register_ids = count(1)

    @property
    def directories(self) -> dict[str, str]:
        """The real socket directory of each node."""
        return {name: node.transport.directory for name, node in self._nodes.items()}

    def files(self, node: str) -> list[str]:
        """The names of the files in a node's socket directory."""
        return self._nodes[node].transport.files()

    def plugin(self, node: str, name: str) -> PluginHandle:
        """A plugin that was started here. KeyError where it has ended."""
        return self._nodes[node].plugins[name]

    def server(self, node: str, name: str, state: Callable[[], Plugin], methods: Collection[str]) -> Server:
        """A plugin's end of the wire on a node, for plugins that are led by hand."""
        return self._backend.server(self._nodes[node].transport, name, state, methods)

    def register(self, node: str, request: RegisterRequest, on_done: OnRegistered) -> Registering:
        """Call Register on a node by hand."""
        return self._backend.register(self._nodes[node].transport, request, on_done)

    def open(self, post: Post, state: ClusterState) -> None:
        """Take over what stands in a state. Nothing is told yet: what was on its way waits for `go_on`."""
        self._post = post
        self._register_ids = count(1 + max(underway.register_ids(state), default=0))
        self._opened = state
        for name in state.kubelets:
            self._add_node(name)
        if not self._backend.adopts:
            return
        plugins = underway.plugins(state)
        for plugin in plugins.serving:
            self._nodes[plugin.node].adopt(plugin)
        for register_id, plugin in plugins.registering:
            self._nodes[plugin.node].expect_reply(register_id, plugin)
        for stream in underway.streams(state):
            self._nodes[stream.node].wire.resume(stream)
        for container in underway.containers(state)[0]:
            self._take_container(container, state)

    def go_on(self, state: ClusterState, recorded: Sequence[e.Event] = ()) -> None:
        """Carry on what was under way where `open` took over, as far as it still is in `state`, the one by now.

        In memory, calls are answered from `recorded` unless their plugin has changed since. In the real world all
        is started anew.
        """
        if self._backend.adopts:
            self._resume_plugins(state)
            for container in underway.containers(self._opened)[1]:
                now = state.containers.get((container.pod_uid, container.name))
                if now is not None and now.attempt == container.attempt and now.phase != "ended":
                    self._take_container(now, state)
            self._resume_calls(state, recorded)
        else:
            for plugin in state.plugins.values():
                if plugin.alive and plugin.phase != "forgotten":
                    again = plugin.registers_again
                    made = plugin.node, plugin.name, plugin.devices, plugin.options, again
                    self._post(e.PluginLaunched(*made))
            for container in state.containers.values():
                if container.phase != "ended":
                    self._take_container(container, state)
        for name, stop in underway.stops(state):
            self.carry_out(e.FromKubelet(name, stop), state)
        self._opened = ClusterState()  # it would keep the messages of a whole journal

    def _take_container(self, container: ContainerState, state: ClusterState) -> None:
        effect = k.StartContainer(container.pod_uid, container.name, container.envs)
        said = 1 + len(container.output) if self._backend.adopts and container.phase == "running" else 0
        self._start_container(effect, state, _without(said, self._post))

    def _resume_plugins(self, state: ClusterState) -> None:
        for node in self._nodes.values():
            node.wire.release()
        plugins = underway.plugins(self._opened)
        for plugin in plugins.to_register:
            now = state.plugins[underway.key(plugin)]
            if now.alive and now.launch == plugin.launch:
                self._nodes[plugin.node].start(now)
        for plugin in plugins.ending:
            if state.plugins[underway.key(plugin)] == plugin:
                self._post(e.PluginExited(plugin.node, plugin.name, plugin.launch))

    def _resume_calls(self, state: ClusterState, recorded: Sequence[e.Event]) -> None:
        answers = {
            (event.node, event.event.call_id): event
            for event in recorded
            if isinstance(event, e.OnKubelet) and isinstance(event.event, k.Answered)
        }
        still = {(name, call_id) for name, call_id, _ in underway.calls(state)}
        for name, call_id, call in underway.calls(self._opened):
            if (name, call_id) not in still:
                continue
            unchanged = plugin_at(state, name, call.resource, call.socket) == plugin_at(
                self._opened, name, call.resource, call.socket
            )
            if unchanged and (name, call_id) in answers:
                self._post(answers[name, call_id])
            else:
                self._nodes[name].wire.carry_out(k.Ask(call_id, call))

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
            case e.DeviceListed(node, resource, device_id, listed):
                self._nodes[node].set_listed(resource, device_id, listed)
            case e.PluginKilled(node, resource):
                self._nodes[node].kill(resource)
            case e.KubeletStopped(node, reboot):
                self._nodes[node].restart(reboot)
                if reboot:
                    for uid, name in [key for key, c in state.containers.items() if c.node == node]:
                        self._runtime.stop((uid, name))
            case e.ContainerKilled(uid, name):
                self._runtime.kill((uid, name))
            case e.FromKubelet(_, k.StartContainer() as effect):
                self._start_container(effect, state, self._post)
            case e.FromKubelet(_, k.StopContainer(uid, name)):
                self._runtime.stop((uid, name))
            case e.FromKubelet(node, effect):
                self._nodes[node].wire.carry_out(effect)
            case e.OnKubelet(node, told) if node in self._nodes:
                self._nodes[node].wire.handled(told)

    def close(self) -> None:
        """End everything, and wait for it."""
        for node in self._nodes.values():
            node.close()
        self._runtime.close()
        self._backend.close()

    def _add_node(self, name: str) -> None:
        self._nodes[name] = Node(name, self._backend, self._post, self._register_ids)

    def _start_container(self, effect: k.StartContainer, state: ClusterState, post: Post) -> None:
        uid, name = effect.pod_uid, effect.container
        attempt = state.containers[uid, name].attempt
        pod = state.kubelets[state.containers[uid, name].node].pods[uid].pod
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
