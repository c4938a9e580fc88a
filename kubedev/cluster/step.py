"""One step of the whole cluster: `step(state, event) -> state`. Nothing here touches the world.

What follows from an event stands in `state.pending` and is applied first-in, first-out, each as a step of its
own. Events that also ask something of the world (start a plugin, call it, start a container) are looked at by
a transport after the step; what comes of them arrives as further events.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kubedev.api.objects import Condition, Node, Pod
from kubedev.cluster import store as api
from kubedev.cluster.events import (
    ClockAdvanced,
    ContainerEnded,
    ContainerPrinted,
    ContainerStarted,
    Event,
    FromKubelet,
    HealthSet,
    KubeletStopped,
    NodeCreated,
    ObjectApplied,
    OnKubelet,
    PluginExited,
    PluginKilled,
    PluginLaunched,
    PluginServing,
    PodCreated,
    PodDeletionAsked,
    SchedulerTurn,
    SchedulerWants,
    Watched,
    WentLive,
)
from kubedev.cluster.late import comes_too_late
from kubedev.cluster.log import describe
from kubedev.cluster.state import KUBELET_SOCKET, ClusterState, ContainerState, PluginState
from kubedev.cluster.store import WatchEvent
from kubedev.kubelet import kubelet
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.devices.checkpoint import checkpoint_text
from kubedev.kubelet.events import (
    ContainerExited,
    KubeletEvent,
    KubeletRestarted,
    NodeStatus,
    NodeStatusDue,
    NodeUpdated,
    PodBound,
    PodDeleted,
    PodStatus,
    PodTerminated,
    Reply,
    SourcesReady,
    StartContainer,
)
from kubedev.kubelet.pods import GONE_WITH_THE_MACHINE
from kubedev.scheduler import events as s
from kubedev.scheduler import scheduler
from kubedev.scheduler.scheduler import SchedulerState

__all__ = ["SOCKET_DIR", "step"]

SOCKET_DIR = "/var/lib/kubelet/device-plugins"
"""Where a kubelet's sockets are in a real cluster. A transport puts its own short, private directory in its place."""


def step(state: ClusterState, event: Event) -> ClusterState:
    """The state after an event. While something is pending, only that may be applied: ValueError else.

    What comes too late changes nothing.
    """
    if state.pending:
        if event != state.pending[0]:
            raise ValueError(f"expected the pending event {state.pending[0]!r}, got {event!r}")
        state = replace(state, pending=state.pending[1:])
    if comes_too_late(state, event):
        return state
    after = _apply(state, event)
    return replace(after, messages=(*state.messages, *describe(state, event, after)))


def _then(state: ClusterState, events: Iterable[Event]) -> ClusterState:
    return replace(state, pending=(*state.pending, *events))


def _apply(state: ClusterState, event: Event) -> ClusterState:
    match event:
        case OnKubelet(node, what):
            return _on_kubelet(state, node, what)
        case FromKubelet(node, effect):
            return _from_kubelet(state, node, effect)
        case Watched("scheduler", change):
            return _tell_scheduler(state, change)
        case Watched(node, change):
            return _tell_kubelet(state, node, change)
        case SchedulerTurn():
            return _scheduler_turn(state)
        case SchedulerWants(effect):
            return _from_scheduler(state, effect)
        case NodeCreated(node, config):
            return _node_created(state, node, config)
        case ObjectApplied(obj):
            return _applied(state, obj)
        case PodCreated(pod):
            return _write(state, replace(pod, uid=api.new_uid(state.store, pod)))
        case PodDeletionAsked(uid):
            return _delete_pod(state, uid)
        case ContainerStarted(uid, name, pid):
            return _with_container(state, uid, name, phase="running", pid=pid)
        case ContainerPrinted(uid, name, line):
            output = state.containers[uid, name].output
            return _with_container(state, uid, name, output=(*output, line))
        case ContainerEnded(uid, name, code):
            state = _with_container(state, uid, name, phase="ended", exit_code=code)
            node = state.store.pods[uid].node_name if uid in state.store.pods else ""
            return _on_kubelet(state, node, ContainerExited(uid, name, code)) if node else state
        case ClockAdvanced(seconds):
            state = replace(state, now=state.now + seconds)
            state = _with_scheduler(state, *scheduler.tick(state.scheduler, state.now))
            return _then(state, (OnKubelet(name, NodeStatusDue()) for name in sorted(state.kubelets)))
        case KubeletStopped(node, reboot):
            return _kubelet_stopped(state, node, reboot)
        case WentLive():
            running = {key: c for key, c in state.containers.items() if c.phase != "ended"}
            started = {key: replace(c, phase="created", output=()) for key, c in running.items()}
            return replace(state, containers={**state.containers, **started})
        case _:
            return _on_plugin(state, event)


