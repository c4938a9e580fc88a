"""What plugins, causes and events are called when people read them."""

from collections.abc import Mapping, Sequence
from typing import Any

from kubedev.api.selectors import Taint
from kubedev.scheduler.node_info import HostPort

__all__ = ["CAUSES", "EVENTS", "PLUGINS", "evicted", "port_of", "some", "taint_of", "waits_for"]

CAUSES: Mapping[str, str] = {
    "absent": "{resource} is not on the node's list: no device plugin has registered it there",
    "none": "{resource} is on the node's list with 0: its plugin is gone, or reports no healthy device",
    "unhealthy": "there would be enough {resource}, were all its devices healthy",
    "too small": "the request is larger than all of the node's {resource}",
    "in use": "there is enough {resource}, and it is in use",
}
PLUGINS: Mapping[str, str] = {
    "NodeUnschedulable": "they are cordoned (kubectl uncordon)",
    "NodeName": "the pod names another node (spec.nodeName)",
    "TaintToleration": "a taint keeps away every pod that does not tolerate it",
    "NodeAffinity": "their labels do not match the pod's nodeSelector or required node affinity",
    "NodePorts": "another pod there has the host port",
    "PodTopologySpread": "with the pod there, its spread over the domains would be too uneven, or a label is missing",
    "InterPodAffinity": "pods there, or the lack of them, do not go with a pod affinity or anti-affinity",
    "NodeVolumeLimits": "no more volumes can be attached there",
    "VolumeBinding": "the pod's claims cannot be bound there",
    "VolumeZone": "the pod's volume is in another zone",
    "VolumeRestrictions": "the pod's disk is in use there already",
    "DynamicResources": "the pod's resource claims cannot be allocated there",
}
EVENTS: Mapping[str, str] = {
    "PodDelete": "a pod goes",
    "PodAdd": "a pod gets a node",
    "NodeAdd": "a node comes",
    "NodeDelete": "a node goes",
    "NodeUpdateNodeAllocatable": "a node has more to give",
    "NodeUpdateNodeLabel": "a node's labels change",
    "NodeUpdateNodeTaint": "a node's taints change, or it is uncordoned",
    "PodUpdatePodTolerations": "the pod gets a toleration",
    "PodUpdatePodLabel": "a pod's labels change",
    "PodUpdatePodSchedulingGatesEliminated": "its gates are taken away",
    "PersistentVolumeClaimAdd": "a claim comes",
    "PersistentVolumeAdd": "a volume comes",
    "StorageClassAdd": "a storage class comes",
}
"""The events of Kubernetes' scheduler, by the names that its metrics have."""


def some(names: Sequence[str], most: int) -> str:
    """The first of them, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def taint_of(taint: Taint) -> str:
    """A taint as kubectl writes it."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def evicted(eviction: Mapping[str, Any], priority: int) -> str:
    """Who goes where for a pod of this priority: `default/h (priority 5 < 10) on a`."""
    victims = [f"{one['pod']} (priority {one['priority']} < {priority})" for one in eviction["evicts"]]
    return f"{some(victims, 8)} on {eviction['node']}"


def port_of(port: HostPort) -> str:
    """A port of a node: `8080/TCP`."""
    _, protocol, number = port
    return f"{number}/{protocol}"


def waits_for(events: Sequence[str]) -> str:
    """Events in words where there are some, each with its name."""
    told = [f"{EVENTS[event]} ({event})" if event in EVENTS else event for event in events]
    return ", ".join(told) or "nothing"
