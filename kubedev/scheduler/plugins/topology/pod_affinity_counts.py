"""What InterPodAffinity counts over all pods of the cluster, once for each incoming pod.

Go: `pkg/scheduler/framework/plugins/interpodaffinity/{filtering,scoring}.go`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kubedev.api.objects import Node, Pod
from kubedev.api.values import replace
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.topology.pod_affinity_terms import (
    AffinityTerm,
    AffinityTerms,
    matches_all,
    parse_affinity_terms,
)
from kubedev.scheduler.plugins.topology.topology_counts import TopologyCounts

__all__ = [
    "FilterState",
    "Points",
    "count_for_filter",
    "count_points",
    "repelling",
    "their_points",
    "with_pod",
]

Points = Mapping[str, Mapping[str, int]]
"""Points by topology key and value."""
Counts = dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class FilterState:
    """What was counted for one incoming pod, and its terms.

    `existing_anti_affinity` counts terms of the pods in a domain that keep the incoming pod away, `affinity`
    pods that match all affinity terms of the incoming pod, `anti_affinity` matches of those that repel.
    """

    pod: Pod
    namespace_labels: Mapping[str, str]
    terms: AffinityTerms
    existing_anti_affinity: TopologyCounts
    affinity: TopologyCounts
    anti_affinity: TopologyCounts


def count_for_filter(pod: Pod, terms: AffinityTerms, context: Context) -> FilterState:
    """Count all pods of the cluster for the filter; the terms have their namespaces listed."""
    namespace_labels = context.namespace_labels.get(pod.namespace, {})
    existing, affinity, anti_affinity = _new_counts(), _new_counts(), _new_counts()
    wanted = terms.required_affinity
    for node_info in context.node_infos:
        node = node_info.node
        for info in node_info.pods_with_required_anti_affinity:
            _count(existing, node, repelling(info.terms, pod, namespace_labels))
        if wanted:
            together = sum(1 for info in node_info.pods if matches_all(wanted, info.pod))
            _count(affinity, node, wanted if together else (), together)
        for term in terms.required_anti_affinity:
            _count_matching(anti_affinity, node_info, term)
    counts = (TopologyCounts.of(counted) for counted in (existing, affinity, anti_affinity))
    return FilterState(pod, namespace_labels, terms, *counts)


def with_pod(state: FilterState, other: Pod, node: Node, amount: int) -> FilterState:
    """The state with another pod counted on a node (`amount` 1) or no more (-1)."""
    wanted = state.terms.required_affinity
    unwanted = [term for term in state.terms.required_anti_affinity if term.matches(other)]
    return replace(
        state,
        existing_anti_affinity=_plus(
            state.existing_anti_affinity,
            node,
            repelling(parse_affinity_terms(other), state.pod, state.namespace_labels),
            amount,
        ),
        affinity=_plus(state.affinity, node, wanted if matches_all(wanted, other) else (), amount),
        anti_affinity=_plus(state.anti_affinity, node, unwanted, amount),
    )


def repelling(theirs: AffinityTerms, pod: Pod, namespace_labels: Mapping[str, str]) -> list[AffinityTerm]:
    """The anti-affinity terms of another pod that keep this one away."""
    return [term for term in theirs.required_anti_affinity if term.matches(pod, namespace_labels)]


def count_points(pod: Pod, terms: AffinityTerms, context: Context, hard_weight: int) -> Points:
    """What each domain is worth for the pod, by its own preferred terms and those of the pods that are there.

    A required affinity term of an existing pod is worth `hard_weight`.
    """
    namespace_labels = context.namespace_labels.get(pod.namespace, {})
    points = _new_counts()
    own = [
        *((term, term.weight) for term in terms.preferred_affinity),
        *((term, -term.weight) for term in terms.preferred_anti_affinity),
    ]
    for node_info in context.node_infos:
        for term, weight in own:
            _count_matching(points, node_info, term, weight)
        for info in node_info.pods_with_affinity:
            for term, weight in their_points(info.terms, hard_weight):
                if term.matches(pod, namespace_labels):
                    _count(points, node_info.node, (term,), weight)
    return points


def their_points(theirs: AffinityTerms, hard_weight: int) -> Iterator[tuple[AffinityTerm, int]]:
    if hard_weight > 0:
        yield from ((term, hard_weight) for term in theirs.required_affinity)
    yield from ((term, term.weight) for term in theirs.preferred_affinity)
    yield from ((term, -term.weight) for term in theirs.preferred_anti_affinity)


def _new_counts() -> Counts:
    return defaultdict(lambda: defaultdict(int))


def _count(counts: Counts, node: Node, terms: Iterable[AffinityTerm], amount: int = 1) -> None:
    for term in terms:
        value = node.labels.get(term.topology_key)
        if value is not None:
            counts[term.topology_key][value] += amount


def _count_matching(counts: Counts, node_info: NodeInfo, term: AffinityTerm, weight: int = 1) -> None:
    """Count the node's pods that the term means, each with this weight."""
    value = node_info.node.labels.get(term.topology_key)
    if value is not None:
        matching = sum(1 for info in node_info.pods if term.matches(info.pod))
        if matching:
            counts[term.topology_key][value] += weight * matching


def _plus(counts: TopologyCounts, node: Node, terms: Iterable[AffinityTerm], amount: int) -> TopologyCounts:
    for term in terms:
        value = node.labels.get(term.topology_key)
        if value is not None:
            counts = counts.plus(term.topology_key, value, amount)
    return counts
