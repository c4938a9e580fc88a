"""Whether the volumes that are not there yet can be made for a node.

Go: `pkg/scheduler/framework/plugins/volumebinding/binder.go: checkVolumeProvisions, hasEnoughCapacity`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from kubedev.api.gotext import quote
from kubedev.api.objects import Node
from kubedev.api.storage import CSIStorageCapacity, PersistentVolumeClaim, StorageClass
from kubedev.scheduler.plugins.volumes.topologies import allows
from kubedev.scheduler.selectors.labels import SelectorError, from_label_selector
from kubedev.scheduler.storage import Storage

__all__ = ["NO_PROVISIONER", "Provisions", "check_volume_provisions"]

NO_PROVISIONER = "kubernetes.io/no-provisioner"


@dataclass(frozen=True, slots=True)
class Provisions:
    """The claims to make volumes for; not `possible` on the node at all, or not enough storage left."""

    possible: bool = True
    sufficient: bool = True
    claims: tuple[PersistentVolumeClaim, ...] = ()


def check_volume_provisions(
    storage: Storage, claims: Iterable[PersistentVolumeClaim], node: Node
) -> Provisions:
    """Whether volumes can be made for all claims; each claim is held against the capacity alone.

    Raises ValueError with Kubernetes' text.
    """
    found = []
    for claim in claims:
        if not claim.storage_class:
            raise ValueError(f"no class for claim {quote(claim.key)}")
        storage_class = storage.classes.get(claim.storage_class)
        if storage_class is None:
            raise ValueError(f"failed to find storage class {quote(claim.storage_class)}")
        if storage_class.provisioner in ("", NO_PROVISIONER):
            return Provisions(possible=False)
        if not allows(storage_class.allowed_topologies, node.labels):
            return Provisions(possible=False)
        if not has_enough_capacity(storage, claim, storage_class, node):
            return Provisions(sufficient=False)
        found.append(claim)
    return Provisions(claims=tuple(found))


def has_enough_capacity(
    storage: Storage, claim: PersistentVolumeClaim, storage_class: StorageClass, node: Node
) -> bool:
    """Whether the driver has room for the claim's size there; asked only where the driver wants it to be."""
    driver = storage.csi_drivers.get(storage_class.provisioner)
    if claim.storage is None or driver is None or not driver.storage_capacity:
        return True
    size = claim.storage.value()
    return any(
        capacity.storage_class_name == storage_class.name
        and capacity.volume_limit is not None
        and capacity.volume_limit.value() >= size
        and has_access(node, capacity)
        for capacity in storage.capacities.values()
    )


def has_access(node: Node, capacity: CSIStorageCapacity) -> bool:
    """Whether the capacity is the node's: by its labels; without a topology it is nobody's."""
    if capacity.node_topology is None:
        return False
    try:
        return from_label_selector(capacity.node_topology).matches(node.labels)
    except SelectorError:
        return False
