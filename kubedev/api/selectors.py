"""What chooses: label selectors, node and pod affinity, taints and tolerations, topology spread.

The values only; what they match is decided in `scheduler`. Go source: `k8s.io/api/core/v1/types.go` and
`k8s.io/apimachinery/pkg/apis/meta/v1/types.go`. Nothing is defaulted or checked beyond its type: an unknown
operator stays as it is, and whoever matches with it says what that means.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from kubedev.api.fields import Fields

__all__ = [
    "Affinity",
    "LabelSelector",
    "LabelSelectorRequirement",
    "NodeAffinity",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "PodAffinity",
    "PodAffinityTerm",
    "PreferredSchedulingTerm",
    "Taint",
    "Toleration",
    "TopologySpreadConstraint",
    "WeightedPodAffinityTerm",
]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class LabelSelectorRequirement:
    """A label's key against values; operators In, NotIn, Exists, DoesNotExist."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(fields.text("key"), fields.text("operator"), fields.texts("values"))


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """All of its labels and expressions must match. An empty one matches everything; None matches nothing."""

    match_labels: Mapping[str, str] = field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()

    @classmethod
    def read(cls, fields: Fields, key: str) -> Self | None:
        """The selector in a field, None where there is none."""
        if not fields.has(key):
            return None
        child = fields.child(key)
        expressions = tuple(map(LabelSelectorRequirement.read, child.children("matchExpressions")))
        return cls(child.text_map("matchLabels"), expressions)


@dataclass(frozen=True, slots=True)
class NodeSelectorRequirement:
    """A node's label or field against values; operators In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(fields.text("key"), fields.text("operator"), fields.texts("values"))


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """All of its requirements must match; `match_fields` knows `metadata.name` only."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(
            tuple(map(NodeSelectorRequirement.read, fields.children("matchExpressions"))),
            tuple(map(NodeSelectorRequirement.read, fields.children("matchFields"))),
        )


@dataclass(frozen=True, slots=True)
class PreferredSchedulingTerm:
    """A term that adds its weight (1 to 100) to a node's score where it matches."""

    weight: int
    preference: NodeSelectorTerm

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(fields.integer("weight"), NodeSelectorTerm.read(fields.child("preference")))


@dataclass(frozen=True, slots=True)
class NodeAffinity:
    """`required` is None where nothing is required, else one of its terms must match; an empty list matches nothing.

    `preferred` is None where there is no list; with an empty one nodes are scored, each with 0.
    """

    required: tuple[NodeSelectorTerm, ...] | None = None
    preferred: tuple[PreferredSchedulingTerm, ...] | None = None

    @classmethod
    def read(cls, fields: Fields) -> Self:
        terms = fields.child(REQUIRED).children("nodeSelectorTerms")
        return cls(
            tuple(map(NodeSelectorTerm.read, terms)) if fields.has(REQUIRED) else None,
            tuple(map(PreferredSchedulingTerm.read, fields.children(PREFERRED)))
            if fields.has(PREFERRED)
            else None,
        )


@dataclass(frozen=True, slots=True)
class PodAffinityTerm:
    """Pods of some namespaces with some labels, in the same domain of `topology_key` as the node."""

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(
            fields.text("topologyKey"),
            LabelSelector.read(fields, "labelSelector"),
            fields.texts("namespaces"),
            LabelSelector.read(fields, "namespaceSelector"),
            fields.texts("matchLabelKeys"),
            fields.texts("mismatchLabelKeys"),
        )


@dataclass(frozen=True, slots=True)
class WeightedPodAffinityTerm:
    """A term that adds its weight (1 to 100), or takes it away, for every pod that it matches."""

    weight: int
    pod_affinity_term: PodAffinityTerm

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(fields.integer("weight"), PodAffinityTerm.read(fields.child("podAffinityTerm")))


@dataclass(frozen=True, slots=True)
class PodAffinity:
    """Pod affinity or anti-affinity, by the field it stands in. All required terms must hold."""

    required: tuple[PodAffinityTerm, ...] = ()
    preferred: tuple[WeightedPodAffinityTerm, ...] = ()

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(
            tuple(map(PodAffinityTerm.read, fields.children(REQUIRED))),
            tuple(map(WeightedPodAffinityTerm.read, fields.children(PREFERRED))),
        )


@dataclass(frozen=True, slots=True)
class Affinity:
    """What a pod wants its node and its neighbours to be."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None

    @classmethod
    def read(cls, fields: Fields) -> Self:
        def part(key: str) -> PodAffinity | None:
            return PodAffinity.read(fields.child(key)) if fields.has(key) else None

        node = NodeAffinity.read(fields.child("nodeAffinity")) if fields.has("nodeAffinity") else None
        return cls(node, part("podAffinity"), part("podAntiAffinity"))


@dataclass(frozen=True, slots=True)
class Taint:
    """What keeps pods away from a node; effects NoSchedule, PreferNoSchedule, NoExecute."""

    key: str
    value: str = ""
    effect: str = ""

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(fields.text("key"), fields.text("value"), fields.text("effect"))


@dataclass(frozen=True, slots=True)
class Toleration:
    """Which taints a pod puts up with: operator Exists or Equal (also when empty); empty fields match all."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(
            fields.text("key"),
            fields.text("operator"),
            fields.text("value"),
            fields.text("effect"),
            fields.optional_integer("tolerationSeconds", bits=64),
        )


@dataclass(frozen=True, slots=True)
class TopologySpreadConstraint:
    """How unevenly (`max_skew`) matching pods may lie over the domains of `topology_key`."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(
            fields.integer("maxSkew"),
            fields.text("topologyKey"),
            fields.text("whenUnsatisfiable"),
            LabelSelector.read(fields, "labelSelector"),
            fields.optional_integer("minDomains"),
            fields.text("nodeAffinityPolicy") or None,
            fields.text("nodeTaintsPolicy") or None,
            fields.texts("matchLabelKeys"),
        )
