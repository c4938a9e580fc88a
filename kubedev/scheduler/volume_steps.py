"""Volumes between a decision and the pod's binding: assumed, written to the API server, and waited for.

The scheduler only says which volume a claim is to have, or on which node a volume is to be made for it; a controller
binds, and a provisioner makes. The pod is bound when all of its claims are.

Go: `pkg/scheduler/framework/plugins/volumebinding/binder.go: AssumePodVolumes, BindPodVolumes, checkBindings`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kubedev.api.gotext import quote
from kubedev.api.objects import Node, Pod
from kubedev.api.storage import ClaimReference, PersistentVolume, PersistentVolumeClaim
from kubedev.scheduler.cycle import Decision
from kubedev.scheduler.framework import Framework
from kubedev.scheduler.plugins.volumes.claims import PodVolumeClaims, is_fully_bound
from kubedev.scheduler.plugins.volumes.topologies import matches_node_affinity
from kubedev.scheduler.plugins.volumes.volume_binding import (
    SELECTED_NODE,
    PodVolumes,
    VolumeBinding,
    as_on_node,
    find_pod_volumes,
)
from kubedev.scheduler.plugins.volumes.volume_matching import is_bound_to
from kubedev.scheduler.storage import Storage

__all__ = ["BOUND_BY_CONTROLLER", "PodBinding", "bound_to", "check_bindings", "volumes_of"]

BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
NOT_FOUND = "object not found"


@dataclass(frozen=True, slots=True)
class PodBinding:
    """The volumes of a pod that has its node: what is to be written, and until when that may take.

    `volumes` and `claims` are as they are to be, `before` as they were, by name: those that were not seen to change
    yet. `deadline` is in seconds, None where the writing has not begun.
    """

    pod: Pod
    volumes: tuple[PersistentVolume, ...] = ()
    claims: tuple[PersistentVolumeClaim, ...] = ()
    bound_claims: tuple[str, ...] = ()
    before: Mapping[str, PersistentVolume | PersistentVolumeClaim] = field(default_factory=dict)
    timeout: float = 600
    deadline: float | None = None

    @property
    def objects(self) -> tuple[PersistentVolume | PersistentVolumeClaim, ...]:
        """All that is to be written."""
        return (*self.volumes, *self.claims)

    def seen_in(self, storage: Storage) -> "PodBinding":
        """The same after a look at the storage: what was seen to change is no longer waited for to be written."""
        now = {**storage.volumes, **storage.claims}
        left = {key: obj for key, obj in self.before.items() if now.get(key) == obj}
        return self if len(left) == len(self.before) else replace(self, before=left)

    def assumed_in(self, storage: Storage) -> Storage:
        """The storage as it will be. Go: `AssumePodVolumes`."""
        for obj in self.objects:
            storage = storage.assumed(obj)
        return storage

    def restored_in(self, storage: Storage) -> Storage:
        """The storage without these assumptions. Go: `RevertAssumedPodVolumes`."""
        for obj in self.objects:
            storage = storage.restored(obj)
        return storage


def volumes_of(framework: Framework, decision: Decision) -> PodBinding | None:
    """What is to be bound or made for a pod on its node; None where all it has is bound."""
    plugin = next((one for one in framework.plugins if isinstance(one, VolumeBinding)), None)
    if plugin is None or decision.found is None or not framework.stands_at(plugin.name, "reserve"):
        return None
    state = decision.found.pre_filtered.state
    claims = state.states.get(plugin.name)
    if not isinstance(claims, PodVolumeClaims) or plugin.name in state.skip or not claims.unbound_delayed:
        return None
    node = next(info.node for info in decision.found.feasible if info.name == decision.node_name)
    return pod_binding(decision.pod, node, find_pod_volumes(claims, node), plugin.bind_timeout_seconds)


def pod_binding(pod: Pod, node: Node, found: PodVolumes, timeout: float) -> PodBinding:
    """The objects as they are to be: volumes kept for their claims, claims that name the node."""
    volumes = tuple(bound_to(one.volume, one.claim) for one in found.static)
    claims = tuple(
        replace(claim, annotations={**claim.annotations, SELECTED_NODE: node.name})
        for claim in found.provision
    )
    before: dict[str, PersistentVolume | PersistentVolumeClaim] = {
        **{one.volume.name: one.volume for one in found.static},
        **{claim.key: claim for claim in found.provision},
    }
    names = tuple(one.claim.key for one in found.static)
    return PodBinding(replace(pod, node_name=node.name), volumes, claims, names, before, timeout)


def bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume, kept for a claim; an annotation says so where nobody else had kept it.

    Go: `k8s.io/component-helpers/storage/volume/pv_helpers.go: GetBindVolumeToClaim`.
    """
    mark = {} if is_bound_to(volume, claim) else {BOUND_BY_CONTROLLER: "yes"}
    reference = ClaimReference(claim.name, claim.namespace, claim.uid)
    return replace(volume, claim_ref=reference, annotations={**mark, **volume.annotations})


def check_bindings(binding: PodBinding, storage: Storage, node: Node) -> bool:
    """Whether everything is bound by now. Raises ValueError where it never will be, and the pod is to be tried again.

    Go: `checkBindings`.
    """
    for volume, claim_key in zip(binding.volumes, binding.bound_claims, strict=True):
        seen, claim = storage.volumes.get(volume.name), storage.claims.get(claim_key)
        if seen is None:
            raise ValueError(
                f"failed to check binding: v1.PersistentVolume {quote(volume.name)}: {NOT_FOUND}"
            )
        if claim is None:
            raise ValueError(
                f"failed to check binding: v1.PersistentVolumeClaim {quote(claim_key)}: {NOT_FOUND}"
            )
        if volume.name in binding.before and seen != volume:
            return False  # not written yet
        check_affinity(storage, seen, node)
        if seen.claim_ref is None or not seen.claim_ref.uid:
            raise ValueError(f"ClaimRef got reset for pv {quote(volume.name)}")
        if not is_fully_bound(claim):
            return False
    for wanted in binding.claims:
        if wanted.key in binding.before or not is_provisioned(wanted, storage, node):
            return False
    return True


def is_provisioned(wanted: PersistentVolumeClaim, storage: Storage, node: Node) -> bool:
    """Whether a claim has got its volume; ValueError where the provisioner gave up."""
    claim = storage.claims.get(wanted.key)
    if claim is None:
        text = f"v1.PersistentVolumeClaim {quote(wanted.key)}: {NOT_FOUND}"
        raise ValueError(f"failed to check provisioning pvc: {text}")
    if claim.annotations.get(SELECTED_NODE) != node.name:
        raise ValueError(f"provisioning failed for PVC {quote(claim.name)}")
    volume = storage.volumes.get(claim.volume_name)
    if volume is None:
        return False
    check_affinity(storage, volume, node)
    return is_fully_bound(claim)


def check_affinity(storage: Storage, volume: PersistentVolume, node: Node) -> None:
    """ValueError where the volume cannot be used on the node after all."""
    if not matches_node_affinity(as_on_node(storage, volume, node.name), node.labels):
        raise ValueError(
            f"pv {quote(volume.name)} node affinity doesn't match node {quote(node.name)}: "
            "no matching NodeSelectorTerms"
        )
