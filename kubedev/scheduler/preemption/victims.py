"""Which pods would have to go from one node: a trial on copies, nothing is really removed.

All pods of lower priority are taken away; if the pod then fits, as many as possible are given back
(reprieved), the most important first, and those first whose disruption budget would be broken.

Go: `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go: SelectVictimsOnNode`.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kubedev.api.objects import Pod
from kubedev.api.pod_groups import PodDisruptionBudget
from kubedev.api.requests import Resource
from kubedev.api.values import Same
from kubedev.scheduler.framework import run_filters
from kubedev.scheduler.node_info import NodeInfo, PodInfo
from kubedev.scheduler.plugins.node_affinity import NodeAffinity
from kubedev.scheduler.plugins.node_name import NodeName
from kubedev.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kubedev.scheduler.plugins.node_unschedulable import NodeUnschedulable
from kubedev.scheduler.plugins.taint_toleration import TaintToleration
from kubedev.scheduler.selectors.labels import SelectorError, from_label_selector
from kubedev.scheduler.snapshot import NodeChecker, priority_of
from kubedev.scheduler.status import Code, Status

__all__ = [
    "NO_VICTIMS",
    "NodeTrial",
    "Reprieve",
    "importance",
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
    """

    node_name: str
    status: Status
    potential: tuple[Pod, ...] = ()
    reprieves: tuple[Reprieve, ...] = ()
    victims: tuple[Pod, ...] = ()

    @property
    def num_pdb_violations(self) -> int:
        """How many victims break a disruption budget."""
        return sum(1 for one in self.reprieves if one.violates_budget and not one.spared)


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
    trial: RoomTrial | Trial = (RoomTrial if only_room_counts(checker, node_info) else Trial)(
        checker, node_info
    )
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
    if not victims:
        status = Status(Code.ERROR, (f'expected at least one victim pod on node "{name}"',))
    return NodeTrial(name, status, potential, tuple(reprieves), tuple(victims))


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


BY_NODE = (NodeUnschedulable, NodeName, TaintToleration, NodeAffinity)
"""The filters that look at a node's object, and at none of its pods."""


def only_room_counts(checker: NodeChecker, node_info: NodeInfo) -> bool:
    """Whether pods matter to the filters by what they take alone: then the trial needs sums, and no lists of pods."""
    nominations = checker.nominator.nominations.values()
    return _look_at_room(Same(checker)) and not any(node == node_info.name for _, node in nominations)


@lru_cache(maxsize=2)  # the same for all nodes of a cycle
def _look_at_room(of_checker: Same[NodeChecker]) -> bool:
    checker = of_checker.value
    asked = {name for name, _, _ in checker.calls}
    plugins = [plugin for plugin in checker.framework.at("filter") if plugin.name in asked]
    return all(type(plugin) in (*BY_NODE, NodeResourcesFit) for plugin in plugins)


class RoomTrial:
    """A trial on a node's sums: `node`, `requested`, `allocatable` and the number of `pods` are what filters see of it.

    What looks at the node's object does not change its answer: it is asked once.
    """

    def __init__(self, checker: NodeChecker, node_info: NodeInfo) -> None:
        self.checker, self.calls = checker, checker.calls
        self.node, self.allocatable = node_info.node, node_info.allocatable
        self.requested, self.pods = node_info.requested, range(len(node_info.pods))

    def remove(self, info: PodInfo) -> None:
        """As if the pod were gone."""
        self.requested, self.pods = self.requested.plus(info.resource, sign=-1), self.pods[:-1]

    def add(self, info: PodInfo) -> None:
        """As if it were there again."""
        self.requested, self.pods = self.requested.plus(info.resource), range(len(self.pods) + 1)

    def status(self) -> Status:
        """Whether the preemptor fits now."""
        room: Any = self
        status = run_filters(self.calls, self.checker.pod, room)
        if status.is_success:
            self.calls = tuple(call for call in self.calls if isinstance(call[2], Resource))
        return status


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
