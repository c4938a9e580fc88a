"""What the nodes' refusals suggest to change. Nothing is tried here."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from kubedev.api.objects import Pod
from kubedev.api.selectors import Taint, Toleration
from kubedev.api.values import replace
from kubedev.tools.why.amounts import amount
from kubedev.tools.why.groups import Group, unhealthy
from kubedev.tools.why.labels import label_moves
from kubedev.tools.why.move import Move, node_changed, pod_changed
from kubedev.tools.why.shrinking import renamed, smaller
from kubedev.tools.why.world import World

__all__ = ["moves_of"]

SPREADS: tuple[tuple[int, str, str, str, dict[str, Any]], ...] = (
    (
        32,
        "spread over nodes that it tolerates",
        "its topology spread counted over the nodes that it tolerates",
        "nodeTaintsPolicy: Honor",
        {"node_taints_policy": "Honor"},
    ),
    (
        35,
        "spread preferred",
        "its topology spread preferred, not required",
        "whenUnsatisfiable: ScheduleAnyway",
        {"when_unsatisfiable": "ScheduleAnyway"},
    ),
)
"""What can be said otherwise in a topology spread: cost, kind, words, how, and the fields."""


def moves_of(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """The moves that what the nodes said suggests, on the pod and on nodes that are there."""
    yield from tolerations(world, pod, groups)
    yield from label_moves(world, pod, groups)
    yield from uncordoned(world, pod, groups)
    yield from other_names(world, pod, groups)
    yield from smaller_requests(world, pod, groups)
    yield from healthy_again(world, pod, groups)
    yield from softer(world, pod, groups)
    yield from without_ports(world, pod, groups)


def shown(taint: Taint) -> str:
    """A taint as kubectl writes it."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def tolerations(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """One toleration more, for each taint that keeps the pod away."""
    for taint in dict.fromkeys(group.taint for group in groups if group.taint):
        operator = "Equal" if taint.value else "Exists"
        added = Toleration(taint.key, operator, taint.value, taint.effect)
        value = f"value: {taint.value!r}, " if taint.value else ""
        how = f"tolerations: [{{key: {taint.key!r}, operator: {operator}, {value}effect: {taint.effect}}}]"
        changed = replace(pod, tolerations=(*pod.tolerations, added))
        trouble = taint.key.startswith("node.kubernetes.io/")  # the node is in trouble: rather mend that
        yield Move(
            60 if trouble else 10,
            "toleration",
            f"a toleration of the taint {shown(taint)}",
            how.replace("'", '"'),
            lambda changed=changed: pod_changed(world, pod, changed),  # type: ignore[misc]
        )


def uncordoned(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """A cordoned node opened."""
    for group in groups:
        if group.plugin == "NodeUnschedulable":
            for name in group.nodes[:5]:
                info = world.node(name)
                taints = (
                    tuple(t for t in info.node.taints if t.key != "node.kubernetes.io/unschedulable")
                    if info
                    else ()
                )
                yield Move(
                    20,
                    "uncordon",
                    f"node {name} uncordoned",
                    f"kubectl uncordon {name}",
                    lambda name=name, taints=taints: node_changed(  # type: ignore[misc]
                        world, pod, name, unschedulable=False, taints=taints
                    ),
                )


def smaller_requests(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """A request that the closest node of a group could serve: what is free there, or all of it if that is nothing."""
    seen = set()
    for group in groups:
        too_small = {cause.resource for cause in group.causes if cause.kind == "too small"}
        most = {lack.resource_name: lack.free or lack.capacity for lack in group.sums}
        if any(lack.free <= 0 and lack.resource_name not in too_small for lack in group.sums):
            continue
        changed = smaller(pod, most)
        if changed is None:
            continue
        what = ", ".join(
            f"{lack.resource_name} {amount(lack.resource_name, most[lack.resource_name])} instead of "
            f"{amount(lack.resource_name, lack.requested)}"
            for lack in group.sums
        )
        if what not in seen:
            seen.add(what)
            yield Move(
                30,
                "smaller request",
                f"a smaller request: {what}",
                "a new pod: requests cannot be lowered in one that is there",
                lambda changed=changed: pod_changed(world, pod, changed),  # type: ignore[misc]
                anew=True,
            )


def other_names(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """A resource that no node has, by a name that looks like it and that some node has."""
    asked = {cause.resource for group in groups for cause in group.causes if cause.kind == "absent"}
    known = {name for info in world.nodes for name in info.allocatable.scalar_resources}
    for name in sorted(asked - known):
        last = name.partition("/")[2]
        lasts = {other.partition("/")[2]: other for other in sorted(known) if "/" in other}
        close = [
            *get_close_matches(name, known, 2, 0.8),
            *(lasts[one] for one in get_close_matches(last, lasts, 2, 0.7)),
        ]
        for other in dict.fromkeys(close):
            yield Move(
                15,
                "resource name",
                f"{other} in place of {name}, which no node has",
                f"a new pod that asks for {other}",
                lambda name=name, other=other: pod_changed(world, pod, renamed(pod, name, other)),  # type: ignore[misc]
                anew=True,
            )


def healthy_again(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """The devices of a node that are not healthy, healthy again."""
    for group in groups:
        for cause in group.causes:
            info = world.node(group.closest)
            if cause.kind != "unhealthy" or info is None:
                continue
            name, node = cause.resource, info.node
            count, all_of = unhealthy(name, node), node.capacity[name]
            yield Move(
                40,
                "devices healthy again",
                f"the {count} unhealthy {name} of node {node.name} healthy again (capacity {all_of}, allocatable "
                f"{node.allocatable[name]})",
                f"look at what the device plugin on {node.name} reports, and at the device itself",
                lambda node=node, name=name, all_of=all_of: node_changed(  # type: ignore[misc]
                    world, pod, node.name, allocatable={**node.allocatable, name: all_of}
                ),
            )


def softer(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """A rule about other pods that is preferred instead of required."""
    plugins = {group.plugin for group in groups}
    if "PodTopologySpread" in plugins:
        spread = pod.topology_spread_constraints
        for cost, kind, what, how, changes in SPREADS:
            changed = replace(
                pod, topology_spread_constraints=tuple(replace(one, **changes) for one in spread)
            )
            yield Move(
                cost,
                kind,
                what,
                f"a new pod with {how}",
                lambda changed=changed: pod_changed(world, pod, changed),  # type: ignore[misc]
                anew=True,
            )
    affinity = pod.affinity
    for what, part in (("affinity", "pod_affinity"), ("anti-affinity", "pod_anti_affinity")):
        rule = getattr(affinity, part) if affinity else None
        if "InterPodAffinity" in plugins and affinity is not None and rule is not None and rule.required:
            free = replace(affinity, **{part: replace(rule, required=())})
            yield Move(
                35,
                f"pod {what} preferred",
                f"its pod {what} preferred, not required",
                "a new pod with preferredDuringSchedulingIgnoredDuringExecution in place of required...",
                lambda free=free: pod_changed(world, pod, replace(pod, affinity=free)),  # type: ignore[misc]
                anew=True,
            )


def without_ports(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """No host port."""
    if any(group.plugin == "NodePorts" for group in groups):
        containers = tuple(
            replace(one, ports=tuple(replace(port, host_port=0) for port in one.ports))
            for one in pod.containers
        )
        yield Move(
            35,
            "no host port",
            "no hostPort: a Service reaches the pod without",
            "a new pod without hostPort (or hostNetwork)",
            lambda: pod_changed(world, pod, replace(pod, containers=containers)),
            anew=True,
        )
