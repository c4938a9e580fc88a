"""One topology hint. Source: `pkg/kubelet/cm/topologymanager/topology_manager.go: TopologyHint`."""

from dataclasses import dataclass

__all__ = ["TopologyHint"]


@dataclass(frozen=True, slots=True)
class TopologyHint:
    """A place where a request can be served: a mask of NUMA nodes (None: anywhere); is it a good one?"""

    numa_node_affinity: int | None
    preferred: bool
