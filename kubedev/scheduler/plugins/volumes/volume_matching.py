"""Which volume a claim gets: the one kept for it, or else the smallest that will do.

The scheduler asks this for a node, the controller that binds claims asks it without one.

Go: `k8s.io/component-helpers/storage/volume/pv_helpers.go: FindMatchingVolume`.
"""

from collections.abc import Collection, Iterable

from kubedev.api.objects import Node
from kubedev.api.quantity import Quantity
from kubedev.api.storage import PersistentVolume, PersistentVolumeClaim
from kubedev.scheduler.plugins.volumes.topologies import matches_node_affinity
from kubedev.scheduler.selectors.labels import EVERYTHING, SelectorError, from_label_selector

__all__ = ["AVAILABLE", "NOTHING", "find_matching_volume", "is_bound_to"]

AVAILABLE = "Available"
NOTHING = Quantity.of(0)


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume is kept for the claim: by name, and by uid where it has one.

    Go: `IsVolumeBoundToClaim`.
    """
    kept = volume.claim_ref
    if kept is None or (kept.namespace, kept.name) != (claim.namespace, claim.name):
        return False
    return kept.uid in ("", claim.uid)


def find_matching_volume(
    claim: PersistentVolumeClaim,
    volumes: Iterable[PersistentVolume],
    node: Node | None,
    excluded: Collection[str] = (),
    delay_binding: bool = True,
) -> PersistentVolume | None:
    """The volume for a claim, None where there is none; `excluded` are names of volumes that are taken.

    A volume that is kept for the claim wins whatever its phase, access modes and labels are; where its node affinity
    does not fit the node, nothing else is tried. Without a node, a claim with `delay_binding` gets only
    such a volume. Raises ValueError with Kubernetes' text.
    """
    if claim.volume_attributes_class_name:
        raise ValueError(
            f"unsupported volumeAttributesClassName is set on claim {claim.key} when the feature-gate "
            "VolumeAttributesClass is disabled"
        )
    try:
        selector = EVERYTHING if claim.selector is None else from_label_selector(claim.selector)
    except SelectorError as error:
        raise ValueError(f"error creating internal label selector for claim: {claim.key}: {error}") from None
    smallest: PersistentVolume | None = None
    for volume in volumes:
        mine = is_bound_to(volume, claim)
        if (
            volume.name in excluded
            or (volume.claim_ref is not None and not mine)
            or not is_suitable(volume, claim)
        ):
            continue
        fits_node = node is None or matches_node_affinity(volume, node.labels)
        if mine:
            return volume if fits_node else None
        if node is None and delay_binding:
            continue
        if volume.phase != AVAILABLE or not selector.matches(volume.labels):
            continue
        if volume.storage_class != claim.storage_class or not fits_node:
            continue
        if node is not None and not set(claim.access_modes) <= set(volume.access_modes):
            continue
        if smallest is None or (smallest.storage or NOTHING) > (volume.storage or NOTHING):
            smallest = volume
    return smallest


def is_suitable(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether size and mode will do, whoever the volume is kept for."""
    return (
        (volume.storage or NOTHING) >= (claim.storage or NOTHING)
        and volume.volume_mode == claim.volume_mode
        and not volume.volume_attributes_class_name
        and volume.deletion_timestamp is None
    )
