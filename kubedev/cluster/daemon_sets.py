"""The DaemonSet controller's decision: on which nodes there is to be a pod.

Go: `pkg/controller/daemon/daemon_controller.go: NodeShouldRunDaemonPod, predicates`.
"""

from collections.abc import Iterable

from kubedev.api.defaults import default_pod
from kubedev.api.objects import Node, Pod
from kubedev.api.pod_groups import Workload
from kubedev.api.workloads import daemon_pod, pod_from_template, with_daemon_tolerations
from kubedev.scheduler.plugins.taint_toleration import (
    DO_NOT_SCHEDULE_EFFECTS,
    find_matching_untolerated_taint,
)
from kubedev.scheduler.selectors.node_selector import required_node_affinity

__all__ = ["daemon_pods", "may_stay", "should_run"]


def daemon_pods(daemon_set: Workload, nodes: Iterable[Node]) -> tuple[Pod, ...]:
    """The pods that a DaemonSet has on these nodes, one for each that it may run on; not admitted yet."""
    return tuple(default_pod(daemon_pod(daemon_set, node)) for node in nodes if should_run(daemon_set, node))


def should_run(daemon_set: Workload, node: Node) -> bool:
    """Whether a pod is to be made for the node: its name, nodeSelector, node affinity and taints are asked.

    Its pods tolerate every taint of a node in trouble.
    """
    return _selects(daemon_set, node) and _tolerates(daemon_set, node, DO_NOT_SCHEDULE_EFFECTS)


def may_stay(daemon_set: Workload, node: Node) -> bool:
    """Whether a pod that is there already may stay: of taints only NoExecute counts then."""
    return _selects(daemon_set, node) and _tolerates(daemon_set, node, ("NoExecute",))


def _selects(daemon_set: Workload, node: Node) -> bool:
    pod = pod_from_template(daemon_set, node.name)
    return pod.node_name in ("", node.name) and required_node_affinity(pod).matches(node)


def _tolerates(daemon_set: Workload, node: Node, effects: tuple[str, ...]) -> bool:
    pod = with_daemon_tolerations(pod_from_template(daemon_set, node.name))
    return find_matching_untolerated_taint(node.taints, pod.tolerations, effects) is None
