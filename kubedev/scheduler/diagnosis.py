"""Why a pod fits no node: every node's refusal, and the one line that Kubernetes makes of them.

Go: `pkg/scheduler/framework/types.go: Diagnosis, FitError`, `pkg/scheduler/framework/interface.go:
NodeToStatus`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.status import Code, Status

__all__ = ["NO_NODES_AVAILABLE", "NodeToStatus", "fit_error"]

NO_NODES_AVAILABLE = "no nodes available to schedule pods"


@dataclass(frozen=True, slots=True)
class NodeToStatus:
    """The refusals by node; `absent` is the answer for every node that was not even looked at."""

    explicit: Mapping[str, Status] = field(default_factory=dict)
    absent: Status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)

    def get(self, node_name: str) -> Status:
        """The status of one node."""
        return self.explicit.get(node_name, self.absent)

    def nodes_for_status_code(self, node_infos: Sequence[NodeInfo], code: Code) -> tuple[NodeInfo, ...]:
        """The nodes that were refused with this code."""
        return tuple(info for info in node_infos if self.get(info.name).code is code)

    def refusals(self) -> Iterable[Status]:
        """The refusals that there are; many nodes may share one."""
        return self.explicit.values()

    def reasons(self, num_all_nodes: int) -> Mapping[str, int]:
        """How many nodes give each reason; a node may give several."""
        counts: Counter[str] = Counter()
        for status in self.explicit.values():
            counts.update(status.reasons)
        absent = num_all_nodes - len(self.explicit)
        if absent > 0:
            counts.update(dict.fromkeys(self.absent.reasons, absent))
        return counts


def fit_error(
    num_all_nodes: int, statuses: NodeToStatus, pre_filter_message: str = "", post_filter_message: str = ""
) -> str:
    """The message of a pod that fits no node.

    The reasons are sorted as texts with their numbers, so "10 ..." comes before "2 ...". A refusal in
    PreFilter holds for all nodes and has no number.

    Go: `pkg/scheduler/framework/types.go: FitError.Error`.
    """
    if pre_filter_message:
        reasons = [pre_filter_message]
    else:
        counted = statuses.reasons(num_all_nodes).items()
        reasons = sorted(f"{count} {reason}" for reason, count in counted)
    parts = [f"0/{num_all_nodes} nodes are available:"]
    if reasons:
        parts.append(f"{', '.join(reasons)}.")
    if post_filter_message:
        parts.append(post_filter_message)
    return " ".join(parts)
