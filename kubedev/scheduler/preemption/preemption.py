"""Preemption: pods of lower priority have to go, so that a pod that fits nowhere can run.

Go: `pkg/scheduler/framework/preemption/preemption.go`,
`framework/plugins/defaultpreemption/default_preemption.go`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kubedev.api.objects import Pod
from kubedev.scheduler.diagnosis import NodeToStatus, fit_error
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.preemption.by_room import try_node
from kubedev.scheduler.preemption.post_filter import FailedCycle, PostFilterResult
from kubedev.scheduler.preemption.victims import NodeTrial, start_time_of
from kubedev.scheduler.snapshot import NodeChecker, priority_of
from kubedev.scheduler.status import SUCCESS, Code, Status

__all__ = [
    "CRITERIA",
    "Criterion",
    "DefaultPreemption",
    "Preemption",
    "Round",
    "eligible",
    "select_candidate",
]

NOT_HELPFUL = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("Preemption is not helpful for scheduling",))


@dataclass(frozen=True, slots=True)
class Criterion:
    """One way to compare candidates: the smallest value wins."""

    name: str
    value: Callable[[NodeTrial], float]


def latest_start(trial: NodeTrial) -> float:
    """When the longest running of the victims with the highest priority started, the later the better."""
    highest = max(map(priority_of, trial.victims))
    return -min(start_time_of(pod) for pod in trial.victims if priority_of(pod) == highest)


CRITERIA = (
    Criterion("fewest broken disruption budgets", lambda trial: trial.num_pdb_violations),
    Criterion("lowest highest priority", lambda trial: max(map(priority_of, trial.victims))),
    # 2^31 makes all priorities positive, so that fewer pods of a negative priority are better than more.
    Criterion("smallest sum of priorities", lambda trial: sum(priority_of(p) + 2**31 for p in trial.victims)),
    Criterion("fewest victims", lambda trial: len(trial.victims)),
    Criterion("latest start of the most important victims", latest_start),
)
"""How candidates are compared, one after the other while there is a tie. Go: `pickOneNodeForPreemption`."""


@dataclass(frozen=True, slots=True)
class Round:
    """One criterion applied: every remaining candidate's value, and who is left."""

    criterion: str
    values: Mapping[str, float]
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preemption:
    """All that preemption looked at.

    `not_eligible` tells why the pod may not preempt at all. `trials` are the nodes that were tried, in order;
    nodes that no removal could help are not. `rounds` compare the candidates; `tied` are those that no
    criterion tells apart, of which Kubernetes takes any, and we the first by name. `clear_nominations` are
    pods of lower priority nominated to the node, which have to look for another one.
    """

    not_eligible: str = ""
    trials: tuple[NodeTrial, ...] = ()
    rounds: tuple[Round, ...] = ()
    tied: tuple[str, ...] = ()
    node_name: str = ""
    victims: tuple[Pod, ...] = ()
    clear_nominations: tuple[Pod, ...] = ()

    @property
    def candidates(self) -> tuple[NodeTrial, ...]:
        """The nodes on which preemption helps."""
        return tuple(trial for trial in self.trials if trial.status.is_success)


