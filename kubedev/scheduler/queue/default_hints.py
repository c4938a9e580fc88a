"""The events and queueing hints of the default plugins.

Go: the methods `EventsToRegister` and `isSchedulableAfter...` in `pkg/scheduler/framework/plugins`.
"""

from collections.abc import Mapping

from kubedev.api.objects import Node, Pod
from kubedev.api.requests import compute_pod_resource_request
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.fits import fits
from kubedev.scheduler.plugins.node_ports import host_ports, ports_conflict
from kubedev.scheduler.plugins.node_unschedulable import UNSCHEDULABLE_TAINT
from kubedev.scheduler.plugins.taint_toleration import (
    DO_NOT_SCHEDULE_EFFECTS,
    find_matching_untolerated_taint,
    tolerates,
)
from kubedev.scheduler.plugins.topology.pod_affinity_terms import matches_all, parse_affinity_terms
from kubedev.scheduler.plugins.topology.spread_constraints import hard_constraints, has_all_keys
from kubedev.scheduler.queue.cluster_events import ActionType, ClusterEvent
from kubedev.scheduler.queue.queueing_hints import Hint, RegisteredEvent
from kubedev.scheduler.selectors.node_selector import required_node_affinity

__all__ = ["DEFAULT_EVENTS"]


def after_gates_eliminated(pod: Pod, old: Pod, new: Pod) -> Hint:
    """SchedulingGates: the pod's own gates are gone."""
    mine = new.uid == pod.uid
    return Hint(mine, "its gates are gone" if mine else "the gates of another pod are gone")


def after_uncordon(pod: Pod, old: Node | None, new: Node) -> Hint:
    """NodeUnschedulable: a node came that is not cordoned, or one was uncordoned."""
    opened = (old is None or old.unschedulable) and not new.unschedulable
    return Hint(
        opened, f"{new.name} takes pods now" if opened else f"{new.name} is cordoned, or was open before"
    )


def after_unschedulable_toleration(pod: Pod, old: Pod, new: Pod) -> Hint:
    """NodeUnschedulable: the pod itself tolerates cordoned nodes now."""
    tolerant = pod.uid == new.uid and any(tolerates(one, UNSCHEDULABLE_TAINT) for one in new.tolerations)
    return Hint(tolerant, "it tolerates cordoned nodes now" if tolerant else "it still minds cordoned nodes")


def after_taint_change(pod: Pod, old: Node | None, new: Node) -> Hint:
    """TaintToleration: the pod tolerates the node now, and did not before."""
    was = old is None or untolerated(pod, old)
    helps = was and not untolerated(pod, new)
    return Hint(helps, f"it tolerates {new.name} {'now' if helps else 'no more than before'}")


def untolerated(pod: Pod, node: Node) -> bool:
    """Whether the node has a taint that keeps the pod away."""
    return find_matching_untolerated_taint(node.taints, pod.tolerations, DO_NOT_SCHEDULE_EFFECTS) is not None


def after_toleration_change(pod: Pod, old: Pod, new: Pod) -> Hint:
    """TaintToleration: the pod itself got a toleration."""
    mine = pod.uid == new.uid
    return Hint(mine, "it got a toleration" if mine else "another pod got a toleration")


def after_node_label_change(pod: Pod, old: Node | None, new: Node) -> Hint:
    """NodeAffinity: the node matches the pod's selector and affinity now, and did not before."""
    required = required_node_affinity(pod)
    helps = required.matches(new) and (old is None or not required.matches(old))
    return Hint(helps, f"{new.name} {'matches now' if helps else 'does not match, or matched before'}")


def after_port_freed(pod: Pod, old: Pod, new: None) -> Hint:
    """NodePorts: a bound pod is gone that had one of the pod's host ports."""
    freed = bool(old.node_name) and ports_conflict(host_ports(old), host_ports(pod))
    return Hint(freed, f"{old.name} freed a host port" if freed else f"{old.name} had none of its host ports")


