"""What one scheduling cycle sees: the cluster as it was when the cycle began, and how a node is checked in it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kubedev.api.objects import Pod
from kubedev.api.pod_groups import PodDisruptionBudget
from kubedev.api.values import replace
from kubedev.scheduler.context import Context
from kubedev.scheduler.framework import CycleState, FilterCalls, Framework, run_filters
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.preemption.nominator import Nominator
from kubedev.scheduler.status import Status

__all__ = ["NodeCheck", "NodeChecker", "Snapshot", "priority_of"]


def priority_of(pod: Pod) -> int:
    """The pod's priority; 0 where none is set. Go: `corev1helpers.PodPriority`."""
    return pod.priority or 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The nodes in the order in which they are looked at (in `context`), nominations and disruption budgets.

    Go: `pkg/scheduler/backend/cache/snapshot.go: Snapshot`.
    """

    context: Context = field(default_factory=Context)
    by_name: Mapping[str, NodeInfo] = field(default_factory=dict)
    nominator: Nominator = field(default_factory=Nominator)
    budgets: tuple[PodDisruptionBudget, ...] = ()

    @classmethod
    def of(
        cls,
        context: Context,
        nominated: Iterable[Pod] = (),
        budgets: Iterable[PodDisruptionBudget] = (),
    ) -> "Snapshot":
        """A snapshot of these nodes; `nominated` are pending pods with a nominated node in their status."""
        nominator = Nominator()
        for pod in nominated:
            nominator = nominator.add(pod)
        return cls(context, {info.name: info for info in context.node_infos}, nominator, tuple(budgets))

    @property
    def node_infos(self) -> Sequence[NodeInfo]:
        """All nodes with their pods."""
        return self.context.node_infos


class NodeCheck(NamedTuple):
    """What the filters say of a node.

    `nominated` are the pods (`namespace/name`) that were taken as running there in a first pass; the second
    pass without them is made only where the first one succeeds. `passes` says how many were made.
    """

    status: Status
    nominated: tuple[str, ...] = ()
    passes: int = 1


@dataclass(frozen=True, slots=True)
class NodeChecker:
    """The filters of a framework, ready to check nodes for one pod.

    A pod has to fit a node whether or not the pods nominated to it, of its own priority or higher, will run
    there: they take room if they do, and fulfil nobody's affinity if they do not.

    Go: `pkg/scheduler/framework/runtime/framework.go: RunFilterPluginsWithNominatedPods`.
    """

    framework: Framework
    pod: Pod
    nominator: Nominator
    state: CycleState
    calls: FilterCalls

    @classmethod
    def of(cls, framework: Framework, pod: Pod, nominator: Nominator, state: CycleState) -> "NodeChecker":
        """A checker with the state that PreFilter made."""
        return cls(framework, pod, nominator, state, framework.filters(state))

    def with_state(self, state: CycleState) -> "NodeChecker":
        """The same with another state, as preemption's trials need."""
        return (
            self if state is self.state else replace(self, state=state, calls=self.framework.filters(state))
        )

    def check(self, node_info: NodeInfo) -> NodeCheck:
        """Ask all filters about a node, in two passes where other pods are nominated to it."""
        if self.nominator.nominations:
            rivals = [
                pod
                for pod in self.nominator.pods_for_node(node_info.name)
                if priority_of(pod) >= priority_of(self.pod) and pod.uid != self.pod.uid
            ]
            if rivals:
                return self._check_with(rivals, node_info)
        return NodeCheck(run_filters(self.calls, self.pod, node_info))

    def _check_with(self, rivals: list[Pod], node_info: NodeInfo) -> NodeCheck:
        crowded, state = node_info, self.state
        for rival in rivals:
            crowded = crowded.add_pod(rival)
            state = self.framework.add_pod(state, rival, crowded)
        names = tuple(f"{rival.namespace}/{rival.name}" for rival in rivals)
        status = run_filters(self.framework.filters(state), self.pod, crowded)
        if not status.is_success:
            return NodeCheck(status, names, 1)
        return NodeCheck(run_filters(self.calls, self.pod, node_info), names, 2)