@dataclass(frozen=True, slots=True)
class DefaultPreemption:
    """The PostFilter plugin. Of large clusters, only a part of the nodes is tried, but at least so many
    candidates.

    `offset` is the index of the node to begin with; Kubernetes takes a random one.
    """

    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100
    offset: int = 0
    name: str = "DefaultPreemption"

    def post_filter(self, cycle: FailedCycle) -> PostFilterResult:
        """Find victims for a pod that fits nowhere. Go: `Evaluator.Preempt`."""
        pod, snapshot = cycle.pod, cycle.snapshot
        why = eligible(cycle)
        if why:
            refusal = Status(Code.UNSCHEDULABLE, (f"preemption: {why}",), self.name)
            return PostFilterResult(refusal, None, Preemption(not_eligible=why))
        trials = self.dry_run(cycle)
        candidates = tuple(trial for trial in trials if trial.status.is_success)
        if not candidates:
            return self.hopeless(cycle, trials)
        rounds, tied = select_candidate(candidates)
        best = next(trial for trial in candidates if trial.node_name == tied[0])
        rivals = snapshot.nominator.pods_for_node(best.node_name)
        lower = tuple(one for one in rivals if priority_of(one) < priority_of(pod))
        preemption = Preemption("", trials, rounds, tied, best.node_name, best.victims, lower)
        return PostFilterResult(SUCCESS, best.node_name, preemption)

    def dry_run(self, cycle: FailedCycle) -> tuple[NodeTrial, ...]:
        """Try the nodes where removing pods may help, until there are candidates enough.

        Go: `Evaluator.DryRunPreemption`; there, candidates without broken budgets come first.
        """
        potential = cycle.statuses.nodes_for_status_code(cycle.snapshot.node_infos, Code.UNSCHEDULABLE)
        if not potential:
            return ()
        enough = self.num_candidates(len(potential))
        start = self.offset % len(potential)
        checker = NodeChecker.of(cycle.framework, cycle.pod, cycle.snapshot.nominator, cycle.state)
        trials: list[NodeTrial] = []
        found = harmless = 0
        for node_info in (*potential[start:], *potential[:start]):
            trial = try_node(checker, node_info, cycle.snapshot.budgets)
            trials.append(trial)
            if trial.status.is_success:
                found += 1
                harmless += trial.num_pdb_violations == 0
                if harmless and found >= enough:
                    break
        return tuple(trials)

    def num_candidates(self, num_nodes: int) -> int:
        """How many candidates are enough. Go: `calculateNumCandidates`."""
        share = num_nodes * self.min_candidate_nodes_percentage // 100
        return min(max(share, self.min_candidate_nodes_absolute), num_nodes)

    def hopeless(self, cycle: FailedCycle, trials: tuple[NodeTrial, ...]) -> PostFilterResult:
        """Preemption helps nowhere: say why on each node; an earlier nomination is void."""
        errors = [trial.status.message for trial in trials if trial.status.code is Code.ERROR]
        if errors:
            text = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
            status = Status(Code.ERROR, (f"preemption: {text}",), self.name)
            return PostFilterResult(status, None, Preemption(trials=trials))
        statuses = NodeToStatus({trial.node_name: trial.status for trial in trials}, NOT_HELPFUL)
        message = fit_error(len(cycle.snapshot.node_infos), statuses)
        status = Status(Code.UNSCHEDULABLE, (f"preemption: {message}",), self.name)
        return PostFilterResult(status, "", Preemption(trials=trials))


def eligible(cycle: FailedCycle) -> str:
    """Why the pod may not preempt others now; empty if it may.

    It may not while a victim of its earlier preemption is still going away on its nominated node, unless that
    node has become impossible for it. Go: `PodEligibleToPreemptOthers`.
    """
    pod = cycle.pod
    if pod.preemption_policy == "Never":
        return "not eligible due to preemptionPolicy=Never."
    nominated = cycle.snapshot.by_name.get(pod.nominated_node_name)
    if nominated is None:
        return ""
    if cycle.statuses.get(pod.nominated_node_name).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        return ""
    if is_victim_leaving(nominated, priority_of(pod)):
        return "not eligible due to a terminating pod on the nominated node."
    return ""


def is_victim_leaving(node_info: NodeInfo, priority: int) -> bool:
    """Whether a pod of lower priority is on its way out because of preemption."""
    return any(
        priority_of(info.pod) < priority and is_terminating_by_preemption(info.pod) for info in node_info.pods
    )


def is_terminating_by_preemption(pod: Pod) -> bool:
    """Whether the pod is being deleted, and its condition DisruptionTarget names the scheduler as the reason."""
    if pod.deletion_timestamp is None:
        return False
    target = next((one for one in pod.conditions if one.type == "DisruptionTarget"), None)
    return target is not None and target.status == "True" and target.reason == "PreemptionByScheduler"


def select_candidate(candidates: Sequence[NodeTrial]) -> tuple[tuple[Round, ...], tuple[str, ...]]:
    """Compare candidates, criterion by criterion; returns the rounds, and who is left at the end, by name.

    Go: `pickOneNodeForPreemption`.
    """
    left = {trial.node_name: trial for trial in candidates}
    rounds: list[Round] = []
    for criterion in CRITERIA:
        if len(left) == 1:
            break
        values = {name: criterion.value(trial) for name, trial in left.items()}
        best = min(values.values())
        left = {name: trial for name, trial in left.items() if values[name] == best}
        rounds.append(Round(criterion.name, values, tuple(left)))
    return tuple(rounds), tuple(sorted(left))
