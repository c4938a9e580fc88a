"""The plugins that a configuration can name, and how each is made from its arguments.

Go: `pkg/scheduler/framework/plugins/registry.go`, `pkg/scheduler/framework/runtime/registry.go`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kubedev.api.fields import Fields
from kubedev.api.objects import Pod
from kubedev.api.selectors import NodeAffinity as NodeAffinityRules
from kubedev.api.selectors import TopologySpreadConstraint
from kubedev.api.switches import CLAIMS_GATE
from kubedev.scheduler.configuration.plugin_args import validate_args
from kubedev.scheduler.context import Context
from kubedev.scheduler.framework import Plugin
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.dynamic_resources import DynamicResources
from kubedev.scheduler.plugins.image_locality import ImageLocality
from kubedev.scheduler.plugins.node_affinity import NodeAffinity
from kubedev.scheduler.plugins.node_name import NodeName
from kubedev.scheduler.plugins.node_ports import NodePorts
from kubedev.scheduler.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from kubedev.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kubedev.scheduler.plugins.node_unschedulable import NodeUnschedulable
from kubedev.scheduler.plugins.resource_scores import ResourceSpec, Strategy, UtilizationPoint
from kubedev.scheduler.plugins.scheduling_gates import SchedulingGates
from kubedev.scheduler.plugins.taint_toleration import TaintToleration
from kubedev.scheduler.plugins.topology.inter_pod_affinity import InterPodAffinity
from kubedev.scheduler.plugins.topology.pod_topology_spread import PodTopologySpread
from kubedev.scheduler.plugins.volumes.node_volume_limits import NodeVolumeLimits
from kubedev.scheduler.plugins.volumes.volume_binding import VolumeBinding
from kubedev.scheduler.plugins.volumes.volume_restrictions import VolumeRestrictions
from kubedev.scheduler.plugins.volumes.volume_zone import VolumeZone
from kubedev.scheduler.preemption.preemption import DefaultPreemption
from kubedev.scheduler.queue.queueing_hints import RegisteredEvent
from kubedev.scheduler.status import Code, Status

__all__ = ["IN_TREE", "Entry", "Registry", "in_tree"]

Args = Mapping[str, Any]


class Entry(NamedTuple):
    """A plugin by its name: at which extension points it can stand, and how it is made.

    `make` takes the plugin's arguments (None where it has none) and raises ValueError with the reasons.
    """

    points: frozenset[str]
    make: Callable[[Any], Plugin]


Registry = Mapping[str, Entry]


@dataclass(frozen=True, slots=True)
class Silent:
    """A plugin that has no say here: what it does is done elsewhere, or its feature is off."""

    name: str

    def events_to_register(self) -> tuple[RegisteredEvent, ...]:
        """It refuses nothing."""
        return ()

    def pre_filter(self, pod: Pod, nodes: Sequence[NodeInfo], context: Context) -> tuple[None, Status, None]:
        """There is nothing to check."""
        return None, Status(Code.SKIP), None


def node_resources_fit(args: Args) -> Plugin:
    """The plugin with its scoring strategy. Its arguments are checked here alone, and without a path."""
    if problems := validate_args("NodeResourcesFit", args, ""):
        raise ValueError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    given = args["scoringStrategy"]
    strategy = Strategy(given["type"])
    if strategy is Strategy.REQUESTED_TO_CAPACITY_RATIO and "requestedToCapacityRatio" not in given:
        raise ValueError(
            "scoringStrategy.requestedToCapacityRatio: Required value: RequestedToCapacityRatio needs a shape "
            "(kube-scheduler ends with a nil pointer dereference here): give it points of utilization and score"
        )
    shape = given.get("requestedToCapacityRatio", {}).get("shape", ())
    return NodeResourcesFit(
        strategy,
        tuple(ResourceSpec(one["name"], one["weight"]) for one in given["resources"]),
        tuple(UtilizationPoint(point["utilization"], point["score"]) for point in shape),
        frozenset(args.get("ignoredResources", ())),
        frozenset(args.get("ignoredResourceGroups", ())),
    )


def node_resources_balanced_allocation(args: Args) -> Plugin:
    """The plugin with the resources that it balances; their weights are all 1."""
    return NodeResourcesBalancedAllocation(tuple(ResourceSpec(one["name"]) for one in args["resources"]))


def pod_topology_spread(args: Args) -> Plugin:
    """The plugin with the cluster's default constraints, or with those of the configuration."""
    if args["defaultingType"] == "System":
        return PodTopologySpread()
    listed = map(Fields.of, args.get("defaultConstraints", ()))
    return PodTopologySpread(tuple(map(TopologySpreadConstraint.read, listed)), system_defaulted=False)


