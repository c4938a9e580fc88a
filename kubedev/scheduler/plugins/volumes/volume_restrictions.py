"""VolumeRestrictions: disks that only one pod of a node may use, claims that only one pod of the cluster may.

Go: `pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kubedev.api.objects import Pod
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.volumes.disks import disks_conflict, is_disk
from kubedev.scheduler.plugins.volumes.hints import RESTRICTIONS_EVENTS
from kubedev.scheduler.plugins.volumes.pod_claims import not_found
from kubedev.scheduler.queue.queueing_hints import RegisteredEvent
from kubedev.scheduler.status import SUCCESS, Code, Status

__all__ = ["VolumeRestrictions"]

READ_WRITE_ONCE_POD = "ReadWriteOncePod"


@dataclass(frozen=True, slots=True)
class UsedClaims:
    """The pod's claims for one pod only, and how many uses of them by others stand against it."""

    read_write_once_pod: frozenset[str]
    conflicts: int

    def used_by(self, pod: Pod) -> int:
        """How many of a pod's volumes are of these claims; its namespace is not looked at, as in Go."""
        return sum(volume.claim_name in self.read_write_once_pod for volume in pod.volumes)


@dataclass(frozen=True, slots=True)
class VolumeRestrictions:
    """Refuses nodes where a disk of the pod is used already, and all where a ReadWriteOncePod claim is."""

    name: str = "VolumeRestrictions"

    def events_to_register(self) -> tuple[RegisteredEvent, ...]:
        """What may change a refusal."""
        return RESTRICTIONS_EVENTS

    def pre_filter(
        self, pod: Pod, nodes: Sequence[NodeInfo], context: Context
    ) -> tuple[UsedClaims | None, Status, None]:
        """The state is which claims for one pod are used elsewhere; without disks and such, nothing to check."""
        once = set()
        for volume in pod.volumes:
            if volume.claim_name is None:
                continue
            claim = context.storage.claims.get(f"{pod.namespace}/{volume.claim_name}")
            if claim is None:
                reason = not_found("persistentvolumeclaim", volume.claim_name)
                return None, Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,), self.name), None
            if READ_WRITE_ONCE_POD in claim.access_modes:
                once.add(claim.name)
        used = claims_in_use(nodes) if once else set()
        conflicts = sum((pod.namespace, name) in used for name in once)
        if not conflicts and not any(is_disk(volume) for volume in pod.volumes):
            return None, Status(Code.SKIP), None
        return UsedClaims(frozenset(once), conflicts), SUCCESS, None

    def add_pod(self, state: UsedClaims, pod: Pod, node_info: NodeInfo) -> UsedClaims:
        """One pod more that may use the claims."""
        return replace(state, conflicts=state.conflicts + state.used_by(pod))

    def remove_pod(self, state: UsedClaims, pod: Pod, node_info: NodeInfo) -> UsedClaims:
        """One pod less."""
        return replace(state, conflicts=state.conflicts - state.used_by(pod))

    def filter(self, state: UsedClaims, pod: Pod, node_info: NodeInfo) -> Status:
        """Refuse the node; `why` are the pod's volume and the pod that uses its disk, or the claims."""
        for volume in filter(is_disk, pod.volumes):
            for other in node_info.pods:
                if any(disks_conflict(volume, theirs) for theirs in other.pod.volumes):
                    reasons = ("node(s) had no available disk",)
                    return Status(Code.UNSCHEDULABLE, reasons, self.name, (volume, other.pod))
        if state.conflicts > 0:
            reasons = (
                "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
            )
            why: tuple[Any, ...] = tuple(sorted(state.read_write_once_pod))
            return Status(Code.UNSCHEDULABLE, reasons, self.name, why)
        return SUCCESS


def claims_in_use(nodes: Iterable[NodeInfo]) -> set[tuple[str, str]]:
    """Namespace and name of every claim that a pod on a node uses. Go: `StorageInfos().IsPVCUsedByPods`."""
    return {
        (info.pod.namespace, volume.claim_name)
        for node in nodes
        for info in node.pods
        for volume in info.pod.volumes
        if volume.claim_name is not None
    }
