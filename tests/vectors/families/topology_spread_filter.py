"""The vectors of topology spread as a filter."""

from typing import Any

from kubedev.api.fields import Fields
from kubedev.api.selectors import TopologySpreadConstraint
from kubedev.scheduler.plugins.topology.pod_topology_spread import PodTopologySpread
from tests.vectors.families._plugins import run_filter


def answer(case_in: dict[str, Any]) -> dict[str, Any]:
    plugin = PodTopologySpread()
    if "args" in case_in:
        given = Fields.of(case_in["args"]).children("defaultConstraints")
        plugin = PodTopologySpread(tuple(map(TopologySpreadConstraint.read, given)), system_defaulted=False)
    return run_filter(plugin, case_in)
