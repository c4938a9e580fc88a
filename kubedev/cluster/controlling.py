"""The controllers in their cluster: what they hear, what is due when time passes, and what they want done."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kubedev.api.objects import Condition, Node, Pod
from kubedev.api.values import replace
from kubedev.cluster import events as e
from kubedev.cluster.apiserver import DAEMON, EVICTION, LIFECYCLE, create_pod, delete_pod, write
from kubedev.cluster.conditions import updated
from kubedev.cluster.controllers import daemon, nodelifecycle, podgc, tainteviction
from kubedev.cluster.controllers import effects as c
from kubedev.cluster.state import ClusterState, then

__all__ = ["EFFECTS", "WATCHERS", "next_due", "tick", "wants"]


def _want(state: ClusterState, controller: str, effects: Iterable[c.Effect]) -> ClusterState:
    return then(state, (e.ControllerWants(controller, effect) for effect in effects))


# What they hear


def _lifecycle_hears(state: ClusterState, event: e.Watched) -> ClusterState:
    node = state.store.nodes.get(event.event.object.name)
    swap = nodelifecycle.taints_to_swap(node) if node else None
    return _want(state, LIFECYCLE, [swap]) if swap else state


def _eviction_hears(state: ClusterState, event: e.Watched) -> ClusterState:
    changed = event.event.object
    pods: Iterable[Pod]
    if isinstance(changed, Node):
        node, pods = state.store.nodes.get(changed.name), state.store.pods_on(changed.name)
    else:
        assert isinstance(changed, Pod)
        node, pods = state.store.nodes.get(changed.node_name), [changed]
    going = [pod for pod in pods if pod.deletion_timestamp is None and pod.uid in state.store.pods]
    taints = tainteviction.no_execute_taints(node)
    evictions, effects = tainteviction.look_at(state.evictions, going, taints, state.now)
    return _want(replace(state, evictions=evictions), EVICTION, effects)


def _daemon_hears(state: ClusterState, event: e.Watched) -> ClusterState:
    return _manage_daemons(state)


def _manage_daemons(state: ClusterState) -> ClusterState:
    store = state.store
    back_offs, effects = daemon.manage(
        store.workloads.values(),
        store.nodes.values(),
        store.pods.values(),
        tuple(store.priority_classes.values()),
        state.now,
        state.daemon_back_offs,
    )
    return _want(replace(state, daemon_back_offs=back_offs), DAEMON, effects)


WATCHERS: Mapping[str, Callable[[ClusterState, e.Watched], ClusterState]] = {
    LIFECYCLE: _lifecycle_hears,
    EVICTION: _eviction_hears,
    DAEMON: _daemon_hears,
}
"""What becomes of what a controller is told."""


# When time passes


def next_due(state: ClusterState) -> float | None:
    """When a controller has something to do next, if nothing else happens."""
    times = [at for uid, at in state.evictions.items() if uid in state.store.pods]
    for name, since in state.silent.items():
        node = state.store.nodes.get(name)
        if node and nodelifecycle.marked_unknown(node, state.now):
            times.append(nodelifecycle.overdue(since))
    if podgc.has_work(state.store.pods.values(), state.store.nodes):
        times.append(podgc.next_run(state.now))
    if (retry := daemon.next_retry(state.daemon_back_offs)) is not None:
        times.append(retry)
    return min(times, default=None)


def tick(state: ClusterState, before: float) -> ClusterState:
    """The clock has moved on from `before`."""
    for name, since in sorted(state.silent.items()):
        node = state.store.nodes.get(name)
        mark = nodelifecycle.marked_unknown(node, state.now) if node else None
        if mark and state.now > since + nodelifecycle.MONITOR_GRACE_PERIOD:
            state = _want(state, LIFECYCLE, [mark])
    left, evicted = tainteviction.due(state.evictions, state.now)
    state = _want(replace(state, evictions=left), EVICTION, evicted)
    if podgc.next_run(before) <= state.now:
        pods, nodes = state.store.pods.values(), state.store.nodes
        missing, collected = podgc.collect(state.missing, pods, nodes, state.now)
        state = _want(replace(state, missing=missing), "pod-garbage-collector", collected)
    retry = daemon.next_retry(state.daemon_back_offs)
    return _manage_daemons(state) if retry is not None and retry <= state.now else state


# What they want


def wants(state: ClusterState, event: e.ControllerWants) -> ClusterState:
    """A controller wants something done."""
    return EFFECTS[type(event.effect)](state, event.effect)


def swap_taints(state: ClusterState, effect: c.SwapTaints) -> ClusterState:
    """Change a node's taints; one of the same key and effect is replaced where it stands."""
    node = state.store.nodes.get(effect.node)
    if node is None:
        return state
    new = {(taint.key, taint.effect): taint for taint in effect.add}
    old = {(taint.key, taint.effect) for taint in effect.remove} - new.keys()
    taints = [new.pop((t.key, t.effect), t) for t in node.taints if (t.key, t.effect) not in old]
    return write(state, replace(node, taints=(*taints, *new.values())))


def _mark_node(state: ClusterState, effect: c.MarkNode) -> ClusterState:
    node = state.store.nodes.get(effect.node)
    silent = effect.node in state.silent
    return write(state, replace(node, conditions=effect.conditions)) if node and silent else state


def _evict_pod(state: ClusterState, effect: c.EvictPod) -> ClusterState:
    pod = state.store.pods.get(effect.uid)
    if pod is None or (pod.deletion_timestamp is not None and not effect.collect):
        return state
    pod = updated(pod, Condition("DisruptionTarget", "True", effect.reason, effect.message), state.now)
    if effect.collect and pod.phase not in ("Succeeded", "Failed"):
        pod = replace(pod, phase="Failed")
    return delete_pod(write(state, pod), pod.uid, 0 if effect.collect else None)


def _create_pod(state: ClusterState, effect: c.CreatePod) -> ClusterState:
    name = effect.pod.namespace, effect.pod.name
    if any((pod.namespace, pod.name) == name for pod in state.store.pods.values()):
        return state
    return create_pod(state, effect.pod)


def _delete_pod(state: ClusterState, effect: c.DeletePod) -> ClusterState:
    return delete_pod(state, effect.uid) if effect.uid in state.store.pods else state


EFFECTS: Mapping[type, Callable[[ClusterState, Any], ClusterState]] = {
    c.SwapTaints: swap_taints,
    c.MarkNode: _mark_node,
    c.EvictPod: _evict_pod,
    c.CreatePod: _create_pod,
    c.DeletePod: _delete_pod,
}
"""What becomes of an effect of a controller's."""
