"""Scheduling gates: a pod with any of them is not even tried."""

from dataclasses import dataclass

from kubedev.api.objects import Pod
from kubedev.scheduler.status import SUCCESS, Code, Status

__all__ = ["SchedulingGates"]


@dataclass(frozen=True, slots=True)
class SchedulingGates:
    """Holds a pod back until somebody has taken away all of its gates.

    Go: `pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go`.
    """

    name: str = "SchedulingGates"

    def pre_enqueue(self, pod: Pod) -> Status:
        """Refuse the pod as long as it has a gate."""
        if not pod.scheduling_gates:
            return SUCCESS
        reasons = (f"waiting for scheduling gates: [{' '.join(pod.scheduling_gates)}]",)
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons, self.name)