def after_pod_deleted(pod: Pod, old: Pod, new: Pod | None) -> Hint:
    """NodeResourcesFit: any bound pod that is gone may have made room."""
    if new is not None:
        return Hint(False, "a smaller request frees nothing without in-place resize")
    return Hint(bool(old.node_name), f"{old.name} {'left its node' if old.node_name else 'was not bound'}")


def after_node_capacity_change(pod: Pod, old: Node | None, new: Node) -> Hint:
    """NodeResourcesFit: the pod would fit the empty node, and the node has more of what the pod asks for."""
    if fits(compute_pod_resource_request(pod), NodeInfo.of(new)):
        return Hint(False, f"it does not even fit {new.name} when empty")
    if old is None:
        return Hint(True, f"{new.name} is new, and large enough")
    more = has_more_of_what_is_asked(pod, old, new)
    return Hint(more, f"{new.name} has {'more' if more else 'no more'} of what it asks for")


def has_more_of_what_is_asked(pod: Pod, old: Node, new: Node) -> bool:
    """Whether allocatable grew for a resource that the pod asks for, or the number of pods did.

    Go: `pkg/scheduler/framework/plugins/noderesources/fit.go: haveAnyRequestedResourcesIncreased`.
    """
    before, after = NodeInfo.of(old).allocatable, NodeInfo.of(new).allocatable
    asked = compute_pod_resource_request(pod)
    return (
        after.allowed_pod_number > before.allowed_pod_number
        or (asked.milli_cpu > 0 and after.milli_cpu > before.milli_cpu)
        or (asked.memory > 0 and after.memory > before.memory)
        or (asked.ephemeral_storage > 0 and after.ephemeral_storage > before.ephemeral_storage)
        or any(
            count != 0 and after.scalar_resources.get(name, 0) > before.scalar_resources.get(name, 0)
            for name, count in asked.scalar_resources.items()
        )
    )


def after_neighbour_change(pod: Pod, old: Pod | None, new: Pod | None) -> Hint:
    """InterPodAffinity: a bound pod now fulfils the pod's affinity, or stands no longer against it."""
    changed = new or old
    if changed is None or any(one is not None and not one.node_name for one in (old, new)):
        return Hint(False, "a pod that is not bound is nobody's neighbour")
    terms = parse_affinity_terms(pod)
    if terms.errors:
        return Hint(True, terms.error)
    wanted, unwanted = terms.required_affinity, terms.required_anti_affinity
    came = new is not None and matches_all(wanted, new) and not (old is not None and matches_all(wanted, old))
    went = (
        old is not None
        and matches_all(unwanted, old)
        and not (new is not None and matches_all(unwanted, new))
    )
    if came or went:
        return Hint(
            True, f"{changed.name} {'fulfils its affinity' if came else 'no longer stands against it'}"
        )
    return Hint(False, f"{changed.name} changes nothing for its affinity")


def after_topology_label(pod: Pod, old: Node | None, new: Node) -> Hint:
    """InterPodAffinity: the node has a label that one of the pod's terms counts as its topology."""
    terms = parse_affinity_terms(pod)
    if terms.errors:
        return Hint(True, terms.error)
    keys = [term.topology_key for term in (*terms.required_affinity, *terms.required_anti_affinity)]
    has = any(key in new.labels for key in keys)
    return Hint(has, f"{new.name} has {'a' if has else 'no'} topology that its terms speak of")


def after_spread_pod_change(pod: Pod, old: Pod | None, new: Pod | None) -> Hint:
    """PodTopologySpread: the number of pods that the pod's constraints count may have changed."""
    changed = new or old
    if changed is None or any(one is not None and not involved(one, pod) for one in (old, new)):
        return Hint(False, "it is not bound, or in another namespace")
    constraints = hard_constraints(pod)
    if old is None or new is None:
        counted = any(one.selector.matches(changed.labels) for one in constraints)
        return Hint(counted, f"{changed.name} is {'' if counted else 'not '}counted by its constraints")
    honors = any(one.node_taints_policy == "Honor" for one in constraints)
    if pod.uid == new.uid and new.tolerations != old.tolerations and honors:
        return Hint(True, "it got a toleration, and its constraints honour taints")
    counted = any(one.selector.matches(old.labels) != one.selector.matches(new.labels) for one in constraints)
    return Hint(
        counted, f"the labels of {new.name} {'change' if counted else 'do not change'} what is counted"
    )