def inter_pod_affinity(args: Args) -> Plugin:
    """The plugin with the weight of required terms."""
    return InterPodAffinity(args["hardPodAffinityWeight"], args["ignorePreferredTermsOfExistingPods"])


def node_affinity(args: Args) -> Plugin:
    """The plugin with the affinity that is added to every pod."""
    added = args.get("addedAffinity")
    if added is None:
        return NodeAffinity()
    return NodeAffinity.with_added_affinity(NodeAffinityRules.read(Fields.of(added)))


def default_preemption(args: Args) -> Plugin:
    """The plugin with how many candidates are enough."""
    return DefaultPreemption(args["minCandidateNodesPercentage"], args["minCandidateNodesAbsolute"])


def volume_binding(args: Args) -> Plugin:
    """The plugin with how long a pod waits for its volumes."""
    return VolumeBinding(bind_timeout_seconds=args["bindTimeoutSeconds"])


def entry(points: str, make: Callable[[Any], Plugin]) -> Entry:
    """A plugin that takes arguments."""
    return Entry(frozenset(points.split()), make)


def plain(points: str, plugin: Plugin) -> Entry:
    """A plugin without arguments."""
    return entry(points, lambda args: plugin)


FILTER, SCORE = "preFilter filter", "preScore score"
OF_CLAIMS = f"preEnqueue {FILTER} postFilter reserve preBind"
IN_TREE: Registry = {
    "SchedulingGates": plain("preEnqueue", SchedulingGates()),
    "PrioritySort": plain("queueSort", Silent("PrioritySort")),
    "NodeUnschedulable": plain("filter", NodeUnschedulable()),
    "NodeName": plain("filter", NodeName()),
    "TaintToleration": plain(f"filter {SCORE}", TaintToleration()),
    "NodeAffinity": entry(f"{FILTER} {SCORE}", node_affinity),
    "NodePorts": plain(FILTER, NodePorts()),
    "NodeResourcesFit": entry(f"{FILTER} {SCORE}", node_resources_fit),
    "VolumeRestrictions": plain(FILTER, VolumeRestrictions()),
    "NodeVolumeLimits": plain(FILTER, NodeVolumeLimits()),
    "VolumeBinding": entry(f"{FILTER} {SCORE} reserve preBind", volume_binding),
    "VolumeZone": plain(FILTER, VolumeZone()),
    "PodTopologySpread": entry(f"{FILTER} {SCORE}", pod_topology_spread),
    "InterPodAffinity": entry(f"{FILTER} {SCORE}", inter_pod_affinity),
    "DefaultPreemption": entry("postFilter preEnqueue", default_preemption),
    "NodeResourcesBalancedAllocation": entry(SCORE, node_resources_balanced_allocation),
    "ImageLocality": plain("score", ImageLocality()),
    "DefaultBinder": plain("bind", Silent("DefaultBinder")),
    "DynamicResources": plain(OF_CLAIMS, Silent("DynamicResources")),
}
"""The plugins of v1.32. PrioritySort is how the queue sorts, and DefaultBinder how a pod is bound here, whatever
the configuration says beyond that they are needed; DynamicResources is silent while its feature gate is off.
"""


def in_tree(gates: Collection[str]) -> Registry:
    """Kubernetes' own plugins, with what feature gates make of them."""
    if CLAIMS_GATE not in gates:
        return IN_TREE
    return {**IN_TREE, "DynamicResources": plain(OF_CLAIMS, DynamicResources())}
