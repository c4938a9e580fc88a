"""The vectors of the scores that are not by resources."""

from typing import Any

from kubedev.scheduler.plugins.image_locality import ImageLocality
from kubedev.scheduler.plugins.taint_toleration import TaintToleration
from kubedev.scheduler.plugins.topology.inter_pod_affinity import InterPodAffinity
from kubedev.scheduler.plugins.topology.pod_topology_spread import PodTopologySpread
from tests.vectors.families._plugins import run_score
from tests.vectors.families.filters import node_affinity


def inter_pod_affinity(args: dict[str, Any]) -> InterPodAffinity:
    """The plugin with its arguments."""
    return InterPodAffinity(
        args.get("hardPodAffinityWeight", 1), args.get("ignorePreferredTermsOfExistingPods", False)
    )


PLUGINS = {
    "NodeAffinity": node_affinity,
    "TaintToleration": lambda args: TaintToleration(),
    "ImageLocality": lambda args: ImageLocality(),
    "InterPodAffinity": inter_pod_affinity,
    "PodTopologySpread": lambda args: PodTopologySpread(),
}


def answer(case_in: dict[str, Any]) -> dict[str, Any]:
    return run_score(PLUGINS[case_in["plugin"]](case_in.get("args", {})), case_in)
