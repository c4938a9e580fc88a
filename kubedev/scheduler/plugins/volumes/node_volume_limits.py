"""NodeVolumeLimits: a node can attach only so many volumes of a CSI driver.

Go: `pkg/scheduler/framework/plugins/nodevolumelimits/csi.go`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kubedev.api.objects import Pod
from kubedev.api.storage import CSINode, PersistentVolumeClaim
from kubedev.api.volumes import Volume
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.volumes.csi_translation import (
    CSIVolume,
    TranslationError,
    in_tree_plugin,
    is_counted,
    plugin_named,
    translate_inline,
    translate_volume,
)
from kubedev.scheduler.plugins.volumes.hints import LIMITS_EVENTS
from kubedev.scheduler.plugins.volumes.pod_claims import (
    PodClaim,
    claim_name_of,
    is_controlled_by,
    not_found,
    not_owner,
)
from kubedev.scheduler.queue.queueing_hints import RegisteredEvent
from kubedev.scheduler.status import SUCCESS, Code, Status
from kubedev.scheduler.storage import Storage

__all__ = ["NodeVolumeLimits", "VolumeLimit"]

NOT_MADE_YET = "to be made for "


class VolumeLimit(NamedTuple):
    """A driver that cannot attach the pod's volumes: how many are attached, new, and allowed."""

    driver: str
    attached: int
    new: int
    limit: int


class MissingClaimError(ValueError):
    """A claim of the new pod is not there: no node will do until it is."""


@dataclass(frozen=True, slots=True)
class NodeVolumeLimits:
    """Refuses nodes that cannot attach as many volumes more as the pod brings."""

    name: str = "NodeVolumeLimits"

    def events_to_register(self) -> tuple[RegisteredEvent, ...]:
        """What may change a refusal."""
        return LIMITS_EVENTS

    def pre_filter(
        self, pod: Pod, nodes: Sequence[NodeInfo], context: Context
    ) -> tuple[Storage, Status, None]:
        """The state is the storage; without claims and disks of the old kinds there is nothing to check."""
        counts = any(
            claim_name_of(pod, volume) is not None or in_tree_plugin(volume.sources) is not None
            for volume in pod.volumes
        )
        return context.storage, SUCCESS if counts else Status(Code.SKIP), None

    def filter(self, state: Storage, pod: Pod, node_info: NodeInfo) -> Status:
        """Refuse the node where a driver's limit would be exceeded; `why` is the VolumeLimit."""
        csi_node = state.csi_nodes.get(node_info.name)
        try:
            new = attachable_volumes(state, pod, csi_node, is_new=True)
            limits = dict(csi_node.drivers) if csi_node else {}
            if not new or not any(limit is not None for limit in limits.values()):
                return SUCCESS
            attached: set[CSIVolume] = set()
            for info in node_info.pods:
                attached |= attachable_volumes(state, info.pod, csi_node, is_new=False)
        except MissingClaimError as error:
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (str(error),), self.name)
        except ValueError as error:
            return Status(Code.ERROR, (str(error),), self.name)
        there = Counter(volume.driver for volume in attached | attachments(state, node_info.name))
        for driver, count in sorted(Counter(volume.driver for volume in new - attached).items()):
            limit = limits.get(driver)
            if limit is not None and there[driver] + count > limit:
                why = VolumeLimit(driver, there[driver], count, limit)
                return Status(Code.UNSCHEDULABLE, ("node(s) exceed max volume count",), self.name, (why,))
        return SUCCESS


def attachable_volumes(state: Storage, pod: Pod, csi_node: CSINode | None, is_new: bool) -> set[CSIVolume]:
    """The volumes of a pod that count, each once.

    Raises MissingClaimError where a new pod's claim is not there (a running pod's is ignored), and ValueError with
    Kubernetes' text for other faults. Go: `filterAttachableVolumes`.
    """
    found = set()
    for volume in pod.volumes:
        claimed = claim_name_of(pod, volume)
        if claimed is None:
            counted = inline_volume(volume, csi_node)
        else:
            claim = own_claim(state, pod, claimed, is_new)
            counted = claimed_volume(state, claim, csi_node) if claim else None
        if counted is not None and counted.driver and counted.handle:
            found.add(counted)
    return found


def own_claim(state: Storage, pod: Pod, claimed: PodClaim, is_new: bool) -> PersistentVolumeClaim | None:
    """A claim of a pod, checked; None where a running pod's claim is not there."""
    if not claimed.name:
        raise ValueError("PersistentVolumeClaim had no name")
    key = f"{pod.namespace}/{claimed.name}"
    claim = state.claims.get(key)
    if claim is None:
        if is_new:
            raise MissingClaimError(
                f"looking up PVC {key}: {not_found('persistentvolumeclaim', claimed.name)}"
            )
        return None
    if claimed.is_ephemeral and not is_controlled_by(claim, pod):
        raise ValueError(not_owner(pod, claim))
    return claim


def inline_volume(volume: Volume, csi_node: CSINode | None) -> CSIVolume | None:
    """A disk that stands in the pod itself, if the node's driver took it over. Go: `checkAttachableInlineVolume`."""
    plugin = in_tree_plugin(volume.sources)
    if plugin is None or not is_counted(plugin, csi_node):
        return None
    try:
        return translate_inline(volume.sources)
    except TranslationError as error:
        raise ValueError(f"converting volume({volume.name}) from inline to csi: {error}") from None


def claimed_volume(
    state: Storage, claim: PersistentVolumeClaim, csi_node: CSINode | None
) -> CSIVolume | None:
    """The volume of a claim as its driver knows it; by its class where it has none yet. Go: `getCSIDriverInfo`."""
    volume = state.volumes.get(claim.volume_name)
    if volume is None:
        return provisioned_volume(state, claim, csi_node)
    if "csi" not in volume.sources:
        plugin = in_tree_plugin(volume.sources)
        if plugin is None or not is_counted(plugin, csi_node):
            return None
        try:
            volume = translate_volume(volume)
        except TranslationError:
            return None
    source = volume.sources["csi"]
    return CSIVolume(source["driver"], source["volumeHandle"])


def provisioned_volume(
    state: Storage, claim: PersistentVolumeClaim, csi_node: CSINode | None
) -> CSIVolume | None:
    """The volume that a claim will get, under a handle that nobody has. Go: `getCSIDriverInfoFromSC`."""
    storage_class = state.classes.get(claim.storage_class)
    if storage_class is None:
        return None
    driver, handle = storage_class.provisioner, NOT_MADE_YET + claim.key
    plugin = plugin_named(driver)
    if plugin is None:
        return CSIVolume(driver, handle)
    return CSIVolume(plugin.driver, handle) if is_counted(plugin, csi_node) else None


def attachments(state: Storage, node_name: str) -> set[CSIVolume]:
    """The volumes that are attached to a node, or are to be. Go: `getNodeVolumeAttachmentInfo`."""
    found = set()
    for attachment in state.attachments.values():
        volume = state.volumes.get(attachment.persistent_volume_name or "")
        if attachment.node_name == node_name and attachment.attacher and volume and "csi" in volume.sources:
            found.add(CSIVolume(attachment.attacher, volume.sources["csi"]["volumeHandle"]))
    return found
