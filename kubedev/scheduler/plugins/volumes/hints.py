"""What may change the refusals of the volume plugins.

Go: the methods `EventsToRegister` and `isSchedulableAfter...` of these plugins.
"""

from kubedev.api.objects import Pod
from kubedev.api.storage import (
    WAIT_FOR_FIRST_CONSUMER,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from kubedev.scheduler.plugins.volumes.csi_translation import MIGRATED_PLUGINS, in_tree_plugin
from kubedev.scheduler.plugins.volumes.disks import disks_conflict
from kubedev.scheduler.plugins.volumes.pod_claims import claim_name_of, pod_claims
from kubedev.scheduler.plugins.volumes.topologies import topologies
from kubedev.scheduler.queue.cluster_events import ActionType, ClusterEvent
from kubedev.scheduler.queue.queueing_hints import Hint, RegisteredEvent

__all__ = ["BINDING_EVENTS", "LIMITS_EVENTS", "RESTRICTIONS_EVENTS", "ZONE_EVENTS"]


def is_claimed(pod: Pod, claim: PersistentVolumeClaim, ephemeral: bool) -> bool:
    """Whether one of the pod's volumes is of the claim; `ephemeral` ones are looked at too."""
    names = [one.name for one in pod_claims(pod) if ephemeral or not one.is_ephemeral]
    return claim.namespace == pod.namespace and claim.name in names


def after_own_claim(pod: Pod, old: object, new: PersistentVolumeClaim) -> Hint:
    """VolumeRestrictions, VolumeZone: a claim that the pod names came or changed."""
    mine = is_claimed(pod, new, ephemeral=False)
    return Hint(mine, f"{new.name} is {'' if mine else 'not '}a claim of it")


def after_any_own_claim(pod: Pod, old: object, new: PersistentVolumeClaim) -> Hint:
    """NodeVolumeLimits, VolumeBinding: a claim of the pod came or changed, made for it or not."""
    mine = is_claimed(pod, new, ephemeral=True)
    return Hint(mine, f"{new.name} is {'' if mine else 'not '}a claim of it")


def after_user_deleted(pod: Pod, old: Pod, new: None) -> Hint:
    """VolumeRestrictions: a pod of the namespace is gone that used a disk or a claim of this one."""
    claims = {volume.claim_name for volume in pod.volumes} - {None}
    helps = old.namespace == pod.namespace and any(
        theirs.claim_name in claims or any(disks_conflict(mine, theirs) for mine in pod.volumes)
        for theirs in old.volumes
    )
    return Hint(helps, f"{old.name} used {'a' if helps else 'no'} volume of it")


def after_volume_user_deleted(pod: Pod, old: Pod, new: None) -> Hint:
    """NodeVolumeLimits: a bound pod is gone that had a volume which may have counted."""
    counted = any(claim_name_of(old, one) or in_tree_plugin(one.sources) for one in old.volumes)
    helps = bool(old.node_name) and counted
    return Hint(helps, f"{old.name} had {'a' if helps else 'no'} volume attached")


def after_class_added(pod: Pod, old: object, new: StorageClass) -> Hint:
    """VolumeZone: a class came whose volumes are bound with the pod."""
    waits = new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
    return Hint(waits, f"{new.name} binds {'with' if waits else 'before'} the pod")


def after_volume_topology(pod: Pod, old: PersistentVolume | None, new: PersistentVolume) -> Hint:
    """VolumeZone: a volume came, or its zones changed."""
    helps = old is None or topologies(old) != topologies(new)
    return Hint(helps, f"{new.name} {'is new or has other zones' if helps else 'has the zones it had'}")


def after_class_change(pod: Pod, old: StorageClass | None, new: StorageClass) -> Hint:
    """VolumeBinding: a class came, or allows other nodes."""
    helps = old is None or old.allowed_topologies != new.allowed_topologies
    return Hint(helps, f"{new.name} {'is new or allows other' if helps else 'allows the same'} nodes")


def after_csi_node_change(pod: Pod, old: CSINode | None, new: CSINode) -> Hint:
    """VolumeBinding: a CSINode came, or its drivers took over other old kinds of volumes."""
    helps = old is None or old.annotations.get(MIGRATED_PLUGINS, "") != new.annotations.get(
        MIGRATED_PLUGINS, ""
    )
    return Hint(helps, f"{new.name} {'is new or' if helps else 'has not'} migrated other plugins")


def after_driver_change(pod: Pod, old: CSIDriver, new: CSIDriver) -> Hint:
    """VolumeBinding: the driver of an inline volume of the pod looks at capacities no longer."""
    mine = any(one.sources.get("csi", {}).get("driver") == new.name for one in pod.volumes)
    helps = mine and old.storage_capacity and not new.storage_capacity
    return Hint(helps, f"{new.name} {'no longer looks' if helps else 'looks as before'} at capacities")


def after_capacity_change(pod: Pod, old: CSIStorageCapacity | None, new: CSIStorageCapacity) -> Hint:
    """VolumeBinding: a capacity came, or allows larger volumes."""
    limit, before = new.volume_limit, old.volume_limit if old else None
    more = limit is not None and (before is None or limit.value() > before.value())
    helps = old is None or more
    return Hint(helps, f"{new.name} {'has more' if helps else 'has no more'} room")


def on(resource: str, action: ActionType) -> ClusterEvent:
    """Such a change of a resource."""
    return ClusterEvent(resource, action)


A = ActionType
CLAIM, VOLUME, CLASS = "PersistentVolumeClaim", "PersistentVolume", "StorageClass"
RESTRICTIONS_EVENTS = (
    RegisteredEvent(on("Pod", A.DELETE), after_user_deleted),
    RegisteredEvent(on("Node", A.ADD)),
    RegisteredEvent(on(CLAIM, A.ADD), after_own_claim),
)
LIMITS_EVENTS = (
    RegisteredEvent(on("CSINode", A.ADD)),
    RegisteredEvent(on("Pod", A.DELETE), after_volume_user_deleted),
    RegisteredEvent(on(CLAIM, A.ADD), after_any_own_claim),
    RegisteredEvent(on("VolumeAttachment", A.DELETE)),
)
ZONE_EVENTS = (
    RegisteredEvent(on(CLASS, A.ADD), after_class_added),
    RegisteredEvent(on("Node", A.ADD | A.UPDATE_NODE_LABEL)),
    RegisteredEvent(on(CLAIM, A.ADD | A.UPDATE), after_own_claim),
    RegisteredEvent(on(VOLUME, A.ADD | A.UPDATE), after_volume_topology),
)
BINDING_EVENTS = (
    RegisteredEvent(on(CLASS, A.ADD | A.UPDATE), after_class_change),
    RegisteredEvent(on(CLAIM, A.ADD | A.UPDATE), after_any_own_claim),
    RegisteredEvent(on(VOLUME, A.ADD | A.UPDATE)),
    RegisteredEvent(on("Node", A.ADD | A.UPDATE_NODE_LABEL)),
    RegisteredEvent(on("CSINode", A.ADD | A.UPDATE), after_csi_node_change),
    RegisteredEvent(on("CSIDriver", A.UPDATE), after_driver_change),
    RegisteredEvent(on("CSIStorageCapacity", A.ADD | A.UPDATE), after_capacity_change),
)
