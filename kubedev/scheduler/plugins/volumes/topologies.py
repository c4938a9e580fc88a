"""Where a volume can be used: its zone and region labels, its node affinity, a class's allowed topologies.

Go: `k8s.io/cloud-provider/volume/helpers/zones.go`, `k8s.io/component-helpers/storage/volume/helpers.go`,
`k8s.io/kubernetes/pkg/apis/core/v1/helper/helpers.go`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kubedev.api.objects import Labels, Node
from kubedev.api.storage import PersistentVolume, TopologyRequirement
from kubedev.scheduler.selectors.node_selector import parse_required_terms

__all__ = [
    "BETA_TO_GA",
    "REGION",
    "TOPOLOGY_LABELS",
    "ZONE",
    "ZONE_BETA",
    "VolumeTopology",
    "allows",
    "matches_node_affinity",
    "topologies",
]

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
ZONE_BETA = "failure-domain.beta.kubernetes.io/zone"
REGION_BETA = "failure-domain.beta.kubernetes.io/region"
TOPOLOGY_LABELS = (ZONE_BETA, REGION_BETA, ZONE, REGION)
BETA_TO_GA = {ZONE_BETA: ZONE, REGION_BETA: REGION}
DELIMITER = "__"


class VolumeTopology(NamedTuple):
    """A zone or region label of a volume: the node's value has to be one of these."""

    volume_name: str
    key: str
    values: frozenset[str]


def topologies(volume: PersistentVolume) -> tuple[VolumeTopology, ...]:
    """The zone and region labels of a volume; one whose list has an empty part is ignored.

    Go: `getPVTopologies`.
    """
    found = []
    for key in TOPOLOGY_LABELS:
        if key in volume.labels:
            values = [value.strip() for value in volume.labels[key].split(DELIMITER)]
            if all(values):
                found.append(VolumeTopology(volume.name, key, frozenset(values)))
    return tuple(found)


def matches_node_affinity(volume: PersistentVolume, labels: Labels) -> bool:
    """Whether a node with these labels can use the volume. Go: `CheckNodeAffinity`."""
    if volume.node_affinity is None:
        return True
    node = Node("", labels=labels)
    return any(term.matches(node) for term in parse_required_terms(volume.node_affinity))


def allows(terms: Sequence[Sequence[TopologyRequirement]], labels: Labels) -> bool:
    """Whether a class allows nodes with these labels: one of its terms holds, and has something to say.

    Go: `MatchTopologySelectorTerms`.
    """
    return not terms or any(term and all(labels.get(one.key) in one.values for one in term) for term in terms)
