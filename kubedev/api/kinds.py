"""The kinds of objects that kubedev knows, each with its apiVersion, and what a document is by its header."""

from collections.abc import Iterator, Mapping
from typing import Any

from kubedev.api.claims import DeviceClass, DeviceObject, ResourceClaim, ResourceClaimTemplate
from kubedev.api.fields import Fields, expected
from kubedev.api.objects import Node, Pod
from kubedev.api.pod_groups import Namespace, PodDisruptionBudget, PriorityClass, Service, Workload
from kubedev.api.resource_slices import ResourceSlice
from kubedev.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    StorageObject,
    VolumeAttachment,
)

__all__ = ["TYPES", "Object", "Values", "flatten", "is_of_devices", "known_type", "name_of"]

Values = Mapping[str, Any]
Object = (
    Pod
    | Node
    | Workload
    | Namespace
    | Service
    | PodDisruptionBudget
    | PriorityClass
    | StorageObject
    | DeviceObject
)
DEVICE_VERSION = "resource.k8s.io/v1beta1"
TYPES: dict[tuple[str, str], type[Object]] = {
    ("v1", "Pod"): Pod,
    ("v1", "Node"): Node,
    ("v1", "Namespace"): Namespace,
    ("v1", "Service"): Service,
    ("v1", "ReplicationController"): Workload,
    ("apps/v1", "Deployment"): Workload,
    ("apps/v1", "ReplicaSet"): Workload,
    ("apps/v1", "StatefulSet"): Workload,
    ("apps/v1", "DaemonSet"): Workload,
    ("batch/v1", "Job"): Workload,
    ("batch/v1", "CronJob"): Workload,
    ("policy/v1", "PodDisruptionBudget"): PodDisruptionBudget,
    ("scheduling.k8s.io/v1", "PriorityClass"): PriorityClass,
    ("v1", "PersistentVolumeClaim"): PersistentVolumeClaim,
    ("v1", "PersistentVolume"): PersistentVolume,
    ("storage.k8s.io/v1", "StorageClass"): StorageClass,
    ("storage.k8s.io/v1", "CSINode"): CSINode,
    ("storage.k8s.io/v1", "CSIDriver"): CSIDriver,
    ("storage.k8s.io/v1", "CSIStorageCapacity"): CSIStorageCapacity,
    ("storage.k8s.io/v1", "VolumeAttachment"): VolumeAttachment,
    (DEVICE_VERSION, "ResourceClaim"): ResourceClaim,
    (DEVICE_VERSION, "ResourceClaimTemplate"): ResourceClaimTemplate,
    (DEVICE_VERSION, "DeviceClass"): DeviceClass,
    (DEVICE_VERSION, "ResourceSlice"): ResourceSlice,
}
VERSIONS = {kind: version for version, kind in TYPES}
OWN_GROUPS = {version.rpartition("/")[0] for version in VERSIONS.values()} | {"extensions"}
LISTS = {"List": "", "PodList": "Pod", "NodeList": "Node"}


def flatten(document: Any, path: str = "") -> Iterator[tuple[str, Values]]:
    """The objects of a document with their paths: itself, or the items of a list."""
    if not isinstance(document, Mapping):
        raise ValueError(expected("an object with apiVersion, kind and metadata", document))
    kind = document.get("kind")
    if isinstance(kind, str) and kind in LISTS:
        for item in Fields.of(document, path).children("items"):
            typed = {"apiVersion": "v1", "kind": LISTS[kind]} if LISTS[kind] else {}
            yield from flatten({**typed, **item.values}, item.path)
    else:
        yield path, document


def is_of_devices(version: str) -> bool:
    """Whether a version is of the kinds that claim devices."""
    return version.partition("/")[0] == DEVICE_VERSION.partition("/")[0]


def known_type(values: Values, claims: bool) -> type[Object] | None:
    """The type of an object; None for kinds of other people, ValueError for what kubectl would refuse."""
    fields = Fields.of(values)
    unset = [f"{name} not set" for name in ("apiVersion", "kind") if not fields.text(name)]
    if unset:
        raise ValueError(f"error validating data: [{', '.join(unset)}]. {header_hint(values)}")
    version, kind = fields.text("apiVersion"), fields.text("kind")
    own = version.rpartition("/")[0] in OWN_GROUPS and (claims or not is_of_devices(version))
    if (version, kind) not in TYPES and kind in VERSIONS and own:
        raise ValueError(
            f'no matches for kind "{kind}" in version "{version}". Write apiVersion: {VERSIONS[kind]}'
        )
    return TYPES.get((version, kind))


def header_hint(values: Values) -> str:
    """What to write at the top of an object without apiVersion or kind."""
    spec, status = values.get("spec"), values.get("status")
    kind = "KIND"
    if isinstance(spec, Mapping) and "containers" in spec:
        kind = "Pod"
    elif isinstance(status, Mapping) and {"capacity", "allocatable"} & status.keys():
        kind = "Node"
    elif "globalDefault" in values:
        kind = "PriorityClass"
    looks = f"This looks like a {kind}: write" if kind in VERSIONS else "Write"
    return f"{looks} apiVersion: {VERSIONS.get(kind, 'VERSION')} and kind: {kind} at the top."


def name_of(values: Values) -> str:
    """The name of any object; empty where it has none."""
    metadata = values.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else ""
