"""NodeName: a pod that names its node goes there or nowhere."""

from dataclasses import dataclass

from kubedev.api.objects import Pod
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.status import SUCCESS, Code, Status

__all__ = ["NodeName"]


@dataclass(frozen=True, slots=True)
class NodeName:
    """A pod that names its node (spec.nodeName) goes there or nowhere.

    Go: `pkg/scheduler/framework/plugins/nodename/node_name.go`.
    """

    name: str = "NodeName"

    def filter(self, state: object, pod: Pod, node_info: NodeInfo) -> Status:
        """Refuse all nodes but the one that the pod names."""
        if not pod.node_name or pod.node_name == node_info.node.name:
            return SUCCESS
        reasons = ("node(s) didn't match the requested node name",)
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons, self.name)
