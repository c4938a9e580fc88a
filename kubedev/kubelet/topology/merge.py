"""The merge: from the hints of all resources, the one place where a container (or pod) is to live.

Take one hint of each resource: that is a *permutation*. It merges to the NUMA nodes that all its masks
share, and is preferred only if every hint in it is preferred and all masks are equal. The best merged hint
wins. Kubernetes tries every permutation, and their number is the product of the numbers of hints: on 8 NUMA
nodes a resource has up to 255, so four resources make 4.2 billion.

But all these permutations merge to at most 2^n masks. So it is enough to know for each mask how many
permutations merge to it, and that can be counted without looking at any of them. Both ways are here, with
the same answer.

Source: `pkg/kubelet/cm/topologymanager/policy.go`, `numa_info.go`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from operator import mul
from typing import Literal, NamedTuple

from kubedev.kubelet.topology.bitmask import (
    MAX_NUMA_NODES,
    TooManyNUMANodesError,
    mask_of,
    nodes_of,
    numbered_masks,
    superset_differences,
    superset_sums,
)
from kubedev.kubelet.topology.hints import Hints, TopologyHint, hint_count, written_out
from kubedev.kubelet.topology.wide import WideHints
from kubedev.kubelet.topology.wide_merge import Resource, WideMerge

__all__ = [
    "Candidate",
    "FilteredHints",
    "Merge",
    "Merger",
    "NUMAInfo",
    "Permutation",
    "ProviderHints",
    "Rank",
    "filter_providers_hints",
    "merge_at_once",
    "merge_by_permutation",
    "merge_wide",
    "permutation_count",
    "permutations",
]

# A resource with more hints than 16 nodes have masks is not stepped through.
MOST_LISTED = 1 << MAX_NUMA_NODES

# What one hint provider answers, by resource. None and an empty mapping: it cares for nothing.
ProviderHints = Mapping[str, Hints] | None


@dataclass(frozen=True, slots=True)
class NUMAInfo:
    """The machine's NUMA nodes, and the distance from each to the others: `distances[a][b]`, by node id.

    Distances are as the firmware gives them: 10 within a node, 20 or so to another. They are needed only
    where the closest nodes are preferred.
    """

    nodes: tuple[int, ...]
    distances: Mapping[int, Sequence[int]] = field(default_factory=dict)

    @property
    def default_affinity_mask(self) -> int:
        """All nodes."""
        return mask_of(self.nodes)

    def average_distance(self, mask: int) -> float:
        """The mean over all pairs of the mask's nodes, each node with itself too; 0 for the empty mask."""
        nodes = nodes_of(mask)
        if not nodes:
            return 0.0
        return sum(self.distances[a][b] for a in nodes for b in nodes) / len(nodes) ** 2


@dataclass(frozen=True, slots=True)
class FilteredHints:
    """One resource's hints as the merge takes them, with no resource where its provider cares for none.

    `no preference` became one hint, anywhere and preferred; `cannot be satisfied` became anywhere and not
    preferred.
    """

    provider: int
    resource: str | None
    hints: tuple[TopologyHint, ...] | WideHints
    reason: Literal["hints", "no preference", "cannot be satisfied"]


def filter_providers_hints(providers: Sequence[ProviderHints]) -> tuple[FilteredHints, ...]:
    """The providers' answers as lists of hints, resources in sorted order (in Go their order is random)."""
    filtered = []
    for i, answer in enumerate(providers):
        resources = sorted(answer.items()) if answer else [(None, None)]
        filtered += [_filtered(i, resource, hints) for resource, hints in resources]
    return tuple(filtered)


def _filtered(provider: int, resource: str | None, hints: Hints) -> FilteredHints:
    if hints is None:
        return FilteredHints(provider, resource, (TopologyHint(None, True),), "no preference")
    if not hints:
        return FilteredHints(provider, resource, (TopologyHint(None, False),), "cannot be satisfied")
    return FilteredHints(provider, resource, hints, "hints")


