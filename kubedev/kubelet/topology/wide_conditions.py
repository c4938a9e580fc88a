"""What a searched mask has to meet: to suffice itself, or to be what masks that suffice have in common.

The search leaves out one node after another; conditions say whether it still can.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from operator import or_
from typing import Protocol, TypeVar

from kubedev.kubelet.topology.bitmask import mask_of, nodes_of
from kubedev.kubelet.topology.wide import Cover, WideHints, holds

__all__ = ["MOST_BRANCHES", "Conditions", "Inside", "SearchTooLongError", "Shared"]

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

    def accepts(self, mask: int) -> bool:
        """Whether the mask meets what more nodes could break."""
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
        """The condition on sockets."""
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

    def accepts(self, mask: int) -> bool:
        """There is no such condition."""
        return True


def mask_of_all(masks: Iterable[int]) -> int:
    """What is in any of the masks."""
    return reduce(or_, masks, 0)
