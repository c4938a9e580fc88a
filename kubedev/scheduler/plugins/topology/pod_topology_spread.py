"""Topology spread: the plugin PodTopologySpread.

Go: `pkg/scheduler/framework/plugins/podtopologyspread/{filtering,scoring}.go`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kubedev.api.objects import Pod
from kubedev.api.selectors import TopologySpreadConstraint
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.topology.spread_constraints import (
    HOSTNAME,
    SYSTEM_DEFAULT_CONSTRAINTS,
    Constraint,
    constraints_of,
    count_matching_pods,
    default_constraints,
)
from kubedev.scheduler.plugins.topology.spread_counts import (
    FilterState,
    ScoreState,
    count_for_filter,
    count_for_score,
    skew_in,
    with_pod,
)
from kubedev.scheduler.scores import MAX_NODE_SCORE, Score, quotient, round_half_away
from kubedev.scheduler.selectors.labels import SelectorError
from kubedev.scheduler.status import SUCCESS, Code, Status

__all__ = ["PodTopologySpread", "SpreadPoints"]

CONSTRAINTS_REASON = "node(s) didn't match pod topology spread constraints"
MISSING_LABEL_REASON = f"{CONSTRAINTS_REASON} (missing required label)"


class SpreadPoints(NamedTuple):
    """What one constraint adds to a node's raw score (fewer is better): `pods * weight + max_skew - 1`.

    The weight grows with the number of domains, so that the few pods of many domains still count.
    """

    topology_key: str
    pods: int
    weight: float
    max_skew: int

    @property
    def points(self) -> float:
        """The sum."""
        return self.pods * self.weight + (self.max_skew - 1)


@dataclass(frozen=True, slots=True)
class PodTopologySpread:
    """Refuses nodes where the pod would lie too unevenly over domains, prefers those where it evens out.

    `defaults` are for pods without constraints of their own; `system_defaulted` says that they are
    Kubernetes' own, which score nodes without the labels too.
    """

    defaults: tuple[TopologySpreadConstraint, ...] = SYSTEM_DEFAULT_CONSTRAINTS
    system_defaulted: bool = True
    name: str = "PodTopologySpread"

    def pre_filter(
        self, pod: Pod, nodes: Sequence[NodeInfo], context: Context
    ) -> tuple[FilterState | None, Status, None]:
        """Count the matching pods of all domains; there is nothing to check without hard constraints."""
        constraints, status = self.hard(pod, context)
        if not status.is_success:
            return None, status, None
        return count_for_filter(pod, constraints, context.node_infos), SUCCESS, None

    def add_pod(self, state: FilterState, pod_to_add: Pod, node_info: NodeInfo) -> FilterState:
        """The state as if one more pod ran on the node."""
        return with_pod(state, pod_to_add, node_info.node, 1)

    def remove_pod(self, state: FilterState, pod_to_remove: Pod, node_info: NodeInfo) -> FilterState:
        """The state as if a pod of the node were gone."""
        return with_pod(state, pod_to_remove, node_info.node, -1)

    def filter(self, state: FilterState, pod: Pod, node_info: NodeInfo) -> Status:
        """Refuse a node without the label of a constraint, and one where the skew gets too large.

        `why` is the constraint whose label is missing, or the Skew.
        """
        labels = node_info.node.labels
        for constraint in state.constraints:
            value = labels.get(constraint.topology_key)
            if value is None:
                return Status(
                    Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (MISSING_LABEL_REASON,), self.name, (constraint,)
                )
            skew = skew_in(state, constraint, value)
            if skew is not None and skew.skew > skew.max_skew:
                return Status(Code.UNSCHEDULABLE, (CONSTRAINTS_REASON,), self.name, (skew,))
        return SUCCESS

    def pre_score(self, pod: Pod, nodes: Sequence[NodeInfo], context: Context) -> tuple[ScoreState, Status]:
        """Count the pods of the nodes' domains; there is nothing to score without soft constraints."""
        if not context.node_infos:
            return ScoreState(), Status(Code.SKIP)
        constraints, status = self.soft(pod, context)
        if not status.is_success:
            return ScoreState(), status
        require_all = self.requires_all(pod)
        return count_for_score(pod, constraints, nodes, context.node_infos, require_all), SUCCESS

    def score(self, state: ScoreState, pod: Pod, node_info: NodeInfo) -> Score:
        """The sum of what the constraints add, rounded; `why` are their SpreadPoints."""
        labels = node_info.node.labels
        if node_info.node.name in state.ignored:
            return Score(0)
        why = []
        for constraint, weight in zip(state.constraints, state.weights, strict=True):
            key = constraint.topology_key
            if key not in labels:
                continue
            if key == HOSTNAME:
                count = count_matching_pods(node_info, constraint.selector, pod.namespace)
            else:
                count = state.counts[key].get(labels[key], 0)
            why.append(SpreadPoints(key, count, weight, constraint.max_skew))
        return Score(round_half_away(sum(points.points for points in why)), tuple(why))

    def normalize(self, state: ScoreState, scores: Mapping[str, int]) -> dict[str, int]:
        """The fewest points become 100; ignored nodes get 0."""
        counted = [score for node, score in scores.items() if node not in state.ignored]
        lowest, highest = min(counted, default=0), max(counted, default=0)

        def normal(node: str, score: int) -> int:
            if node in state.ignored:
                return 0
            if highest == 0:
                return MAX_NODE_SCORE
            return quotient(MAX_NODE_SCORE * (highest + lowest - score), highest)

        return {node: normal(node, score) for node, score in scores.items()}

    def hard(self, pod: Pod, context: Context) -> tuple[tuple[Constraint, ...], Status]:
        """The constraints that have to hold for a pod; there may be none (Skip), or nonsense (Error)."""
        return self._asked(
            pod, "DoNotSchedule", context, f"get constraints from pod: {self._source(pod, 'hard')}"
        )

    def soft(self, pod: Pod, context: Context) -> tuple[tuple[Constraint, ...], Status]:
        """The constraints that only score, as `hard` gives the others."""
        return self._asked(
            pod, "ScheduleAnyway", context, f"calculating preScoreState: {self._source(pod, 'soft')}"
        )

    def requires_all(self, pod: Pod) -> bool:
        """Whether only nodes with the labels of all constraints are scored."""
        return bool(pod.topology_spread_constraints) or not self.system_defaulted

    def _asked(
        self, pod: Pod, action: str, context: Context, doing: str
    ) -> tuple[tuple[Constraint, ...], Status]:
        try:
            constraints = self._constraints(pod, action, context)
        except SelectorError as error:
            return (), Status(Code.ERROR, (f"{doing}: {error}",), self.name)
        return constraints, SUCCESS if constraints else Status(Code.SKIP)

    def _constraints(self, pod: Pod, action: str, context: Context) -> tuple[Constraint, ...]:
        if pod.topology_spread_constraints:
            return constraints_of(pod.topology_spread_constraints, pod.labels, action)
        return default_constraints(self.defaults, pod, action, context)

    @staticmethod
    def _source(pod: Pod, strength: str) -> str:
        if pod.topology_spread_constraints:
            return f"obtaining pod's {strength} topology spread constraints"
        return f"setting default {strength} topology spread constraints"
