"""Kubelets in their cluster: what reaches them, and what they want done."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kubedev.api.claims import ResourceClaim
from kubedev.api.objects import Condition, Node, Pod
from kubedev.api.values import replace, with_item
from kubedev.cluster import events as e
from kubedev.cluster.apiserver import remove, write
from kubedev.cluster.claims import claims_on
from kubedev.cluster.conditions import merged, updated
from kubedev.cluster.log import TO_API_SERVER
from kubedev.cluster.plugins import list_received, registering, with_plugin, with_sockets
from kubedev.cluster.state import KUBELET_SOCKET, ClusterState, ContainerState, then, with_container
from kubedev.cluster.usage import MachineUsage
from kubedev.kubelet import events as k
from kubedev.kubelet import kubelet
from kubedev.kubelet.devices.checkpoint import checkpoint_text
from kubedev.kubelet.pod_conditions import KUBELET_CONDITIONS
from kubedev.kubelet.pods import GONE_WITH_THE_MACHINE
from kubedev.kubelet.pressure.messages import TERMINATION_BY_KUBELET
from kubedev.kubelet.registered_node import HEALTHY, registered_node

__all__ = [
    "EFFECTS",
    "SOCKET_DIR",
    "bound",
    "claims_changed",
    "from_kubelet",
    "node_created",
    "on_kubelet",
    "stopped",
    "watched",
]

SOCKET_DIR = "/var/lib/kubelet/device-plugins"
"""Where a kubelet's sockets are in a real cluster. A transport puts its own short, private directory in its place."""


def node_created(state: ClusterState, event: e.NodeCreated) -> ClusterState:
    """A machine joins, and its kubelet writes the node object."""
    node = event.node
    node = registered_node(node, state.now)
    agent = kubelet.new_kubelet(node, SOCKET_DIR, event.config)
    state = replace(state, kubelets=with_item(state.kubelets, node.name, agent))
    return write(with_sockets(state, node.name, add=KUBELET_SOCKET), agent.node)


def on_kubelet(state: ClusterState, event: e.OnKubelet) -> ClusterState:
    """Something happened to a kubelet: it takes its step, and what it wants follows."""
    node = event.node
    if isinstance(event.event, k.PluginRegistering):
        request = event.event.request
        said = event.event.register_id, request.resource_name, request.endpoint
        state = registering(state, node, *said)
    if isinstance(event.event, k.ListReceived):
        state = list_received(state, node, event.event.client, event.event.devices)
    agent, effects = kubelet.step(state.kubelets[node], event.event, state.now)
    state = replace(state, kubelets=with_item(state.kubelets, node, agent))
    return then(state, (e.FromKubelet(node, effect) for effect in effects))


def watched(state: ClusterState, event: e.Watched) -> ClusterState:
    """The API server tells a kubelet of its node, or of a pod that is bound to it or is to go."""
    node, what = event.watcher, event.event.object
    if node not in state.kubelets or node in state.silent:
        return state
    if isinstance(what, Node):
        return on_kubelet(state, e.OnKubelet(node, k.NodeUpdated(spec_as_seen_by(state, what))))
    if isinstance(what, ResourceClaim):
        users = {one.uid for one in what.reserved_for}
        mine = [pod for pod in state.store.pods_on(node) if pod.uid in users]
        return then(state, (e.OnKubelet(node, claims_changed(state, pod)) for pod in mine))
    assert isinstance(what, Pod)
    if event.event.type == "DELETED":
        return on_kubelet(state, e.OnKubelet(node, k.PodRemoved(what.uid)))
    to_go = what.deletion_timestamp is not None
    return on_kubelet(state, e.OnKubelet(node, k.PodDeleted(what.uid) if to_go else bound(state, what)))


def bound(state: ClusterState, pod: Pod) -> k.PodBound:
    """A pod that a kubelet is to run, with the claims that it finds for it."""
    return k.PodBound(pod, claims_on(state, pod))


def claims_changed(state: ClusterState, pod: Pod) -> k.ClaimsChanged:
    """What a kubelet sees of the claims of a pod of its node."""
    return k.ClaimsChanged(pod.uid, claims_on(state, pod))