# Plugins


def _on_plugin(state: ClusterState, event: Event) -> ClusterState:
    match event:
        case PluginLaunched(node, resource, devices, options):
            before = state.plugins.get((node, resource))
            launch = before.launch + 1 if before else 0
            return _with_plugin(state, PluginState(node, resource, devices, options, launch=launch))
        case PluginServing(node, resource, socket, pid):
            plugin = replace(state.plugins[node, resource], socket=socket, pid=pid)
            if plugin.phase == "launched":  # its news may come after its registration
                plugin = replace(plugin, phase="serving")
            return _with_sockets(_with_plugin(state, plugin), node, add=socket)
        case HealthSet(node, resource, device_id, health):
            plugin = state.plugins[node, resource]
            devices = tuple(replace(d, health=health) if d.id == device_id else d for d in plugin.devices)
            return _with_plugin(state, replace(plugin, devices=devices))
        case PluginKilled(node, resource):
            return _with_plugin(state, replace(state.plugins[node, resource], phase="dead", pid=None))
        case PluginExited(node, resource, killed=killed):
            plugin = state.plugins[node, resource]
            if not killed:
                state = _with_sockets(state, node, remove=plugin.socket)
            phase = "refused" if plugin.phase == "refused" else "dead"
            return _with_plugin(state, replace(plugin, phase=phase, pid=None))
    raise TypeError(f"expected an event of kubedev.cluster.events, got {event!r}")


def _with_plugin(state: ClusterState, plugin: PluginState) -> ClusterState:
    return replace(state, plugins={**state.plugins, (plugin.node, plugin.resource): plugin})


def _with_sockets(state: ClusterState, node: str, add: str = "", remove: str = "") -> ClusterState:
    files = {*state.sockets.get(node, ()), add} - {remove, ""}
    return replace(state, sockets={**state.sockets, node: tuple(sorted(files))})


# Kubelets


def _node_created(state: ClusterState, node: Node, config: KubeletConfig) -> ClusterState:
    agent = kubelet.new_kubelet(node, SOCKET_DIR, config)
    state = replace(state, kubelets={**state.kubelets, node.name: agent})
    return _write(_with_sockets(state, node.name, add=KUBELET_SOCKET), node)


def _on_kubelet(state: ClusterState, node: str, event: KubeletEvent) -> ClusterState:
    agent, effects = kubelet.step(state.kubelets[node], event, state.now)
    state = replace(state, kubelets={**state.kubelets, node: agent})
    return _then(state, (FromKubelet(node, effect) for effect in effects))


def _from_kubelet(state: ClusterState, node: str, effect: Any) -> ClusterState:
    match effect:
        case Reply(_, resource, error):
            plugin = state.plugins.get((node, resource))
            if plugin is None or not plugin.alive:
                return state
            phase = "registered" if error is None else "refused"
            return _with_plugin(state, replace(plugin, phase=phase, error=error or ""))
        case NodeStatus(capacity, allocatable):
            old = state.store.nodes[node]
            return _write(state, replace(old, capacity=capacity, allocatable=allocatable))
        case PodStatus(uid, phase, reason, message):
            if uid not in state.store.pods:
                return state
            pod = state.store.pods[uid]
            return _write(state, replace(pod, phase=phase, reason=reason, message=message))
        case PodTerminated(uid):
            left = {key: c for key, c in state.containers.items() if key[0] != uid}
            state = replace(state, containers=left)
            return _remove(state, state.store.pods[uid]) if uid in state.store.pods else state
        case StartContainer(uid, name):
            before = state.containers.get((uid, name))
            attempt = before.attempt + 1 if before else 0
            container = ContainerState(uid, name, node, effect.envs, effect.devices, attempt=attempt)
            return replace(state, containers={**state.containers, (uid, name): container})
        case _:  # Ask, OpenStream, CloseStream, StopContainer: for the transport
            return state


def _kubelet_stopped(state: ClusterState, node: str, reboot: bool) -> ClusterState:
    checkpoint = checkpoint_text(state.kubelets[node].devices)
    events: list[KubeletEvent] = [KubeletRestarted(checkpoint, reboot)]
    events += [PodBound(pod) for pod in state.store.pods_on(node)]
    events.append(SourcesReady())
    phase = "dead" if reboot else "launched"
    for plugin in [p for p in state.plugins.values() if p.node == node and p.alive]:
        state = _with_plugin(state, replace(plugin, phase=phase, pid=None if reboot else plugin.pid))
    if reboot:
        for key in [key for key, c in state.containers.items() if c.node == node and c.phase != "ended"]:
            state = _with_container(state, *key, phase="ended", exit_code=GONE_WITH_THE_MACHINE)
    state = replace(state, sockets={**state.sockets, node: (KUBELET_SOCKET,)})
    return _then(state, (OnKubelet(node, event) for event in events))


