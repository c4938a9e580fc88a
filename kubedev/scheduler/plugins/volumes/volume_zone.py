"""VolumeZone: a pod goes where the zone and region labels of its bound volumes say.

Go: `pkg/scheduler/framework/plugins/volumezone/volume_zone.go`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kubedev.api.gotext import quote
from kubedev.api.objects import Pod
from kubedev.api.storage import WAIT_FOR_FIRST_CONSUMER, PersistentVolume
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.volumes.hints import ZONE_EVENTS
from kubedev.scheduler.plugins.volumes.pod_claims import not_found
from kubedev.scheduler.plugins.volumes.topologies import (
    BETA_TO_GA,
    TOPOLOGY_LABELS,
    VolumeTopology,
    topologies,
)
from kubedev.scheduler.queue.queueing_hints import RegisteredEvent
from kubedev.scheduler.status import SUCCESS, Code, Status
from kubedev.scheduler.storage import Storage

__all__ = ["VolumeZone"]


@dataclass(frozen=True, slots=True)
class VolumeZone:
    """Refuses nodes in another zone or region than a volume of the pod; a node without any such label passes."""

    name: str = "VolumeZone"

    def events_to_register(self) -> tuple[RegisteredEvent, ...]:
        """What may change a refusal."""
        return ZONE_EVENTS

    def pre_filter(
        self, pod: Pod, nodes: Sequence[NodeInfo], context: Context
    ) -> tuple[tuple[VolumeTopology, ...], Status, None]:
        """The state are the labels of the pod's volumes; without any there is nothing to check."""
        found: list[VolumeTopology] = []
        for volume in pod.volumes:
            if volume.claim_name is None:
                continue
            bound = bound_volume(context.storage, pod.namespace, volume.claim_name)
            if isinstance(bound, str):
                return (), Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (bound,), self.name), None
            if bound is not None:
                found += topologies(bound)
        return tuple(found), SUCCESS if found else Status(Code.SKIP), None

    def filter(self, state: tuple[VolumeTopology, ...], pod: Pod, node_info: NodeInfo) -> Status:
        """Refuse a node whose labels do not match; `why` is the first label of a volume that does not."""
        labels = node_info.node.labels
        if not any(label in labels for label in TOPOLOGY_LABELS):
            return SUCCESS
        for topology in state:
            value = labels.get(topology.key, labels.get(BETA_TO_GA.get(topology.key, topology.key)))
            if value is None or value not in topology.values:
                reasons = ("node(s) had no available volume zone",)
                return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons, self.name, (topology,))
        return SUCCESS


def bound_volume(storage: Storage, namespace: str, claim_name: str) -> PersistentVolume | str | None:
    """The volume that a claim is bound to, None where it is to be bound with the pod, or why neither is so.

    Go: `getPVbyPod`.
    """
    if not claim_name:
        return "PersistentVolumeClaim had no name"
    claim = storage.claims.get(f"{namespace}/{claim_name}")
    if claim is None:
        return not_found("persistentvolumeclaim", claim_name)
    if claim.volume_name:
        return storage.volumes.get(claim.volume_name) or not_found("persistentvolume", claim.volume_name)
    if not claim.storage_class:
        return "PersistentVolumeClaim had no pv name and storageClass name"
    storage_class = storage.classes.get(claim.storage_class)
    if storage_class is None:
        return not_found("storageclass.storage.k8s.io", claim.storage_class)
    if storage_class.volume_binding_mode is None:
        return f"VolumeBindingMode not set for StorageClass {quote(claim.storage_class)}"
    if storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
        return None
    return "PersistentVolume had no name"
