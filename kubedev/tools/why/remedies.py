"""What would make a pod fit, cheapest first: each is tried out by the scheduler, and what fails is left out."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kubedev.api.objects import Pod
from kubedev.api.values import replace
from kubedev.scheduler.cycle import Decision, Outcome
from kubedev.scheduler.preemption.preemption import Preemption
from kubedev.scheduler.snapshot import priority_of
from kubedev.tools.why.dear_moves import one_node_more, pods_gone
from kubedev.tools.why.groups import Group, groups_of
from kubedev.tools.why.move import Move, pod_changed
from kubedev.tools.why.moves import moves_of
from kubedev.tools.why.waking import Happening, wakes
from kubedev.tools.why.world import World

__all__ = ["Remedy", "preemption_of", "remedies_of"]

ENOUGH = 6
MOST_MOVES = 3
DEAR = 50
"""From this cost on a move is not a step to another."""
EVICTION = 20
"""What it costs that preemption has other pods go."""
FEW, TRIES = 6, 24


@dataclass(frozen=True)
class Attempt:
    """Moves, what they made, and what happened for the queue; `preempting` says whether preemption is tried, too.

    `known` is what the scheduler decided, where it was asked already, and the nodes by reason.
    """

    moves: tuple[Move, ...]
    world: World
    pod: Pod
    preempting: bool
    happened: tuple[Happening, ...] = ()
    known: tuple[Decision, tuple[Group, ...]] | None = None

    @cached_property
    def decision(self) -> Decision:
        """What the scheduler decides after them."""
        return self.known[0] if self.known else self.world.decide(self.pod, self.preempting)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The nodes by reason."""
        return self.known[1] if self.known else groups_of(self.decision, self.world)

    @property
    def scheduled(self) -> bool:
        """Whether the pod has a node now."""
        return self.decision.outcome is Outcome.SCHEDULED

    @property
    def preemption(self) -> Preemption | None:
        """The preemption that gives the pod a node; None where none does."""
        found = None if self.scheduled else preemption_of(self.decision)
        return found if found is not None and found.node_name else None

    @property
    def node(self) -> str:
        """Where the pod goes, at once or after preemption; empty if nowhere."""
        return self.preemption.node_name if self.preemption else self.decision.node_name

    def and_then(self, move: Move) -> "Attempt":
        """One move more."""
        world, pod, more = move.change(self.world, self.pod)
        return Attempt((*self.moves, move), world, pod, self.preempting, self.happened + more)


@dataclass(frozen=True, slots=True)
class Remedy:
    """Moves with which the pod was scheduled in the trial, on `node`, or after which it evicts `victims` there.

    `wakes` says whether the queue would notice it at once, and `woken_by` what its hint says.
    """

    moves: tuple[Move, ...]
    node: str
    wakes: bool
    woken_by: str
    victims: tuple[Pod, ...] = ()

    @property
    def cost(self) -> int:
        """What all of it costs."""
        return sum(move.cost for move in self.moves) + (EVICTION if self.victims else 0)


def remedies_of(
    world: World, pod: Pod, decision: Decision, groups: tuple[Group, ...] = ()
) -> tuple[Remedy, ...]:
    """What would make the pod fit: one move, or, where only dear ones do, two or three.

    A pod that preemption helps already is not offered other pods to evict.
    """
    if pod.scheduling_gates:
        return gates_open(world, pod)
    own = preemption_of(decision)
    preempting = someone_is_lower(world, pod) and not (own and own.node_name)
    start = Attempt((), world, pod, preempting, known=(decision, groups))
    found, failed = tried([start], start, decision)
    while failed and len(failed[0].moves) < MOST_MOVES:
        if any(one.cost < DEAR or len(one.moves) > 1 for one in found):
            break
        more, failed = tried(failed[:FEW], start, decision)
        found += more
    once = {frozenset(move.what for move in one.moves): one for one in reversed(found)}
    return tuple(sorted(once.values(), key=lambda one: one.cost)[:ENOUGH])


def gates_open(world: World, pod: Pod) -> tuple[Remedy, ...]:
    """What it takes beside the gates' end."""
    what = f"the scheduling gates ({', '.join(pod.scheduling_gates)}) taken away"
    change = pod_changed(lambda pod: replace(pod, scheduling_gates=()))
    gate = Move(0, "gates", what, "whoever set them takes them away", change)
    after = Attempt((), world, pod, preempting=True).and_then(gate)
    if after.node:
        victims = after.preemption.victims if after.preemption else ()
        return (Remedy((gate,), after.node, True, "its gates are gone", victims),)
    more = remedies_of(world, after.pod, after.decision, after.groups)
    return tuple(replace(one, moves=(gate, *one.moves)) for one in more)


def someone_is_lower(world: World, pod: Pod) -> bool:
    """Whether there is a pod that preemption could take."""
    return any(priority_of(one.pod) < priority_of(pod) for info in world.nodes for one in info.pods)


def tried(
    attempts: Sequence[Attempt], start: Attempt, decision: Decision
) -> tuple[list[Remedy], list[Attempt]]:
    """One move more after each attempt: the remedies that this gives, and the attempts that still fail.

    What the nodes say after an attempt suggests what to try next.
    """
    found: list[Remedy] = []
    failed: list[Attempt] = []
    seen: set[frozenset[Move]] = set()
    for attempt in attempts:
        groups = attempt.groups
        cheap = sorted(moves_of(attempt.world, attempt.pod, groups), key=lambda move: move.cost)[:TRIES]
        dear = [*pods_gone(attempt.world, attempt.pod, groups)]
        if not attempt.moves:
            dear += one_node_more(attempt.world)
        for move in (*cheap, *dear):
            made = frozenset((*attempt.moves, move))
            if made in seen or move in attempt.moves:
                continue
            seen.add(made)
            after = attempt.and_then(move)
            if after.node:
                found.append(remedy(start, decision, fewest(start, after)))
                if after.scheduled and (attempt.moves or move.kind == "node more"):
                    break  # one way from here is enough
            elif move.cost < DEAR:
                failed.append(after)
    return found, failed


def fewest(start: Attempt, attempt: Attempt) -> Attempt:
    """The attempt without each move that is not needed; no pod is evicted in place of one.

    The last one is: without it, the attempt before failed.
    """
    for move in sorted(attempt.moves[:-1], key=lambda move: -move.cost):
        fewer = start
        for other in attempt.moves:
            fewer = fewer if other is move else fewer.and_then(other)
        if fewer.scheduled or (fewer.preemption and not attempt.scheduled):
            attempt = fewer
    return attempt


def remedy(start: Attempt, decision: Decision, attempt: Attempt) -> Remedy:
    """A remedy with what the queue would say to it."""
    victims = attempt.preemption.victims if attempt.preemption else ()
    if any(move.anew for move in attempt.moves):
        return Remedy(attempt.moves, attempt.node, True, "a new pod is tried at once", victims)
    woken, why = wakes(start.world.framework(start.pod), decision, start.pod, attempt.happened)
    return Remedy(attempt.moves, attempt.node, woken, why, victims)


def preemption_of(decision: Decision) -> Preemption | None:
    """What DefaultPreemption looked at; None where it was not asked."""
    accounts = decision.post_filter.accounts if decision.post_filter else ()
    return next((one for one in accounts if isinstance(one, Preemption)), None)
