"""What would make a pod fit, cheapest first: each is tried out by the scheduler, and what fails is left out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from kubedev.api.objects import Pod
from kubedev.api.requests import Resource
from kubedev.api.selectors import Taint
from kubedev.api.values import replace
from kubedev.scheduler.cycle import Decision, Outcome
from kubedev.scheduler.diagnosis import NodeToStatus
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.topology.spread_constraints import HOSTNAME
from kubedev.scheduler.preemption.post_filter import FailedCycle
from kubedev.scheduler.preemption.preemption import DefaultPreemption, Preemption
from kubedev.scheduler.queue.cluster_events import ASSIGNED_POD_DELETE, NODE_ADD
from kubedev.scheduler.queue.queued_pod import key_of
from kubedev.tools.why.groups import Group, groups_of
from kubedev.tools.why.move import Changed, Move, pod_changed
from kubedev.tools.why.moves import moves_of
from kubedev.tools.why.waking import Happening, wakes
from kubedev.tools.why.world import World

__all__ = ["Remedy", "preemption_of", "remedies_of"]

Happenings = tuple[Happening, ...]
Failed = tuple[Move, World, Pod, Decision, Happenings]
"""A move that did not help, what it made, and what the scheduler said then."""

ENOUGH = 6
PAIRS = 24
KINDS = 12
CANDIDATES = 100
HIGHEST = 2_147_483_647
NEW_NODE = "one-more-node"


@dataclass(frozen=True, slots=True)
class Remedy:
    """Moves with which the pod was scheduled in the trial, on `node`.

    `wakes` says whether the queue would notice it at once, and `woken_by` what its hint says.
    """

    moves: tuple[Move, ...]
    node: str
    wakes: bool
    woken_by: str


def remedies_of(world: World, pod: Pod, decision: Decision) -> tuple[Remedy, ...]:
    """What would make the pod fit: one move, or, where none does, two."""
    if pod.scheduling_gates:
        open_pod = replace(pod, scheduling_gates=())
        what = f"the scheduling gates ({', '.join(pod.scheduling_gates)}) taken away"
        change = partial(pod_changed, world, pod, open_pod)
        gate = Move(0, "gates", what, "whoever set them takes them away", change)
        after = world.decide(open_pod)
        if after.outcome is Outcome.SCHEDULED:
            return (Remedy((gate,), after.node_name, True, "its gates are gone"),)
        more = remedies_of(world, open_pod, after)
        return tuple(replace(one, moves=(gate, *one.moves)) for one in more)
    groups = groups_of(decision, world)
    singles = [*moves_of(world, pod, groups), *larger_moves(world, pod, groups)]
    found: list[Remedy] = []
    failed: list[Failed] = []
    for move in sorted(singles, key=lambda move: move.cost):
        after_world, after_pod, happened = move.change()
        after = after_world.decide(after_pod, preempting=False)
        if after.outcome is Outcome.SCHEDULED:
            found.append(remedy(world, pod, decision, (move,), after.node_name, happened))
        elif move.cost < 50 and after.message != decision.message:
            failed.append((move, after_world, after_pod, after, happened))
    if not any(one.moves[0].cost < 50 for one in found):
        found += pairs(world, pod, decision, failed)
    return tuple(sorted(found, key=lambda one: sum(move.cost for move in one.moves))[:ENOUGH])


def pairs(world: World, pod: Pod, decision: Decision, failed: Sequence[Failed]) -> Iterator[Remedy]:
    """Two moves: the second is what the nodes' answers after the first suggest."""
    tried = 0
    for first, after_world, after_pod, after, happened in failed:
        after_groups = groups_of(after, after_world)
        gone = pods_gone(after_world, after_pod, after_groups)
        seconds = [*moves_of(after_world, after_pod, after_groups), *([gone] if gone else [])]
        for second in sorted(seconds, key=lambda move: move.cost):
            tried += 1
            if tried > PAIRS:
                return
            if second.kind == first.kind and second.what == first.what:
                continue
            last_world, last_pod, more = second.change()
            last = last_world.decide(last_pod, preempting=False)
            if last.outcome is Outcome.SCHEDULED:
                yield remedy(world, pod, decision, (first, second), last.node_name, happened + more)
                break


