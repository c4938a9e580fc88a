"""The best mask of a size under conditions, found without trying all: what the merge of a wide machine asks for.

Nodes are looked at from the highest to the lowest, and each is left out before it is taken in: so masks come in
ascending order, and the first one that meets the conditions is the lowest. A branch is left as soon as its conditions
cannot be met, or its nodes cannot be closer than those of the best mask so far. Of nodes that are exactly alike only
the lowest are taken.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, TypeVar

from kubedev.kubelet.topology.bitmask import mask_of, nodes_of
from kubedev.kubelet.topology.wide_conditions import MOST_BRANCHES, Conditions, SearchTooLongError

__all__ = ["Distances", "Found", "best_mask"]

S = TypeVar("S")

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
        if state is not None and self.conditions.accepts(chosen):
            self.best = cost, chosen