class Rank(NamedTuple):
    """What a merged hint is judged by, field after field: the smallest rank wins.

    Kubernetes writes this as a chain of comparisons of the best so far with the next. `nodes_off` is the
    number of nodes of a preferred hint. Among hints that are not preferred the aim is the number of nodes
    that the neediest resource has to have: up to it the more the better, and beyond it (`too_wide`) the
    fewer.
    """

    not_preferred: bool
    too_wide: bool
    nodes_off: int
    distance: float
    mask: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A merged hint, the number of permutations that lead to it, and its rank."""

    hint: TopologyHint
    permutations: int
    rank: Rank

    def loses_by(self, other: "Candidate") -> str | None:
        """The first field of the rank in which it is behind the other; None if it is not behind."""
        pairs = zip(Rank._fields, self.rank, other.rank, strict=True)
        first = next(((name, mine > theirs) for name, mine, theirs in pairs if mine != theirs), None)
        return first[0] if first and first[1] else None


@dataclass(frozen=True, slots=True)
class Merge:
    """The outcome of a merge, and how many permutations lead to each merged mask, preferred or not.

    A merged mask without nodes is out of the race. If nothing else is left, the outcome is: all nodes, not
    preferred. `searched` says that there were too many masks to count: only the outcome was looked for, and
    Kubernetes, which would try all permutations, would not answer. Where very many nodes are all at other distances,
    the outcome may not be `proven` to be the closest.
    """

    filtered: tuple[FilteredHints, ...]
    numa: NUMAInfo
    prefer_closest: bool
    best_non_preferred_affinity_count: int
    preferred: Mapping[int, int]
    not_preferred: Mapping[int, int]
    hint: TopologyHint
    searched: bool = False
    proven: bool = True

    @property
    def permutations(self) -> int:
        """How many permutations there are."""
        if self.searched:
            return permutation_count(self.filtered)
        return sum(self.preferred.values()) + sum(self.not_preferred.values())

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The merged hints that could be chosen, best first."""
        found = [
            Candidate(TopologyHint(mask, good), times, self.rank(mask, good))
            for counts, good in ((self.preferred, True), (self.not_preferred, False))
            for mask, times in counts.items()
            if mask
        ]
        return tuple(sorted(found, key=lambda candidate: candidate.rank))

    def rank(self, mask: int, preferred: bool) -> Rank:
        """The rank of a merged hint that has nodes. Source: `policy.go: HintMerger.compare`."""
        count, aim = mask.bit_count(), self.best_non_preferred_affinity_count
        distance = self.numa.average_distance(mask) if self.prefer_closest else 0.0
        if preferred:
            return Rank(False, False, count, distance, mask)
        return Rank(True, count > aim, abs(count - aim), distance, mask)


Merger = Callable[[Sequence[FilteredHints], NUMAInfo, bool], Merge]


@dataclass(frozen=True, slots=True)
class Permutation:
    """One hint of each resource, and what they merge to."""

    hints: tuple[TopologyHint, ...]
    merged: TopologyHint


def permutation_count(filtered: Sequence[FilteredHints]) -> int:
    """How many permutations there are; look before you step through them. Hints that cannot be counted count once."""
    counts = (hint_count(resource.hints) for resource in filtered)
    return prod(1 if count is None else count for count in counts)


def permutations(filtered: Sequence[FilteredHints], numa: NUMAInfo) -> Iterator[Permutation]:
    """Every permutation in Kubernetes' order: the last resource's hint changes fastest.

    TooManyNUMANodesError where a resource's hints alone are too many.

    Source: `policy.go: iterateAllProviderTopologyHints, mergePermutation`.
    """
    counts = [hint_count(resource.hints) for resource in filtered]
    if any(count is None or count > MOST_LISTED for count in counts):
        raise TooManyNUMANodesError(len(numa.nodes))
    for hints in product(*(resource.hints for resource in filtered)):
        masks = [h.numa_node_affinity for h in hints if h.numa_node_affinity is not None]
        shared = numa.default_affinity_mask
        for mask in masks:
            shared &= mask
        preferred = all(h.preferred for h in hints) and len(set(masks)) <= 1
        yield Permutation(hints, TopologyHint(shared, preferred))


def merge_by_permutation(
    filtered: Sequence[FilteredHints], numa: NUMAInfo, prefer_closest: bool = False
) -> Merge:
    """The merge as Kubernetes does it: `permutation_count(filtered)` steps."""
    counts = Counter(p.merged for p in permutations(filtered, numa))
    preferred, not_preferred = (
        {hint.numa_node_affinity or 0: times for hint, times in counts.items() if hint.preferred is wanted}
        for wanted in (True, False)
    )
    return _decide(filtered, numa, prefer_closest, preferred, not_preferred)


