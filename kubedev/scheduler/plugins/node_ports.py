"""NodePorts: two pods cannot have the same port of a node."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubedev.api.objects import Pod
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import ANY_ADDRESS, HostPort, NodeInfo
from kubedev.scheduler.node_info import host_ports as host_ports_of
from kubedev.scheduler.status import SUCCESS, Code, Status

__all__ = ["NodePorts", "conflicting_port", "host_ports", "ports_conflict"]


@dataclass(frozen=True, slots=True)
class NodePorts:
    """Two pods cannot have the same port of a node.

    Go: `pkg/scheduler/framework/plugins/nodeports/node_ports.go`.
    """

    name: str = "NodePorts"

    def pre_filter(
        self, pod: Pod, nodes: Sequence[NodeInfo], context: Context
    ) -> tuple[tuple[HostPort, ...], Status, None]:
        """The state is the pod's host ports; there is nothing to check without any."""
        ports = host_ports(pod)
        return ports, SUCCESS if ports else Status(Code.SKIP), None

    def filter(self, state: tuple[HostPort, ...], pod: Pod, node_info: NodeInfo) -> Status:
        """Refuse the pod where a port is taken; `why` is the first such port of the pod."""
        taken = conflicting_port(node_info.used_ports, state)
        if taken is None:
            return SUCCESS
        reasons = ("node(s) didn't have free ports for the requested pod ports",)
        return Status(Code.UNSCHEDULABLE, reasons, self.name, (taken,))


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """The ports that the pod's containers take of its node; init containers take none."""
    return tuple(host_ports_of(pod.containers))


def ports_conflict(used: Iterable[HostPort], wanted: Iterable[HostPort]) -> bool:
    """Whether one of the wanted ports is taken."""
    return conflicting_port(used, wanted) is not None


def conflicting_port(used: Iterable[HostPort], wanted: Iterable[HostPort]) -> HostPort | None:
    """The first wanted port that is taken, for the same address or where one of the two is for all.

    Go: `pkg/scheduler/framework/types.go: HostPortInfo.CheckConflict`.
    """
    used = tuple(used)
    for port in wanted:
        for taken in used:
            same_address = port[0] == taken[0] or ANY_ADDRESS in (port[0], taken[0])
            if same_address and port[1:] == taken[1:]:
                return port
    return None
