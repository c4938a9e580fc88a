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
ENOUGH = 6
MOST_MOVES = 3
DEAR = 50
"""From this cost on a move is not a step to another."""
FEW, TRIES = 6, 24
KINDS = 12
CANDIDATES = 100
HIGHEST = 2_147_483_647
NEW_NODE = "one-more-node"


@dataclass(frozen=True, slots=True)
class Attempt:
    """Moves after which the scheduler decided so, what they made, and what happened for the queue."""

    moves: tuple[Move, ...]
    world: World
    pod: Pod
    decision: Decision
    happened: Happenings


@dataclass(frozen=True, slots=True)
class Remedy:
    """Moves with which the pod was scheduled in the trial, on `node`.

    `wakes` says whether the queue would notice it at once, and `woken_by` what its hint says.
    """

    moves: tuple[Move, ...]
    node: str
    wakes: bool
    woken_by: str

    @property
    def cost(self) -> int:
        """What all of it costs."""
        return sum(move.cost for move in self.moves)


def remedies_of(world: World, pod: Pod, decision: Decision) -> tuple[Remedy, ...]:
    """What would make the pod fit: one move, or, where only dear ones do, two or three."""
    if pod.scheduling_gates:
        open_pod = replace(pod, scheduling_gates=())
        what = f"the scheduling gates ({', '.join(pod.scheduling_gates)}) taken away"
        change = partial(pod_changed, world, pod, open_pod)
        gate = Move(0, "gates", what, "whoever set them takes them away", change)
        after = world.decide(open_pod)
        if after.outcome is Outcome.SCHEDULED:
            return (Remedy((gate,), after.node_name, True, "its gates are gone"),)
        gated = remedies_of(world, open_pod, after)
        return tuple(replace(one, moves=(gate, *one.moves)) for one in gated)
    start = Attempt((), world, pod, decision, ())
    found, failed = tried([start], world, pod, decision)
    while failed and len(failed[0].moves) < MOST_MOVES:
        if any(one.cost < DEAR or len(one.moves) > 1 for one in found):
            break
        more, failed = tried(failed[:FEW], world, pod, decision)
        found += more
    return tuple(sorted(found, key=lambda one: one.cost)[:ENOUGH])


def tried(
    attempts: Sequence[Attempt], world: World, pod: Pod, decision: Decision
) -> tuple[list[Remedy], list[Attempt]]:
    """One move more after each attempt: the remedies that this gives, and the attempts that still fail.

    What the nodes say after an attempt suggests what to try next.
    """
    found: list[Remedy] = []
    failed: list[Attempt] = []
    for attempt in attempts:
        groups = groups_of(attempt.decision, attempt.world)
        cheap = sorted(moves_of(attempt.world, attempt.pod, groups), key=lambda move: move.cost)[:TRIES]
        dear = [*pods_gone(attempt.world, attempt.pod, groups)]
        if not attempt.moves:
            dear += one_node_more(world, pod)
        for move in (*cheap, *dear):
            made = (*attempt.moves, move)
            before = [set(one.moves) for one in found] + [set(one.moves) for one in failed]
            if set(made) in before or len(set(made)) < len(made):
                continue
            after_world, after_pod, more = move.change()
            after = after_world.decide(after_pod, preempting=False)
            happened = attempt.happened + more
            if after.outcome is Outcome.SCHEDULED:
                found.append(remedy(world, pod, decision, made, after.node_name, happened))
                if attempt.moves or move.kind == "node more":
                    break  # one way from here is enough
            elif move.cost < DEAR:
                failed.append(Attempt(made, after_world, after_pod, after, happened))
    return found, failed


def remedy(
    world: World, pod: Pod, decision: Decision, moves: tuple[Move, ...], node: str, happened: Happenings
) -> Remedy:
    """A remedy with what the queue would say to it."""
    if any(move.anew for move in moves):
        return Remedy(moves, node, True, "a new pod is tried at once")
    woken, why = wakes(world.framework(pod), decision, pod, happened)
    return Remedy(moves, node, woken, why)


def preemption_of(decision: Decision) -> Preemption | None:
    """What DefaultPreemption looked at; None where it was not asked."""
    accounts = decision.post_filter.accounts if decision.post_filter else ()
    return next((one for one in accounts if isinstance(one, Preemption)), None)


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

    def change() -> Changed:
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
