"""The moves that cost most: pods that go, and nodes that come."""

from collections.abc import Iterator

from kubedev.api.objects import Pod
from kubedev.api.requests import Resource
from kubedev.api.selectors import Taint
from kubedev.api.values import replace
from kubedev.scheduler.cycle import Outcome
from kubedev.scheduler.diagnosis import NodeToStatus
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.topology.spread_constraints import HOSTNAME
from kubedev.scheduler.preemption.post_filter import FailedCycle
from kubedev.scheduler.preemption.preemption import DefaultPreemption, Preemption
from kubedev.scheduler.queue.cluster_events import ASSIGNED_POD_DELETE, NODE_ADD
from kubedev.scheduler.queue.queued_pod import key_of
from kubedev.tools.why.groups import Group
from kubedev.tools.why.move import Changed, Move
from kubedev.tools.why.world import World

__all__ = ["one_node_more", "pods_gone"]

KINDS = 12
CANDIDATES = 100
HIGHEST = 2_147_483_647
NEW_NODE = "one-more-node"


def pods_gone(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """The fewest, least important pods without which the pod fits: those that it would preempt, were it above all.

    Tried are nodes where pods are what is in the way, until it helps on a hundred.
    """
    above_all = replace(pod, priority=HIGHEST, preemption_policy=None, nominated_node_name="")
    decision = world.decide(above_all, preempting=False)
    if decision.found is None or decision.outcome is not Outcome.UNSCHEDULABLE:
        return
    crowded = {name for group in groups if not group.causes or only_in_use(group) for name in group.nodes}
    explicit = decision.found.statuses.explicit
    statuses = NodeToStatus({name: status for name, status in explicit.items() if name in crowded})
    state = decision.found.pre_filtered.state
    cycle = FailedCycle(world.framework(pod), above_all, world.snapshot, state, statuses)
    found = DefaultPreemption(0, CANDIDATES).post_filter(cycle).why
    if not isinstance(found, Preemption) or not found.victims:
        return
    names = ", ".join(map(key_of, found.victims))

    def change(world: World, pod: Pod) -> Changed:
        cache = world.state.cache
        for victim in found.victims:
            cache = cache.remove_pod(victim)
        gone = tuple((ASSIGNED_POD_DELETE, victim, None) for victim in found.victims)
        return world.with_cache(cache), pod, gone

    count = f"{len(found.victims)} pods" if len(found.victims) > 1 else "1 pod"
    yield Move(
        50,
        "pods gone",
        f"{count} gone from node {found.node_name}: {names}",
        "they end, or are moved elsewhere",
        change,
    )


def only_in_use(group: Group) -> bool:
    """Whether the nodes would have enough, were they empty."""
    return all(cause.kind == "in use" for cause in group.causes)


def one_node_more(world: World) -> Iterator[Move]:
    """One node more of each kind that is there, empty but for its DaemonSets' pods; the most common kind first."""
    kinds: dict[object, list[NodeInfo]] = {}
    for info in world.nodes:
        kinds.setdefault(kind_of(info), []).append(info)
    for like in sorted(kinds.values(), key=lambda infos: -len(infos))[:KINDS]:
        info, node = like[0], like[0].node
        labels = {**node.labels, **({HOSTNAME: NEW_NODE} if HOSTNAME in node.labels else {})}
        new = replace(node, name=NEW_NODE, labels=labels, unschedulable=False, taints=steady(node.taints))
        daemons = [
            replace(one.pod, uid=f"{one.pod.uid}/{NEW_NODE}", node_name=NEW_NODE)
            for one in info.pods
            if any(owner.kind == "DaemonSet" for owner in one.pod.owner_references)
        ]

        def change(world: World, pod: Pod, new=new, daemons=daemons) -> Changed:  # type: ignore[no-untyped-def]
            cache = world.state.cache.add_node(new)
            for daemon in daemons:
                cache = cache.add_pod(daemon)
            return world.with_cache(cache), pod, ((NODE_ADD, None, new),)

        yield Move(70, "node more", f"one node more like {node.name}", "add a node", change)


def kind_of(info: NodeInfo) -> object:
    """What nodes of one kind have in common: what they can give, taints that stay, their type and zone."""
    given: Resource = info.allocatable
    type_label = info.node.labels.get("node.kubernetes.io/instance-type", "")
    size = given.milli_cpu // 1000, given.memory >> 30, tuple(given.scalar_resources.items())
    return type_label, info.node.labels.get("topology.kubernetes.io/zone", ""), size, steady(info.node.taints)


def steady(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    """The taints that are not of a trouble that passes."""
    return tuple(taint for taint in taints if not taint.key.startswith("node.kubernetes.io/"))
