"""Which claims a pod's volumes are of, and the words for those that are not there.

Go: `k8s.io/component-helpers/storage/ephemeral/ephemeral.go`.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kubedev.api.gotext import quote
from kubedev.api.objects import Pod
from kubedev.api.storage import PersistentVolumeClaim
from kubedev.api.volumes import Volume

__all__ = ["PodClaim", "claim_name_of", "is_controlled_by", "not_found", "not_owner", "pod_claims"]


class PodClaim(NamedTuple):
    """The claim of one of a pod's volumes; `is_ephemeral`: it is made for the pod, and goes with it."""

    name: str
    is_ephemeral: bool


def claim_name_of(pod: Pod, volume: Volume) -> PodClaim | None:
    """The claim that a volume is of, None where it is of none."""
    if volume.claim_name is not None:
        return PodClaim(volume.claim_name, False)
    return PodClaim(f"{pod.name}-{volume.name}", True) if volume.claim_template is not None else None


def pod_claims(pod: Pod) -> Iterator[PodClaim]:
    """The claims of a pod's volumes, in their order."""
    return (claim for volume in pod.volumes if (claim := claim_name_of(pod, volume)) is not None)


def is_controlled_by(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    """Whether the claim was made for the pod. Go: `metav1.IsControlledBy`."""
    owner = next((one for one in claim.owner_references if one.controller), None)
    return claim.namespace == pod.namespace and owner is not None and owner.uid == pod.uid


def not_owner(pod: Pod, claim: PersistentVolumeClaim) -> str:
    """The text where it was not. Go: `VolumeIsForPod`."""
    return f"PVC {claim.key} was not created for pod {pod.namespace}/{pod.name} (pod is not owner)"


def not_found(resource: str, name: str) -> str:
    """The text of a lister that does not know a name. Go: `errors.NewNotFound`."""
    return f"{resource} {quote(name)} not found"
