"""The default plugins in their order. Go: `pkg/scheduler/apis/config/v1/default_plugins.go`.

Left out are those of volumes, PrioritySort (the queue's order) and DefaultBinder (binding is an effect here).
"""

from kubedev.scheduler.affinity import NodeAffinity
from kubedev.scheduler.filters import NodeName, NodePorts
from kubedev.scheduler.framework import Framework, Plugin
from kubedev.scheduler.gates import SchedulingGates
from kubedev.scheduler.image_locality import ImageLocality
from kubedev.scheduler.pod_affinity import InterPodAffinity
from kubedev.scheduler.preemption import DefaultPreemption
from kubedev.scheduler.resource_scores import NodeResourcesBalancedAllocation, NodeResourcesFit
from kubedev.scheduler.spread import PodTopologySpread
from kubedev.scheduler.taints import NodeUnschedulable, TaintToleration

__all__ = ["DEFAULT_PLUGINS", "default_framework"]

DEFAULT_PLUGINS: tuple[Plugin, ...] = (
    SchedulingGates(),
    NodeUnschedulable(),
    NodeName(),
    TaintToleration(),
    NodeAffinity(),
    NodePorts(),
    NodeResourcesFit(),
    PodTopologySpread(),
    InterPodAffinity(),
    DefaultPreemption(),
    NodeResourcesBalancedAllocation(),
    ImageLocality(),
)


def default_framework(percentage_of_nodes_to_score: int = 0) -> Framework:
    """The default profile of kube-scheduler."""
    return Framework(DEFAULT_PLUGINS, percentage_of_nodes_to_score=percentage_of_nodes_to_score)
