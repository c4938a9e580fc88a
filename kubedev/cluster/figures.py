"""What containers and machines use, and what a kubelet sees of it when it looks.

Usage comes from outside: somebody drags it, or a lab sets it. Every ten seconds of simulated time the kubelet of a node
takes the figures. A container that nobody spoke of uses one process and nothing else.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import floor

from kubedev.api.names import EPHEMERAL_STORAGE, MEMORY
from kubedev.api.objects import Node
from kubedev.api.quantity import Quantity
from kubedev.cluster import events as e
from kubedev.cluster.state import ClusterState
from kubedev.cluster.usage import MachineUsage, Usage
from kubedev.kubelet.events import FiguresTaken
from kubedev.kubelet.pressure.eviction import MONITORING_INTERVAL
from kubedev.kubelet.pressure.node_allocatable import node_allocatable_absolute
from kubedev.kubelet.pressure.usage import (
    ContainerStats,
    FsStats,
    FsUsage,
    MemoryStats,
    PidStats,
    PodStats,
    Summary,
)

__all__ = ["looks", "machine_usage_set", "next_due", "next_look", "summary", "usage_set", "watched_nodes"]

MAX_PID = 32768
BYTES_PER_INODE = 16384
"""How ext4 divides a disk when nothing else is said."""


def usage_set(state: ClusterState, event: e.UsageSet) -> ClusterState:
    """From now on a container uses so much."""
    used = {key: usage for key, usage in state.usage.items() if key[0] in state.store.pods}
    return replace(state, usage={**used, (event.pod_uid, event.container): event.usage})


def machine_usage_set(state: ClusterState, event: e.MachineUsageSet) -> ClusterState:
    """From now on a machine itself uses so much, its pods aside."""
    return replace(state, machine_usage={**state.machine_usage, event.node: event.usage})


def watched_nodes(state: ClusterState) -> list[str]:
    """The nodes of which figures are known, so that their kubelets have something to look at, sorted."""
    pods = state.store.pods
    used = {pods[uid].node_name for uid, _ in state.usage if uid in pods} | set(state.machine_usage)
    looked = {name for name, agent in state.kubelets.items() if agent.look is not None}
    return sorted(name for name in used | looked if name in state.kubelets and name in state.store.nodes)


def next_look(now: float) -> float:
    """When kubelets look the next time after `now`."""
    return (floor(now / MONITORING_INTERVAL) + 1) * MONITORING_INTERVAL


def next_due(state: ClusterState) -> float | None:
    """When a kubelet that has figures looks next; None where none has any."""
    return next_look(state.now) if watched_nodes(state) else None


def looks(state: ClusterState, before: float) -> Iterator[e.Event]:
    """The look of each kubelet that has figures, if one has become due since `before`.

    However far the clock was moved, it is one look at what is used now.
    """
    if next_look(before) > state.now:
        return
    for node in watched_nodes(state):
        figures = summary(state, node), summary(state, node, reclaimed=True)
        yield e.OnKubelet(node, FiguresTaken(*figures))


def summary(state: ClusterState, node: str, reclaimed: bool = False) -> Summary:
    """The figures of a node: with `reclaimed`, as they were without dead containers and unused images."""
    machine = state.machine_usage.get(node, MachineUsage())
    if reclaimed:
        machine = replace(machine, images=0, dead_containers=0)
    running: dict[str, list[tuple[str, Usage]]] = {}
    for (uid, name), container in state.containers.items():
        if container.node == node and container.phase != "ended":
            running.setdefault(uid, []).append((name, state.usage.get((uid, name), Usage())))
    pods = tuple(_pod_stats(uid, containers) for uid, containers in running.items())
    obj = state.store.nodes[node]
    disk, used = _disk(obj, machine, running), sum(pod.memory or 0 for pod in pods)
    processes = machine.processes + sum(pod.process_count or 0 for pod in pods)
    return Summary(
        state.now,
        _memory(_amount(obj, MEMORY), machine.memory + used),
        _memory(_memory_of_pods(state, obj), used),
        disk,
        disk,
        disk,
        PidStats(MAX_PID, min(processes, MAX_PID)),
        pods,
    )


def _pod_stats(uid: str, containers: list[tuple[str, Usage]]) -> PodStats:
    stats = tuple(
        ContainerStats(name, use.memory, FsUsage(use.rootfs, use.inodes), FsUsage(use.logs, 0))
        for name, use in containers
    )
    volumes: dict[str, int] = {}
    for name, size in (volume for _, use in containers for volume in use.volumes):
        volumes[name] = volumes.get(name, 0) + size
    return PodStats(
        uid,
        sum(use.memory for _, use in containers),
        sum(use.processes for _, use in containers),
        stats,
        tuple((name, FsUsage(size, 0)) for name, size in volumes.items()),
        sum(use.disk for _, use in containers),
    )


def _amount(node: Node, resource: str) -> int | None:
    return node.capacity[resource].value() if resource in node.capacity else None


def _memory_of_pods(state: ClusterState, node: Node) -> int | None:
    """The limit of the cgroup of all pods."""
    if MEMORY not in node.capacity:
        return None
    capacity: dict[str, Quantity] = {MEMORY: node.capacity[MEMORY]}
    config = state.kubelets[node.name].config.node_allocatable()
    return node_allocatable_absolute(capacity, config)[MEMORY].value()


def _memory(total: int | None, used: int) -> MemoryStats | None:
    return None if total is None else MemoryStats(max(total - used, 0), min(used, total))


def _disk(node: Node, machine: MachineUsage, running: dict[str, list[tuple[str, Usage]]]) -> FsStats | None:
    """The one file system of the machine."""
    total = _amount(node, EPHEMERAL_STORAGE)
    if total is None:
        return None
    uses = [use for containers in running.values() for _, use in containers]
    used = machine.disk + machine.images + machine.dead_containers + sum(use.disk for use in uses)
    inodes, taken = total // BYTES_PER_INODE, machine.inodes + sum(use.inodes for use in uses)
    return FsStats(max(total - used, 0), total, max(inodes - taken, 0), inodes)
