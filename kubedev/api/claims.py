"""Claims for devices: what a class is, what a pod claims, and what it got.

Nothing is defaulted here but what every object has. Go: `k8s.io/api/resource/v1beta1/types.go`.
"""

from dataclasses import dataclass, field
from typing import Any, Self

from kubedev.api.fields import Fields
from kubedev.api.objects import DEFAULT_NAMESPACE, Labels, Manifest, OwnerReference
from kubedev.api.resource_slices import DeviceID, ResourceSlice, read_terms
from kubedev.api.selectors import NodeSelectorTerm

__all__ = [
    "ALL",
    "EXACT_COUNT",
    "AllocationResult",
    "ClaimSpec",
    "ConsumerReference",
    "DeviceClass",
    "DeviceConfiguration",
    "DeviceConstraint",
    "DeviceObject",
    "DeviceRequest",
    "DeviceResult",
    "ResourceClaim",
    "ResourceClaimTemplate",
]

EXACT_COUNT, ALL = "ExactCount", "All"


@dataclass(frozen=True, slots=True)
class DeviceConfiguration:
    """Parameters for a driver, which nobody else reads; without `requests` for all of them.

    `source` is FromClass or FromClaim in an allocation.
    """

    driver: str = ""
    parameters: Any = None
    requests: tuple[str, ...] = ()
    source: str = ""

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Read an entry of a config, or raise FieldError."""
        opaque = fields.child("opaque")
        parameters = opaque.values.get("parameters")
        return cls(opaque.text("driver"), parameters, fields.texts("requests"), fields.text("source"))


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """A class of devices: selectors (CEL; None where there is another kind) that all have to be true."""

    name: str
    selectors: tuple[str | None, ...] = ()
    config: tuple[DeviceConfiguration, ...] = ()
    manifest: Manifest = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        """Read a manifest, or raise FieldError where a field has the wrong type."""
        fields = Fields.of(manifest)
        spec = fields.child("spec")
        return cls(
            fields.child("metadata").text("name"),
            read_selectors(spec),
            tuple(map(DeviceConfiguration.read, spec.children("config"))),
            manifest,
        )


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """So many devices of a class (`allocation_mode` ExactCount), or All there are, for which the selectors hold."""

    name: str
    device_class_name: str = ""
    selectors: tuple[str | None, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool | None = None

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Read a request, or raise FieldError."""
        return cls(
            fields.text("name"),
            fields.text("deviceClassName"),
            read_selectors(fields),
            fields.text("allocationMode"),
            fields.integer("count", bits=64),
            fields.boolean("adminAccess") if fields.has("adminAccess") else None,
        )


@dataclass(frozen=True, slots=True)
class DeviceConstraint:
    """All devices of these requests (of all, where there are none) have the same value of an attribute."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Read a constraint, or raise FieldError."""
        attribute = fields.text("matchAttribute") if fields.has("matchAttribute") else None
        return cls(fields.texts("requests"), attribute)


@dataclass(frozen=True, slots=True)
class ClaimSpec:
    """What is claimed."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceConfiguration, ...] = ()

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Read the spec of a claim, or raise FieldError."""
        devices = fields.child("devices")
        return cls(
            tuple(map(DeviceRequest.read, devices.children("requests"))),
            tuple(map(DeviceConstraint.read, devices.children("constraints"))),
            tuple(map(DeviceConfiguration.read, devices.children("config"))),
        )


@dataclass(frozen=True, slots=True)
class DeviceResult:
    """A device that was allocated for a request; with `admin_access` others may have it too."""

    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool | None = None

    @property
    def id(self) -> DeviceID:
        """The device."""
        return DeviceID(self.driver, self.pool, self.device)

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Read a result, or raise FieldError."""
        access = fields.boolean("adminAccess") if fields.has("adminAccess") else None
        request, driver, pool, device = map(fields.text, ("request", "driver", "pool", "device"))
        return cls(request, driver, pool, device, access)


@dataclass(frozen=True, slots=True)
class AllocationResult:
    """What a claim got; `node_selector` are the terms of the nodes that it can be used on, None for all."""

    devices: tuple[DeviceResult, ...] = ()
    config: tuple[DeviceConfiguration, ...] = ()
    node_selector: tuple[NodeSelectorTerm, ...] | None = None

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Read an allocation, or raise FieldError."""
        devices = fields.child("devices")
        return cls(
            tuple(map(DeviceResult.read, devices.children("results"))),
            tuple(map(DeviceConfiguration.read, devices.children("config"))),
            read_terms(fields, "nodeSelector"),
        )


@dataclass(frozen=True, slots=True)
class ConsumerReference:
    """Who a claim is reserved for: a pod."""

    resource: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class ResourceClaim:
    """A claim for devices, with what it got and who it is reserved for."""

    name: str
    namespace: str = DEFAULT_NAMESPACE
    uid: str = ""
    labels: Labels = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    deletion_timestamp: float | None = None
    spec: ClaimSpec = ClaimSpec()
    allocation: AllocationResult | None = None
    reserved_for: tuple[ConsumerReference, ...] = ()
    manifest: Manifest = field(default_factory=dict, compare=False, repr=False)

    @property
    def key(self) -> str:
        """Its name in the cluster: `namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        """Read a manifest, or raise FieldError where a field has the wrong type."""
        fields = Fields.of(manifest)
        metadata, status = fields.child("metadata"), fields.child("status")
        name, namespace = metadata.text("name"), metadata.text("namespace", DEFAULT_NAMESPACE)
        return cls(
            name,
            namespace,
            metadata.text("uid", f"{namespace}/{name}"),
            metadata.text_map("labels"),
            metadata.text_map("annotations"),
            tuple(map(OwnerReference.read, metadata.children("ownerReferences"))),
            metadata.texts("finalizers"),
            metadata.time("deletionTimestamp"),
            ClaimSpec.read(fields.child("spec")),
            AllocationResult.read(status.child("allocation")) if status.has("allocation") else None,
            tuple(
                ConsumerReference(one.text("resource"), one.text("name"), one.text("uid"))
                for one in status.children("reservedFor")
            ),
            manifest,
        )


@dataclass(frozen=True, slots=True)
class ResourceClaimTemplate:
    """What claims are made from, one for each pod that names it."""

    name: str
    namespace: str = DEFAULT_NAMESPACE
    labels: Labels = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    spec: ClaimSpec = ClaimSpec()
    manifest: Manifest = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        """Read a manifest, or raise FieldError where a field has the wrong type."""
        fields = Fields.of(manifest)
        metadata, spec = fields.child("metadata"), fields.child("spec")
        made = spec.child("metadata")
        return cls(
            metadata.text("name"),
            metadata.text("namespace", DEFAULT_NAMESPACE),
            made.text_map("labels"),
            made.text_map("annotations"),
            ClaimSpec.read(spec.child("spec")),
            manifest,
        )


DeviceObject = ResourceClaim | ResourceClaimTemplate | DeviceClass | ResourceSlice


def read_selectors(fields: Fields) -> tuple[str | None, ...]:
    """The expressions of a list of selectors; None for one that is of another kind."""
    found = []
    for selector in fields.children("selectors"):
        found.append(selector.child("cel").text("expression") if selector.has("cel") else None)
    return tuple(found)