def merge_at_once(filtered: Sequence[FilteredHints], numa: NUMAInfo, prefer_closest: bool = False) -> Merge:
    """The same merge in about resources times n * 2^n steps on n NUMA nodes.

    A permutation merges to a mask or more than it if each of its hints has that mask or more: so these
    numbers are products of one number a resource. Their superset differences are how many merge to exactly
    the mask. On more than 16 nodes the outcome is searched for, see `wide_merge`.
    """
    if len(numa.nodes) > MAX_NUMA_NODES:
        return merge_wide(filtered, numa, prefer_closest)
    masks = numbered_masks(numa.nodes)
    at_least = [1] * len(masks)
    for resource in filtered:
        own = Counter(_masks_on(numa.default_affinity_mask, resource))
        at_least = list(map(mul, at_least, superset_sums([own.get(mask, 0) for mask in masks])))
    exactly = dict(zip(masks, superset_differences(at_least), strict=True))
    preferred = _preferred_counts(filtered, numa.default_affinity_mask)
    for mask, times in preferred.items():
        exactly[mask] -= times
    not_preferred = {mask: times for mask, times in exactly.items() if times}
    return _decide(filtered, numa, prefer_closest, preferred, not_preferred)


def merge_wide(filtered: Sequence[FilteredHints], numa: NUMAInfo, prefer_closest: bool = False) -> Merge:
    """The outcome alone, searched for: for machines with more nodes than anybody can list the masks of.

    SearchTooLongError where no mask is found in a moment.
    """
    everywhere, aim = numa.default_affinity_mask, _aim(filtered)
    resources = tuple(Resource.of(resource.hints) for resource in filtered)
    wide = WideMerge(resources, everywhere, numa.distances if prefer_closest else None, aim)
    nowhere = TopologyHint(everywhere, False)
    merge = Merge(tuple(filtered), numa, prefer_closest, aim, {}, {}, nowhere, searched=True)
    for found, good in ((wide.preferred, True), (wide.not_preferred, False)):
        outcomes = [outcome for outcome in found() if outcome.mask]
        if outcomes:
            best = min(merge.rank(outcome.mask, good) for outcome in outcomes)
            proven = all(outcome.proven for outcome in outcomes)
            return replace(merge, hint=TopologyHint(best.mask, good), proven=proven)
    return merge


def _masks_on(everywhere: int, resource: FilteredHints) -> list[int]:
    """The resource's masks as far as they are on the machine."""
    return [
        everywhere if (mask := hint.numa_node_affinity) is None else mask & everywhere
        for hint in resource.hints
    ]


def _preferred_counts(filtered: Sequence[FilteredHints], everywhere: int) -> Mapping[int, int]:
    """For each mask, how many preferred permutations merge to it.

    In such a permutation every hint is preferred, and is either anywhere or the one mask that all the
    others have.
    """
    wanted = [Counter(h.numa_node_affinity for h in resource.hints if h.preferred) for resource in filtered]
    all_anywhere = prod(resource[None] for resource in wanted)
    counts = Counter({everywhere: all_anywhere})
    for mask in {mask for resource in wanted for mask in resource if mask is not None}:
        times = prod(resource[mask] + resource[None] for resource in wanted)
        counts[mask & everywhere] += times - all_anywhere
    return {mask: times for mask, times in counts.items() if times}


def _aim(filtered: Sequence[FilteredHints]) -> int:
    """The number of nodes that the neediest resource has to have. (`policy.go: maxOfMinAffinityCounts`)"""
    sizes = (
        [h.numa_node_affinity.bit_count() for h in written_out(r.hints) if h.numa_node_affinity is not None]
        for r in filtered
    )
    return max((min(of_resource) for of_resource in sizes if of_resource), default=0)


def _decide(
    filtered: Sequence[FilteredHints],
    numa: NUMAInfo,
    prefer_closest: bool,
    preferred: Mapping[int, int],
    not_preferred: Mapping[int, int],
) -> Merge:
    aim = _aim(filtered)
    nowhere = TopologyHint(numa.default_affinity_mask, False)
    merge = Merge(tuple(filtered), numa, prefer_closest, aim, preferred, not_preferred, nowhere)
    for counts, good in ((preferred, True), (not_preferred, False)):
        ranks = [merge.rank(mask, good) for mask in counts if mask]
        if ranks:
            return replace(merge, hint=TopologyHint(min(ranks).mask, good))
    return merge
