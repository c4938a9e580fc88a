"""The tables beside the path's picture: devices, pods, messages, nodes in trouble."""

from kubedev.views.catalogue import say
from kubedev.views.path_state import PathState
from kubedev.views.picture import Table, table

__all__ = ["path_tables"]


def path_tables(state: PathState) -> tuple[Table, ...]:
    """Return the same facts as text."""
    return _devices(state), _pods(state), _messages(state), *_nodes(state)


def _devices(state: PathState) -> Table:
    rows = tuple(
        (
            node.name,
            resource.name,
            device.id,
            ",".join(map(str, device.numa)),
            say("table.healthy" if device.healthy else "table.unhealthy"),
            f"{device.owner}/{device.container}" if device.container else device.owner,
        )
        for node in state.nodes
        for resource in node.resources
        for device in resource.devices
    )
    return table("devices", "node resource device numa health owner", rows)


def _pods(state: PathState) -> Table:
    rows = tuple(
        (pod.name, pod.phase, pod.node, pod.devices, ": ".join(p for p in (pod.reason, pod.message) if p))
        for pod in state.pods
    )
    return table("pods", "pod phase node devices reason", rows)


def _messages(state: PathState) -> Table:
    rows = tuple(
        (str(m.number), say(f"party.{m.source}"), say(f"party.{m.target}"), m.node, m.text)
        for m in state.messages
    )
    return table("messages", "number from to node text", rows)


def _nodes(state: PathState) -> tuple[Table, ...]:
    """The nodes that are in trouble, if there are any."""
    rows = tuple(
        (node.name, ", ".join(node.conditions), ", ".join(node.taints))
        for node in state.nodes
        if node.conditions or node.taints
    )
    return (table("nodes", "node conditions taints", rows),) if rows else ()
