"""What you do to nodes: change their spec, delete them, cut a kubelet off from the API server."""

from collections.abc import Iterator
from dataclasses import replace

from kubedev.cluster import events as e
from kubedev.cluster.apiserver import remove, write
from kubedev.cluster.controllers.effects import SwapTaints
from kubedev.cluster.controlling import swap_taints
from kubedev.cluster.kubelets import bound, claims_changed, speaks, spec_as_seen_by
from kubedev.cluster.state import ClusterState, then
from kubedev.kubelet import events as k

__all__ = ["deleted", "patched", "silenced"]


def patched(state: ClusterState, event: e.NodePatched) -> ClusterState:
    """You cordon or uncordon a node, or change its taints."""
    node = state.store.nodes[event.node]
    if event.unschedulable is not None and event.unschedulable != node.unschedulable:
        state = write(state, replace(node, unschedulable=event.unschedulable))
    if event.add or event.remove:
        state = swap_taints(state, SwapTaints(event.node, event.add, event.remove))
    return state


def deleted(state: ClusterState, event: e.NodeDeleted) -> ClusterState:
    """You delete a node's object. Its machine and its kubelet go on, until its pods are collected.

    What its drivers offered goes with it.
    """
    for slice in list(state.store.resource_slices.values()):
        if any((owner.kind, owner.name) == ("Node", event.node) for owner in slice.owner_references):
            state = remove(state, slice)
    return remove(state, state.store.nodes[event.node])


def silenced(state: ClusterState, event: e.KubeletSilenced) -> ClusterState:
    """A kubelet and the API server hear nothing of each other any more, or again."""
    node = event.node
    if event.silent:
        return replace(state, silent={**state.silent, node: state.now})
    return heard_again(state, node)


def heard_again(state: ClusterState, node: str) -> ClusterState:
    """A kubelet lists its pods anew, and says what it could not say meanwhile."""
    said = state.unsent.get(node, {}).values()
    state = speaks(state, node)
    state = then(state, (e.OnKubelet(node, what) for what in _list(state, node)))
    return then(state, (e.FromKubelet(node, effect) for effect in said))


def _list(state: ClusterState, node: str) -> Iterator[k.KubeletEvent]:
    """What a kubelet learns from a new list: its node, pods that have come, are to go, or are gone."""
    agent = state.kubelets[node]
    if node in state.store.nodes:
        yield k.NodeUpdated(spec_as_seen_by(state, state.store.nodes[node]))
    here = state.store.pods_on(node)
    there = {pod.uid for pod in here}
    for uid in (uid for uid in agent.pods if uid not in there):
        yield k.PodRemoved(uid)
    for pod in here:
        if pod.deletion_timestamp is not None:
            yield k.PodDeleted(pod.uid)
        elif pod.uid not in agent.pods:
            yield bound(state, pod)
        elif pod.resource_claims:
            yield claims_changed(state, pod)
    yield k.NodeStatusDue()
