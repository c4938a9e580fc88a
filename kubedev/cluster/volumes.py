"""The controllers of volumes: they bind claims, make volumes for them, and make the claims of ephemeral volumes.

They see every change of a storage object, and do whatever is due then. Binding takes no time; a provisioner needs
`PROVISION_SECONDS` of the simulated clock, and makes a volume that can be used in the zone of the node that was
chosen, or anywhere where there are no zones.

Go: `pkg/controller/volume/persistentvolume/pv_controller.go`, `pkg/controller/volume/ephemeral/controller.go`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from kubedev.api.objects import OwnerReference, Pod
from kubedev.api.selectors import NodeSelectorRequirement, NodeSelectorTerm
from kubedev.api.storage import (
    BETA_CLASS,
    ClaimReference,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    StorageObject,
)
from kubedev.cluster import events as e
from kubedev.cluster.apiserver import VOLUMES, remove, write
from kubedev.cluster.state import ClusterState
from kubedev.scheduler import events as s
from kubedev.scheduler.plugins.volumes.claims import BIND_COMPLETED, is_delayed, is_fully_bound
from kubedev.scheduler.plugins.volumes.pod_claims import claim_name_of
from kubedev.scheduler.plugins.volumes.provisioning import NO_PROVISIONER
from kubedev.scheduler.plugins.volumes.topologies import ZONE
from kubedev.scheduler.plugins.volumes.volume_binding import SELECTED_NODE
from kubedev.scheduler.plugins.volumes.volume_matching import AVAILABLE, find_matching_volume, is_bound_to
from kubedev.scheduler.storage import Storage
from kubedev.scheduler.volume_steps import BOUND_BY_CONTROLLER, bound_to

__all__ = ["PROVISION_SECONDS", "VOLUMES", "bind_volumes", "provisioned", "watched"]

PROVISION_SECONDS = 5.0
"""How long a provisioner needs for a volume."""

PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
PENDING, BOUND, LOST, RELEASED = "Pending", "Bound", "Lost", "Released"


def bind_volumes(state: ClusterState, effect: s.BindVolumes) -> ClusterState:
    """The scheduler writes which volumes are kept for which claims, and on which node volumes are to be made."""
    objects: tuple[StorageObject, ...] = (*effect.volumes, *effect.claims)
    for obj in objects:
        state = write(state, obj)
    return state


def watched(state: ClusterState, event: e.Watched) -> ClusterState:
    """A storage object changed, or a pod with ephemeral volumes came or went."""
    pod = event.event.object
    if isinstance(pod, Pod):
        gone = event.event.type == "DELETED"
        return without_claims(state, pod) if gone else with_claims(state, pod)
    return reconciled(state)


def reconciled(state: ClusterState) -> ClusterState:
    """Do what is due first: the watch event of what is written brings the rest."""
    changes: tuple[StorageObject, ...] = next(due(state.store.storage), ())
    for changed in changes:
        state = write(state, changed)
    if changes:
        return state
    waiting = dict.fromkeys(claim.key for claim in to_provision(state.store.storage))
    known = {key: at for key, at in state.provisioning.items() if key in waiting}
    return replace(
        state, provisioning={key: known.get(key, state.now + PROVISION_SECONDS) for key in waiting}
    )


def provisioned(state: ClusterState) -> ClusterState:
    """The clock has moved on: make the volumes that are due."""
    for key, at in state.provisioning.items():
        claim = state.store.storage.claims.get(key)
        if at <= state.now and claim is not None:
            state = write(state, made_for(state, claim))
    left = {key: at for key, at in state.provisioning.items() if at > state.now}
    return replace(state, provisioning=left)


# Binding


def due(storage: Storage) -> Iterator[tuple[StorageObject, ...]]:
    """The writes that bring storage nearer to what it should be, the first of them first.

    Go: `syncVolume`, `syncClaim`.
    """
    for volume in in_order(storage.volumes.values()):
        phase = phase_of(volume, storage)
        if phase != volume.phase:
            yield (replace(volume, phase=phase),)
    for claim in in_order(storage.claims.values()):
        if is_fully_bound(claim):
            wanted = BOUND if claim.volume_name in storage.volumes else LOST
            if wanted != claim.phase:
                yield (replace(claim, phase=wanted),)
        elif (named := of_default_class(storage, claim)) != claim:
            yield (named,)
        elif claim.deletion_timestamp is None and (found := volume_for(storage, claim)) is not None:
            yield bound(found, claim)


def of_default_class(storage: Storage, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
    """A claim that says nothing of a class gets the default one, the first by name where there are several.

    Go takes the newest. `plugin/pkg/admission/storage/storageclass/setdefault/admission.go`, and for claims that were
    there before the class `pv_controller.go: assignDefaultStorageClass`.
    """
    if claim.storage_class_name is not None or BETA_CLASS in claim.annotations or claim.volume_name:
        return claim
    default = next((one for _, one in sorted(storage.classes.items()) if one.is_default), None)
    return claim if default is None else replace(claim, storage_class_name=default.name)


def phase_of(volume: PersistentVolume, storage: Storage) -> str:
    """What a volume is: free, bound, or left by its claim. One that is kept for a claim waits for it as it is."""
    if volume.claim_ref is None:
        return AVAILABLE if volume.phase in ("", PENDING) else volume.phase
    claim = storage.claims.get(f"{volume.claim_ref.namespace}/{volume.claim_ref.name}")
    if claim is None or not is_bound_to(volume, claim):
        return RELEASED if volume.phase == BOUND else volume.phase
    return BOUND if claim.volume_name == volume.name and is_fully_bound(claim) else volume.phase


def volume_for(storage: Storage, claim: PersistentVolumeClaim) -> PersistentVolume | None:
    """The volume that a claim is to be bound to now. Go: `syncUnboundClaim`, `findBestMatchForClaim`."""
    if claim.volume_name:
        volume = storage.volumes.get(claim.volume_name)
        free = volume is not None and (volume.claim_ref is None or is_bound_to(volume, claim))
        return volume if free else None
    modes = set(claim.access_modes)
    suitable = [one for one in in_order(storage.volumes.values()) if modes <= set(one.access_modes)]
    try:
        return find_matching_volume(claim, suitable, None, (), is_delayed(storage, claim))
    except ValueError:
        return None  # told by events in a real cluster, and by the scheduler here


def bound(volume: PersistentVolume, claim: PersistentVolumeClaim) -> tuple[StorageObject, StorageObject]:
    """Both as they are when they are bound to each other. Go: `pv_controller.go: bind`."""
    mine = {} if claim.volume_name else {BOUND_BY_CONTROLLER: "yes"}
    annotations = {BIND_COMPLETED: "yes", **mine, **claim.annotations}
    return (
        replace(bound_to(volume, claim), phase=BOUND),
        replace(claim, volume_name=volume.name, annotations=annotations, phase=BOUND),
    )


def in_order(objects: Iterable[PersistentVolume] | Iterable[PersistentVolumeClaim]) -> list[Any]:
    """By name; in Go they come as their events do."""
    return sorted(objects, key=lambda one: (getattr(one, "namespace", ""), one.name))


# Provisioning


def to_provision(storage: Storage) -> Iterator[PersistentVolumeClaim]:
    """The claims that a provisioner is to make a volume for: at once, or once the scheduler chose a node.

    Go: `provisionClaim`.
    """
    for claim in in_order(storage.claims.values()):
        storage_class = storage.classes.get(claim.storage_class)
        if claim.volume_name or claim.deletion_timestamp is not None or storage_class is None:
            continue
        if storage_class.provisioner in ("", NO_PROVISIONER) or claim.volume_attributes_class_name:
            continue
        if SELECTED_NODE in claim.annotations or not is_delayed(storage, claim):
            yield claim


def made_for(state: ClusterState, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume that a provisioner makes."""
    storage_class = state.store.storage.classes[claim.storage_class]
    name = f"pvc-{claim.uid.replace('/', '-')}"
    return PersistentVolume(
        name,
        name,
        annotations={PROVISIONED_BY: storage_class.provisioner},
        access_modes=claim.access_modes,
        storage=claim.storage,
        claim_ref=ClaimReference(claim.name, claim.namespace, claim.uid),
        node_affinity=where_it_is(state, claim, storage_class),
        storage_class_name=storage_class.name,
        volume_mode=claim.volume_mode,
        reclaim_policy=storage_class.reclaim_policy,
        sources={"csi": {"driver": storage_class.provisioner, "volumeHandle": name}},
        phase=AVAILABLE,
    )


