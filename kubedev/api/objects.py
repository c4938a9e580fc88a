"""Pods and nodes, read from manifests (dicts in Kubernetes' JSON form).

Fields have Kubernetes' names in snake_case; times are seconds since 1970. Go source:
`k8s.io/api/core/v1/types.go`. Reading fills in what every pod has (namespace `default`, uid `namespace/name`,
the scheduler's name) and nothing else: defaulting and validation stand in `storing`. The manifest itself is
kept beside, for whoever needs a field that is not read here. Mappings are not to be changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from kubedev.api.fields import Fields
from kubedev.api.quantity import Quantity
from kubedev.api.selectors import Affinity, Taint, Toleration, TopologySpreadConstraint
from kubedev.api.volumes import Volume

__all__ = [
    "Condition",
    "Container",
    "ContainerImage",
    "ContainerPort",
    "Labels",
    "Manifest",
    "Node",
    "OwnerReference",
    "Pod",
    "PodResourceClaim",
    "ResourceList",
]

Manifest = Mapping[str, Any]
ResourceList = Mapping[str, Quantity]
Labels = Mapping[str, str]

DEFAULT_NAMESPACE = "default"
DEFAULT_SCHEDULER = "default-scheduler"


@dataclass(frozen=True, slots=True)
class ContainerPort:
    """A port of a container; `host_port` 0 takes none of the node's."""

    container_port: int = 0
    host_port: int = 0
    protocol: str = "TCP"
    host_ip: str = ""

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(
            fields.integer("containerPort"),
            fields.integer("hostPort"),
            fields.text("protocol", "TCP"),
            fields.text("hostIP"),
        )


@dataclass(frozen=True, slots=True)
class Container:
    """A container or init container; `envs` are the names and plain values of its environment, in order.

    `claims` are names of the pod's claims, each with one of its requests, or an empty text for all of them.
    """

    name: str
    image: str = ""
    requests: ResourceList = field(default_factory=dict)
    limits: ResourceList = field(default_factory=dict)
    restart_policy: str | None = None
    ports: tuple[ContainerPort, ...] = ()
    envs: tuple[tuple[str, str], ...] = ()
    claims: tuple[tuple[str, str], ...] = ()

    @property
    def restartable(self) -> bool:
        """Whether it is a sidecar: an init container that goes on running."""
        return self.restart_policy == "Always"

    @classmethod
    def read(cls, fields: Fields) -> Self:
        resources = fields.child("resources")
        return cls(
            fields.text("name"),
            fields.text("image"),
            resources.quantities("requests"),
            resources.quantities("limits"),
            fields.text("restartPolicy") or None,
            tuple(map(ContainerPort.read, fields.children("ports"))),
            tuple((env.text("name"), env.text("value")) for env in fields.children("env")),
            tuple((claim.text("name"), claim.text("request")) for claim in resources.children("claims")),
        )


@dataclass(frozen=True, slots=True)
class OwnerReference:
    """Who made this object; `controller` marks the one that manages it."""

    kind: str
    name: str
    uid: str = ""
    api_version: str = ""
    controller: bool = False

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(
            fields.text("kind"),
            fields.text("name"),
            fields.text("uid"),
            fields.text("apiVersion"),
            fields.boolean("controller"),
        )


