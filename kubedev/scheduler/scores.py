"""What the score plugins share: the score with its reasons, normalizing, and the default weights.

A plugin gives every node a raw score; its `normalize`, if it has one, brings them to 0..100; the scheduler
multiplies by the plugin's weight and adds up.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = [
    "DEFAULT_WEIGHTS",
    "MAX_NODE_SCORE",
    "NO_SCORE",
    "Score",
    "default_normalize",
    "quotient",
    "round_half_away",
]

MAX_NODE_SCORE = 100

DEFAULT_WEIGHTS: Mapping[str, int] = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}
"""The weights of the default profile. Go: `pkg/scheduler/apis/config/v1/default_plugins.go`."""


class Score(NamedTuple):
    """A plugin's score of one node, and the numbers it came from (which, each plugin says).

    A named tuple, since one is made for every node and plugin of a cycle.
    """

    value: int
    why: tuple[Any, ...] = ()


NO_SCORE = Score(0)


def default_normalize(scores: Mapping[str, int], reverse: bool = False) -> dict[str, int]:
    """Scale the scores so that the highest becomes 100; `reverse` turns them, the fewest being the best.

    Go: `pkg/scheduler/framework/plugins/helper/normalize_score.go: DefaultNormalizeScore`.
    """
    highest = max(scores.values(), default=0)
    if highest <= 0:
        return {node: MAX_NODE_SCORE if reverse else score for node, score in scores.items()}
    scaled = {node: quotient(MAX_NODE_SCORE * score, highest) for node, score in scores.items()}
    return {node: MAX_NODE_SCORE - score for node, score in scaled.items()} if reverse else scaled


def quotient(dividend: int, divisor: int) -> int:
    """Integer division as in Go: towards zero (Python's // goes down)."""
    whole = abs(dividend) // abs(divisor)
    return whole if (dividend < 0) == (divisor < 0) else -whole


def round_half_away(number: float) -> int:
    """Round as Go's math.Round does: a half goes away from zero (Python's round goes to the even one)."""
    whole = math.floor(abs(number))
    return int(math.copysign(whole + (abs(number) - whole >= 0.5), number))
