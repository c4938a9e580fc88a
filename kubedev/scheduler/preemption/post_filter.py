"""PostFilter: no node fits the pod; what can be done about it?

Go: `pkg/scheduler/framework/runtime/framework.go: RunPostFilterPlugins`.
"""

from dataclasses import dataclass

from kubedev.api.objects import Pod
from kubedev.api.values import replace
from kubedev.scheduler.diagnosis import NodeToStatus
from kubedev.scheduler.framework import CycleState, Framework
from kubedev.scheduler.snapshot import Snapshot
from kubedev.scheduler.status import SUCCESS, Code, Status

__all__ = ["FailedCycle", "PostFilterResult", "run_post_filters"]


@dataclass(frozen=True, slots=True)
class FailedCycle:
    """All that is known when no node fits."""

    framework: Framework
    pod: Pod
    snapshot: Snapshot
    state: CycleState
    statuses: NodeToStatus


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """What a PostFilter plugin answers.

    Success nominates a node. Otherwise `nominated_node_name` says what becomes of an earlier nomination: None
    leaves it, an empty text clears it. `why` is the plugin's own account; DefaultPreemption gives its
    Preemption. `before` are the accounts of the plugins that were asked before and refused.
    """

    status: Status = SUCCESS
    nominated_node_name: str | None = None
    why: object = None
    before: tuple[object, ...] = ()

    @property
    def message(self) -> str:
        """The part that it adds to the pod's message; nothing on success."""
        return self.status.message

    @property
    def accounts(self) -> tuple[object, ...]:
        """The accounts of all plugins that were asked, in their order."""
        mine = () if any(one is self.why for one in (None, *self.before)) else (self.why,)
        return (*self.before, *mine)


def run_post_filters(cycle: FailedCycle) -> PostFilterResult | None:
    """Ask the plugins until one succeeds, fails, or says that nothing helps; None if there are none.

    Refusals add up: all reasons, and the last word on the nomination.
    """
    last: PostFilterResult | None = None
    before: tuple[object, ...] = ()
    for plugin in cycle.framework.at("post_filter"):
        result: PostFilterResult = replace(plugin.post_filter(cycle), before=before)
        if result.status.code is not Code.UNSCHEDULABLE:
            return result
        before = (*before, result.why) if result.why is not None else before
        if last is None:
            last = result
            continue
        word = last if result.nominated_node_name is None else result
        reasons = last.status.reasons + result.status.reasons
        status = Status(Code.UNSCHEDULABLE, reasons, last.status.plugin)
        last = PostFilterResult(status, word.nominated_node_name, result.why or last.why, before)
    return last
