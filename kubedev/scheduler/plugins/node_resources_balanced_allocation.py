"""NodeResourcesBalancedAllocation: prefers nodes whose resources would be equally full.

Go: `pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kubedev.api.objects import Pod
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.resource_scores import (
    CPU_AND_MEMORY,
    ResourceSpec,
    check_resources,
    requests_of,
    usage,
)
from kubedev.scheduler.scores import MAX_NODE_SCORE, Score
from kubedev.scheduler.status import SUCCESS, Status

__all__ = ["Fraction", "NodeResourcesBalancedAllocation"]


class Fraction(NamedTuple):
    """How full one resource of a node would be, from 0 to 1."""

    name: str
    requested: int
    allocatable: int
    fraction: float


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
        return requests_of(pod, self.resources, None), SUCCESS

    def score(self, state: tuple[int, ...], pod: Pod, node_info: NodeInfo) -> Score:
        """100 minus the standard deviation of the fractions, in percent; `why` is each one's Fraction."""
        why = []
        for (name, _), request in zip(self.resources, state, strict=True):
            requested, allocatable = usage(node_info, name, request, node_info.requested)
            if allocatable != 0:
                fraction = float(requested) / float(allocatable)
                why.append(Fraction(name, requested, allocatable, min(fraction, 1.0)))
        deviation = standard_deviation([fraction.fraction for fraction in why])
        return Score(int((1 - deviation) * MAX_NODE_SCORE), tuple(why))


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
