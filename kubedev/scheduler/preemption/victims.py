"""Which pods would have to go from one node: a trial on copies, nothing is really removed.

All pods of lower priority are taken away; if the pod then fits, as many as possible are given back
(reprieved), the most important first, and those first whose disruption budget would be broken.

Go: `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go: SelectVictimsOnNode`.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubedev.api.objects import Pod
from kubedev.api.pod_groups import PodDisruptionBudget
from kubedev.scheduler.node_info import NodeInfo, PodInfo
from kubedev.scheduler.selectors.labels import SelectorError, from_label_selector
from kubedev.scheduler.snapshot import NodeChecker, priority_of
from kubedev.scheduler.status import Code, Status

__all__ = [
    "NO_VICTIMS",
    "NodeTrial",
    "Reprieve",
    "importance",
    "no_victim",
    "pods_with_budget_violation",
    "select_victims_on_node",
    "start_time_of",
]

NO_VICTIMS = Status(
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
    ("No preemption victims found for incoming pod",),
    "DefaultPreemption",
)


@dataclass(frozen=True, slots=True)
class Reprieve:
    """A pod given back in the trial: with it there again the filters answer `status`; if they refuse it is a victim."""

    pod: Pod
    violates_budget: bool
    status: Status

    @property
    def spared(self) -> bool:
        """Whether it may stay."""
        return self.status.is_success


@dataclass(frozen=True, slots=True)
class NodeTrial:
    """What preemption on one node would take.

    `potential` are all pods of lower priority, the most important first. Where preemption helps, `status` is
    success and `victims` the pods that have to go, again the most important first; else it tells why not.
    `num_pdb_violations` says how many victims break a disruption budget.
    """

    node_name: str
    status: Status
    potential: tuple[Pod, ...] = ()
    reprieves: Sequence[Reprieve] = ()
    victims: tuple[Pod, ...] = ()
    num_pdb_violations: int = 0


def start_time_of(pod: Pod) -> float:
    """When the pod started; one that has not yet counts as the latest of all. Go: `GetPodStartTime`."""
    return math.inf if pod.start_time is None else pod.start_time


def importance(pod: Pod) -> tuple[int, float]:
    """Sorts the more important pod first: the higher priority, then the longer running one. Go: `MoreImportantPod`."""
    return -priority_of(pod), start_time_of(pod)


def select_victims_on_node(
    checker: NodeChecker, node_info: NodeInfo, budgets: Sequence[PodDisruptionBudget]
) -> NodeTrial:
    """Find the fewest, least important pods that have to go for the pod to fit."""
    name, preemptor = node_info.name, priority_of(checker.pod)
    lower = [info for info in node_info.pods if priority_of(info.pod) < preemptor]
    if not lower:
        return NodeTrial(name, NO_VICTIMS)
    trial = Trial(checker, node_info)
    for info in lower:
        trial.remove(info)
    lower.sort(key=lambda info: importance(info.pod))
    potential = tuple(info.pod for info in lower)
    status = trial.status()
    if not status.is_success:
        return NodeTrial(name, status, potential)
    violating = pods_with_budget_violation(potential, budgets)
    reprieves = []
    for info in sorted(lower, key=lambda info: info.pod.uid not in violating):
        trial.add(info)
        reprieves.append(Reprieve(info.pod, info.pod.uid in violating, trial.status()))
        if not reprieves[-1].spared:
            trial.remove(info)
    victims = sorted((one.pod for one in reprieves if not one.spared), key=importance)
    broken = sum(1 for one in reprieves if one.violates_budget and not one.spared)
    if not victims:
        status = no_victim(name)
    return NodeTrial(name, status, potential, tuple(reprieves), tuple(victims), broken)


def no_victim(node_name: str) -> Status:
    """The error where the pod fits beside all that were taken away."""
    return Status(Code.ERROR, (f'expected at least one victim pod on node "{node_name}"',))


class Trial:
    """A copy of a node and of the filters' states, from which pods are taken and to which they are given back."""

    def __init__(self, checker: NodeChecker, node_info: NodeInfo) -> None:
        self.checker, self.node_info = checker, node_info

    def remove(self, info: PodInfo) -> None:
        """As if the pod were gone."""
        self.node_info = self.node_info.remove_pod(info.pod)
        state = self.checker.framework.remove_pod(self.checker.state, info.pod, self.node_info)
        self.checker = self.checker.with_state(state)

    def add(self, info: PodInfo) -> None:
        """As if it were there again."""
        self.node_info = self.node_info.add_pod(info)
        state = self.checker.framework.add_pod(self.checker.state, info.pod, self.node_info)
        self.checker = self.checker.with_state(state)

    def status(self) -> Status:
        """Whether the preemptor fits now."""
        return self.checker.check(self.node_info).status


def pods_with_budget_violation(pods: Iterable[Pod], budgets: Sequence[PodDisruptionBudget]) -> frozenset[str]:
    """The uids of the pods that would break a budget, if they went in this order.

    A budget allows as many as its status says; it may be stale. Pods already counted as disrupted are not
    counted again, and a budget with an empty or an invalid selector, or none, matches nothing.

    Go: `filterPodsWithPDBViolation`.
    """
    allowed = [budget.disruptions_allowed for budget in budgets]
    violating = set()
    for pod in pods:
        for i, budget in enumerate(budgets):
            if covers(budget, pod):
                allowed[i] -= 1
                if allowed[i] < 0:
                    violating.add(pod.uid)
    return frozenset(violating)


def covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    """Whether the pod's disruption counts against this budget."""
    if not pod.labels or budget.namespace != pod.namespace or pod.name in budget.disrupted_pods:
        return False
    try:
        selector = from_label_selector(budget.selector)
    except SelectorError:
        return False
    return not selector.is_empty and selector.matches(pod.labels)
