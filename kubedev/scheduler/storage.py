"""The storage objects that the scheduler has seen, and what it assumes of volumes and claims.

Go: the listers of the volume plugins, and the assume caches of VolumeBinding
(`pkg/scheduler/framework/plugins/volumebinding/assume_cache.go`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

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

__all__ = ["STORAGE_KINDS", "Storage", "key_of"]

STORAGE_KINDS: Mapping[type, str] = {
    PersistentVolumeClaim: "claims",
    PersistentVolume: "volumes",
    StorageClass: "classes",
    CSINode: "csi_nodes",
    CSIDriver: "csi_drivers",
    CSIStorageCapacity: "capacities",
    VolumeAttachment: "attachments",
}
"""The types of objects, and where the scheduler keeps them."""


def key_of(obj: StorageObject) -> str:
    """An object's name: with its namespace where it has one."""
    namespace = getattr(obj, "namespace", "")
    return f"{namespace}/{obj.name}" if namespace else obj.name


@dataclass(frozen=True, slots=True)
class Storage:
    """Objects by name (claims and capacities by `namespace/name`).

    `assumed_claims` and `assumed_volumes` are those that the scheduler has decided to change and not seen
    changed yet: VolumeBinding counts with them.
    """

    claims: Mapping[str, PersistentVolumeClaim] = field(default_factory=dict)
    volumes: Mapping[str, PersistentVolume] = field(default_factory=dict)
    classes: Mapping[str, StorageClass] = field(default_factory=dict)
    csi_nodes: Mapping[str, CSINode] = field(default_factory=dict)
    csi_drivers: Mapping[str, CSIDriver] = field(default_factory=dict)
    capacities: Mapping[str, CSIStorageCapacity] = field(default_factory=dict)
    attachments: Mapping[str, VolumeAttachment] = field(default_factory=dict)
    assumed_claims: Mapping[str, PersistentVolumeClaim] = field(default_factory=dict)
    assumed_volumes: Mapping[str, PersistentVolume] = field(default_factory=dict)

    def claim(self, key: str) -> PersistentVolumeClaim | None:
        """A claim by `namespace/name`, as it is assumed to be. Go: `PVCAssumeCache.GetPVC`."""
        return self.assumed_claims.get(key) or self.claims.get(key)

    def volume(self, name: str) -> PersistentVolume | None:
        """A volume as it is assumed to be. Go: `PVAssumeCache.GetPV`."""
        return self.assumed_volumes.get(name) or self.volumes.get(name)

    def volumes_of_class(self, name: str) -> tuple[PersistentVolume, ...]:
        """The volumes of a class, by name (Go: in a map's order). Go: `PVAssumeCache.ListPVs`."""
        volumes = {**self.volumes, **self.assumed_volumes}
        return tuple(volumes[key] for key in sorted(volumes) if volumes[key].storage_class == name)

    def with_object(self, obj: StorageObject) -> "Storage":
        """With an object as it was seen, which ends what was assumed of it."""
        kind = STORAGE_KINDS[type(obj)]
        known: Mapping[str, StorageObject] = getattr(self, kind)
        return self._changed(kind, {**known, key_of(obj): obj}).restored(obj)

    def without_object(self, obj: StorageObject) -> "Storage":
        """Without an object that is gone."""
        kind = STORAGE_KINDS[type(obj)]
        known: Mapping[str, StorageObject] = getattr(self, kind)
        rest = {key: value for key, value in known.items() if key != key_of(obj)}
        return self._changed(kind, rest).restored(obj)

    def assumed(self, obj: PersistentVolume | PersistentVolumeClaim) -> "Storage":
        """With a volume or claim as it will be. Go: `AssumeCache.Assume`."""
        kind = f"assumed_{STORAGE_KINDS[type(obj)]}"
        return self._changed(kind, {**getattr(self, kind), key_of(obj): obj})

    def restored(self, obj: StorageObject) -> "Storage":
        """With nothing assumed of an object. Go: `AssumeCache.Restore`."""
        kind = f"assumed_{STORAGE_KINDS[type(obj)]}"
        known: Mapping[str, StorageObject] = getattr(self, kind, {})
        if key_of(obj) not in known:
            return self
        return self._changed(kind, {key: value for key, value in known.items() if key != key_of(obj)})

    def _changed(self, kind: str, objects: Mapping[str, StorageObject]) -> "Storage":
        changes: dict[str, Any] = {kind: objects}
        return replace(self, **changes)