def ready_conditions(
    there: tuple[Condition, ...], own: tuple[Condition, ...], now: float
) -> tuple[Condition, ...]:
    """The conditions of a node whose kubelet posts its status: what is missing or unknown is as the kubelet has it.

    Go: `pkg/kubelet/nodestatus/setters.go: ReadyCondition, MemoryPressureCondition` and others.
    """
    conditions = {condition.type: condition for condition in there}
    kubelets = {c.type: c for c in own if c.status != "Unknown"}
    for name, status, reason, message in HEALTHY:
        if name not in conditions or conditions[name].status == "Unknown":
            said = kubelets.get(name, Condition(name, status, reason, message))
            conditions[name] = replace(said, last_transition_time=now)
    return tuple(conditions.values())


def spec_as_seen_by(state: ClusterState, node: Node) -> Node:
    """A node's object as its kubelet takes it: what the kubelet counts itself stays as it counted it."""
    own = state.kubelets[node.name].node
    return replace(node, capacity=own.capacity, allocatable=own.allocatable, conditions=own.conditions)


def stopped(state: ClusterState, event: e.KubeletStopped) -> ClusterState:
    """A kubelet, or its machine, starts again: the checkpoint remains, and the API server lists its pods.

    What the old process was still to hear, it hears no more: the new one's list says it all.
    """
    node, reboot = event.node, event.reboot
    checkpoint = checkpoint_text(state.kubelets[node].devices)
    if event.checkpoint is not None:
        checkpoint = event.checkpoint or None
    phase = "dead" if reboot else "launched"
    for plugin in [p for p in state.plugins.values() if p.node == node and p.alive]:
        stays = plugin.phase in ("registered", "forgotten") and not plugin.registers_again and not reboot
        now = replace(plugin, phase="forgotten" if stays else phase, heard=False)
        state = with_plugin(state, replace(now, pid=None if reboot else plugin.pid))
    if reboot:
        for key in [key for key, c in state.containers.items() if c.node == node and c.phase != "ended"]:
            state = with_container(state, *key, phase="ended", exit_code=GONE_WITH_THE_MACHINE)
    state = replace(state, sockets={**state.sockets, node: (KUBELET_SOCKET,)})
    left = tuple(pending for pending in state.pending if not _for_the_old_process(pending, node, reboot))
    state = replace(state, pending=left)
    start: list[k.KubeletEvent] = [k.KubeletRestarted(checkpoint, reboot, event.config)]
    start += [
        *(bound(state, pod) for pod in state.store.pods_on(node)),
        *_of_pods_that_are_gone(state, node),
        k.SourcesReady(),
    ]
    state = speaks(state, node)
    for what in start:
        state = on_kubelet(state, e.OnKubelet(node, what))
    if node in state.store.nodes:
        return state
    anew = replace(state.kubelets[node].node, taints=(), unschedulable=False)
    return write(state, anew)  # a kubelet that starts registers its node


def speaks(state: ClusterState, node: str) -> ClusterState:
    """The API server hears a kubelet again, which posts its node's conditions."""
    silent = {name: since for name, since in state.silent.items() if name != node}
    unsent = {name: effects for name, effects in state.unsent.items() if name != node}
    state = replace(state, silent=silent, unsent=unsent)
    known = state.store.nodes.get(node)
    if known is None:
        return state
    conditions = ready_conditions(known.conditions, state.kubelets[node].node.conditions, state.now)
    return write(state, replace(known, conditions=conditions)) if conditions != known.conditions else state


def _of_pods_that_are_gone(state: ClusterState, node: str) -> Iterator[k.KubeletEvent]:
    """The pods of which containers may run, and which the API server knows no more: they are to end."""
    for uid, record in state.kubelets[node].pods.items():
        if uid not in state.store.pods:
            yield k.PodBound(replace(record.pod, deletion_timestamp=state.now))
            yield k.PodRemoved(uid)


def _for_the_old_process(event: e.Event, node: str, reboot: bool) -> bool:
    """Whether nobody is there any more to whom this could happen; after a reboot no container is started either."""
    match event:
        case e.FromKubelet(at, k.StartContainer() | k.StopContainer()):
            return at == node and reboot
        case e.Watched(watcher):
            return watcher == node
        case e.OnKubelet(at, what):
            return at == node and not isinstance(what, k.NodeUpdated)
    return False


