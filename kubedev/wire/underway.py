"""What a transport finds in a state that it takes over: what stands there, and what is on its way.

A fork goes on from the middle of things. What stands is taken as it is; what is on its way (a call that a plugin
has not answered yet, a list, a container's next line) is told later, after what the reader changes there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kubedev.api.messages import Call, Device
from kubedev.cluster import events as e
from kubedev.cluster.plugins import plugin_at
from kubedev.cluster.state import ClusterState, ContainerState, PluginState
from kubedev.kubelet import events as k
from kubedev.kubelet.devices import registration
from kubedev.kubelet.pods import to_stop

__all__ = ["Stream", "UnderWay", "calls", "containers", "plugins", "register_ids", "stops", "streams"]


@dataclass(frozen=True, slots=True)
class Stream:
    """An open ListAndWatch; `known` is the list that the kubelet has heard on it, `over` that its plugin is gone."""

    node: str
    client: int
    socket: str
    known: tuple[Device, ...] | None
    over: bool = False


@dataclass(frozen=True, slots=True)
class UnderWay:
    """The plugins of a state: those that serve already, with the Register calls that wait for an answer; those that
    are still to register; and those that have been refused and are about to end.
    """

    serving: tuple[PluginState, ...] = ()
    registering: tuple[tuple[int, PluginState], ...] = ()
    to_register: tuple[PluginState, ...] = ()
    ending: tuple[PluginState, ...] = ()


def plugins(state: ClusterState) -> UnderWay:
    """How far each plugin is."""
    waiting = {(node, number) for node, number, _ in _registrations(state)}
    alive = [plugin for plugin in state.plugins.values() if plugin.alive]
    registered = [p for p in alive if p.phase in ("registered", "forgotten")]
    asking = [
        (p.register_id, p) for p in alive if p.phase == "serving" and (p.node, p.register_id) in waiting
    ]
    serving = [*registered, *(plugin for _, plugin in asking)]
    refused = [p for p in state.plugins.values() if p.phase == "refused"]
    return UnderWay(
        tuple(serving),
        tuple(asking),
        tuple(p for p in alive if p not in serving),
        tuple(p for p in refused if p.socket in state.sockets.get(p.node, ())),
    )


def key(plugin: PluginState) -> tuple[str, str]:
    """Node and name of a plugin."""
    return plugin.node, plugin.name


def register_ids(state: ClusterState) -> Iterator[int]:
    """The numbers of the Register calls under way, and of the last ones of all plugins."""
    yield from (plugin.register_id for plugin in state.plugins.values())
    yield from (number for _, number, _ in _registrations(state))


def _registrations(state: ClusterState) -> Iterator[tuple[str, int, str]]:
    """Node, number and resource of each Register call whose answer has not reached the plugin yet."""
    for node, agent in state.kubelets.items():
        for talk in agent.talks.values():
            if isinstance(talk.about, k.PluginRegistering):
                yield node, talk.about.register_id, talk.about.request.resource_name
        for effect in _pending(state, node):
            if isinstance(effect, k.Reply):
                yield node, effect.register_id, effect.resource


def streams(state: ClusterState) -> Iterator[Stream]:
    """The streams that the kubelets hold open."""
    for node, agent in state.kubelets.items():
        to_come = list(_pending(state, node))
        opened = [
            (client, agent.devices.connections[client]) for client in registration.clients(agent.devices)
        ]
        for client, endpoint in opened:
            if endpoint.phase not in ("connected", "superseded"):
                continue
            if k.OpenStream(client, endpoint.resource, endpoint.socket) in to_come:
                continue
            newer = any(other.socket == endpoint.socket and c > client for c, other in opened)
            known = agent.devices.all_devices.get(endpoint.resource)
            told = tuple(known.values()) if known else None
            plugin = plugin_at(state, node, endpoint.resource, endpoint.socket)
            if plugin is not None and plugin.socket:
                told = plugin.devices if plugin.heard else None
            yield Stream(node, client, endpoint.socket, told, over=newer)


def calls(state: ClusterState) -> Iterator[tuple[str, int, Call]]:
    """The calls that have been sent, by node and number."""
    for node, agent in state.kubelets.items():
        to_come = list(_pending(state, node))
        for call_id, talk in agent.talks.items():
            if k.Ask(call_id, talk.call) not in to_come:
                yield node, call_id, talk.call


def containers(state: ClusterState) -> tuple[list[ContainerState], list[ContainerState]]:
    """The containers that have told all that they will tell for now, and those that have not."""
    quiet: list[ContainerState] = []
    speaking: list[ContainerState] = []
    for container in state.containers.values():
        if container.phase != "ended":
            silent = container.phase == "running" and container.all_printed and not state.ends(container)
            (quiet if silent else speaking).append(container)
    return quiet, speaking


def stops(state: ClusterState) -> Iterator[tuple[str, k.StopContainer]]:
    """What has been asked to end, and has not ended yet."""
    for node, agent in state.kubelets.items():
        to_come = list(_pending(state, node))
        for uid, record in agent.pods.items():
            for stop in (k.StopContainer(uid, name) for name in to_stop(record)):
                if stop not in to_come:
                    yield node, stop


def _pending(state: ClusterState, node: str) -> Iterator[Any]:
    return (
        event.effect for event in state.pending if isinstance(event, e.FromKubelet) and event.node == node
    )
