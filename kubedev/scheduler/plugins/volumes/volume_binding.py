"""VolumeBinding: a pod goes where its volumes can be used, and where those can be had that it has not yet.

Claims whose class waits for the first consumer are bound with the pod: Filter says for every node which volumes
they would get there, and which would have to be made.

Go: `pkg/scheduler/framework/plugins/volumebinding/volume_binding.go, binder.go`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kubedev.api.objects import Node, Pod
from kubedev.api.storage import PersistentVolume, PersistentVolumeClaim
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.volumes.claims import (
    PodVolumeClaims,
    pod_volume_claims,
    why_no_claims,
)
from kubedev.scheduler.plugins.volumes.csi_translation import (
    TranslationError,
    in_tree_plugin,
    is_migrated,
    translate_volume,
)
from kubedev.scheduler.plugins.volumes.hints import BINDING_EVENTS
from kubedev.scheduler.plugins.volumes.pod_claims import pod_claims
from kubedev.scheduler.plugins.volumes.provisioning import Provisions, check_volume_provisions
from kubedev.scheduler.plugins.volumes.topologies import matches_node_affinity
from kubedev.scheduler.plugins.volumes.volume_matching import NOTHING, find_matching_volume
from kubedev.scheduler.queue.queueing_hints import RegisteredEvent
from kubedev.scheduler.status import SUCCESS, Code, Status
from kubedev.scheduler.storage import Storage

__all__ = ["SELECTED_NODE", "Binding", "PodVolumes", "VolumeBinding", "find_pod_volumes"]

SELECTED_NODE = "volume.kubernetes.io/selected-node"


@dataclass(frozen=True, slots=True)
class Binding:
    """A claim and the volume that it would get."""

    claim: PersistentVolumeClaim
    volume: PersistentVolume


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """What a pod needs on a node: volumes to bind, claims to make volumes for; or why the node will not do.

    Go: `PodVolumes`, `ConflictReasons`.
    """

    static: tuple[Binding, ...] = ()
    provision: tuple[PersistentVolumeClaim, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VolumeBinding:
    """Refuses nodes that the pod's volumes cannot be used on, or on which it cannot get those that it lacks."""

    name: str = "VolumeBinding"
    bind_timeout_seconds: int = 600

    def events_to_register(self) -> tuple[RegisteredEvent, ...]:
        """What may change a refusal."""
        return BINDING_EVENTS

    def pre_filter(
        self, pod: Pod, nodes: Sequence[NodeInfo], context: Context
    ) -> tuple[PodVolumeClaims | None, Status, None]:
        """The state are the pod's claims by what is to be done with them; without any, nothing to check."""
        if not any(True for _ in pod_claims(pod)):
            return None, Status(Code.SKIP), None
        if why := why_no_claims(context.storage, pod):
            return None, Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (why,), self.name), None
        try:
            claims = pod_volume_claims(context.storage, pod)
        except ValueError as error:
            return None, Status(Code.ERROR, (str(error),), self.name), None
        if claims.unbound_immediate:
            reasons = ("pod has unbound immediate PersistentVolumeClaims",)
            refused = Status(
                Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons, self.name, claims.unbound_immediate
            )
            return None, refused, None
        return claims, SUCCESS, None

    def filter(self, state: PodVolumeClaims, pod: Pod, node_info: NodeInfo) -> Status:
        """Refuse the node where a volume cannot be used or had; `find_pod_volumes` says what it would get."""
        try:
            found = find_pod_volumes(state, node_info.node)
        except ValueError as error:
            return Status(Code.ERROR, (str(error),), self.name)
        if found.reasons:
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, found.reasons, self.name, (found,))
        return SUCCESS


def find_pod_volumes(claims: PodVolumeClaims, node: Node) -> PodVolumes:
    """What a pod's claims need on a node. Raises ValueError with Kubernetes' text.

    Go: `volumeBinder.FindPodVolumes`.
    """
    conflict, missing = check_bound_claims(claims, node)
    to_provision = [claim for claim in claims.unbound_delayed if SELECTED_NODE in claim.annotations]
    to_match = [claim for claim in claims.unbound_delayed if SELECTED_NODE not in claim.annotations]
    elsewhere = any(claim.annotations[SELECTED_NODE] != node.name for claim in to_provision)
    static: list[Binding] = []
    provisions = Provisions()
    if not elsewhere:
        static, unmatched = find_matching_volumes(claims, to_match, node)
        provisions = check_volume_provisions(claims.storage, [*to_provision, *unmatched], node)
    reasons = {
        "node(s) had volume node affinity conflict": conflict,
        "node(s) didn't find available persistent volumes to bind": elsewhere or not provisions.possible,
        "node(s) did not have enough free storage": not provisions.sufficient,
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)": missing,
    }
    return PodVolumes(
        tuple(static), provisions.claims, tuple(reason for reason, holds in reasons.items() if holds)
    )


def check_bound_claims(claims: PodVolumeClaims, node: Node) -> tuple[bool, bool]:
    """Whether the first bound volume that will not do cannot be used on the node, or is not there at all.

    Go: `checkBoundClaims`.
    """
    for claim in claims.bound:
        volume = claims.storage.volume(claim.volume_name)
        if volume is None:
            return False, True
        if not matches_node_affinity(as_on_node(claims.storage, volume, node.name), node.labels):
            return True, False
    return False, False


def as_on_node(storage: Storage, volume: PersistentVolume, node_name: str) -> PersistentVolume:
    """The volume as the node's CSI driver sees it, where it took over its kind. Go: `tryTranslatePVToCSI`."""
    plugin = in_tree_plugin(volume.sources)
    if plugin is None or not is_migrated(plugin, storage.csi_nodes.get(node_name)):
        return volume
    try:
        return translate_volume(volume)
    except TranslationError as error:
        raise ValueError(f"could not translate pv: {error}") from None


def find_matching_volumes(
    claims: PodVolumeClaims, to_match: Sequence[PersistentVolumeClaim], node: Node
) -> tuple[list[Binding], list[PersistentVolumeClaim]]:
    """Volumes for claims, the smallest claim first, and the claims that get none. Go: `findMatchingVolumes`."""
    bindings: list[Binding] = []
    unmatched: list[PersistentVolumeClaim] = []
    for claim in sorted(to_match, key=lambda claim: claim.storage or NOTHING):
        taken = {binding.volume.name for binding in bindings}
        volume = find_matching_volume(claim, claims.volumes.get(claim.storage_class, ()), node, taken)
        if volume is None:
            unmatched.append(claim)
        else:
            bindings.append(Binding(claim, volume))
    return bindings, unmatched
