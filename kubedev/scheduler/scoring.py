"""Scoring: which of the nodes that fit is best, and how every plugin sees each of them.

Go: `pkg/scheduler/schedule_one.go: prioritizeNodes, selectHost`, `framework/runtime/framework.go:
RunScorePlugins`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubedev.api.objects import Pod
from kubedev.scheduler.context import Context
from kubedev.scheduler.framework import Framework
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.scores import MAX_NODE_SCORE, Score
from kubedev.scheduler.status import Status

__all__ = ["PluginScores", "ScoreError", "Scores", "prioritize_nodes"]


RECOMPUTING = frozenset(
    {"ImageLocality", "NodeAffinity", "NodeResourcesBalancedAllocation", "NodeResourcesFit"}
)
"""The scores that work out what they need themselves where no PreScore is asked. ImageLocality has none in Go."""


AskPreScore = Callable[[Any, Pod, Sequence[NodeInfo], Context], tuple[Any, Status]]


class ScoreError(ValueError):
    """A score plugin failed: the pod is not scheduled this time, although nodes fit."""


@dataclass(frozen=True, slots=True)
class PluginScores:
    """One plugin's view of the nodes: raw scores with their reasons, normalized ones (0..100), and its weight."""

    plugin: str
    weight: int
    raw: Mapping[str, Score]
    normalized: Mapping[str, int]

    def weighted(self, node_name: str) -> int:
        """What the plugin adds to the node's total."""
        return self.weight * self.normalized[node_name]


@dataclass(frozen=True, slots=True)
class Scores:
    """All scores: by plugin, and in total. `skipped` are the plugins that had nothing to say about the pod."""

    totals: Mapping[str, int]
    plugins: Sequence[PluginScores] = ()
    skipped: tuple[str, ...] = field(default=())

    def best(self) -> tuple[str, ...]:
        """The nodes that share the highest total, by name. Kubernetes picks any of them."""
        highest = max(self.totals.values())
        return tuple(sorted(name for name, total in self.totals.items() if total == highest))


def prioritize_nodes(framework: Framework, pod: Pod, nodes: Sequence[NodeInfo], context: Context) -> Scores:
    """Score the nodes that fit. Without score plugins each has 1. Raises ScoreError."""
    scorers = framework.at("score")
    if not scorers:
        return Scores({info.name: 1 for info in nodes})
    states, skipped = pre_score(framework, pod, nodes, context)
    named = [(info.name, info) for info in nodes]
    plugins = tuple(
        score_with(plugin, framework.weights.get(plugin.name, 1), states.get(plugin.name), pod, named)
        for plugin in scorers
        if plugin.name not in skipped
    )
    totals = {name: 0 for name, _ in named}
    for scores in plugins:
        for name, value in scores.normalized.items():
            totals[name] += value * scores.weight
    return Scores(totals, plugins, skipped)


def pre_score(
    framework: Framework,
    pod: Pod,
    nodes: Sequence[NodeInfo],
    context: Context,
    ask: AskPreScore = lambda plugin, pod, nodes, context: plugin.pre_score(pod, nodes, context),
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What the score plugins work out once, and who has nothing to say. Go: `RunPreScorePlugins`."""
    states: dict[str, Any] = {}
    skipped: list[str] = []
    asked = framework.at("pre_score")
    for plugin in framework.at("score") if framework.order else ():
        if hasattr(plugin, "pre_score") and plugin not in asked:
            if plugin.name not in RECOMPUTING:
                text = f'reading "PreScore{plugin.name}" from cycleState: not found'
                raise ScoreError(f'running Score plugins: plugin "{plugin.name}" failed with: {text}')
            asked = (*asked, plugin)
    for plugin in asked:
        states[plugin.name], status = ask(plugin, pod, nodes, context)
        if status.is_skip:
            skipped.append(plugin.name)
        elif not status.is_success:
            raise ScoreError(f'running PreScore plugin "{plugin.name}": {status.message}')
    return states, tuple(skipped)


def score_with(
    plugin: Any, weight: int, state: Any, pod: Pod, named: Sequence[tuple[str, NodeInfo]]
) -> PluginScores:
    """One plugin's scores of all nodes. Go: `RunScorePlugins`."""
    score = plugin.score
    raw: dict[str, Score] = {name: score(state, pod, info) for name, info in named}
    normalized: Mapping[str, int] = {name: one.value for name, one in raw.items()}
    if hasattr(plugin, "normalize"):
        normalized = plugin.normalize(state, normalized)
    check_range(plugin.name, normalized.values())
    return PluginScores(plugin.name, weight, raw, normalized)


def check_range(plugin: str, normalized: Iterable[int]) -> None:
    """ScoreError for the first score that is out of range."""
    for value in normalized:
        if not 0 <= value <= MAX_NODE_SCORE:
            raise ScoreError(
                f'applying score defaultWeights on Score plugins: plugin "{plugin}" returns an invalid score '
                f"{value}, it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
            )