# What a kubelet wants


def from_kubelet(state: ClusterState, event: e.FromKubelet) -> ClusterState:
    """A kubelet wants something done. What only a transport can do (Ask, OpenStream, ...) changes nothing here."""
    effect, node = EFFECTS.get(type(event.effect)), event.node
    if node in state.silent and isinstance(event.effect, TO_API_SERVER):  # it says the latest of each later
        key = type(event.effect).__name__, getattr(event.effect, "uid", "")
        unsent = {**state.unsent.get(node, {}), key: event.effect}
        return replace(state, unsent={**state.unsent, node: unsent})
    return effect(state, node, event.effect) if effect else state


def _reply(state: ClusterState, node: str, effect: k.Reply) -> ClusterState:
    there = [p for p in state.plugins.values() if (p.node, p.resource) == (node, effect.resource)]
    plugin = next((p for p in there if p.register_id == effect.register_id), None)
    if plugin is None or not plugin.alive:
        return state
    phase = "registered" if effect.error is None else "refused"
    return with_plugin(state, replace(plugin, phase=phase, error=effect.error or ""))


def _node_status(state: ClusterState, node: str, effect: k.NodeStatus) -> ClusterState:
    old = state.store.nodes.get(node)
    if old is None:
        return state
    return write(state, replace(old, capacity=effect.capacity, allocatable=effect.allocatable))


def _node_conditions(state: ClusterState, node: str, effect: k.NodeConditions) -> ClusterState:
    old = state.store.nodes[node]
    conditions = {condition.type: condition for condition in (*old.conditions, *effect.conditions)}
    return write(state, replace(old, conditions=tuple(conditions.values())))


def _reclaimed(state: ClusterState, node: str, effect: k.Reclaimed) -> ClusterState:
    usage = state.machine_usage.get(node, MachineUsage())
    if "containers" in effect.collectors:
        usage = replace(usage, dead_containers=0)
    if "images" in effect.collectors:
        usage = replace(usage, images=0)
    return replace(state, machine_usage={**state.machine_usage, node: usage})


def _pod_status(state: ClusterState, node: str, effect: k.PodStatus) -> ClusterState:
    pod = state.store.pods.get(effect.uid)
    if pod is None:
        return state
    if effect.disruption_target:
        condition = Condition("DisruptionTarget", "True", TERMINATION_BY_KUBELET, effect.disruption_target)
        pod = updated(pod, condition, state.now)
    conditions = merged(pod, KUBELET_CONDITIONS, effect.conditions, state.now)
    start = state.now if pod.start_time is None else pod.start_time
    said = replace(pod, phase=effect.phase, reason=effect.reason, message=effect.message)
    return write(state, replace(said, conditions=conditions, start_time=start))


def _pod_terminated(state: ClusterState, node: str, effect: k.PodTerminated) -> ClusterState:
    left = {key: c for key, c in state.containers.items() if key[0] != effect.uid}
    state = replace(state, containers=left)
    return remove(state, state.store.pods[effect.uid]) if effect.uid in state.store.pods else state


def _start_container(state: ClusterState, node: str, effect: k.StartContainer) -> ClusterState:
    key = effect.pod_uid, effect.container
    attempt = state.containers[key].attempt + 1 if key in state.containers else 0
    container = ContainerState(
        *key, node, effect.envs, effect.devices, attempt=attempt, cdi_devices=effect.cdi_devices
    )
    return replace(state, containers=with_item(state.containers, key, container))


EFFECTS: Mapping[type, Callable[[ClusterState, str, Any], ClusterState]] = {
    k.Reply: _reply,
    k.NodeStatus: _node_status,
    k.NodeConditions: _node_conditions,
    k.Reclaimed: _reclaimed,
    k.PodStatus: _pod_status,
    k.PodTerminated: _pod_terminated,
    k.StartContainer: _start_container,
}
"""What becomes of an effect of a kubelet's; those that are not here are for the transport alone."""
