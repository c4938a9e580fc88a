"""The nodes that a pod fits on: one node after another, or whichever way gives the same answers.

Go: `pkg/scheduler/schedule_one.go: findNodesThatFitPod`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kubedev.api.objects import Pod
from kubedev.scheduler.diagnosis import NodeToStatus
from kubedev.scheduler.framework import Framework, PreFiltered, num_feasible_nodes_to_find
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.scoring import Scores, prioritize_nodes
from kubedev.scheduler.snapshot import NodeCheck, NodeChecker, Snapshot
from kubedev.scheduler.status import Code, Status

__all__ = ["Found", "OneByOne", "Way", "enough_nodes", "find_nodes_that_fit_pod"]


@dataclass(frozen=True, slots=True)
class Found:
    """What the filters found.

    `feasible` are the nodes that fit, in the order in which they were found, up to the number that is enough;
    `checks` what the filters said of each node that was looked at. `asked` are the filters in order, without
    those that have nothing to say about the pod.
    """

    pre_filtered: PreFiltered
    asked: tuple[str, ...] = ()
    feasible: Sequence[NodeInfo] = ()
    checks: Mapping[str, NodeCheck] = field(default_factory=dict)
    statuses: NodeToStatus = field(default_factory=NodeToStatus)
    enough: int = 0
    error: str = ""


class Way(Protocol):
    """How the nodes are looked at for one pod: the answers are the same, whichever way it is."""

    def find(self, start: int) -> tuple[Found, int]:
        """The nodes that fit, and where the next cycle starts."""

    def prioritize(self, found: Found) -> tuple[Scores, Sequence[str]]:
        """The scores of the nodes that fit, and the best of them by name. Raises ScoreError."""


@dataclass(frozen=True, slots=True)
class OneByOne:
    """The readable way: one node after another."""

    framework: Framework
    pod: Pod
    snapshot: Snapshot

    def find(self, start: int) -> tuple[Found, int]:
        """Ask the filters about each node."""
        return find_nodes_that_fit_pod(self.framework, self.pod, self.snapshot, start)

    def prioritize(self, found: Found) -> tuple[Scores, Sequence[str]]:
        """Ask the score plugins about each node."""
        scores = prioritize_nodes(self.framework, self.pod, found.feasible, self.snapshot.context)
        return scores, scores.best()


def find_nodes_that_fit_pod(
    framework: Framework, pod: Pod, snapshot: Snapshot, start: int
) -> tuple[Found, int]:
    """Filter the nodes, and say where to start next time.

    Go: `pkg/scheduler/schedule_one.go: findNodesThatFitPod`.
    """
    pre_filtered = framework.pre_filter(pod, snapshot.context)
    if not pre_filtered.status.is_success:
        if not pre_filtered.status.is_rejected:
            return Found(pre_filtered, error=pre_filtered.status.message), start
        return Found(pre_filtered, statuses=NodeToStatus(absent=pre_filtered.status)), start
    checker = NodeChecker.of(framework, pod, snapshot.nominator, pre_filtered.state)
    asked = tuple(name for name, _, _ in checker.calls)
    checks: dict[str, NodeCheck] = {}
    nominated = snapshot.by_name.get(pod.nominated_node_name)
    if nominated is not None:
        # The node that preemption made room on is tried first, and alone.
        checks[nominated.name] = checker.check(nominated)
        if checks[nominated.name].status.is_success:
            return Found(pre_filtered, asked, (nominated,), checks, NodeToStatus(), 1), start
    nodes, absent = candidates(pre_filtered, snapshot)
    feasible, enough, error = find_nodes_that_pass_filters(framework, checker, nodes, start, checks)
    refused = {name: check.status for name, check in checks.items() if not check.status.is_success}
    statuses = NodeToStatus(refused) if absent is None else NodeToStatus(refused, absent)
    found = Found(pre_filtered, asked, feasible, checks, statuses, enough, error)
    return found, (start + len(feasible) + len(refused)) % len(snapshot.node_infos)


def candidates(pre_filtered: PreFiltered, snapshot: Snapshot) -> tuple[Sequence[NodeInfo], Status | None]:
    """The nodes worth a look, and what the others are told. Names come from PreFilter in sorted order here."""
    if pre_filtered.node_names is None:
        return snapshot.node_infos, None
    names = sorted(name for name in pre_filtered.node_names if name in snapshot.by_name)
    reason = f"node(s) didn't satisfy plugin(s) [{' '.join(pre_filtered.narrowed_by)}]"
    absent = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))
    return [snapshot.by_name[name] for name in names], absent


def find_nodes_that_pass_filters(
    framework: Framework,
    checker: NodeChecker,
    nodes: Sequence[NodeInfo],
    start: int,
    checks: dict[str, NodeCheck],
) -> tuple[tuple[NodeInfo, ...], int, str]:
    """Check nodes until enough of them fit; what is found is written to `checks`.

    Returns the nodes that fit, how many would have been enough, and the text of an error that ended it.

    Go: `pkg/scheduler/schedule_one.go: findNodesThatPassFilters`.
    """
    enough = enough_nodes(framework, len(nodes))
    feasible: list[NodeInfo] = []
    first = start % len(nodes) if nodes else 0
    for node_info in (*nodes[first:], *nodes[:first]):
        check = checks[node_info.name] = checker.check(node_info)
        if check.status.is_success:
            feasible.append(node_info)
            if len(feasible) >= enough:
                break
        elif not check.status.is_rejected:
            return tuple(feasible), enough, check.status.message
    return tuple(feasible), enough, ""


def enough_nodes(framework: Framework, num_nodes: int) -> int:
    """How many feasible nodes are looked for: one where nobody scores them."""
    if not framework.at("score"):
        return 1
    return num_feasible_nodes_to_find(num_nodes, framework.percentage_of_nodes_to_score)
