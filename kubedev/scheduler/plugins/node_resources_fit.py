"""NodeResourcesFit: refuses nodes that have too little of something, and scores the others.

Go: `pkg/scheduler/framework/plugins/noderesources/fit.go`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kubedev.api.int64 import wrap_int64
from kubedev.api.objects import Pod
from kubedev.api.requests import NON_MISSING, Resource, compute_pod_resource_request
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.fits import fits
from kubedev.scheduler.plugins.resource_scores import (
    CPU_AND_MEMORY,
    ResourceScore,
    ResourceSpec,
    Strategy,
    UtilizationPoint,
    broken_linear,
    check_resources,
    check_shape,
    requests_of,
    usage,
)
from kubedev.scheduler.scores import MAX_NODE_SCORE, Score, quotient, round_half_away
from kubedev.scheduler.status import SUCCESS, Code, Status

__all__ = ["NodeResourcesFit"]


@dataclass(frozen=True, slots=True)
class NodeResourcesFit:
    """Refuses nodes that have too little of something, and scores the others by how full they would be.

    `shape` is for RequestedToCapacityRatio only.
    """

    strategy: Strategy = Strategy.LEAST_ALLOCATED
    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY
    shape: tuple[UtilizationPoint, ...] = ()
    ignored_resources: frozenset[str] = frozenset()
    ignored_groups: frozenset[str] = frozenset()
    name: str = "NodeResourcesFit"

    def __post_init__(self) -> None:
        check_resources(self.resources)
        if self.strategy is Strategy.REQUESTED_TO_CAPACITY_RATIO:
            check_shape(self.shape)

    def pre_filter(
        self, pod: Pod, nodes: Sequence[NodeInfo], context: Context
    ) -> tuple[Resource, Status, None]:
        """The state is what the pod requests."""
        return compute_pod_resource_request(pod), SUCCESS, None

    def filter(self, state: Resource, pod: Pod, node_info: NodeInfo) -> Status:
        """Refuse the pod, with a reason for each resource that falls short; `why` has their numbers."""
        insufficient = fits(state, node_info, self.ignored_resources, self.ignored_groups)
        if not insufficient:
            return SUCCESS
        return Status(
            Code.UNSCHEDULABLE, tuple(lack.reason for lack in insufficient), self.name, insufficient
        )

    def pre_score(
        self, pod: Pod, nodes: Sequence[NodeInfo], context: Context
    ) -> tuple[tuple[int, ...], Status]:
        """The state is what the pod requests of each scored resource; 100m and 200Mi where it does not."""
        return requests_of(pod, self.resources, NON_MISSING), SUCCESS

    def score(self, state: tuple[int, ...], pod: Pod, node_info: NodeInfo) -> Score:
        """The weighted mean over the resources; `why` is each one's ResourceScore."""
        why = []
        total = weights = 0
        ratio = self.strategy is Strategy.REQUESTED_TO_CAPACITY_RATIO
        for (name, weight), request in zip(self.resources, state, strict=True):
            requested, allocatable = usage(node_info, name, request, node_info.non_zero_requested)
            if allocatable == 0:
                continue
            score = self._score(requested, allocatable)
            if ratio and score == 0:
                weight = 0
            why.append(ResourceScore(name, requested, allocatable, score, weight))
            total += score * weight
            weights += weight
        if weights == 0:
            return Score(0, tuple(why))
        return Score(round_half_away(total / weights) if ratio else quotient(total, weights), tuple(why))

    def _score(self, requested: int, capacity: int) -> int:
        """One resource's score, 0 to 100."""
        if self.strategy is Strategy.LEAST_ALLOCATED:
            free = 0 if requested > capacity else capacity - requested
            return quotient(wrap_int64(free * MAX_NODE_SCORE), capacity)
        if self.strategy is Strategy.MOST_ALLOCATED:
            return quotient(wrap_int64(min(requested, capacity) * MAX_NODE_SCORE), capacity)
        utilization = 100 if requested > capacity else quotient(wrap_int64(requested * 100), capacity)
        return broken_linear(self.shape, utilization)
