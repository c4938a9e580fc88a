"""What NodeResourcesFit and NodeResourcesBalancedAllocation have in common: how full a node would be.

Go: `pkg/scheduler/framework/plugins/noderesources`.
"""

from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from kubedev.api.int64 import wrap_int64
from kubedev.api.names import CPU, EPHEMERAL_STORAGE, MEMORY, is_scalar_resource_name
from kubedev.api.objects import Pod, ResourceList
from kubedev.api.requests import Resource, pod_arithmetic
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.scores import MAX_NODE_SCORE, quotient

__all__ = [
    "CPU_AND_MEMORY",
    "ResourceScore",
    "ResourceSpec",
    "Strategy",
    "UtilizationPoint",
    "broken_linear",
    "check_resources",
    "check_shape",
    "requests_of",
    "usage",
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


def requests_of(
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
        return wrap_int64(cpu_and_memory.milli_cpu + request), allocatable.milli_cpu
    if name == MEMORY:
        return wrap_int64(cpu_and_memory.memory + request), allocatable.memory
    if name == EPHEMERAL_STORAGE:
        return wrap_int64(node_info.requested.ephemeral_storage + request), allocatable.ephemeral_storage
    if name not in allocatable.scalar_resources or (request == 0 and is_scalar_resource_name(name)):
        return 0, 0
    requested = wrap_int64(node_info.requested.scalar_resources.get(name, 0) + request)
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
