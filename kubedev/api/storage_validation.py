"""Storage objects as the API server stores them: defaulted, and refused in its words.

Checked is what somebody here looks at. Go: `pkg/apis/core/validation/validation.go: ValidatePersistentVolumeClaimSpec,
ValidatePersistentVolumeSpec`, `pkg/apis/storage/validation/validation.go`, and the `defaults.go` of both.
"""

from collections.abc import Iterator
from dataclasses import replace

from kubedev.api.fields import Fields
from kubedev.api.problems import Problem, Problems, forbidden, invalid, required, unsupported
from kubedev.api.quantity import Quantity
from kubedev.api.selector_validation import label_selector_problems
from kubedev.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass, StorageObject

__all__ = ["default_storage", "validate_storage"]

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
NO_SOURCE = frozenset(
    [
        "capacity",
        "accessModes",
        "claimRef",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "mountOptions",
        "volumeMode",
        "nodeAffinity",
        "volumeAttributesClassName",
    ]
)
"""The fields of a volume's spec that do not say where its data is."""


def default_storage(found: StorageObject) -> StorageObject:
    """What the API server fills in."""
    if isinstance(found, PersistentVolumeClaim):
        return replace(found, phase=found.phase or "Pending")
    if isinstance(found, PersistentVolume):
        policy = found.reclaim_policy or "Retain"
        return replace(found, phase=found.phase or "Pending", reclaim_policy=policy)
    if isinstance(found, StorageClass):
        mode, policy = found.volume_binding_mode or "Immediate", found.reclaim_policy or "Delete"
        return replace(found, volume_binding_mode=mode, reclaim_policy=policy)
    return found


def validate_storage(found: StorageObject) -> Problems:
    """What the API server refuses."""
    if not found.name:
        yield required("metadata.name", "name or generateName is required")
    if isinstance(found, PersistentVolumeClaim):
        yield from validate_claim(found)
    elif isinstance(found, PersistentVolume):
        yield from validate_volume(found)
    elif isinstance(found, StorageClass):
        yield from validate_class(found)


def validate_claim(claim: PersistentVolumeClaim) -> Problems:
    """Go: `ValidatePersistentVolumeClaimSpec`."""
    if not claim.access_modes:
        yield required("spec.accessModes", "at least 1 access mode is required")
    yield from label_selector_problems(claim.selector, "spec.selector")
    yield from access_modes(claim.access_modes)
    if claim.storage is None:
        yield required(
            "spec.resources[storage]", advice="say how much: resources: {requests: {storage: 1Gi}}"
        )
    else:
        yield from positive("spec.resources[storage]", claim.storage)
    if claim.volume_mode not in VOLUME_MODES:
        yield unsupported("spec.volumeMode", claim.volume_mode, VOLUME_MODES)


def validate_volume(volume: PersistentVolume) -> Problems:
    """Go: `ValidatePersistentVolumeSpec`."""
    spec = Fields.of(volume.manifest).child("spec")
    if not volume.access_modes:
        yield required("spec.accessModes")
    yield from access_modes(volume.access_modes)
    if volume.storage is None:
        yield required("spec.capacity", advice="say how much: capacity: {storage: 1Gi}")
    else:
        yield from positive("spec.capacity[storage]", volume.storage)
    if volume.reclaim_policy not in RECLAIM_POLICIES:
        yield unsupported("spec.persistentVolumeReclaimPolicy", volume.reclaim_policy, RECLAIM_POLICIES)
    if not any(key not in NO_SOURCE for key in spec.values):
        yield required("spec", "must specify a volume type")
    if volume.volume_mode not in VOLUME_MODES:
        yield unsupported("spec.volumeMode", volume.volume_mode, VOLUME_MODES)


def validate_class(found: StorageClass) -> Problems:
    """Go: `ValidateStorageClass`."""
    if not found.provisioner:
        yield required("provisioner")
    if found.reclaim_policy not in RECLAIM_POLICIES[::2]:
        yield unsupported("reclaimPolicy", found.reclaim_policy, RECLAIM_POLICIES[::2])
    if found.volume_binding_mode not in BINDING_MODES:
        yield unsupported("volumeBindingMode", found.volume_binding_mode or "", BINDING_MODES)


def access_modes(modes: tuple[str, ...]) -> Iterator[Problem]:
    """Modes that nobody knows, and one that stands alone or not at all."""
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield unsupported("spec.accessModes", mode, ACCESS_MODES)
    known = set(modes) & set(ACCESS_MODES)
    if "ReadWriteOncePod" in known and len(known) > 1:
        yield forbidden("spec.accessModes", "may not use ReadWriteOncePod with other access modes")


def positive(path: str, quantity: Quantity) -> Problems:
    """Go: `ValidatePositiveQuantityValue`."""
    if quantity.sign() <= 0:
        yield invalid(path, str(quantity), "must be greater than zero")
