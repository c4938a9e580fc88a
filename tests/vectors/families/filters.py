"""The vectors of the plugins that look at one node alone."""

from typing import Any

from kubedev.api.fields import Fields
from kubedev.api.selectors import NodeAffinity as NodeAffinityRules
from kubedev.scheduler.plugins.node_affinity import NodeAffinity
from kubedev.scheduler.plugins.node_name import NodeName
from kubedev.scheduler.plugins.node_ports import NodePorts
from kubedev.scheduler.plugins.node_unschedulable import NodeUnschedulable
from kubedev.scheduler.plugins.taint_toleration import TaintToleration
from tests.vectors.families._plugins import run_filter

PLUGINS = {
    plugin.name: plugin for plugin in (NodeName(), NodePorts(), TaintToleration(), NodeUnschedulable())
}


def node_affinity(args: dict[str, Any]) -> NodeAffinity:
    """The plugin with its arguments."""
    added = args.get("addedAffinity")
    return (
        NodeAffinity.with_added_affinity(NodeAffinityRules.read(Fields.of(added)))
        if added
        else NodeAffinity()
    )


def answer(case_in: dict[str, Any]) -> dict[str, Any]:
    name = case_in["plugin"]
    plugin = node_affinity(case_in.get("args", {})) if name == "NodeAffinity" else PLUGINS[name]
    return run_filter(plugin, case_in)
