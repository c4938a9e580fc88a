"""What the nodes' refusals suggest to change. Nothing is tried here."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Any

from kubedev.api.objects import Node, Pod
from kubedev.api.selectors import Taint, Toleration
from kubedev.api.values import replace
from kubedev.tools.why.amounts import amount
from kubedev.tools.why.details import claims_in, names_like, with_claim
from kubedev.tools.why.groups import Group, unhealthy
from kubedev.tools.why.labels import label_moves
from kubedev.tools.why.move import Move, node_changed, pod_changed
from kubedev.tools.why.shrinking import renamed, smaller
from kubedev.tools.why.words import taint_of
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
    yield from taints_gone(world, pod, groups)
    yield from may_preempt(world, pod, groups)
    yield from other_claims(world, pod, groups)
    yield from label_moves(world, pod, groups)
    yield from uncordoned(world, pod, groups)
    yield from other_names(world, pod, groups)
    yield from smaller_requests(world, pod, groups)
    yield from healthy_again(world, pod, groups)
    yield from softer(world, pod, groups)
    yield from without_ports(world, pod, groups)


def tolerations(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """One toleration more, for each taint that keeps the pod away."""
    for taint in dict.fromkeys(group.taint for group in groups if group.taint):
        operator = "Equal" if taint.value else "Exists"
        added = Toleration(taint.key, operator, taint.value, taint.effect)
        value = f"value: {taint.value!r}, " if taint.value else ""
        how = f"tolerations: [{{key: {taint.key!r}, operator: {operator}, {value}effect: {taint.effect}}}]"
        trouble = taint.key.startswith("node.kubernetes.io/")  # the node is in trouble: rather mend that
        yield Move(
            60 if trouble else 10,
            "toleration",
            f"a toleration of the taint {taint_of(taint)}",
            how.replace("'", '"'),
            pod_changed(partial(tolerating, added=added)),
        )


def tolerating(pod: Pod, added: Toleration) -> Pod:
    """The pod with one toleration more."""
    return replace(pod, tolerations=(*pod.tolerations, added))


def taints_gone(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """A taint taken off a node: off the one where the pod would go, or off the first."""
    for group in groups:
        taint = group.taint
        if taint is None or taint.key.startswith("node.kubernetes.io/"):
            continue
        added = Toleration(taint.key, "Exists", "", taint.effect)
        name = world.decide(tolerating(pod, added), preempting=False).node_name
        name = name if name in group.nodes else group.closest
        yield Move(
            27,
            "taint gone",
            f"the taint {taint_of(taint)} taken off node {name}",
            f"kubectl taint node {name} {taint_of(taint)}-",
            node_changed(name, partial(without_taint, taint=taint)),
        )


def without_taint(node: Node, taint: Taint) -> dict[str, object]:
    """The node's taints without one."""
    return {"taints": tuple(one for one in node.taints if one != taint)}


def may_preempt(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """A pod that may have others evicted."""
    if pod.preemption_policy == "Never":
        yield Move(
            12,
            "preemption policy",
            "preemptionPolicy PreemptLowerPriority",
            "a new pod, with a PriorityClass whose preemptionPolicy is PreemptLowerPriority",
            pod_changed(lambda pod: replace(pod, preemption_policy="PreemptLowerPriority")),
            anew=True,
        )


def other_claims(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """A claim that is there in place of one that is not, by a name like it."""
    there = claims_in(world, pod.namespace)
    for name in [volume.claim_name for volume in pod.volumes if volume.claim_name]:
        for other in names_like(name, there) if name not in there else ():
            yield Move(
                15,
                "claim name",
                f"claimName: {other} in place of {name}, which is not there",
                f"a new pod with claimName: {other}",
                pod_changed(partial(with_claim, name=name, other=other)),
                anew=True,
            )


def uncordoned(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """A cordoned node opened."""
    for group in groups:
        if group.plugin == "NodeUnschedulable":
            for name in group.nodes[:5]:
                yield Move(
                    11,
                    "uncordon",
                    f"node {name} uncordoned",
                    f"kubectl uncordon {name}",
                    node_changed(name, opened),
                )


def opened(node: Node) -> dict[str, object]:
    """A node that is not cordoned any more."""
    taints = tuple(one for one in node.taints if one.key != "node.kubernetes.io/unschedulable")
    return {"unschedulable": False, "taints": taints}


def smaller_requests(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """A request that the closest node of a group could serve: what is free there, or all of it if that is nothing."""
    seen = set()
    for group in groups:
        too_small = {cause.resource for cause in group.causes if cause.kind == "too small"}
        most = {lack.resource_name: lack.free or lack.capacity for lack in group.sums}
        if any(lack.free <= 0 and lack.resource_name not in too_small for lack in group.sums):
            continue
        if smaller(pod, most) is None:
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
                pod_changed(partial(lowered_to, most=most)),
                anew=True,
            )


def lowered_to(pod: Pod, most: Mapping[str, int]) -> Pod:
    """The pod with smaller requests, where it asks for more."""
    return smaller(pod, most) or pod


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
                pod_changed(partial(renamed, name=name, other=other)),
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
                node_changed(node.name, partial(all_healthy, resource=name)),
            )


def all_healthy(node: Node, resource: str) -> dict[str, object]:
    """What the node gives where it can give all that it has."""
    return {"allocatable": {**node.allocatable, resource: node.capacity[resource]}}


def softer(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """A rule about other pods that is preferred instead of required."""
    plugins = {group.plugin for group in groups}
    if "PodTopologySpread" in plugins:
        for cost, kind, what, how, changes in SPREADS:
            yield Move(
                cost,
                kind,
                what,
                f"a new pod with {how}",
                pod_changed(partial(spread_otherwise, changes=changes)),
                anew=True,
            )
    affinity = pod.affinity
    for what, part in (("affinity", "pod_affinity"), ("anti-affinity", "pod_anti_affinity")):
        rule = getattr(affinity, part) if affinity else None
        if "InterPodAffinity" in plugins and affinity is not None and rule is not None and rule.required:
            yield Move(
                35,
                f"pod {what} preferred",
                f"its pod {what} preferred, not required",
                "a new pod with preferredDuringSchedulingIgnoredDuringExecution in place of required...",
                pod_changed(partial(without_rule, part=part)),
                anew=True,
            )


def spread_otherwise(pod: Pod, changes: Mapping[str, Any]) -> Pod:
    """The pod with other topology spread constraints."""
    spread = pod.topology_spread_constraints
    return replace(pod, topology_spread_constraints=tuple(replace(one, **changes) for one in spread))


def without_rule(pod: Pod, part: str) -> Pod:
    """The pod with nothing required in a part of its affinity."""
    rule = getattr(pod.affinity, part)
    free = replace(pod.affinity, **{part: replace(rule, required=())})  # type: ignore[type-var]
    return replace(pod, affinity=free)


def without_ports(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """No host port."""
    if any(group.plugin == "NodePorts" for group in groups):
        yield Move(
            35,
            "no host port",
            "no hostPort: a Service reaches the pod without",
            "a new pod without hostPort (or hostNetwork)",
            pod_changed(portless),
            anew=True,
        )


def portless(pod: Pod) -> Pod:
    """The pod without host ports."""
    containers = (
        replace(one, ports=tuple(replace(port, host_port=0) for port in one.ports)) for one in pod.containers
    )
    return replace(pod, containers=tuple(containers))
