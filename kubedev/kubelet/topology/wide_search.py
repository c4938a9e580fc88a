"""The best mask of a size under conditions, found without trying all: what the merge of a wide machine asks for.

Nodes are looked at from the highest to the lowest, and each is left out before it is taken in: so masks come in
ascending order, and the first one that meets the conditions is the lowest. A branch is left as soon as its conditions
cannot be met, or its nodes cannot be closer than those of the best mask so far. Of nodes that are exactly alike only
the lowest are taken.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from operator import or_
from typing import Generic, Protocol, TypeVar

from kubedev.kubelet.topology.bitmask import mask_of, nodes_of
from kubedev.kubelet.topology.wide import Cover, WideHints, holds

__all__ = ["Conditions", "Found", "Inside", "SearchTooLongError", "Shared", "best_mask"]

# About a second of work.
MOST_BRANCHES = 4_000

S = TypeVar("S")


class SearchTooLongError(ValueError):
    """The nodes differ so much from each other that not one mask was found in a moment."""

    def __init__(self, nodes: int) -> None:
        super().__init__(
            f"expected NUMA nodes of which many are alike, got {nodes} that all differ: no mask that suffices "
            f"was found among the first {MOST_BRANCHES:,} combinations, and Kubernetes would try "
            "them all; take fewer nodes, or the topology policy none"
        )


class Conditions(Protocol[S]):
    """What a mask has to meet. A mask that does still does with more nodes."""

    def start(self) -> S | None:
        """The state before any node is left out; None where nothing can be met."""
        ...

    def without(self, state: S, node: int) -> S | None:
        """The state when one more node is left out; None where the conditions cannot be met any more."""
        ...

    def can_drop(self, state: S, rest: int, count: int) -> bool:
        """Whether so many of the nodes in `rest` could be left out too; True where it is not known."""
        ...

    def signature(self, node: int) -> object:
        """Nodes with the same one can be exchanged."""
        ...


@dataclass(frozen=True, slots=True)
class Inside:
    """The mask itself meets covers, and is on so many sockets (if any are given). The state is what is left."""

    nodes: int
    covers: tuple[Cover, ...]
    sockets: tuple[tuple[tuple[int, ...], int], ...] = ()

    def start(self) -> int | None:
        """All nodes."""
        return self.nodes if holds(self.covers, self.nodes) else None

    def without(self, state: int, node: int) -> int | None:
        """One node less."""
        left = state & ~(1 << node)
        return left if holds(self.covers, left) else None

    def can_drop(self, state: int, rest: int, count: int) -> bool:
        """By what the best of the remaining nodes add to those that are taken already."""
        taken, keep = state & ~rest, (state & rest).bit_count() - count
        for cover in self.covers:
            have = cover.on(taken)
            if have < cover.need:
                gains = sorted((cover.on(1 << node) for node in nodes_of(state & rest)), reverse=True)
                if have + sum(gains[:keep]) < cover.need:
                    return False
        return True

    def signature(self, node: int) -> object:
        """Where it stands in each cover, and its sockets."""
        places = [tuple(n >> node & 1 for n in sockets) for sockets, _ in self.sockets]
        return tuple(_standing(cover, node) for cover in self.covers), tuple(places)

    def accepts(self, mask: int) -> bool:
        """The condition on sockets, which more nodes can break."""
        return all(
            sum(1 for socket in sockets if socket & mask) == wanted for sockets, wanted in self.sockets
        )


def _standing(cover: Cover, node: int) -> tuple[int, tuple[int, ...]]:
    """How much is on the node alone, and which of the amounts that are on several nodes it has a part in."""
    alone = sum(amount for nodes, amount in cover.amounts if nodes == 1 << node)
    shared = tuple(p for p, (ns, _) in enumerate(cover.amounts) if ns >> node & 1 and ns != 1 << node)
    return alone, shared


# For each family the nodes that it leaves out.
Out = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Shared:
    """The mask is what one mask of each family has in common: each node that is left out is left out by one of them.

    The state is one way to share out the nodes that are left out so far. The next node goes to the family that has
    most to spare; only where none can take it, all ways are tried.
    """

    families: tuple[WideHints, ...]

    def start(self) -> Out | None:
        """Nobody has left out anything."""
        return (0,) * len(self.families)

    def without(self, state: Out, node: int) -> Out | None:
        """Somebody leaves the node out."""
        return self._with(state, node) or self._shared_out(nodes_of(mask_of_all(state) | 1 << node))

    def _with(self, out: Out, node: int) -> Out | None:
        best: tuple[float, Out] | None = None
        for place, family in enumerate(self.families):
            spare = self._spare(family, out[place] | 1 << node)
            if spare >= 0 and (best is None or spare > best[0]):
                best = spare, (*out[:place], out[place] | 1 << node, *out[place + 1 :])
                if spare == self._spare(family, out[place]):  # it has nothing there
                    break
        return best and best[1]

    @staticmethod
    def _spare(family: WideHints, out: int) -> float:
        """The share of what a family needs that it has beyond that without some nodes; below 0 it has not enough."""
        left = family.within & ~out
        return min((cover.on(left) - cover.need) / (cover.need + 1) for cover in family.covers)

    def _shared_out(self, nodes: tuple[int, ...]) -> Out | None:
        """Any way to share out these nodes, found by trying: those first that cost most."""
        tries = 0

        def cost(node: int) -> int:
            return min(
                sum(a for ns, a in cover.amounts if ns >> node & 1)
                for f in self.families
                for cover in f.covers
            )

        ordered = sorted(nodes, key=cost, reverse=True)
        dead: set[tuple[int, object]] = set()

        def walk(place: int, out: Out) -> Out | None:
            nonlocal tries
            if place == len(ordered):
                return out
            key = place, self._rest(out)
            if key in dead:
                return None
            tries += 1
            if tries > MOST_BRANCHES:
                raise SearchTooLongError(len(nodes))
            if self.can_drop(out, mask_of(ordered[place:]), len(ordered) - place):
                for number, family in enumerate(self.families):
                    more = out[number] | 1 << ordered[place]
                    if self._spare(family, more) >= 0:
                        found = walk(place + 1, (*out[:number], more, *out[number + 1 :]))
                        if found is not None:
                            return found
            dead.add(key)
            return None

        return walk(0, (0,) * len(self.families))

    def _rest(self, out: Out) -> object:
        """What is left to each family, as far as it matters."""
        return tuple(
            tuple(
                (cover.on(family.within & ~left), tuple(n & ~left for n, _ in cover.amounts if n & (n - 1)))
                for cover in family.covers
            )
            for family, left in zip(self.families, out, strict=True)
        )

    def can_drop(self, state: Out, rest: int, count: int) -> bool:
        """By how many nodes each family could leave out at most, if it had all to itself and took the cheapest."""
        nodes = nodes_of(mask_of_all(state) | rest)
        wanted = mask_of_all(state).bit_count() + count
        for family in self.families:
            most = len(nodes)
            for cover in family.covers:
                slack = cover.on(family.within) - cover.need
                single = {ns: a for ns, a in cover.amounts if ns & (ns - 1) == 0}
                losses = accumulate(sorted(single.get(1 << node, 0) for node in nodes))
                most = min(most, sum(1 for total in losses if total <= slack))
            wanted -= most
            if wanted <= 0:
                return True
        return False

    def signature(self, node: int) -> object:
        """Where it stands in each cover of each family."""
        return tuple(_standing(cover, node) for family in self.families for cover in family.covers)


def mask_of_all(masks: Iterable[int]) -> int:
    """What is in any of the masks."""
    return reduce(or_, masks, 0)


Distances = Mapping[int, Sequence[int]] | None


@dataclass(frozen=True, slots=True)
class Found:
    """A mask; `proven` is false where the search was given up before all others were seen to be no better."""

    mask: int
    proven: bool = True


def best_mask(nodes: int, size: int, conditions: Conditions[S], distances: Distances = None) -> Found | None:
    """The mask of `size` of the nodes that meets the conditions: the closest one, among these the lowest.

    None if there is no such mask. Raises SearchTooLongError.
    """
    return _Search(nodes, size, conditions, distances).run()


class _Search(Generic[S]):
    def __init__(self, nodes: int, size: int, conditions: Conditions[S], distances: Distances) -> None:
        self.order = nodes_of(nodes)[::-1]
        self.size = size
        self.conditions = conditions
        self.distances = distances
        self.rest = [mask_of(self.order[place:]) for place in range(len(self.order) + 1)]
        self.twins = self._twins()
        self.branches = 0
        self.best: tuple[int, int] | None = None
        self.cheapest = {node: self._cheapest(node) for node in self.order} if distances else {}

    def run(self) -> Found | None:
        state, proven = self.conditions.start(), True
        if state is not None:
            try:
                self._walk(0, 0, 0, state)
            except SearchTooLongError:
                if self.best is None:
                    raise
                proven = False
        return None if self.best is None else Found(self.best[1], proven)

    def _pair(self, one: int, other: int) -> int:
        """What two nodes add to the sum of distances, or one with itself."""
        assert self.distances is not None
        there = self.distances[one][other]
        return there if one == other else there + self.distances[other][one]

    def _cheapest(self, node: int) -> list[int]:
        """At least so much do k other nodes add to this one."""
        return [0, *accumulate(sorted(self._pair(node, other) for other in self.order if other != node))]

    def _twins(self) -> dict[int, int]:
        """For each node those below it that are exactly like it, as a mask: it is taken only with them."""
        signatures = {node: self.conditions.signature(node) for node in self.order}
        groups: list[list[int]] = []
        for node in reversed(self.order):
            for group in groups:
                if all(self._alike(node, other, signatures) for other in group):
                    group.append(node)
                    break
            else:
                groups.append([node])
        return {node: mask_of(group[:place]) for group in groups for place, node in enumerate(group)}

    def _alike(self, one: int, other: int, signatures: Mapping[int, object]) -> bool:
        if signatures[one] != signatures[other]:
            return False
        far = self.distances
        return far is None or (
            self._pair(one, one) == self._pair(other, other)
            and all(self._pair(one, n) == self._pair(other, n) for n in self.order if n not in (one, other))
        )

    def _bound(self, place: int, chosen: int, cost: int, left: int) -> int:
        """At least so much is the sum when `left` more of the nodes from `place` on are taken."""
        taken = nodes_of(chosen)
        twice = sorted(
            2 * (self._pair(node, node) + sum(self._pair(node, other) for other in taken))
            + self.cheapest[node][left - 1]
            for node in self.order[place:]
        )
        return cost + -(-sum(twice[:left]) // 2)

    def _walk(self, place: int, chosen: int, cost: int, state: S) -> None:
        left = self.size - chosen.bit_count()
        if left == 0:
            self._close(place, chosen, cost, state)
            return
        to_drop = len(self.order) - place - left
        if to_drop < 0:
            return
        if self.distances is None:
            if self.best is not None:
                return
        elif self.best is not None and self._bound(place, chosen, cost, left) >= self.best[0]:
            return
        self.branches += 1
        if self.branches > MOST_BRANCHES:
            raise SearchTooLongError(len(self.order))
        if to_drop and not self.conditions.can_drop(state, self.rest[place], to_drop):
            return
        node = self.order[place]
        # What is alike and higher was taken in already: then this one has to be, too.
        if to_drop and not any(
            chosen >> other & 1 and self.twins[other] >> node & 1 for other in self.order[:place]
        ):
            without = self.conditions.without(state, node)
            if without is not None:
                self._walk(place + 1, chosen, cost, without)
        more = 0
        if self.distances is not None:
            more = self._pair(node, node) + sum(self._pair(node, other) for other in nodes_of(chosen))
        self._walk(place + 1, chosen | 1 << node, cost + more, state)

    def _close(self, place: int, chosen: int, cost: int, state: S | None) -> None:
        """The mask is full: all other nodes are left out."""
        if self.best is not None and cost >= self.best[0]:
            return
        for node in self.order[place:]:
            if any(chosen >> other & 1 and self.twins[other] >> node & 1 for other in self.order[:place]):
                return  # a lower one that is alike would do as well
            state = None if state is None else self.conditions.without(state, node)
        if state is not None and getattr(self.conditions, "accepts", lambda _: True)(chosen):
            self.best = cost, chosen
