"""The default plugins in their order. Go: `pkg/scheduler/apis/config/v1/default_plugins.go`.

Left out are PrioritySort (the queue's order) and DefaultBinder (binding is an effect here).
"""

from kubedev.scheduler.framework import Framework, Plugin
from kubedev.scheduler.plugins.image_locality import ImageLocality
from kubedev.scheduler.plugins.node_affinity import NodeAffinity
from kubedev.scheduler.plugins.node_name import NodeName
from kubedev.scheduler.plugins.node_ports import NodePorts
from kubedev.scheduler.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from kubedev.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kubedev.scheduler.plugins.node_unschedulable import NodeUnschedulable
from kubedev.scheduler.plugins.scheduling_gates import SchedulingGates
from kubedev.scheduler.plugins.taint_toleration import TaintToleration
from kubedev.scheduler.plugins.topology.inter_pod_affinity import InterPodAffinity
from kubedev.scheduler.plugins.topology.pod_topology_spread import PodTopologySpread
from kubedev.scheduler.plugins.volumes.node_volume_limits import NodeVolumeLimits
from kubedev.scheduler.plugins.volumes.volume_binding import VolumeBinding
from kubedev.scheduler.plugins.volumes.volume_restrictions import VolumeRestrictions
from kubedev.scheduler.plugins.volumes.volume_zone import VolumeZone
from kubedev.scheduler.preemption.preemption import DefaultPreemption

__all__ = ["DEFAULT_PLUGINS", "default_framework"]

DEFAULT_PLUGINS: tuple[Plugin, ...] = (
    SchedulingGates(),
    NodeUnschedulable(),
    NodeName(),
    TaintToleration(),
    NodeAffinity(),
    NodePorts(),
    NodeResourcesFit(),
    VolumeRestrictions(),
    NodeVolumeLimits(),
    VolumeBinding(),
    VolumeZone(),
    PodTopologySpread(),
    InterPodAffinity(),
    DefaultPreemption(),
    NodeResourcesBalancedAllocation(),
    ImageLocality(),
)


def default_framework(percentage_of_nodes_to_score: int = 0) -> Framework:
    """The default profile of kube-scheduler."""
    return Framework(DEFAULT_PLUGINS, percentage_of_nodes_to_score=percentage_of_nodes_to_score)
