"""What drivers offer: devices with attributes and capacities, in slices of pools.

Nothing is defaulted here. Go: `k8s.io/api/resource/v1beta1/types.go`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from kubedev.api.fields import Fields
from kubedev.api.objects import Manifest, OwnerReference
from kubedev.api.quantity import Quantity
from kubedev.api.selectors import NodeSelectorTerm

__all__ = [
    "BasicDevice",
    "Device",
    "DeviceAttribute",
    "DeviceID",
    "ResourcePool",
    "ResourceSlice",
    "read_terms",
]


@dataclass(frozen=True, slots=True, order=True)
class DeviceID:
    """A device among all of a cluster."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


@dataclass(frozen=True, slots=True)
class DeviceAttribute:
    """A value of a device; `kind` is int, bool, string or version, and empty where none of them is given."""

    kind: str = ""
    value: int | bool | str | None = None

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Read the first kind that is given, or raise FieldError."""
        if fields.has("int"):
            return cls("int", fields.integer("int", bits=64))
        if fields.has("bool"):
            return cls("bool", fields.boolean("bool"))
        kind = next((kind for kind in ("string", "version") if fields.has(kind)), "")
        return cls(kind, fields.text(kind)) if kind else cls()


@dataclass(frozen=True, slots=True)
class BasicDevice:
    """What is known of a device; a name without a domain is in its driver's."""

    attributes: Mapping[str, DeviceAttribute] = field(default_factory=dict)
    capacity: Mapping[str, Quantity] = field(default_factory=dict)

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Read a device, or raise FieldError."""
        attributes, capacity = fields.child("attributes"), fields.child("capacity")
        return cls(
            {name: DeviceAttribute.read(attributes.child(name)) for name in attributes.values},
            {name: capacity.child(name).quantity("value") for name in capacity.values},
        )


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a slice; without `basic` it is of a kind that nobody knows."""

    name: str
    basic: BasicDevice | None = None

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Read a device, or raise FieldError."""
        basic = BasicDevice.read(fields.child("basic")) if fields.has("basic") else None
        return cls(fields.text("name"), basic)


@dataclass(frozen=True, slots=True)
class ResourcePool:
    """The pool that a slice is a part of: of each generation it is complete with so many slices."""

    name: str
    generation: int = 0
    resource_slice_count: int = 0

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Read a pool, or raise FieldError."""
        count = fields.integer("resourceSliceCount", bits=64)
        return cls(fields.text("name"), fields.integer("generation", bits=64), count)


@dataclass(frozen=True, slots=True)
class ResourceSlice:
    """Devices that a driver offers: on one node, on all, or on those that a selector's terms match."""

    name: str
    driver: str = ""
    pool: ResourcePool = ResourcePool("")
    node_name: str = ""
    all_nodes: bool = False
    node_selector: tuple[NodeSelectorTerm, ...] | None = None
    devices: tuple[Device, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()
    manifest: Manifest = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        """Read a manifest, or raise FieldError where a field has the wrong type."""
        fields = Fields.of(manifest)
        metadata, spec = fields.child("metadata"), fields.child("spec")
        return cls(
            metadata.text("name"),
            spec.text("driver"),
            ResourcePool.read(spec.child("pool")),
            spec.text("nodeName"),
            spec.boolean("allNodes"),
            read_terms(spec, "nodeSelector"),
            tuple(map(Device.read, spec.children("devices"))),
            tuple(map(OwnerReference.read, metadata.children("ownerReferences"))),
            manifest,
        )


def read_terms(fields: Fields, key: str) -> tuple[NodeSelectorTerm, ...] | None:
    """The terms of a node selector; None where there is none."""
    if not fields.has(key):
        return None
    return tuple(map(NodeSelectorTerm.read, fields.child(key).children("nodeSelectorTerms")))
