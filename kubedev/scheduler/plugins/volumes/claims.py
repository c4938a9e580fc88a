"""A pod's claims, by what is to be done with them.

Go: `pkg/scheduler/framework/plugins/volumebinding/binder.go: GetPodVolumeClaims`, `volume_binding.go: podHasPVCs`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubedev.api.gotext import quote
from kubedev.api.objects import Pod
from kubedev.api.storage import WAIT_FOR_FIRST_CONSUMER, PersistentVolume, PersistentVolumeClaim
from kubedev.scheduler.plugins.volumes.pod_claims import is_controlled_by, not_found, not_owner, pod_claims
from kubedev.scheduler.storage import Storage

__all__ = [
    "BIND_COMPLETED",
    "PodVolumeClaims",
    "is_delayed",
    "is_fully_bound",
    "pod_volume_claims",
    "why_no_claims",
]

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"


@dataclass(frozen=True, slots=True)
class PodVolumeClaims:
    """A pod's claims: bound ones, those to be bound with the pod, and those that should be bound by now.

    `volumes` are the volumes of the classes of the second group, as the scheduler assumes them to be.
    """

    storage: Storage
    bound: tuple[PersistentVolumeClaim, ...] = ()
    unbound_delayed: tuple[PersistentVolumeClaim, ...] = ()
    unbound_immediate: tuple[PersistentVolumeClaim, ...] = ()
    volumes: Mapping[str, tuple[PersistentVolume, ...]] = field(default_factory=dict)


def why_no_claims(storage: Storage, pod: Pod) -> str:
    """Why a claim of the pod will not do: not there, lost, on its way out, of another pod. Empty if all will.

    Go: `podHasPVCs`.
    """
    for claimed in pod_claims(pod):
        claim = storage.claims.get(f"{pod.namespace}/{claimed.name}")
        if claim is None:
            if claimed.is_ephemeral:
                waits = "waiting for ephemeral volume controller to create the persistentvolumeclaim"
                return f"{waits} {quote(claimed.name)}"
            return not_found("persistentvolumeclaim", claimed.name)
        name = f"persistentvolumeclaim {quote(claim.name)}"
        if claim.phase == "Lost":
            return f"{name} bound to non-existent persistentvolume {quote(claim.volume_name)}"
        if claim.deletion_timestamp is not None:
            return f"{name} is being deleted"
        if claimed.is_ephemeral and not is_controlled_by(claim, pod):
            return not_owner(pod, claim)
    return ""


def pod_volume_claims(storage: Storage, pod: Pod) -> PodVolumeClaims:
    """Sort a pod's claims. A claim that names its volume but is not bound yet should be bound by now.

    Raises ValueError with Kubernetes' text.
    """
    bound, delayed, immediate = [], [], []
    for claimed in pod_claims(pod):
        claim = storage.claim(f"{pod.namespace}/{claimed.name}")
        if claim is None:
            continue
        if is_fully_bound(claim):
            bound.append(claim)
        elif is_delayed(storage, claim) and not claim.volume_name:
            delayed.append(claim)
        else:
            immediate.append(claim)
    volumes = {claim.storage_class: storage.volumes_of_class(claim.storage_class) for claim in delayed}
    return PodVolumeClaims(storage, tuple(bound), tuple(delayed), tuple(immediate), volumes)


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether the claim has its volume, and the binding is complete. Go: `isPVCFullyBound`."""
    return bool(claim.volume_name) and BIND_COMPLETED in claim.annotations


def is_delayed(storage: Storage, claim: PersistentVolumeClaim) -> bool:
    """Whether the claim's class waits for the first pod. Raises ValueError. Go: `IsDelayBindingMode`."""
    storage_class = storage.classes.get(claim.storage_class)
    if storage_class is None:
        return False
    if storage_class.volume_binding_mode is None:
        raise ValueError(f"VolumeBindingMode not set for StorageClass {quote(claim.storage_class)}")
    return storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
