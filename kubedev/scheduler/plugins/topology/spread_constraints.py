"""The constraints of topology spread, parsed: those of the pod itself, or the cluster's default ones.

Go: `pkg/scheduler/framework/plugins/{podtopologyspread/common,helper/spread}.go`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kubedev.api.objects import Node, Pod
from kubedev.api.selectors import TopologySpreadConstraint
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.taint_toleration import (
    DO_NOT_SCHEDULE_EFFECTS,
    find_matching_untolerated_taint,
)
from kubedev.scheduler.selectors.labels import (
    EVERYTHING,
    Selector,
    SelectorError,
    from_label_selector,
    from_labels,
)
from kubedev.scheduler.selectors.node_selector import RequiredNodeAffinity

__all__ = [
    "HOSTNAME",
    "SYSTEM_DEFAULT_CONSTRAINTS",
    "Constraint",
    "constraints_of",
    "count_matching_pods",
    "default_constraints",
    "hard_constraints",
    "has_all_keys",
]

HOSTNAME = "kubernetes.io/hostname"
SYSTEM_DEFAULT_CONSTRAINTS = (
    TopologySpreadConstraint(3, HOSTNAME, "ScheduleAnyway"),
    TopologySpreadConstraint(5, "topology.kubernetes.io/zone", "ScheduleAnyway"),
)
SPREAD_OWNERS = {("v1", "ReplicationController"), ("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet")}


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint, ready to be counted with."""

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int = 1
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"

    def counts_node(self, pod: Pod, node: Node, required: RequiredNodeAffinity) -> bool:
        """Whether the node's pods count: not if it is honoured that the pod could not go there anyway.

        Go: `matchNodeInclusionPolicies`.
        """
        if self.node_affinity_policy == "Honor" and not required.matches(node):
            return False
        return self.node_taints_policy != "Honor" or not find_matching_untolerated_taint(
            node.taints, pod.tolerations, DO_NOT_SCHEDULE_EFFECTS
        )


def constraints_of(
    constraints: Sequence[TopologySpreadConstraint], labels: Mapping[str, str], action: str
) -> tuple[Constraint, ...]:
    """Parse those with this `whenUnsatisfiable`, for a pod with these labels. Raises SelectorError."""
    return tuple(_parse(given, labels) for given in constraints if given.when_unsatisfiable == action)


def hard_constraints(pod: Pod) -> tuple[Constraint, ...]:
    """The constraints of the pod itself that have to hold. Raises SelectorError."""
    return constraints_of(pod.topology_spread_constraints, pod.labels, "DoNotSchedule")


def default_constraints(
    constraints: Sequence[TopologySpreadConstraint], pod: Pod, action: str, context: Context
) -> tuple[Constraint, ...]:
    """The cluster's constraints for a pod that has none; they count the pods of its services and owner.

    A pod that belongs to nothing has no constraints. Go: `buildDefaultConstraints`, `DefaultSelector`.
    """
    selector = _default_selector(pod, context)
    if selector.is_empty:
        return ()
    parsed = constraints_of(constraints, pod.labels, action)
    return tuple(replace(constraint, selector=selector) for constraint in parsed)


def has_all_keys(labels: Mapping[str, str], constraints: Sequence[Constraint]) -> bool:
    """Whether a node has the label of every constraint. Go: `nodeLabelsMatchSpreadConstraints`."""
    return all(constraint.topology_key in labels for constraint in constraints)


def count_matching_pods(node_info: NodeInfo, selector: Selector, namespace: str) -> int:
    """How many pods of the namespace match, those that are terminating left out.

    An empty selector counts none. Go: `countPodsMatchSelector`.
    """
    if selector.is_empty:
        return 0
    return sum(
        1
        for info in node_info.pods
        if info.pod.deletion_timestamp is None
        and info.pod.namespace == namespace
        and selector.matches(info.pod.labels)
    )


def _parse(given: TopologySpreadConstraint, labels: Mapping[str, str]) -> Constraint:
    selector = from_label_selector(given.label_selector)
    own = {key: labels[key] for key in given.match_label_keys if key in labels}
    return Constraint(
        max_skew=given.max_skew,
        topology_key=given.topology_key,
        selector=selector.with_requirements(from_labels(own).requirements),
        min_domains=1 if given.min_domains is None else given.min_domains,
        node_affinity_policy=given.node_affinity_policy or "Honor",
        node_taints_policy=given.node_taints_policy or "Ignore",
    )


def _default_selector(pod: Pod, context: Context) -> Selector:
    """What the pod's services and the controller that owns it select, together."""
    selector = EVERYTHING
    for service in context.services:
        own = from_labels(service.selector)
        if service.namespace == pod.namespace and own.matches(pod.labels):
            selector = selector.with_requirements(own.requirements)
    owner = next((owner for owner in pod.owner_references if owner.controller), None)
    if owner is None or (owner.api_version, owner.kind) not in SPREAD_OWNERS:
        return selector
    for workload in context.workloads:
        if (workload.kind, workload.namespace, workload.name) == (owner.kind, pod.namespace, owner.name):
            try:
                return selector.with_requirements(from_label_selector(workload.selector).requirements)
            except SelectorError:
                return selector  # as in Go, a controller that selects nonsense does not count
    return selector