def _with_container(state: ClusterState, uid: str, name: str, **changes: Any) -> ClusterState:
    changed = replace(state.containers[uid, name], **changes)
    return replace(state, containers={**state.containers, (uid, name): changed})


# The API server and its watchers


def _write(state: ClusterState, obj: api.Object) -> ClusterState:
    store, change = api.put(state.store, obj)
    return _then(replace(state, store=store), _watchers(change))


def _applied(state: ClusterState, obj: api.Object) -> ClusterState:
    """You write an object. If it is a node, its kubelet sees it, and writes the status as it is due to."""
    state = _write(state, obj)
    if not isinstance(obj, Node) or obj.name not in state.kubelets:
        return state
    return _then(state, (OnKubelet(obj.name, event) for event in (NodeUpdated(obj), NodeStatusDue())))


def _remove(state: ClusterState, obj: api.Object) -> ClusterState:
    store, change = api.deleted(state.store, obj)
    return _then(replace(state, store=store), _watchers(change))


def _watchers(change: WatchEvent) -> Iterable[Event]:
    """Who is told: the scheduler of everything, a kubelet of pods that are bound to it or are to go."""
    yield Watched("scheduler", change)
    pod, old = change.object, change.old
    if isinstance(pod, Pod) and pod.node_name and change.type != "DELETED":
        bound = not (isinstance(old, Pod) and old.node_name)
        going = pod.deletion_timestamp is not None and isinstance(old, Pod) and old.deletion_timestamp is None
        if bound or going:
            yield Watched(pod.node_name, change)


def _tell_kubelet(state: ClusterState, node: str, change: WatchEvent) -> ClusterState:
    if node not in state.kubelets:
        return state
    if isinstance(change.object, Node):
        return _on_kubelet(state, node, NodeUpdated(change.object))
    assert isinstance(change.object, Pod)
    pod = change.object
    deleted = pod.deletion_timestamp is not None
    return _on_kubelet(state, node, PodDeleted(pod.uid) if deleted else PodBound(pod))


def _delete_pod(state: ClusterState, uid: str) -> ClusterState:
    pod = state.store.pods[uid]
    if not pod.node_name:
        return _remove(state, pod)
    if pod.deletion_timestamp is not None:
        return state
    return _write(state, replace(pod, deletion_timestamp=state.now))


# The scheduler


def _tell_scheduler(state: ClusterState, change: WatchEvent) -> ClusterState:
    return _with_scheduler(state, *scheduler.observe(state.scheduler, change, state.now))


def _with_scheduler(state: ClusterState, changed: SchedulerState, effects: Iterable[Any]) -> ClusterState:
    """The scheduler after a step; if it has a pod to try and no turn yet, it gets one."""
    state = _then(replace(state, scheduler=changed), (SchedulerWants(effect) for effect in effects))
    turn = SchedulerTurn()
    return _then(state, [turn]) if changed.queue.pop_order() and turn not in state.pending else state


def _scheduler_turn(state: ClusterState) -> ClusterState:
    changed, decision, effects = scheduler.schedule_next(state.scheduler, state.now)
    return replace(_with_scheduler(state, changed, effects), decision=decision)


def _from_scheduler(state: ClusterState, effect: Any) -> ClusterState:
    match effect:
        case s.Bind(assumed, node):
            pod = state.store.pods.get(assumed.uid)
            error = (
                ""
                if pod is not None and not pod.node_name
                else f"pod {assumed.name} is gone or bound already"
            )
            if not error and pod is not None:
                bound = replace(pod, node_name=node, conditions=(Condition("PodScheduled", "True"),))
                state = _write(state, bound)
            changed, effects = scheduler.bind_finished(state.scheduler, assumed, node, error, state.now)
            return _with_scheduler(state, changed, effects)
        case s.PatchPodStatus(asked, reason, message, nominated):
            pod = state.store.pods.get(asked.uid)
            if pod is None:
                return state
            condition = Condition("PodScheduled", "False", reason, message)
            name = pod.nominated_node_name if nominated is None else nominated
            return _write(state, replace(pod, conditions=(condition,), nominated_node_name=name))
        case s.DeleteVictim(victim, _, message):
            pod = state.store.pods.get(victim.uid)
            if pod is None:
                return state
            target = Condition("DisruptionTarget", "True", "PreemptionByScheduler", message)
            state = _write(state, replace(pod, conditions=(*pod.conditions, target)))
            return _delete_pod(state, victim.uid)
        case s.ClearNomination(asked):
            pod = state.store.pods.get(asked.uid)
            return _write(state, replace(pod, nominated_node_name="")) if pod else state
        case _:  # a line for somebody's log
            return state
