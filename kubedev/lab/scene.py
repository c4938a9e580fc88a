"""From a cluster's state to what the picture of the path shows. Nothing is decided here."""

from kubedev.api.objects import ResourceList
from kubedev.cluster.events import FromKubelet
from kubedev.cluster.state import ClusterState, ContainerState, Message
from kubedev.kubelet.devices.registration import clients
from kubedev.kubelet.events import OpenStream, PodBound
from kubedev.kubelet.kubelet import KubeletState
from kubedev.views.catalogue import TEXTS, say
from kubedev.views.path_state import (
    ContainerView,
    DeviceView,
    MessageView,
    NodeView,
    PathControls,
    PathMode,
    PathState,
    PluginView,
    PodView,
    ResourceView,
)

__all__ = ["Log", "path_state", "tick"]


def path_state(
    state: ClusterState,
    *,
    title: str,
    step: int = 0,
    total: int = 0,
    mode: PathMode = "live",
    node: str = "",
    focus: str = "",
    forked_at: int | None = None,
    quiet: bool = False,
    controls: PathControls | None = None,
    status: bool = True,
) -> PathState:
    """What is drawn at a state; `step` of `total` is its place in the history, `node` the one drawn in full.

    Without `status` nothing says what the node's status says.
    """
    messages = tuple(_message(state, message, status) for message in state.messages)
    return PathState(
        title=title,
        step=step,
        total=total,
        now=state.now,
        mode=mode,
        nodes=tuple(_node(state, name, mode not in ("fork", "memory")) for name in _nodes(state)),
        pods=tuple(_pod(state, uid) for uid in state.store.pods),
        messages=messages,
        node=node or _where_it_happens(state) or next(iter(_nodes(state)), ""),
        focus=focus,
        queued=_queued(state),
        cached=sum(1 for pod in state.store.pods.values() if pod.node_name),
        quiet=quiet,
        forked_at=forked_at,
        controls=controls,
        status=status,
    )


def _nodes(state: ClusterState) -> list[str]:
    """The nodes that are drawn: those whose objects are there, with the kubelets on them."""
    return [name for name in state.kubelets if name in state.store.nodes]


def _where_it_happens(state: ClusterState) -> str:
    there = _nodes(state)
    return next((m.node for m in reversed(state.messages) if m.node in there), "")


def _queued(state: ClusterState) -> int:
    return sum(
        1 for p in state.store.pods.values() if not p.node_name and p.phase not in ("Failed", "Succeeded")
    )


def _message(state: ClusterState, message: Message, status: bool = True) -> MessageView:
    key = message.key if status or message.key != "node-status" else "node-status.hidden"
    values = dict(message.values)
    source, target = message.source.split("/", 1), message.target.split("/", 1)
    about, file, container = "", "", ""
    for party in (source, target):
        if party[0] == "plugin":
            about = party[1].partition("/")[2]
            plugin = state.plugins.get((message.node, about))
            file = plugin.socket if plugin else ""
        elif party[0] == "container":
            uid, _, container = party[1].rpartition("/")
            about = state.store.pods[uid].name if uid in state.store.pods else ""
    if message.key == "register":
        file = "kubelet.sock"
    return MessageView(
        number=message.number,
        source=source[0],  # type: ignore[arg-type]
        target=target[0],  # type: ignore[arg-type]
        text=say(f"log.{key}", **values).strip(),
        label=say(f"label.{key}", **values),
        about=about,
        container=container,
        file=file,
        node=message.node,
        stream=message.kind == "stream",
    )


def _node(state: ClusterState, name: str, real: bool) -> NodeView:
    agent = state.kubelets[name]
    status = state.store.nodes[name]
    now = state.messages[-1].values if state.messages else ()
    plugins = [
        p
        for p in state.plugins.values()
        if p.node == name and (p.phase != "refused" or ("resource", p.resource) in now)
    ]
    resources = sorted(
        {p.resource for p in plugins if p.phase != "refused"} | agent.devices.all_devices.keys()
    )
    streaming = _streaming(state, agent)
    return NodeView(
        name=name,
        plugins=tuple(
            PluginView(
                p.resource, p.socket, p.pid if real else None, p.alive, p.alive and p.resource in streaming
            )
            for p in plugins
        ),
        files=state.sockets.get(name, ()),
        resources=tuple(
            ResourceView(
                resource,
                _count(status.capacity, resource),
                _count(status.allocatable, resource),
                _devices(state, agent, resource),
            )
            for resource in resources
        ),
        containers=tuple(_container(state, c, real) for c in state.containers.values() if c.node == name),
        kubelet=_doing(agent),
        conditions=tuple(
            condition.type if condition.type != "Ready" else f"Ready {condition.status}"
            for condition in status.conditions
            if (condition.type == "Ready") != (condition.status == "True")
        ),
        taints=tuple(f"{taint.key}:{taint.effect}" for taint in status.taints),
    )


