"""What PodTopologySpread counts over all pods of the cluster, once for each incoming pod.

Go: `pkg/scheduler/framework/plugins/podtopologyspread/{filtering,scoring}.go`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kubedev.api.objects import Node, Pod
from kubedev.api.values import replace
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.topology.spread_constraints import (
    HOSTNAME,
    Constraint,
    count_matching_pods,
    has_all_keys,
)
from kubedev.scheduler.plugins.topology.topology_counts import TopologyCounts
from kubedev.scheduler.selectors.node_selector import RequiredNodeAffinity, required_node_affinity

__all__ = [
    "FilterState",
    "ScoreState",
    "Skew",
    "count_for_filter",
    "count_for_score",
    "skew_in",
    "with_pod",
]

TwoSmallest = tuple[tuple[str, int], tuple[str, int]]
"""The two domains of a key with the fewest pods: value and number. Go: `criticalPaths`."""

NO_DOMAIN: TwoSmallest = (("", 2**31 - 1), ("", 2**31 - 1))


@dataclass(frozen=True, slots=True)
class FilterState:
    """What was counted for one incoming pod: matching pods by domain, by key the domains with the fewest."""

    pod: Pod
    constraints: tuple[Constraint, ...]
    required: RequiredNodeAffinity
    counts: TopologyCounts
    smallest: Mapping[str, TwoSmallest]


class Skew(NamedTuple):
    """How uneven it gets if the pod goes to a domain.

    `min_match_num` is the fewest pods that any domain has; 0 where there are fewer domains than min_domains.
    """

    topology_key: str
    value: str
    match_num: int
    self_match_num: int
    min_match_num: int
    max_skew: int

    @property
    def skew(self) -> int:
        """How many pods more than in the emptiest domain; above `max_skew` is too many."""
        return self.match_num + self.self_match_num - self.min_match_num


@dataclass(frozen=True, slots=True)
class ScoreState:
    """What was counted for scoring: the weight of each constraint, and matching pods by key and value.

    `ignored` are the nodes that lack the label of some constraint.
    """

    constraints: tuple[Constraint, ...] = ()
    weights: tuple[float, ...] = ()
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()


def skew_in(state: FilterState, constraint: Constraint, value: str) -> Skew | None:
    """The skew in one domain; None where the key has no domain at all, then the constraint is left out."""
    key = constraint.topology_key
    domains = len(state.counts.counted.get(key, ()))
    if domains == 0:
        return None
    enough_domains = domains >= constraint.min_domains
    return Skew(
        topology_key=key,
        value=value,
        match_num=state.counts.get(key, value),
        self_match_num=1 if constraint.selector.matches(state.pod.labels) else 0,
        min_match_num=state.smallest[key][0][1] if enough_domains else 0,
        max_skew=constraint.max_skew,
    )


def count_for_filter(
    pod: Pod, constraints: tuple[Constraint, ...], node_infos: Sequence[NodeInfo]
) -> FilterState:
    """Count the matching pods on all nodes that count. Go: `calPreFilterState`."""
    required = required_node_affinity(pod)
    counts: dict[str, dict[str, int]] = {}
    for node_info in node_infos:
        node = node_info.node
        if not has_all_keys(node.labels, constraints):
            continue
        on_node = {
            c.topology_key: count_matching_pods(node_info, c.selector, pod.namespace)
            for c in constraints
            if c.counts_node(pod, node, required)
        }
        for key, count in on_node.items():
            values = counts.setdefault(key, {})
            values[node.labels[key]] = values.get(node.labels[key], 0) + count
    smallest = {key: _two_smallest(values) for key, values in counts.items()}
    return FilterState(pod, constraints, required, TopologyCounts.of(counts), smallest)


def count_for_score(
    pod: Pod,
    constraints: tuple[Constraint, ...],
    nodes: Sequence[NodeInfo],
    node_infos: Sequence[NodeInfo],
    require_all: bool,
) -> ScoreState:
    """Count for the domains of the nodes to be scored (`nodes`); a host is counted when it is scored."""
    ignored = frozenset(
        node_info.node.name
        for node_info in nodes
        if require_all and not has_all_keys(node_info.node.labels, constraints)
    )
    counts, weights = _domains(constraints, [n for n in nodes if n.node.name not in ignored])
    required = required_node_affinity(pod)
    for node_info in node_infos:
        labels = node_info.node.labels
        if require_all and not has_all_keys(labels, constraints):
            continue
        for c in constraints:
            value = labels.get(c.topology_key, "")
            if value in counts[c.topology_key] and c.counts_node(pod, node_info.node, required):
                counts[c.topology_key][value] += count_matching_pods(node_info, c.selector, pod.namespace)
    return ScoreState(constraints, weights, counts, ignored)


def _domains(
    constraints: Sequence[Constraint], nodes: Sequence[NodeInfo]
) -> tuple[dict[str, dict[str, int]], tuple[float, ...]]:
    """The domains of the nodes, nothing counted yet, and each constraint's weight: ln(domains + 2)."""
    counts: dict[str, dict[str, int]] = {c.topology_key: {} for c in constraints}
    weights = []
    for c in constraints:
        if c.topology_key == HOSTNAME:
            size = len(nodes)
        else:
            values = {node_info.node.labels.get(c.topology_key, "") for node_info in nodes}
            size = len(values - counts[c.topology_key].keys())
            counts[c.topology_key] |= dict.fromkeys(values, 0)
        weights.append(math.log(size + 2))
    return counts, tuple(weights)


def with_pod(state: FilterState, other: Pod, node: Node, amount: int) -> FilterState:
    """The state with a pod counted on a node (`amount` 1) or no more (-1). Go: `updateWithPod`."""
    if other.namespace != state.pod.namespace or not has_all_keys(node.labels, state.constraints):
        return state
    counts, smallest = state.counts, dict(state.smallest)
    for c in state.constraints:
        if c.selector.matches(other.labels) and c.counts_node(state.pod, node, state.required):
            key, value = c.topology_key, node.labels[c.topology_key]
            counts = counts.plus(key, value, amount)
            smallest[key] = _update(smallest.get(key, NO_DOMAIN), value, counts.get(key, value))
    return replace(state, counts=counts, smallest=smallest)


def _two_smallest(values: Mapping[str, int]) -> TwoSmallest:
    smallest = sorted(values.items(), key=lambda item: item[1])[:2]
    return smallest[0], smallest[1] if len(smallest) > 1 else NO_DOMAIN[1]


def _update(smallest: TwoSmallest, value: str, number: int) -> TwoSmallest:
    """The two smallest after the number of one domain changed; as in Go the third smallest is not known."""
    others = [domain for domain in smallest if domain[0] != value]
    first, second, *_ = sorted([*others, (value, number), NO_DOMAIN[1]], key=lambda domain: domain[1])
    return first, second
