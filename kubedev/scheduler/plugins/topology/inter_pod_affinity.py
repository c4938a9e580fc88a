"""Pod affinity and anti-affinity: the plugin InterPodAffinity.

The counting over the cluster's pods stands in pod_affinity_counts.
Go: `pkg/scheduler/framework/plugins/interpodaffinity/{filtering,scoring}.go`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kubedev.api.objects import Pod
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.topology.pod_affinity_counts import (
    FilterState,
    Points,
    count_for_filter,
    count_points,
    with_pod,
)
from kubedev.scheduler.plugins.topology.pod_affinity_terms import (
    AffinityTerm,
    matches_all,
    parse_affinity_terms,
)
from kubedev.scheduler.scores import MAX_NODE_SCORE, Score
from kubedev.scheduler.status import SUCCESS, Code, Status

__all__ = ["DomainPoints", "InterPodAffinity"]

AFFINITY_REASON = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY_REASON = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY_REASON = "node(s) didn't satisfy existing pods anti-affinity rules"


class DomainPoints(NamedTuple):
    """What a node gains (or loses) by the pods in one of its topology domains."""

    topology_key: str
    value: str
    points: int


@dataclass(frozen=True, slots=True)
class InterPodAffinity:
    """Refuses and prefers nodes by the pods that run in the same topology domain.

    `hard_pod_affinity_weight` is what a required affinity term of an existing pod is worth in scoring.
    """

    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False
    name: str = "InterPodAffinity"

    def pre_filter(
        self, pod: Pod, nodes: Sequence[NodeInfo], context: Context
    ) -> tuple[FilterState | None, Status, None]:
        """Count once for the whole cluster; there is nothing to check where no term plays a part."""
        terms = parse_affinity_terms(pod)
        if terms.errors:
            reason = f"parsing pod: {terms.error}"
            return None, Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,), self.name), None
        state = count_for_filter(pod, terms.with_namespaces(context.namespace_labels), context)
        terms = state.terms
        if not (
            state.existing_anti_affinity.total or terms.required_affinity or terms.required_anti_affinity
        ):
            return state, Status(Code.SKIP), None
        return state, SUCCESS, None

    def add_pod(self, state: FilterState, pod_to_add: Pod, node_info: NodeInfo) -> FilterState:
        """The state as if one more pod ran on the node."""
        return with_pod(state, pod_to_add, node_info.node, 1)

    def remove_pod(self, state: FilterState, pod_to_remove: Pod, node_info: NodeInfo) -> FilterState:
        """The state as if a pod of the node were gone."""
        return with_pod(state, pod_to_remove, node_info.node, -1)

    def filter(self, state: FilterState, pod: Pod, node_info: NodeInfo) -> Status:
        """Ask the pod's affinity, then its anti-affinity, then that of the pods that are there.

        `why` is the term that is not satisfied, or the domain (key, value) whose pods keep this one away.
        """
        labels = node_info.node.labels
        if (term := _unsatisfied_affinity(state, labels)) is not None:
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (AFFINITY_REASON,), self.name, (term,))
        for term in state.terms.required_anti_affinity:
            value = labels.get(term.topology_key)
            if value is not None and state.anti_affinity.get(term.topology_key, value) > 0:
                return Status(Code.UNSCHEDULABLE, (ANTI_AFFINITY_REASON,), self.name, (term,))
        for key in state.existing_anti_affinity.topology_keys:
            value = labels.get(key)
            if value is not None and state.existing_anti_affinity.get(key, value) > 0:
                reasons = (EXISTING_ANTI_AFFINITY_REASON,)
                return Status(Code.UNSCHEDULABLE, reasons, self.name, ((key, value),))
        return SUCCESS

    def pre_score(self, pod: Pod, nodes: Sequence[NodeInfo], context: Context) -> tuple[Points, Status]:
        """The state is the points of every domain; there is nothing to score where no pod's term matches."""
        affinity = pod.affinity
        rules = (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ()
        has_preferred = any(rule and rule.preferred for rule in rules)
        if not nodes or (self.ignore_preferred_terms_of_existing_pods and not has_preferred):
            return {}, Status(Code.SKIP)
        terms = parse_affinity_terms(pod)
        if terms.errors:
            return {}, Status(Code.ERROR, (f"failed to parse pod: {terms.error}",), self.name)
        terms = terms.with_namespaces(context.namespace_labels)
        points = count_points(pod, terms, context, self.hard_pod_affinity_weight)
        return points, SUCCESS if points else Status(Code.SKIP)

    def score(self, state: Points, pod: Pod, node_info: NodeInfo) -> Score:
        """The sum over the node's domains; `why` are their points."""
        labels = node_info.node.labels
        domains = []
        for key, values in state.items():
            value = labels.get(key)
            if value is not None and value in values:
                domains.append(DomainPoints(key, value, values[value]))
        return Score(sum(domain.points for domain in domains), tuple(domains))

    def normalize(self, state: Points, scores: Mapping[str, int]) -> dict[str, int]:
        """The lowest sum becomes 0, the highest 100; all are 0 where they are equal."""
        lowest = min(scores.values(), default=0)
        span = max(scores.values(), default=0) - lowest
        if span == 0:
            return dict.fromkeys(scores, 0)
        return {node: int(MAX_NODE_SCORE * ((score - lowest) / span)) for node, score in scores.items()}


def _unsatisfied_affinity(state: FilterState, labels: Mapping[str, str]) -> AffinityTerm | None:
    """The first affinity term that the node cannot satisfy.

    The first pod of a group that wants to be together may go to any node that has the topology labels.
    """
    empty_domain = None
    for term in state.terms.required_affinity:
        value = labels.get(term.topology_key)
        if value is None:
            return term
        if state.affinity.get(term.topology_key, value) <= 0:
            empty_domain = empty_domain or term
    if empty_domain and state.affinity.total == 0 and matches_all(state.terms.required_affinity, state.pod):
        return None
    return empty_domain