@dataclass(frozen=True, slots=True)
class PodResourceClaim:
    """A claim of a pod under a name of the pod's: one that is there, or one to be made from a template."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None

    @classmethod
    def read(cls, fields: Fields) -> Self:
        named = fields.has("resourceClaimName"), fields.has("resourceClaimTemplateName")
        return cls(
            fields.text("name"),
            fields.text("resourceClaimName") if named[0] else None,
            fields.text("resourceClaimTemplateName") if named[1] else None,
        )


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a pod or node; status is True, False or Unknown."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: float | None = None

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(
            fields.text("type"),
            fields.text("status"),
            fields.text("reason"),
            fields.text("message"),
            fields.time("lastTransitionTime"),
        )


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod; `priority` is None where admission has not resolved its class yet.

    `resource_claim_statuses` says which claim was made for which of its `resource_claims` (None: none is needed).
    An empty `node_selector` is not the same as None: a plugin looks at the one, and has nothing to do with the other.
    """

    name: str
    namespace: str = DEFAULT_NAMESPACE
    uid: str = ""
    labels: Labels = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    resource_version: str = ""
    creation_timestamp: float | None = None
    deletion_timestamp: float | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: ResourceList = field(default_factory=dict)
    restart_policy: str = "Always"
    node_name: str = ""
    node_selector: Labels | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    scheduler_name: str = DEFAULT_SCHEDULER
    scheduling_gates: tuple[str, ...] = ()
    host_network: bool = False
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    resource_claim_statuses: Mapping[str, str | None] = field(default_factory=dict)
    phase: str = ""
    reason: str = ""
    message: str = ""
    start_time: float | None = None
    nominated_node_name: str = ""
    qos_class: str = ""
    conditions: tuple[Condition, ...] = ()
    manifest: Manifest = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        """Read a manifest, or raise FieldError where a field has the wrong type."""
        fields = Fields.of(manifest)
        metadata, spec, status = fields.child("metadata"), fields.child("spec"), fields.child("status")
        name, namespace = metadata.text("name"), metadata.text("namespace", DEFAULT_NAMESPACE)
        return cls(
            name=name,
            namespace=namespace,
            uid=metadata.text("uid", f"{namespace}/{name}"),
            labels=metadata.text_map("labels"),
            annotations=metadata.text_map("annotations"),
            owner_references=tuple(map(OwnerReference.read, metadata.children("ownerReferences"))),
            resource_version=metadata.text("resourceVersion"),
            creation_timestamp=metadata.time("creationTimestamp"),
            deletion_timestamp=metadata.time("deletionTimestamp"),
            **read_pod_spec(spec),
            resource_claim_statuses={
                made.text("name"): made.text("resourceClaimName") or None
                for made in status.children("resourceClaimStatuses")
            },
            phase=status.text("phase"),
            reason=status.text("reason"),
            message=status.text("message"),
            start_time=status.time("startTime"),
            nominated_node_name=status.text("nominatedNodeName"),
            qos_class=status.text("qosClass"),
            conditions=tuple(map(Condition.read, status.children("conditions"))),
            manifest=manifest,
        )


def read_pod_spec(spec: Fields) -> dict[str, Any]:
    """The fields of a pod that stand in its spec."""
    spread = spec.children("topologySpreadConstraints")
    return {
        "containers": tuple(map(Container.read, spec.children("containers"))),
        "init_containers": tuple(map(Container.read, spec.children("initContainers"))),
        "overhead": spec.quantities("overhead"),
        "restart_policy": spec.text("restartPolicy", "Always"),
        "node_name": spec.text("nodeName"),
        "node_selector": spec.text_map("nodeSelector") if spec.has("nodeSelector") else None,
        "affinity": Affinity.read(spec.child("affinity")) if spec.has("affinity") else None,
        "tolerations": tuple(map(Toleration.read, spec.children("tolerations"))),
        "topology_spread_constraints": tuple(map(TopologySpreadConstraint.read, spread)),
        "priority": spec.optional_integer("priority"),
        "priority_class_name": spec.text("priorityClassName"),
        "preemption_policy": spec.text("preemptionPolicy") or None,
        "scheduler_name": spec.text("schedulerName", DEFAULT_SCHEDULER),
        "scheduling_gates": tuple(gate.text("name") for gate in spec.children("schedulingGates")),
        "host_network": spec.boolean("hostNetwork"),
        "volumes": tuple(map(Volume.read, spec.children("volumes"))),
        "resource_claims": tuple(map(PodResourceClaim.read, spec.children("resourceClaims"))),
    }


@dataclass(frozen=True, slots=True)
class ContainerImage:
    """An image on a node under all its names; size in bytes."""

    names: tuple[str, ...]
    size_bytes: int = 0

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(fields.texts("names"), fields.integer("sizeBytes", bits=64))


@dataclass(frozen=True, slots=True)
class Node:
    """A node; `allocatable` is what pods can have of its `capacity`."""

    name: str
    labels: Labels = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    capacity: ResourceList = field(default_factory=dict)
    allocatable: ResourceList = field(default_factory=dict)
    images: tuple[ContainerImage, ...] = ()
    conditions: tuple[Condition, ...] = ()
    manifest: Manifest = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        """Read a manifest, or raise FieldError where a field has the wrong type."""
        fields = Fields.of(manifest)
        metadata, spec, status = fields.child("metadata"), fields.child("spec"), fields.child("status")
        return cls(
            name=metadata.text("name"),
            labels=metadata.text_map("labels"),
            annotations=metadata.text_map("annotations"),
            taints=tuple(map(Taint.read, spec.children("taints"))),
            unschedulable=spec.boolean("unschedulable"),
            capacity=status.quantities("capacity"),
            allocatable=status.quantities("allocatable"),
            images=tuple(map(ContainerImage.read, status.children("images"))),
            conditions=tuple(map(Condition.read, status.children("conditions"))),
            manifest=manifest,
        )