def remedy(
    world: World, pod: Pod, decision: Decision, moves: tuple[Move, ...], node: str, happened: Happenings
) -> Remedy:
    """A remedy with what the queue would say to it."""
    if any(move.anew for move in moves):
        return Remedy(moves, node, True, "a new pod is tried at once")
    woken, why = wakes(world.framework(pod), decision, pod, happened)
    return Remedy(moves, node, woken, why)


def larger_moves(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """What costs pods or money: pods gone, a node more."""
    gone = pods_gone(world, pod, groups)
    if gone is not None:
        yield gone
    yield from one_node_more(world, pod)


def preemption_of(decision: Decision) -> Preemption | None:
    """What DefaultPreemption looked at; None where it was not asked."""
    accounts = decision.post_filter.accounts if decision.post_filter else ()
    return next((one for one in accounts if isinstance(one, Preemption)), None)


def pods_gone(world: World, pod: Pod, groups: tuple[Group, ...]) -> Move | None:
    """The fewest, least important pods without which the pod fits: those that it would preempt, were it above all.

    Tried are nodes where pods are what is in the way, until it helps on a hundred.
    """
    above_all = replace(pod, priority=HIGHEST, preemption_policy=None, nominated_node_name="")
    decision = world.decide(above_all, preempting=False)
    if decision.found is None or decision.outcome is not Outcome.UNSCHEDULABLE:
        return None
    crowded = {name for group in groups if not group.causes or only_in_use(group) for name in group.nodes}
    explicit = decision.found.statuses.explicit
    statuses = NodeToStatus({name: status for name, status in explicit.items() if name in crowded})
    state = decision.found.pre_filtered.state
    cycle = FailedCycle(world.framework(pod), above_all, world.snapshot, state, statuses)
    found = DefaultPreemption(0, CANDIDATES).post_filter(cycle).why
    if not isinstance(found, Preemption) or not found.victims:
        return None
    names = ", ".join(map(key_of, found.victims))

    def change() -> Changed:
        cache = world.state.cache
        for victim in found.victims:
            cache = cache.remove_pod(victim)
        gone = tuple((ASSIGNED_POD_DELETE, victim, None) for victim in found.victims)
        return world.with_cache(cache), pod, gone

    count = f"{len(found.victims)} pods" if len(found.victims) > 1 else "1 pod"
    return Move(
        50,
        "pods gone",
        f"{count} gone from node {found.node_name}: {names}",
        "they end, or are moved elsewhere",
        change,
    )


def only_in_use(group: Group) -> bool:
    """Whether the nodes would have enough, were they empty."""
    return all(cause.kind == "in use" for cause in group.causes)


def one_node_more(world: World, pod: Pod) -> Iterator[Move]:
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

        def change(new=new, daemons=daemons) -> Changed:  # type: ignore[no-untyped-def]
            cache = world.state.cache.add_node(new)
            for daemon in daemons:
                cache = cache.add_pod(daemon)
            return world.with_cache(cache), pod, ((NODE_ADD, None, new),)

        count = f"{len(like)} of this kind" if len(like) > 1 else "the only one of its kind"
        yield Move(70, "node more", f"one node more like {node.name} ({count})", "add a node", change)


def kind_of(info: NodeInfo) -> object:
    """What nodes of one kind have in common: what they can give, taints that stay, their type and zone."""
    given: Resource = info.allocatable
    type_label = info.node.labels.get("node.kubernetes.io/instance-type", "")
    size = given.milli_cpu // 1000, given.memory >> 30, tuple(given.scalar_resources.items())
    return type_label, info.node.labels.get("topology.kubernetes.io/zone", ""), size, steady(info.node.taints)


def steady(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    """The taints that are not of a trouble that passes."""
    return tuple(taint for taint in taints if not taint.key.startswith("node.kubernetes.io/"))
