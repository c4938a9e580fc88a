"""The graphs behind the pictures, as networkx graphs that a reader can hold and ask.

Nodes are plain words (`pod web`, `device gpu-node-1 d0`), and say by `kind` what they are; what else is known of
them, and of the edges, is in their attributes. Nothing is placed by networkx' layouts, which need numpy: `layered`
gives each node its layer. networkx is imported when a graph is asked for, so that a first picture need not wait.
"""

from collections.abc import Hashable, Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kubedev.api.objects import Pod
from kubedev.cluster.state import ClusterState
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.devices.allocation import DevicesToAllocate
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.kubelet.devices.holdings import condition_of, who_holds

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "allocation_graph",
    "holdings_graph",
    "layered",
    "life_cycle_graph",
    "machine_graph",
    "messages_graph",
]


def holdings_graph(state: ClusterState) -> "nx.DiGraph":
    """Who holds what: pod, then container, then device, then NUMA node, for every device there is.

    Kinds: `pod` (phase, node), `container` (role: init, sidecar, app, or gone with its pod), `device`
    (resource, node, condition), `numa node` (node). A device that nobody holds has no
    predecessor; the edge from a container has the `resource`.
    """
    import networkx as nx

    graph = nx.DiGraph()
    for node, agent in state.kubelets.items():
        for resource, device in _known(agent.devices):
            name = _device(node, device, resource, agent.devices)
            condition = condition_of(agent.devices, resource, device)
            graph.add_node(name, kind="device", node=node, resource=resource, id=device, condition=condition)
            listed = agent.devices.all_devices.get(resource, {}).get(device)
            for numa_node in (listed.numa_nodes if listed else None) or ():
                place = f"NUMA node {node} {numa_node}"
                graph.add_node(place, kind="numa node", node=node, number=numa_node)
                graph.add_edge(name, place)
        for holding in who_holds(agent.devices):
            pod = state.store.pods.get(holding.pod_uid)
            owner = pod.name if pod else holding.pod_uid
            phase = (pod.phase or "Pending") if pod else "gone"
            graph.add_node(f"pod {owner}", kind="pod", name=owner, phase=phase, node=node)
            container = f"container {owner} {holding.container}"
            graph.add_node(
                container, kind="container", name=holding.container, role=_role(pod, holding.container)
            )
            graph.add_edge(f"pod {owner}", container)
            graph.add_edge(
                container,
                _device(node, holding.device, holding.resource, agent.devices),
                resource=holding.resource,
            )
    return graph


def _role(pod: Pod | None, container: str) -> str:
    """What a container is in its pod."""
    if pod is None:
        return "gone"
    restartable = {c.name: c.restartable for c in pod.init_containers}
    return ("sidecar" if restartable[container] else "init") if container in restartable else "app"


def _known(state: DeviceManagerState) -> Iterable[tuple[str, str]]:
    """The devices that are listed or held, as (resource, device), each once and in order."""
    listed = [(resource, device) for resource, known in state.all_devices.items() for device in known]
    held = [(holding.resource, holding.device) for holding in who_holds(state)]
    return dict.fromkeys([*listed, *held])


def _device(node: str, device: str, resource: str, state: DeviceManagerState) -> str:
    """A device's name; two resources of a node may use the same id, and then the resource is said."""
    others = [name for name, known in state.all_devices.items() if device in known and name != resource]
    return f"device {node} {device}" + f" ({resource})" * bool(others)


def life_cycle_graph(transitions: Mapping[tuple[str, str], str]) -> "nx.MultiDiGraph":
    """A transition table (state, event) -> state: an edge for each transition, with its `event` as key."""
    import networkx as nx

    graph = nx.MultiDiGraph()
    for (state, event), to in transitions.items():
        graph.add_edge(state, to, key=event, event=event)
    return graph


def allocation_graph(decision: DevicesToAllocate) -> "nx.DiGraph":
    """The sets that devices pass through until some are taken: set, then device, by `layer`.

    Layers: all, healthy, available, then aligned, unaligned and no_affinity side by side, then taken. An edge from
    one set to the next has the `devices` that are in both; a set's own are its `devices`.
    """
    import networkx as nx

    sets = decision.sets
    layers: tuple[tuple[str, ...], ...] = (
        ("all",),
        ("healthy",),
        ("reusable", "available"),
        ("aligned", "unaligned", "no_affinity"),
        ("taken",),
    )
    graph = nx.DiGraph()
    for layer, names in enumerate(layers):
        for name in names:
            graph.add_node(name, layer=layer, devices=getattr(sets, name))
    for before, after in (*pairwise(layers), (("reusable",), ("taken",))):
        for source in before:
            for target in after:
                both = graph.nodes[source]["devices"] & graph.nodes[target]["devices"]
                if both:
                    graph.add_edge(source, target, devices=both)
    return graph


def machine_graph(config: KubeletConfig, devices: DeviceManagerState | None = None) -> "nx.DiGraph":
    """The machine as a tree: machine, socket, NUMA node, core, CPU; devices hang on their NUMA nodes.

    A NUMA node has its `distances` to the others. Without a CPU topology the NUMA nodes hang on the machine.
    A device on two NUMA nodes hangs on both, so that with such devices the tree is a DAG.
    """
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_node("machine", kind="machine")
    for node in config.numa.nodes:
        distances = config.numa.distances.get(node)
        graph.add_node(f"NUMA node {node}", kind="numa node", number=node, distances=distances)
    infos = config.cpu_topology.details.infos if config.cpu_topology else {}
    for cpu, info in sorted(infos.items()):
        socket, core = f"socket {info.socket}", f"core {info.core}"
        graph.add_node(socket, kind="socket", number=info.socket)
        graph.add_node(core, kind="core", number=info.core)
        graph.add_node(f"CPU {cpu}", kind="cpu", number=cpu, uncore_cache=info.uncore_cache)
        nx.add_path(graph, ("machine", socket, f"NUMA node {info.numa_node}", core, f"CPU {cpu}"))
    for node in config.numa.nodes:
        if not graph.in_degree(f"NUMA node {node}"):
            graph.add_edge("machine", f"NUMA node {node}")
    for resource, known in (devices.all_devices if devices else {}).items():
        for device in known.values():
            name = f"device {device.id}"
            graph.add_node(name, kind="device", resource=resource, health=device.health)
            for numa_node in device.numa_nodes or ():
                graph.add_edge(f"NUMA node {numa_node}", name)
    return graph


def messages_graph(state: ClusterState) -> "nx.MultiDiGraph":
    """Who said what to whom: an edge for each message up to this state, with its number as key.

    Edges have `kind` (rpc, stream, api, local), `at` (seconds) and what the message says as `key` and `values`.
    """
    import networkx as nx

    graph = nx.MultiDiGraph()
    for message in state.messages:
        facts: dict[str, Any] = {"kind": message.kind, "at": message.at, "says": message.key}
        graph.add_edge(
            message.source, message.target, key=message.number, values=dict(message.values), **facts
        )
    return graph


def layered(graph: "nx.DiGraph") -> dict[Hashable, int]:
    """The layer of each node, from 0: in a DAG one behind its last predecessor, otherwise as far
    from the first node as it is.
    """
    import networkx as nx

    if nx.is_directed_acyclic_graph(graph):
        generations = nx.topological_generations(graph)
    else:
        generations = nx.bfs_layers(graph, [next(iter(graph))])
    return {node: layer for layer, nodes in enumerate(generations) for node in nodes}
