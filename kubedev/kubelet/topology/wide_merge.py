"""The merge on a machine with so many NUMA nodes that masks cannot be listed: the same winner as by permutation.

A family is all masks within some nodes that suffice; what suffices still does with more nodes. So what the merge is to
find can be searched for:

- a preferred outcome is one mask that suffices for every resource and is as small as each of them wants it;
- any other outcome is what one mask of each resource has in common: each node of the machine that it lacks is left
  out by one of them at least. With more nodes it would be such an outcome too, so it has as many nodes as the
  neediest resource, unless listed hints are among them.

No counterpart in Go: there all permutations are tried (`policy.go: HintMerger.Merge`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kubedev.kubelet.topology.hint import TopologyHint
from kubedev.kubelet.topology.wide import WideHints
from kubedev.kubelet.topology.wide_conditions import Inside, SearchTooLongError, Shared
from kubedev.kubelet.topology.wide_search import Distances, Found, best_mask

__all__ = ["Resource", "WideMerge"]

# So many different outcomes of picking listed hints are followed.
MOST_PICKS = 300_000


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource's hints: those that are listed, and those of a family."""

    listed: tuple[TopologyHint, ...]
    family: WideHints | None = None

    @classmethod
    def of(cls, hints: "tuple[TopologyHint, ...] | WideHints") -> "Resource":
        """From hints as a provider gives them."""
        if isinstance(hints, WideHints):
            return cls(tuple(map(hints.hint, hints.also)), hints)
        return cls(hints)

    @property
    def goes_anywhere(self) -> bool:
        """Whether a preferred hint says that anywhere will do."""
        return TopologyHint(None, True) in self.listed

    def prefers(self, mask: int) -> bool:
        """Whether a mask is a preferred hint, or anywhere will do."""
        return (
            self.goes_anywhere
            or TopologyHint(mask, True) in self.listed
            or (self.family is not None and self.family.in_family(mask) and self.family.prefers(mask))
        )


@dataclass(frozen=True, slots=True)
class WideMerge:
    """What is to be merged: the resources, all nodes as a mask, distances where the closest nodes are wanted, and the
    number of nodes that the neediest resource has to have.
    """

    resources: tuple[Resource, ...]
    everywhere: int
    distances: Distances
    aim: int

    def preferred(self) -> Iterator[Found]:
        """Masks of which one is the best preferred outcome."""
        if all(resource.goes_anywhere for resource in self.resources):
            yield Found(self.everywhere)
        listed = {h.numa_node_affinity for r in self.resources for h in r.listed if h.preferred} - {None}
        for mask in listed:
            if mask is not None and all(resource.prefers(mask) for resource in self.resources):
                yield Found(mask & self.everywhere)
        particular = [resource for resource in self.resources if not resource.goes_anywhere]
        families = [resource.family for resource in particular if resource.family is not None]
        if families and len(families) == len(particular):
            yield from self._one_for_all(families)

    def _one_for_all(self, families: Sequence[WideHints]) -> Iterator[Found]:
        """The best mask of the families that is as small as each of them wants it, or on as few sockets."""
        nodes = self.everywhere
        for family in families:
            nodes &= family.within
        covers = tuple(cover for family in families for cover in family.covers)
        for size in range(1, nodes.bit_count() + 1):
            others = [family for family in families if family.min_affinity_size != size]
            if all(family.sockets for family in others):
                sockets = tuple((family.sockets, family.wanted_sockets) for family in others)
                found = best_mask(nodes, size, Inside(nodes, covers, sockets), self.distances)
                if found is not None:
                    yield found
                    return

    def not_preferred(self) -> Iterator[Found]:
        """Masks of which one is the best outcome, if none is preferred."""
        for inside, families in self._picks():
            if not families:
                yield Found(inside)
                continue
            sizes = range(min(self.aim, inside.bit_count()), inside.bit_count() + 1)
            shared = Shared(tuple(family for family in families))
            yield next(
                found
                for size in sizes
                if (found := best_mask(inside, size, shared, self.distances)) is not None
            )

    def _picks(self) -> set[tuple[int, tuple[WideHints, ...]]]:
        """What the listed hints that are picked have in common, with the families of the other resources."""
        picks: set[tuple[int, tuple[WideHints, ...]]] = {(self.everywhere, ())}
        for resource in self.resources:
            masks = {h.numa_node_affinity for h in resource.listed}
            more = {
                (inside if mask is None else inside & mask, families)
                for inside, families in picks
                for mask in masks
            }
            if resource.family is not None:
                family = resource.family
                more |= {(inside & family.within, (*families, family)) for inside, families in picks}
            picks = {pick for pick in more if pick[0]}
            if len(picks) > MOST_PICKS:
                raise SearchTooLongError(self.everywhere.bit_count())
        return picks