def _streaming(state: ClusterState, agent: KubeletState) -> set[str]:
    """The resources whose ListAndWatch is open: connected, and not still about to be opened."""
    to_open = {
        event.effect.client
        for event in state.pending
        if isinstance(event, FromKubelet) and isinstance(event.effect, OpenStream)
    }
    connections = {client: agent.devices.connections[client] for client in clients(agent.devices)}
    return {e.resource for c, e in connections.items() if e.phase == "connected" and c not in to_open}


def _count(resources: ResourceList, name: str) -> int | None:
    return resources[name].value() if name in resources else None


def _devices(state: ClusterState, agent: KubeletState, resource: str) -> tuple[DeviceView, ...]:
    owners = {
        device: (uid, container)
        for uid, containers in agent.devices.pod_devices.items()
        for container, resources in containers.items()
        if resource in resources
        for device in resources[resource].devices
    }
    healthy = agent.devices.healthy_devices.get(resource, frozenset())
    devices = agent.devices.all_devices.get(resource, {}).values()
    return tuple(
        DeviceView(d.id, d.numa_nodes or (), d.id in healthy, *_owner(state, *owners.get(d.id, ("", ""))))
        for d in devices
    )


def _owner(state: ClusterState, uid: str, container: str) -> tuple[str, str, bool]:
    """A pod's name, which of its containers where it has several, and whether it is deleted."""
    if not uid:
        return "", "", False
    pod = state.store.pods.get(uid)
    if pod is None:
        return say("owner.gone"), "", True
    return pod.name, container if len(pod.containers) + len(pod.init_containers) > 1 else "", False


def _container(state: ClusterState, container: ContainerState, real: bool) -> ContainerView:
    pod = state.store.pods.get(container.pod_uid)
    name = pod.name if pod else container.pod_uid
    pid = container.pid if real else None
    return ContainerView(name, container.name, pid, container.phase != "ended", container.output)


def _pod(state: ClusterState, uid: str) -> PodView:
    pod = state.store.pods[uid]
    held: set[str] = set()
    if pod.node_name in state.kubelets:
        for resources in state.kubelets[pod.node_name].devices.pod_devices.get(uid, {}).values():
            held |= {device for info in resources.values() for device in info.devices}
    return PodView(
        name=pod.name,
        phase=pod.phase or "Pending",
        node=pod.node_name,
        reason=pod.reason or _condition(state, uid)[0],
        message=pod.message or _condition(state, uid)[1],
        devices=", ".join(sorted(held)),
    )


def _condition(state: ClusterState, uid: str) -> tuple[str, str]:
    """Why the scheduler could not place the pod, from its PodScheduled condition."""
    for condition in state.store.pods[uid].conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            return condition.reason, condition.message
    return "", ""


def _doing(agent: KubeletState) -> str:
    for talk in agent.talks.values():
        if isinstance(talk.about, PodBound):
            return say("kubelet.admitting", pod=talk.about.pod.name)
    return ""


def tick(message: Message) -> str:
    """The word over a slider's mark for something that the reader did."""
    values = {name: str(value).lower() if name == "health" else value for name, value in message.values}
    key = f"tick.{message.key}"
    return say(key if key in TEXTS else f"label.{message.key}", **values)


class Log:
    """The messages of a state as lines of text."""

    def __init__(self, state: ClusterState, last: int | None = None) -> None:
        messages = state.messages if last is None else state.messages[-last:] if last else ()
        self.messages = tuple(_message(state, message) for message in messages)

    def __repr__(self) -> str:
        return "\n".join(f"{m.number:>3}  {_who(m):<22} {m.text}" for m in self.messages)


def _who(message: MessageView) -> str:
    source, target = say(f"party.{message.source}"), say(f"party.{message.target}")
    return source if source == target else f"{source} {'⇒' if message.stream else '→'} {target}"
