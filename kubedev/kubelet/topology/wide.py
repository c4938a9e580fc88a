"""Hints on machines with so many NUMA nodes that nobody can list them: a value that says which masks suffice.

On 34 nodes each resource has up to 2^34 - 1 masks, and Kubernetes would try them all: its first admission would never
end. But what makes a mask suffice is short: enough of the resource on its nodes. And a mask that suffices still does
with more nodes. So the masks can be counted without listing them, and the first ones found without trying the others.

No counterpart in Go: there all masks are tried (`bitmask.go: IterateBitMasks`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import merge
from itertools import accumulate, islice
from math import comb

from kubedev.kubelet.topology.bitmask import mask_of, nodes_of
from kubedev.kubelet.topology.hint import TopologyHint

__all__ = ["WRITTEN_OUT", "Cover", "WideHints", "holds", "masks_of_size", "smallest_size"]

# So many hints of a resource are written out; the rest is counted.
WRITTEN_OUT = 64

# Where the counting comes to more states than this, it is given up: all amounts are different.
MOST_STATES = 50_000

_SLOT = 72  # bits for the number of masks of one size, which is below 2^64
_SLOT_MASK = (1 << _SLOT) - 1


@dataclass(frozen=True, slots=True)
class Cover:
    """A condition on masks: at least `need` is on their nodes.

    `amounts` are (nodes as a mask, how much is there); what is on several nodes counts if any of them is in the mask.
    """

    amounts: tuple[tuple[int, int], ...]
    need: int

    def on(self, mask: int) -> int:
        """How much is on the mask's nodes."""
        return sum(amount for nodes, amount in self.amounts if nodes & mask)


def holds(covers: Sequence[Cover], mask: int) -> bool:
    """Whether a mask meets all conditions."""
    return all(cover.on(mask) >= cover.need for cover in covers)


@dataclass(frozen=True, slots=True)
class WideHints:
    """One resource's hints as a value: the masks of the nodes `within` that meet all `covers`, and those in `also`.

    A hint is preferred if it has `min_affinity_size` nodes or, with `sockets` (the nodes of each as a mask), if its
    nodes are on `wanted_sockets` of them. `first` are those that are written out, in the order in which
    they would be listed, and `count` is how many there are.
    """

    nodes: tuple[int, ...]
    within: int
    covers: tuple[Cover, ...]
    min_affinity_size: int
    also: tuple[int, ...] = ()
    sockets: tuple[int, ...] = ()
    wanted_sockets: int = 0

    def suffices(self, mask: int) -> bool:
        """Whether a mask is a hint."""
        return mask in self.also or self.in_family(mask)

    def in_family(self, mask: int) -> bool:
        """Whether a mask is one of those that still suffice with more nodes."""
        return bool(mask) and mask & ~self.within == 0 and holds(self.covers, mask)

    def prefers(self, mask: int) -> bool:
        """Whether a mask that suffices is a good one."""
        if mask.bit_count() == self.min_affinity_size:
            return True
        return bool(self.sockets) and sum(1 for s in self.sockets if s & mask) == self.wanted_sockets

    def hint(self, mask: int) -> TopologyHint:
        """The hint that a mask became."""
        return TopologyHint(mask, self.prefers(mask))

    @property
    def first(self) -> tuple[TopologyHint, ...]:
        """The first hints, at most 64, small masks first."""
        return tuple(map(self.hint, _first(self)))

    @property
    def smallest(self) -> int:
        """The number of nodes of the first hint."""
        return _first(self)[0].bit_count()

    @property
    def count(self) -> int | None:
        """How many hints there are; None where even the counting would take too long."""
        return _count(self)

    def of_size(self, size: int, including: int = 0) -> Iterator[int]:
        """The masks of so many nodes that include these nodes, in the order in which they would be listed."""
        found = masks_of_size(self._within, self.covers, size, including)
        also = [
            mask
            for mask in self.also
            if mask.bit_count() == size and including & ~mask == 0 and not self.in_family(mask)
        ]
        if not also:
            return found
        places = {node: place for place, node in enumerate(self.nodes)}

        def order(mask: int) -> list[int]:
            return sorted(places[node] for node in nodes_of(mask))

        return merge(found, sorted(also, key=order), key=order)

    @property
    def _within(self) -> tuple[int, ...]:
        return tuple(node for node in self.nodes if self.within >> node & 1)

    def __iter__(self) -> Iterator[TopologyHint]:
        """All of them: look at `count` first."""
        return (self.hint(mask) for size in range(1, len(self.nodes) + 1) for mask in self.of_size(size))

    def __bool__(self) -> bool:
        return True  # where there is no hint, there is no such value


