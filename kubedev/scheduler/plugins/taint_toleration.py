"""Taints keep pods off a node, tolerations let them on: the plugin TaintToleration.

Go: `pkg/scheduler/framework/plugins/tainttoleration`,
`k8s.io/component-helpers/scheduling/corev1/helpers.go`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kubedev.api.objects import Pod
from kubedev.api.selectors import Taint, Toleration
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.scores import NO_SCORE, Score, default_normalize
from kubedev.scheduler.status import SUCCESS, Code, Status

__all__ = [
    "DO_NOT_SCHEDULE_EFFECTS",
    "TaintToleration",
    "find_matching_untolerated_taint",
    "tolerates",
]

DO_NOT_SCHEDULE_EFFECTS = ("NoSchedule", "NoExecute")


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether one toleration covers one taint: an empty effect or key covers all, an unknown operator none.

    Go: `k8s.io/api/core/v1/toleration.go: ToleratesTaint`.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def find_matching_untolerated_taint(
    taints: Iterable[Taint], tolerations: Sequence[Toleration], effects: Sequence[str]
) -> Taint | None:
    """The first taint with one of these effects that no toleration covers."""
    for taint in taints:
        if taint.effect in effects and not any(tolerates(t, taint) for t in tolerations):
            return taint
    return None


@dataclass(frozen=True, slots=True)
class TaintToleration:
    """Refuses nodes with a NoSchedule or NoExecute taint that the pod does not tolerate.

    In scoring, prefers the nodes with the fewest PreferNoSchedule taints that the pod does not tolerate.
    """

    name: str = "TaintToleration"

    def filter(self, state: None, pod: Pod, node_info: NodeInfo) -> Status:
        """Refuse the pod for the first such taint, which the reason names; `why` is the taint."""
        taint = find_matching_untolerated_taint(
            node_info.node.taints, pod.tolerations, DO_NOT_SCHEDULE_EFFECTS
        )
        if taint is None:
            return SUCCESS
        reason = f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,), self.name, (taint,))

    def pre_score(
        self, pod: Pod, nodes: Sequence[NodeInfo], context: Context
    ) -> tuple[tuple[Toleration, ...], Status]:
        """The state is the tolerations that can cover a PreferNoSchedule taint."""
        return tuple(t for t in pod.tolerations if t.effect in ("", "PreferNoSchedule")), SUCCESS

    def score(self, state: tuple[Toleration, ...], pod: Pod, node_info: NodeInfo) -> Score:
        """How many PreferNoSchedule taints the pod does not tolerate; `why` are these taints."""
        if not node_info.node.taints:
            return NO_SCORE
        intolerable = tuple(
            taint
            for taint in node_info.node.taints
            if taint.effect == "PreferNoSchedule" and not any(tolerates(t, taint) for t in state)
        )
        return Score(len(intolerable), intolerable)

    def normalize(self, state: tuple[Toleration, ...], scores: Mapping[str, int]) -> dict[str, int]:
        """The node with the fewest intolerable taints gets the most."""
        return default_normalize(scores, reverse=True)
