"""Scores by resources: NodeResourcesFit (its filter too) and NodeResourcesBalancedAllocation.

Go: `pkg/scheduler/framework/plugins/noderesources`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from kubedev.api.names import CPU, EPHEMERAL_STORAGE, MEMORY, is_scalar_resource_name
from kubedev.api.objects import Pod, ResourceList
from kubedev.api.requests import NON_MISSING, Resource, compute_pod_resource_request, pod_arithmetic
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.fits import fits
from kubedev.scheduler.scores import MAX_NODE_SCORE, Score, quotient, round_half_away
from kubedev.scheduler.status import SUCCESS, Code, Status

__all__ = [
    "CPU_AND_MEMORY",
    "Fraction",
    "NodeResourcesBalancedAllocation",
    "NodeResourcesFit",
    "ResourceScore",
    "ResourceSpec",
    "Strategy",
    "UtilizationPoint",
]


MAX_SHAPE_SCORE = 10


class ResourceSpec(NamedTuple):
    """A resource that counts in the score, and how much."""

    name: str
    weight: int = 1


CPU_AND_MEMORY = (ResourceSpec(CPU), ResourceSpec(MEMORY))
"""What counts by default: devices are invisible to the default scores."""


class UtilizationPoint(NamedTuple):
    """A point of RequestedToCapacityRatio's shape: at a utilization of 0 to 100 %, a score of 0 to 10."""

    utilization: int
    score: int


class Strategy(Enum):
    """How a node's utilization becomes a score. Go: `ScoringStrategyType`."""

    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"
    REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"


class ResourceScore(NamedTuple):
    """One resource of a node: what would be requested of it with the pod, out of what, and its score.

    Millicores for cpu, bytes for memory and storage, counts for others. A weight of 0: it does not count.
    """

    name: str
    requested: int
    allocatable: int
    score: int
    weight: int


class Fraction(NamedTuple):
    """How full one resource of a node would be, from 0 to 1."""

    name: str
    requested: int
    allocatable: int
    fraction: float


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
        return _requests(pod, self.resources, NON_MISSING), SUCCESS

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
        return Score(round_half_away(total / weights) if ratio else total // weights, tuple(why))

    def _score(self, requested: int, capacity: int) -> int:
        """One resource's score, 0 to 100."""
        if self.strategy is Strategy.LEAST_ALLOCATED:
            return max(capacity - requested, 0) * MAX_NODE_SCORE // capacity
        if self.strategy is Strategy.MOST_ALLOCATED:
            return min(requested, capacity) * MAX_NODE_SCORE // capacity
        utilization = 100 if requested > capacity else requested * 100 // capacity
        return broken_linear(self.shape, utilization)


@dataclass(frozen=True, slots=True)
class NodeResourcesBalancedAllocation:
    """Prefers nodes whose resources would be equally full: what is left of one alone is hard to use."""

    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY
    name: str = "NodeResourcesBalancedAllocation"

    def __post_init__(self) -> None:
        check_resources(self.resources)

    def pre_score(
        self, pod: Pod, nodes: Sequence[NodeInfo], context: Context
    ) -> tuple[tuple[int, ...], Status]:
        """The state is what the pod requests of each scored resource, 0 where it says nothing."""
        return _requests(pod, self.resources, None), SUCCESS

    def score(self, state: tuple[int, ...], pod: Pod, node_info: NodeInfo) -> Score:
        """100 minus the standard deviation of the fractions, in percent; `why` is each one's Fraction."""
        why = []
        for (name, _), request in zip(self.resources, state, strict=True):
            requested, allocatable = usage(node_info, name, request, node_info.requested)
            if allocatable != 0:
                why.append(Fraction(name, requested, allocatable, min(requested / allocatable, 1.0)))
        deviation = standard_deviation([fraction.fraction for fraction in why])
        return Score(int((1 - deviation) * MAX_NODE_SCORE), tuple(why))


def _requests(
    pod: Pod, resources: Sequence[ResourceSpec], non_missing: ResourceList | None
) -> tuple[int, ...]:
    """What the pod requests of each resource. Go: `calculatePodResourceRequest`."""
    total = pod_arithmetic(pod, non_missing).total
    return tuple(
        (total[name].milli_value() if name == CPU else total[name].value()) if name in total else 0
        for name, _ in resources
    )


def usage(node_info: NodeInfo, name: str, request: int, cpu_and_memory: Resource) -> tuple[int, int]:
    """What would be requested of a node's resource with the pod on it, and what is allocatable.

    Both are 0 where it does not count: a scalar that the pod does not ask for or the node does not have.
    `cpu_and_memory` is the sum that these two are taken from. Go: `calculateResourceAllocatableRequest`.
    """
    allocatable = node_info.allocatable
    if name == CPU:
        return cpu_and_memory.milli_cpu + request, allocatable.milli_cpu
    if name == MEMORY:
        return cpu_and_memory.memory + request, allocatable.memory
    if name == EPHEMERAL_STORAGE:
        return node_info.requested.ephemeral_storage + request, allocatable.ephemeral_storage
    if name not in allocatable.scalar_resources or (request == 0 and is_scalar_resource_name(name)):
        return 0, 0
    requested = node_info.requested.scalar_resources.get(name, 0) + request
    return requested, allocatable.scalar_resources[name]


def broken_linear(shape: Sequence[UtilizationPoint], utilization: int) -> int:
    """The score, 0 to 100, at a utilization: straight lines between the points, level outside of them.

    Go: `pkg/scheduler/framework/plugins/helper/shape_score.go: BuildBrokenLinearFunction`.
    """
    scale = MAX_NODE_SCORE // MAX_SHAPE_SCORE
    for left, right in zip((None, *shape), shape, strict=False):
        if utilization <= right.utilization:
            if left is None:
                return right.score * scale
            rise, run = (right.score - left.score) * scale, right.utilization - left.utilization
            return left.score * scale + quotient(rise * (utilization - left.utilization), run)
    return shape[-1].score * scale


def standard_deviation(fractions: Sequence[float]) -> float:
    """How far the fractions are from their mean, in the order of Go's operations; 0 for less than two."""
    if len(fractions) == 2:
        return abs((fractions[0] - fractions[1]) / 2)
    if len(fractions) < 2:
        return 0.0
    mean = sum(fractions) / len(fractions)
    squares = 0.0
    for fraction in fractions:
        squares += (fraction - mean) * (fraction - mean)
    return math.sqrt(squares / len(fractions))


def check_resources(resources: Sequence[ResourceSpec]) -> None:
    """Refuse what the scheduler's configuration refuses: no resources at all, or weights out of range."""
    if not resources:
        raise ValueError(
            "resources: expected at least one resource to score by, got none: give cpu or memory"
        )
    for name, weight in resources:
        if not 0 < weight <= 100:
            raise ValueError(f"resources: expected a weight of 1 to 100 for {name}, got {weight}")


def check_shape(shape: Sequence[UtilizationPoint]) -> None:
    """Refuse a shape that is no function: without points, points not in order, numbers out of range."""
    if not shape:
        raise ValueError("shape: expected at least one point (utilization and score), got none")
    for point in shape:
        if not (0 <= point.utilization <= 100 and 0 <= point.score <= MAX_SHAPE_SCORE):
            raise ValueError(f"shape: expected a utilization of 0 to 100 and a score of 0 to 10, got {point}")
    if any(left.utilization >= right.utilization for left, right in pairwise(shape)):
        raise ValueError(f"shape: expected the points in increasing order of utilization, got {shape}")
