"""One scheduling cycle: from a pending pod to its node, or to the exact words in which it is refused.

`schedule_one` only decides; what the decision does to queue and cache is in `scheduler`.

Go: `pkg/scheduler/schedule_one.go: schedulingCycle, schedulePod, findNodesThatFitPod`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from kubedev.api.objects import Pod
from kubedev.api.values import replace
from kubedev.scheduler.diagnosis import NO_NODES_AVAILABLE, fit_error
from kubedev.scheduler.finding import Found, OneByOne, Way
from kubedev.scheduler.framework import Framework
from kubedev.scheduler.preemption.post_filter import FailedCycle, PostFilterResult, run_post_filters
from kubedev.scheduler.scoring import ScoreError, Scores
from kubedev.scheduler.snapshot import Snapshot
from kubedev.scheduler.status import Code, Status

__all__ = ["Decision", "Outcome", "PluginAnswer", "first_by_name", "schedule_one"]


class Outcome(Enum):
    """How a cycle ends; the values of the last two are the reasons in the pod's condition PodScheduled."""

    SCHEDULED = "Scheduled"
    UNSCHEDULABLE = "Unschedulable"
    ERROR = "SchedulerError"


@dataclass(frozen=True, slots=True)
class PluginAnswer:
    """What one plugin says of one node; `status` is None where it was not asked, as one before it refused."""

    plugin: str
    status: Status | None


@dataclass(frozen=True, slots=True)
class Decision:
    """What a cycle decided, with everything that led to it.

    `nominated_node_name`: None leaves the pod's nomination as it is, an empty text clears it. `message` is
    what the user reads; empty if the pod is scheduled. `next_start` is where the next cycle begins to look at
    nodes.
    """

    pod: Pod
    outcome: Outcome
    node_name: str = ""
    message: str = ""
    num_all_nodes: int = 0
    found: Found | None = None
    scores: Scores | None = None
    post_filter: PostFilterResult | None = None
    nominated_node_name: str | None = None
    unschedulable_plugins: tuple[str, ...] = ()
    pending_plugins: tuple[str, ...] = ()
    next_start: int = 0

    def answers(self, node_name: str) -> tuple[PluginAnswer, ...]:
        """Every filter's answer for one node, in order; empty if the node was not looked at."""
        check = self.found.checks.get(node_name) if self.found else None
        if self.found is None or check is None:
            return ()
        answers, refused = [], False
        for plugin in self.found.asked:
            mine = check.status.plugin == plugin
            passed = Status(Code.SUCCESS, plugin=plugin)
            answers.append(PluginAnswer(plugin, None if refused else check.status if mine else passed))
            refused = refused or mine
        return tuple(answers)


Choose = Callable[[Sequence[str]], str]
"""Picks one of the nodes that share the best score, which come sorted by name; Kubernetes does so at random."""


def first_by_name(names: Sequence[str]) -> str:
    """The choice that can be predicted."""
    return names[0]


def schedule_one(
    framework: Framework, pod: Pod, snapshot: Snapshot, start: int = 0, choose: Choose = first_by_name
) -> Decision:
    """Decide where a pod runs, or why it does not, and whether preemption would help.

    `start` is the index of the node to begin with, so that all nodes have their turn where not all are looked
    at.
    """
    total = len(snapshot.node_infos)
    if total == 0:
        return Decision(pod, Outcome.UNSCHEDULABLE, message=NO_NODES_AVAILABLE, nominated_node_name="")
    way = way_of(framework, pod, snapshot)
    found, next_start = way.find(start)
    decision = Decision(pod, Outcome.SCHEDULED, num_all_nodes=total, found=found, next_start=next_start)
    if found.error:
        return failed(decision, found.error)
    if not found.feasible:
        return no_fit(decision, framework, found, snapshot)
    if len(found.feasible) == 1:
        return replace(decision, node_name=found.feasible[0].name)
    try:
        scores, best = way.prioritize(found)
    except ScoreError as error:
        return failed(decision, str(error))
    return replace(decision, scores=scores, node_name=choose(best))


# How the nodes are looked at


MANY_NODES = 16
"""From so many nodes on, columns are quicker."""


def way_of(framework: Framework, pod: Pod, snapshot: Snapshot) -> Way:
    """The one place where the way is chosen: over columns where there are many nodes, and numpy is there."""
    if len(snapshot.node_infos) >= MANY_NODES and (over_columns := columns()) is not None:
        return over_columns(framework, pod, snapshot)
    return OneByOne(framework, pod, snapshot)


@lru_cache(maxsize=1)
def columns() -> Callable[[Framework, Pod, Snapshot], Way] | None:
    """The way over columns, which needs numpy: loaded when it is used, None without."""
    try:
        from kubedev.scheduler.columns.way import OverColumns
    except ImportError:
        return None
    return OverColumns


def failed(decision: Decision, message: str) -> Decision:
    """An error: the pod is tried again after its back-off."""
    return replace(decision, outcome=Outcome.ERROR, message=message, nominated_node_name="")


def no_fit(decision: Decision, framework: Framework, found: Found, snapshot: Snapshot) -> Decision:
    """No node fits: ask the PostFilter plugins (preemption) what can be done."""
    pre_filtered, pod = found.pre_filtered, decision.pod
    cycle = FailedCycle(framework, pod, snapshot, pre_filtered.state, found.statuses)
    result = run_post_filters(cycle)
    message = fit_error(
        decision.num_all_nodes, found.statuses, pre_filtered.status.message, result.message if result else ""
    )
    refusals = [*found.statuses.refusals(), pre_filtered.status]
    rejected = {status.plugin for status in refusals if status.is_rejected and status.plugin}
    pending = {status.plugin for status in refusals if status.code is Code.PENDING and status.plugin}
    return replace(
        decision,
        outcome=Outcome.UNSCHEDULABLE,
        message=message,
        post_filter=result,
        nominated_node_name=result.nominated_node_name if result else None,
        unschedulable_plugins=tuple(sorted(rejected.union(pre_filtered.narrowed_by))),
        pending_plugins=tuple(sorted(pending)),
    )