def involved(changed: Pod, waiting: Pod) -> bool:
    """Whether the changed pod is the waiting one, or bound in its namespace. Go: `involvedInTopologySpreading`."""
    return changed.uid == waiting.uid or (bool(changed.node_name) and changed.namespace == waiting.namespace)


def after_spread_node_change(pod: Pod, old: Node | None, new: Node | None) -> Hint:
    """PodTopologySpread: a node came into the domains of the constraints, left them, or changed its taints."""
    constraints = hard_constraints(pod)
    was = old is not None and has_all_keys(old.labels, constraints)
    now = new is not None and has_all_keys(new.labels, constraints)
    if old is None or new is None:
        return Hint(was or now, f"the node has {'all' if was or now else 'not all'} topology keys")
    moved = any(old.labels.get(one.topology_key) != new.labels.get(one.topology_key) for one in constraints)
    helps = was != now or (now and (moved or old.taints != new.taints))
    return Hint(helps, f"{new.name} {'changed' if helps else 'did not change'} its domain or taints")


def on_node(action: ActionType) -> ClusterEvent:
    """Such a change of a node."""
    return ClusterEvent("Node", action)


def on_pod(action: ActionType) -> ClusterEvent:
    """Such a change of a pod, bound or pending."""
    return ClusterEvent("Pod", action)


A = ActionType
DEFAULT_EVENTS: Mapping[str, tuple[RegisteredEvent, ...]] = {
    "SchedulingGates": (
        RegisteredEvent(on_pod(A.UPDATE_POD_SCHEDULING_GATES_ELIMINATED), after_gates_eliminated),
    ),
    "NodeUnschedulable": (
        RegisteredEvent(on_node(A.ADD | A.UPDATE_NODE_TAINT), after_uncordon),
        RegisteredEvent(on_pod(A.UPDATE_POD_TOLERATIONS), after_unschedulable_toleration),
    ),
    "NodeName": (RegisteredEvent(on_node(A.ADD)),),
    "TaintToleration": (
        RegisteredEvent(on_node(A.ADD | A.UPDATE_NODE_TAINT), after_taint_change),
        RegisteredEvent(on_pod(A.UPDATE_POD_TOLERATIONS), after_toleration_change),
    ),
    "NodeAffinity": (RegisteredEvent(on_node(A.ADD | A.UPDATE_NODE_LABEL), after_node_label_change),),
    "NodePorts": (RegisteredEvent(on_pod(A.DELETE), after_port_freed), RegisteredEvent(on_node(A.ADD))),
    "NodeResourcesFit": (
        RegisteredEvent(on_pod(A.DELETE), after_pod_deleted),
        RegisteredEvent(on_node(A.ADD | A.UPDATE_NODE_ALLOCATABLE), after_node_capacity_change),
    ),
    "PodTopologySpread": (
        RegisteredEvent(
            on_pod(A.ADD | A.UPDATE_POD_LABEL | A.UPDATE_POD_TOLERATIONS | A.DELETE), after_spread_pod_change
        ),
        RegisteredEvent(
            on_node(A.ADD | A.DELETE | A.UPDATE_NODE_LABEL | A.UPDATE_NODE_TAINT), after_spread_node_change
        ),
    ),
    "InterPodAffinity": (
        RegisteredEvent(on_pod(A.ADD | A.UPDATE_POD_LABEL | A.DELETE), after_neighbour_change),
        RegisteredEvent(on_node(A.ADD | A.UPDATE_NODE_LABEL), after_topology_label),
    ),
    "DefaultPreemption": (),
}
"""What each default plugin waits for; an empty tuple waits for nothing."""