def where_it_is(
    state: ClusterState, claim: PersistentVolumeClaim, storage_class: StorageClass
) -> tuple[NodeSelectorTerm, ...] | None:
    """The chosen node's zone, or else the first that the class allows; None where neither says anything."""
    node = state.store.nodes.get(claim.annotations.get(SELECTED_NODE, ""))
    wanted: tuple[NodeSelectorRequirement, ...] = ()
    if node is not None and ZONE in node.labels:
        wanted = (NodeSelectorRequirement(ZONE, "In", (node.labels[ZONE],)),)
    elif node is None and storage_class.allowed_topologies:
        first = storage_class.allowed_topologies[0]
        wanted = tuple(NodeSelectorRequirement(one.key, "In", one.values) for one in first)
    return (NodeSelectorTerm(wanted),) if wanted else None


# Ephemeral volumes


def with_claims(state: ClusterState, pod: Pod) -> ClusterState:
    """Make the claims of a pod's ephemeral volumes that are not there. Go: `ephemeral/controller.go: handleVolume`."""
    for volume in pod.volumes:
        claimed = claim_name_of(pod, volume)
        if claimed is None or not claimed.is_ephemeral:
            continue
        if f"{pod.namespace}/{claimed.name}" in state.store.storage.claims:
            continue
        template = volume.claim_template or {}
        metadata = {**template.get("metadata", {}), "name": claimed.name, "namespace": pod.namespace}
        owner = OwnerReference("Pod", pod.name, pod.uid, "v1", controller=True)
        claim = PersistentVolumeClaim.parse({"metadata": metadata, "spec": template.get("spec")})
        state = write(state, replace(claim, owner_references=(owner,), phase=PENDING))
    return state


def without_claims(state: ClusterState, pod: Pod) -> ClusterState:
    """The claims that were made for a pod go with it, and the volumes that were made for them."""
    storage = state.store.storage
    for claim in list(storage.claims.values()):
        if not any(owner.controller and owner.uid == pod.uid for owner in claim.owner_references):
            continue
        state = remove(state, claim)
        volume = storage.volumes.get(claim.volume_name)
        if volume is not None and PROVISIONED_BY in volume.annotations and volume.reclaim_policy == "Delete":
            state = remove(state, volume)
    return state
