"""The order in which nodes are looked at: zone after zone in turn, so that pods spread over the zones.

Go: `pkg/scheduler/backend/cache/node_tree.go`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from kubedev.api.objects import Node
from kubedev.api.values import Same

__all__ = ["NodeTree", "zone_key"]

# The old names of the labels still count, and first.
REGION_LABELS = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
ZONE_LABELS = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")

Zones = tuple[tuple[str, tuple[str, ...]], ...]


def zone_key(node: Node) -> str:
    """What tells the node's zone from all others: region and zone; empty for a node without either label.

    Go: `k8s.io/component-helpers/node/topology/helpers.go: GetZoneKey`.
    """
    region, zone = first_label(node, REGION_LABELS), first_label(node, ZONE_LABELS)
    return f"{region}:\0:{zone}" if region or zone else ""


def first_label(node: Node, names: tuple[str, ...]) -> str:
    """The value of the first of these labels that the node has, even an empty one."""
    return next((node.labels[name] for name in names if name in node.labels), "")


@dataclass(frozen=True, slots=True)
class NodeTree:
    """The names of the nodes by zone; zones and nodes stand in the order in which they came."""

    zones: Zones = ()

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> "NodeTree":
        """A tree to which these nodes came, in their order."""
        zones: dict[str, dict[str, None]] = {}
        for node in nodes:
            zones.setdefault(zone_key(node), {})[node.name] = None
        return cls(tuple((zone, tuple(names)) for zone, names in zones.items()))

    def add(self, node: Node) -> "NodeTree":
        """With one node more, at the end of its zone."""
        zone = zone_key(node)
        names = dict(self.zones).get(zone, ())
        if node.name in names:
            return self
        return NodeTree(tuple({**dict(self.zones), zone: (*names, node.name)}.items()))

    def remove(self, node: Node) -> "NodeTree":
        """Without the node; a zone goes with its last node."""
        zone = zone_key(node)
        kept = (
            (name, tuple(n for n in names if name != zone or n != node.name)) for name, names in self.zones
        )
        return NodeTree(tuple((name, names) for name, names in kept if names))

    def update(self, old: Node, new: Node) -> "NodeTree":
        """The node may have moved to another zone."""
        return self if zone_key(old) == zone_key(new) else self.remove(old).add(new)

    def names(self) -> tuple[str, ...]:
        """All nodes: the first of each zone, then the second of each zone, and so on."""
        return in_turn(Same(self.zones))


@lru_cache(maxsize=8)
def in_turn(of_zones: Same[Zones]) -> tuple[str, ...]:
    """The zones' nodes in turn; remembered, since it is asked in every cycle and seldom changes."""
    zones = of_zones.value
    longest = max((len(names) for _, names in zones), default=0)
    return tuple(names[i] for i in range(longest) for _, names in zones if i < len(names))
