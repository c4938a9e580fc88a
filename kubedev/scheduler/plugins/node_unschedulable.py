"""NodeUnschedulable: a cordoned node takes no more pods.

Go: `pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go`.
"""

from dataclasses import dataclass

from kubedev.api.objects import Pod
from kubedev.api.selectors import Taint
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.taint_toleration import tolerates
from kubedev.scheduler.status import SUCCESS, Code, Status

__all__ = ["UNSCHEDULABLE_TAINT", "NodeUnschedulable"]

UNSCHEDULABLE_TAINT = Taint(key="node.kubernetes.io/unschedulable", value="", effect="NoSchedule")


@dataclass(frozen=True, slots=True)
class NodeUnschedulable:
    """Keeps pods off a cordoned node, unless they tolerate the taint that cordoning brings."""

    name: str = "NodeUnschedulable"

    def filter(self, state: None, pod: Pod, node_info: NodeInfo) -> Status:
        """Refuse the pod on a node whose spec.unschedulable is set."""
        if not node_info.node.unschedulable or any(
            tolerates(t, UNSCHEDULABLE_TAINT) for t in pod.tolerations
        ):
            return SUCCESS
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) were unschedulable",), self.name)