@lru_cache(maxsize=256)
def _first(hints: WideHints) -> tuple[int, ...]:
    sizes = range(1, len(hints.nodes) + 1)  # sizes that are too small are left at once
    return tuple(islice((mask for size in sizes for mask in hints.of_size(size)), WRITTEN_OUT))


def smallest_size(nodes: Sequence[int], covers: Sequence[Cover]) -> int:
    """The least number of nodes that meet all conditions; all of them where not even these do."""
    if not holds(covers, mask_of(nodes)):
        return len(nodes)
    return next(size for size in range(1, len(nodes) + 1) if any(masks_of_size(nodes, covers, size)))


def masks_of_size(
    nodes: Sequence[int], covers: Sequence[Cover], size: int, including: int = 0
) -> Iterator[int]:
    """The masks of `size` nodes that meet all conditions and include some nodes, in the order of `combinations`.

    A branch is left as soon as the best nodes to come could not help any more.
    """
    reach = [_reach(cover, tuple(nodes)) for cover in covers]
    rest = [mask_of(nodes[i:]) for i in range(len(nodes) + 1)]

    def walk(place: int, chosen: int, left: int) -> Iterator[int]:
        if len(nodes) - place < left or including & ~(chosen | rest[place]):
            return
        for cover, reached in zip(covers, reach, strict=True):
            have = cover.on(chosen)
            if have < cover.need and (
                have + reached[place][left] < cover.need or cover.on(chosen | rest[place]) < cover.need
            ):
                return
        if left == 0:
            if including & ~chosen == 0:
                yield chosen
            return
        yield from walk(place + 1, chosen | 1 << nodes[place], left - 1)
        yield from walk(place + 1, chosen, left)

    return walk(0, 0, size)


@lru_cache(maxsize=256)
def _reach(cover: Cover, nodes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """`[i][k]`: at most so much can k of the nodes from place i on add."""
    gains = [cover.on(1 << node) for node in nodes]
    best = (sorted(gains[place:], reverse=True) for place in range(len(nodes) + 1))
    return tuple((0, *accumulate(each)) for each in best)


# Counting


class _TooManyStatesError(Exception):
    """The amounts differ so much that nothing can be counted together."""


@lru_cache(maxsize=256)
def _count(hints: WideHints) -> int | None:
    """Node by node: with the same amount still needed, masks are counted together, those of each size at once."""
    nodes = [node for node in hints.nodes if hints.within >> node & 1]
    ends = [mask_of(nodes[i:]) for i in range(len(nodes) + 1)]
    known: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}

    def ways(place: int, state: tuple[tuple[int, int], ...]) -> int:
        """The numbers of choices among the nodes from `place` on, packed: a slot of bits for each size.

        `state` has for each cover what it still needs, and which amounts that reach further are counted already.
        """
        if all(need <= 0 for need, _ in state):
            left = len(nodes) - place
            return sum(comb(left, size) << _SLOT * size for size in range(left + 1))
        if place == len(nodes):
            return 0
        found = known.get((place, state))
        if found is None:
            without = tuple(_passed(c, s, ends[place + 1]) for c, s in zip(hints.covers, state, strict=True))
            chosen = tuple(
                _passed(c, _taken(c, s, nodes[place]), ends[place + 1])
                for c, s in zip(hints.covers, state, strict=True)
            )
            found = ways(place + 1, without) + (ways(place + 1, chosen) << _SLOT)
            known[place, state] = found
            if len(known) > MOST_STATES:
                raise _TooManyStatesError
        return found

    try:
        packed = ways(0, tuple((cover.need, 0) for cover in hints.covers)) >> _SLOT  # without the empty mask
    except _TooManyStatesError:
        return None
    total = len([mask for mask in hints.also if not hints.in_family(mask)])
    while packed:
        total += packed & _SLOT_MASK
        packed >>= _SLOT
    return total


def _taken(cover: Cover, state: tuple[int, int], node: int) -> tuple[int, int]:
    need, counted = state
    for place, (nodes, amount) in enumerate(cover.amounts):
        if nodes >> node & 1 and not counted >> place & 1:
            need, counted = need - amount, counted | 1 << place
    return need, counted


def _passed(cover: Cover, state: tuple[int, int], to_come: int) -> tuple[int, int]:
    """The state without the marks of amounts that no node to come can count again."""
    need, counted = state
    if need <= 0:
        return 0, 0
    kept = [p for p, (nodes, _) in enumerate(cover.amounts) if counted >> p & 1 and nodes & to_come]
    return need, sum(1 << p for p in kept)
