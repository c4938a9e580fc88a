"""Critical pods: those that the kubelet admits under pressure, never evicts, and evicts others for.

Go source: `pkg/kubelet/types/pod_update.go`.
"""

from kubedev.api.objects import Pod

__all__ = ["is_critical_pod", "is_mirror_pod", "is_node_critical_pod", "is_static_pod", "preemptable"]

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
SYSTEM_NODE_CRITICAL = "system-node-critical"
SOURCE, MIRROR = "kubernetes.io/config.source", "kubernetes.io/config.mirror"


def is_static_pod(pod: Pod) -> bool:
    """Whether the kubelet has the pod from a file or an address instead of the API server."""
    return pod.annotations.get(SOURCE, "api") != "api"


def is_mirror_pod(pod: Pod) -> bool:
    """Whether it is what the API server shows of a static pod."""
    return MIRROR in pod.annotations


def is_critical_pod(pod: Pod) -> bool:
    """Static, mirror, or of a priority from 2000000000."""
    by_priority = pod.priority is not None and pod.priority >= SYSTEM_CRITICAL_PRIORITY
    return by_priority or is_static_pod(pod) or is_mirror_pod(pod)


def is_node_critical_pod(pod: Pod) -> bool:
    """A critical pod of the class system-node-critical."""
    return is_critical_pod(pod) and pod.priority_class_name == SYSTEM_NODE_CRITICAL


def preemptable(preemptor: Pod, victim: Pod) -> bool:
    """Whether the one may have the other evicted: critical against not critical, or of strictly higher priority."""
    if is_critical_pod(preemptor) and not is_critical_pod(victim):
        return True
    if preemptor.priority is None or victim.priority is None:
        return False
    return preemptor.priority > victim.priority
