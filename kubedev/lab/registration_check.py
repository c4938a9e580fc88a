"""The invariants of lab 02's exercises."""

import posixpath
from collections.abc import Iterator

from kubedev.cluster.state import ClusterState
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.lab.check import Invariant
from kubedev.views.catalogue import say

__all__ = ["one_plugin", "registered"]


def registered(resource: str, *devices: str) -> Invariant:
    """On every node's kubelet a plugin of the resource is registered, and its list has these devices, healthy."""

    def broken(state: ClusterState) -> Iterator[str]:
        for node, agent in state.kubelets.items():
            dialing = [
                connection
                for connection in agent.devices.connections.values()
                if connection.resource == resource and connection.phase == "dialing"
            ]
            for connection in dialing:
                yield say("check.dialing", socket=posixpath.basename(connection.socket), node=node)
            if not dialing:
                yield from _not_listed(state, agent.devices, resource, devices, node)

    return broken


def _not_listed(
    state: ClusterState, manager: DeviceManagerState, resource: str, devices: tuple[str, ...], node: str
) -> Iterator[str]:
    endpoint = manager.endpoint(resource)
    if endpoint is None or endpoint.options is None:  # one without options is known from the checkpoint only
        yield say("check.not-registered", resource=resource, node=node, why=_refusal(state, resource)).strip()
        return
    if endpoint.stopped:
        socket = posixpath.basename(endpoint.socket)
        yield say("check.stopped", resource=resource, socket=socket, node=node)
        return
    for device in devices:
        if device not in manager.all_devices.get(resource, {}):
            yield say("check.no-device", device=device, resource=resource, node=node)
        elif device not in manager.healthy_devices.get(resource, ()):
            yield say("check.device-sick", device=device, resource=resource, node=node)


def _refusal(state: ClusterState, resource: str) -> str:
    """What the last Register of the resource was refused with, in a sentence; empty where it was not."""
    for message in reversed(state.messages):
        values = dict(message.values)
        if message.key in ("registered", "refused") and values.get("resource") == resource:
            return say("check.refused-last", error=values["error"]) if values["error"] else ""
    return ""


def one_plugin(resource: str) -> Invariant:
    """No second plugin holds on to a resource that another one has taken over."""

    def broken(state: ClusterState) -> Iterator[str]:
        for node, agent in state.kubelets.items():
            newer = agent.devices.endpoint(resource)
            for connection in agent.devices.connections.values():
                if connection.resource == resource and connection.phase == "superseded" and newer:
                    names = [posixpath.basename(each.socket) for each in (connection, newer)]
                    values = {"resource": resource, "node": node, "older": names[0], "newer": names[1]}
                    yield say("check.superseded", **values)

    return broken
