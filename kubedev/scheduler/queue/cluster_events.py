"""What happens in a cluster, in the words in which scheduler plugins say what they wait for.

A pod that was refused waits until something happens that may change the answer. Each plugin registers the
events that may help (queueing_hints); here an observed change of a pod or a node becomes such events.

Go: `pkg/scheduler/framework/events.go`, `pkg/scheduler/framework/types.go: ClusterEvent`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Flag
from typing import Any

from kubedev.api.objects import Node, Pod
from kubedev.api.requests import pod_requests

__all__ = [
    "ASSIGNED_POD_ADD",
    "ASSIGNED_POD_DELETE",
    "FORCE_ACTIVATE",
    "NODE_ADD",
    "NODE_DELETE",
    "UNSCHEDULABLE_TIMEOUT",
    "ActionType",
    "ClusterEvent",
    "node_scheduling_properties_change",
    "pod_scheduling_properties_change",
]


class ActionType(Flag):
    """What was done to an object; a plugin may register several at once.

    Go: `pkg/scheduler/framework/types.go: ActionType`.
    """

    ADD = 1 << 0
    DELETE = 1 << 1
    UPDATE_NODE_ALLOCATABLE = 1 << 2
    UPDATE_NODE_LABEL = 1 << 3
    UPDATE_NODE_TAINT = 1 << 4
    UPDATE_NODE_CONDITION = 1 << 5
    UPDATE_NODE_ANNOTATION = 1 << 6
    UPDATE_POD_LABEL = 1 << 7
    UPDATE_POD_SCALE_DOWN = 1 << 8
    UPDATE_POD_TOLERATIONS = 1 << 9
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1 << 10
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 1 << 11
    UPDATE_POD_OTHER = 1 << 12
    UPDATE = sum(1 << bit for bit in range(2, 13))
    ALL = (1 << 13) - 1


# Events of pods tell bound pods from pending ones; a plugin that registers "Pod" means both.
POD_KINDS = ("AssignedPod", "UnschedulablePod")


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """A kind of change: of which resource (`Pod`, `Node`, ... or `*` for anything), and what was done to it.

    Go: `pkg/scheduler/framework/types.go: ClusterEvent`.
    """

    resource: str
    action: ActionType
    name: str = ""

    @property
    def label(self) -> str:
        """The event's name, as Kubernetes' logs and metrics print it: `NodeAdd`, `AssignedPodDelete`."""
        action = "Update" if self.action is ActionType.UPDATE_POD_OTHER else self.action.name or ""
        return self.name or self.resource + "".join(word.capitalize() for word in action.split("_"))

    @property
    def is_wild_card(self) -> bool:
        """Whether the event concerns pods whichever plugin refused them."""
        return self.resource == "*" and self.action == ActionType.ALL

    def match(self, incoming: "ClusterEvent") -> bool:
        """Whether a plugin that registered this event is to hear of the incoming one."""
        same_resource = (
            self.resource in ("*", incoming.resource)
            or (self.resource == "Pod" and incoming.resource in POD_KINDS)
        )  # fmt: skip
        return self.is_wild_card or (same_resource and bool(self.action & incoming.action))


ASSIGNED_POD_ADD = ClusterEvent("AssignedPod", ActionType.ADD)
ASSIGNED_POD_DELETE = ClusterEvent("AssignedPod", ActionType.DELETE)
NODE_ADD = ClusterEvent("Node", ActionType.ADD)
NODE_DELETE = ClusterEvent("Node", ActionType.DELETE)
UNSCHEDULABLE_TIMEOUT = ClusterEvent("*", ActionType.ALL, "UnschedulableTimeout")
FORCE_ACTIVATE = ClusterEvent("*", ActionType.ALL, "ForceActivate")


def pod_scheduling_properties_change(new: Pod, old: Pod | None) -> tuple[ClusterEvent, ...]:
    """The events that an update of a pod stands for; a change of nothing that matters is one event, "other".

    Go: `pkg/scheduler/framework/events.go: PodSchedulingPropertiesChange`.
    """
    resource = "AssignedPod" if new.node_name else "UnschedulablePod"
    actions: list[ActionType] = []
    if old is not None:
        if new.labels != old.labels:
            actions.append(ActionType.UPDATE_POD_LABEL)
        if scaled_down(new, old):
            actions.append(ActionType.UPDATE_POD_SCALE_DOWN)
        if old.scheduling_gates and not new.scheduling_gates:
            actions.append(ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
        if len(new.tolerations) != len(old.tolerations):
            actions.append(ActionType.UPDATE_POD_TOLERATIONS)
        if new.resource_claim_statuses != old.resource_claim_statuses:
            actions.append(ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    actions = actions or [ActionType.UPDATE_POD_OTHER]
    return tuple(ClusterEvent(resource, action) for action in actions)


def scaled_down(new: Pod, old: Pod) -> bool:
    """Whether the pod asks for less of any resource than before."""
    now = pod_requests(new)
    return any(
        name not in now or quantity.milli_value() > now[name].milli_value()
        for name, quantity in pod_requests(old).items()
    )


def node_scheduling_properties_change(new: Node, old: Node) -> tuple[ClusterEvent, ...]:
    """The events that an update of a node stands for; none where nothing that matters changed.

    Being cordoned is no event (nothing fits better then), being uncordoned counts as a change of taints.

    Go: `pkg/scheduler/framework/events.go: NodeSchedulingPropertiesChange`.
    """
    changed = {
        ActionType.UPDATE_NODE_ALLOCATABLE: dict(new.allocatable) != dict(old.allocatable),
        ActionType.UPDATE_NODE_LABEL: new.labels != old.labels,
        ActionType.UPDATE_NODE_TAINT: new.taints != old.taints,
        ActionType.UPDATE_NODE_CONDITION: condition_statuses(new) != condition_statuses(old),
        ActionType.UPDATE_NODE_ANNOTATION: new.annotations != old.annotations,
    }
    uncordoned = [ActionType.UPDATE_NODE_TAINT] if old.unschedulable and not new.unschedulable else []
    return tuple(
        ClusterEvent("Node", action)
        for action in uncordoned + [a for a, differs in changed.items() if differs]
    )


def condition_statuses(node: Node) -> Mapping[str, Any]:
    """A node's conditions without their times, which change at every heartbeat."""
    return {condition.type: condition.status for condition in node.conditions}
