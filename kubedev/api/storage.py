"""What claims are bound to and made from: claims, volumes, storage classes, and what nodes and drivers can do.

Nothing is defaulted here but what every object has (a namespace, a uid). Go: `k8s.io/api/core/v1/types.go`,
`k8s.io/api/storage/v1/types.go`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from kubedev.api.fields import Fields
from kubedev.api.objects import DEFAULT_NAMESPACE, Labels, Manifest, OwnerReference
from kubedev.api.quantity import Quantity
from kubedev.api.selectors import LabelSelector, NodeSelectorTerm
from kubedev.api.volumes import Source, read_sources

__all__ = [
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "ClaimReference",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "StorageClass",
    "StorageObject",
    "TopologyRequirement",
    "VolumeAttachment",
]

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
FILESYSTEM = "Filesystem"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


@dataclass(frozen=True, slots=True)
class PersistentVolumeClaim:
    """A claim to a volume; `storage` is the size that it asks for, in bytes.

    `volume_name` is the volume that it is bound to, or is to be; `phase` is Pending, Bound or Lost.
    """

    name: str
    namespace: str = DEFAULT_NAMESPACE
    uid: str = ""
    labels: Labels = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    deletion_timestamp: float | None = None
    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    storage: Quantity | None = None
    storage_class_name: str | None = None
    volume_mode: str = FILESYSTEM
    volume_name: str = ""
    volume_attributes_class_name: str = ""
    phase: str = ""
    manifest: Manifest = field(default_factory=dict, compare=False, repr=False)

    @property
    def key(self) -> str:
        """Its name in the cluster: `namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def storage_class(self) -> str:
        """The name of its class; empty where it has none. Go: `GetPersistentVolumeClaimClass`."""
        return self.annotations.get(BETA_CLASS, self.storage_class_name or "")

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        """Read a manifest, or raise FieldError where a field has the wrong type."""
        fields = Fields.of(manifest)
        metadata, spec = fields.child("metadata"), fields.child("spec")
        name, namespace = metadata.text("name"), metadata.text("namespace", DEFAULT_NAMESPACE)
        has_class = spec.has("storageClassName")
        return cls(
            name,
            namespace,
            metadata.text("uid", f"{namespace}/{name}"),
            metadata.text_map("labels"),
            metadata.text_map("annotations"),
            tuple(map(OwnerReference.read, metadata.children("ownerReferences"))),
            metadata.time("deletionTimestamp"),
            spec.texts("accessModes"),
            LabelSelector.read(spec, "selector"),
            spec.child("resources").quantities("requests").get("storage"),
            spec.text("storageClassName") if has_class else None,
            spec.text("volumeMode", FILESYSTEM),
            spec.text("volumeName"),
            spec.text("volumeAttributesClassName"),
            fields.child("status").text("phase"),
            manifest,
        )


@dataclass(frozen=True, slots=True)
class ClaimReference:
    """The claim that a volume is kept for; without a uid, any claim of the name will do."""

    name: str
    namespace: str = ""
    uid: str = ""


@dataclass(frozen=True, slots=True)
class PersistentVolume:
    """A volume; `node_affinity` are the terms of which a node has to match one, None where any node will do.

    `phase` is Pending, Available, Bound, Released or Failed.
    """

    name: str
    uid: str = ""
    labels: Labels = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    deletion_timestamp: float | None = None
    access_modes: tuple[str, ...] = ()
    storage: Quantity | None = None
    claim_ref: ClaimReference | None = None
    node_affinity: tuple[NodeSelectorTerm, ...] | None = None
    storage_class_name: str = ""
    volume_mode: str = FILESYSTEM
    volume_attributes_class_name: str = ""
    reclaim_policy: str = ""
    sources: Mapping[str, Source] = field(default_factory=dict)
    phase: str = ""
    manifest: Manifest = field(default_factory=dict, compare=False, repr=False)

    @property
    def storage_class(self) -> str:
        """The name of its class; empty where it has none. Go: `GetPersistentVolumeClass`."""
        return self.annotations.get(BETA_CLASS, self.storage_class_name)

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        """Read a manifest, or raise FieldError where a field has the wrong type."""
        fields = Fields.of(manifest)
        metadata, spec = fields.child("metadata"), fields.child("spec")
        name, claim = metadata.text("name"), spec.child("claimRef")
        affinity = spec.child("nodeAffinity")
        terms = affinity.child("required").children("nodeSelectorTerms")
        return cls(
            name,
            metadata.text("uid", name),
            metadata.text_map("labels"),
            metadata.text_map("annotations"),
            metadata.time("deletionTimestamp"),
            spec.texts("accessModes"),
            spec.quantities("capacity").get("storage"),
            ClaimReference(claim.text("name"), claim.text("namespace"), claim.text("uid"))
            if spec.has("claimRef")
            else None,
            tuple(map(NodeSelectorTerm.read, terms)) if affinity.has("required") else None,
            spec.text("storageClassName"),
            spec.text("volumeMode", FILESYSTEM),
            spec.text("volumeAttributesClassName"),
            spec.text("persistentVolumeReclaimPolicy"),
            read_sources(spec),
            fields.child("status").text("phase"),
            manifest,
        )


@dataclass(frozen=True, slots=True)
class TopologyRequirement:
    """A label of a node against values: one of them has to be its value."""

    key: str
    values: tuple[str, ...] = ()

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Read an entry of matchLabelExpressions, or raise FieldError."""
        return cls(fields.text("key"), fields.texts("values"))


@dataclass(frozen=True, slots=True)
class StorageClass:
    """How volumes of a class are made and when they are bound.

    `volume_binding_mode` is Immediate or WaitForFirstConsumer. `allowed_topologies` are terms of which a node
    has to match one; without any, every node will do.
    """

    name: str
    annotations: Labels = field(default_factory=dict)
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[tuple[TopologyRequirement, ...], ...] = ()
    reclaim_policy: str = ""
    manifest: Manifest = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_default(self) -> bool:
        """Whether claims that say nothing about a class get this one."""
        return self.annotations.get(DEFAULT_CLASS) == "true"

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        """Read a manifest, or raise FieldError where a field has the wrong type."""
        fields = Fields.of(manifest)
        metadata = fields.child("metadata")
        return cls(
            metadata.text("name"),
            metadata.text_map("annotations"),
            fields.text("provisioner"),
            fields.text("volumeBindingMode") or None,
            tuple(
                tuple(map(TopologyRequirement.read, term.children("matchLabelExpressions")))
                for term in fields.children("allowedTopologies")
            ),
            fields.text("reclaimPolicy"),
            manifest,
        )


@dataclass(frozen=True, slots=True)
class CSINode:
    """The CSI drivers of a node, each with how many volumes it can attach there (None: no limit is known)."""

    name: str
    annotations: Labels = field(default_factory=dict)
    drivers: tuple[tuple[str, int | None], ...] = ()
    manifest: Manifest = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        """Read a manifest, or raise FieldError where a field has the wrong type."""
        fields = Fields.of(manifest)
        metadata = fields.child("metadata")
        return cls(
            metadata.text("name"),
            metadata.text_map("annotations"),
            tuple(
                (driver.text("name"), driver.child("allocatable").optional_integer("count"))
                for driver in fields.child("spec").children("drivers")
            ),
            manifest,
        )


@dataclass(frozen=True, slots=True)
class CSIDriver:
    """A CSI driver; `storage_capacity` says that its CSIStorageCapacity objects are to be looked at."""

    name: str
    storage_capacity: bool = False
    manifest: Manifest = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        """Read a manifest, or raise FieldError where a field has the wrong type."""
        fields = Fields.of(manifest)
        return cls(
            fields.child("metadata").text("name"),
            fields.child("spec").boolean("storageCapacity"),
            manifest,
        )


@dataclass(frozen=True, slots=True)
class CSIStorageCapacity:
    """How much a driver can still provision of a class for some nodes.

    Without `node_topology` for none, without both figures nothing.
    """

    name: str
    namespace: str = DEFAULT_NAMESPACE
    storage_class_name: str = ""
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None
    node_topology: LabelSelector | None = None
    manifest: Manifest = field(default_factory=dict, compare=False, repr=False)

    @property
    def volume_limit(self) -> Quantity | None:
        """The largest volume that can be made: the maximum size where one is given. Go: `volumeLimit`."""
        return self.capacity if self.maximum_volume_size is None else self.maximum_volume_size

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        """Read a manifest, or raise FieldError where a field has the wrong type."""
        fields = Fields.of(manifest)
        metadata = fields.child("metadata")
        return cls(
            metadata.text("name"),
            metadata.text("namespace", DEFAULT_NAMESPACE),
            fields.text("storageClassName"),
            _quantity(fields, "capacity"),
            _quantity(fields, "maximumVolumeSize"),
            LabelSelector.read(fields, "nodeTopology"),
            manifest,
        )


@dataclass(frozen=True, slots=True)
class VolumeAttachment:
    """A volume that is, or is to be, attached to a node; `persistent_volume_name` is None for an inline one."""

    name: str
    attacher: str = ""
    node_name: str = ""
    persistent_volume_name: str | None = None
    manifest: Manifest = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        """Read a manifest, or raise FieldError where a field has the wrong type."""
        fields = Fields.of(manifest)
        spec = fields.child("spec")
        source = spec.child("source")
        has_name = source.has("persistentVolumeName")
        return cls(
            fields.child("metadata").text("name"),
            spec.text("attacher"),
            spec.text("nodeName"),
            source.text("persistentVolumeName") if has_name else None,
            manifest,
        )


StorageObject = (
    PersistentVolumeClaim
    | PersistentVolume
    | StorageClass
    | CSINode
    | CSIDriver
    | CSIStorageCapacity
    | VolumeAttachment
)


def _quantity(fields: Fields, key: str) -> Quantity | None:
    """The quantity in a field, None where there is none."""
    return fields.quantity(key) if fields.has(key) else None
