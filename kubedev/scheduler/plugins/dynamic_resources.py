"""DynamicResources: a pod goes where the devices that it claims are, or can be allocated.

Behind the feature gate DynamicResourceAllocation, which is off in v1.32: the default profile has no such plugin.
Its claims change with what the scheduler sees, so that a profile always holds the newest.

Go: `pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kubedev.api.claims import ResourceClaim
from kubedev.api.objects import Pod
from kubedev.api.resource_slices import ResourceSlice
from kubedev.scheduler.claims.allocator import Allocator
from kubedev.scheduler.claims.steps import AllocationError
from kubedev.scheduler.claims.tracker import Claims, pod_resource_claims
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.preemption.post_filter import FailedCycle, PostFilterResult
from kubedev.scheduler.queue.cluster_events import ActionType, ClusterEvent
from kubedev.scheduler.queue.queueing_hints import Hint, RegisteredEvent
from kubedev.scheduler.selectors.labels import SelectorError
from kubedev.scheduler.selectors.node_selector import Term, parse_node_selector
from kubedev.scheduler.status import SUCCESS, Code, Status

__all__ = ["NAME", "Deallocation", "DynamicResources", "PodClaims", "UnavailableClaims"]

NAME = "DynamicResources"


@dataclass(frozen=True, slots=True)
class PodClaims:
    """What is known of a pod's claims before any node: the nodes of those that are allocated, and the allocator of
    the others (None where all are). `available` has None for a claim that can be used anywhere.
    """

    claims: tuple[ResourceClaim, ...] = ()
    available: tuple[tuple[Term, ...] | None, ...] = ()
    allocator: Allocator | None = None


@dataclass(frozen=True, slots=True)
class UnavailableClaims:
    """The claims (`namespace/name`) that are allocated, and not for this node."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Deallocation:
    """A claim that nobody uses is given back, since its devices keep the pod from every node."""

    claim: ResourceClaim


@dataclass(frozen=True, slots=True)
class DynamicResources:
    """Refuses a pod whose claims are not there yet, and nodes where they cannot be had."""

    claims: Claims = Claims()
    name: str = NAME

    def events_to_register(self) -> tuple[RegisteredEvent, ...]:
        """What may change a refusal. Go: `EventsToRegister`."""
        added_or_updated = ActionType.ADD | ActionType.UPDATE
        of_pod = ClusterEvent("Pod", ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
        return (
            RegisteredEvent(ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_LABEL)),
            RegisteredEvent(ClusterEvent("ResourceClaim", added_or_updated), self.after_claim_change),
            RegisteredEvent(of_pod, self.after_pod_change),
            RegisteredEvent(ClusterEvent("DeviceClass", added_or_updated)),
            RegisteredEvent(ClusterEvent("ResourceSlice", added_or_updated), self.after_slice_change),
        )

    def pre_enqueue(self, pod: Pod) -> Status:
        """Hold a pod back until all of its claims are there. Go: `PreEnqueue`."""
        why = self.why_not(pod)
        return unresolvable(why) if why else SUCCESS

    def pre_filter(
        self, pod: Pod, nodes: Sequence[NodeInfo], context: Context
    ) -> tuple[PodClaims, Status, None]:
        """Find the pod's claims, and those that are still to be allocated. Go: `PreFilter`."""
        try:
            claims = tuple(pod_resource_claims(pod, self.claims))
        except ValueError as error:
            return PodClaims(), unresolvable(str(error)), None
        if not claims:
            return PodClaims(), Status(Code.SKIP), None
        available: list[tuple[Term, ...] | None] = []
        for claim in claims:
            selector = claim.allocation.node_selector if claim.allocation else None
            try:
                available.append(None if selector is None else parse_node_selector(selector))
            except SelectorError as error:
                return PodClaims(), Status(Code.ERROR, (str(error),), NAME), None
            if claim.allocation is None and not (status := self.may_allocate(claim)).is_success:
                return PodClaims(), status, None
        wanted = tuple(claim for claim in claims if claim.allocation is None)
        known = self.claims
        allocator = Allocator(wanted, known.in_use(), known.classes, known.offered()) if wanted else None
        return PodClaims(claims, tuple(available), allocator), SUCCESS, None

    def may_allocate(self, claim: ResourceClaim) -> Status:
        """Whether a claim may be allocated now: nobody is at it, and its classes are there."""
        if claim.uid in self.claims.in_flight:
            return unresolvable(f"resource claim {claim.key} is in the process of being allocated")
        for request in claim.spec.requests:
            if not request.device_class_name:
                return Status(Code.ERROR, (f"request {request.name}: unsupported request type",), NAME)
            if request.device_class_name not in self.claims.classes:
                missing = f"device class {request.device_class_name} does not exist"
                return unresolvable(f"request {request.name}: {missing}")
        return SUCCESS

    def filter(self, state: PodClaims | None, pod: Pod, node_info: NodeInfo) -> Status:
        """Whether the claims can be used on the node, or allocated there; `why` has the allocation. Go: `Filter`."""
        if state is None or not state.claims:
            return SUCCESS
        keys = tuple(
            claim.key
            for claim, terms in zip(state.claims, state.available, strict=True)
            if terms is not None and not any(term.matches(node_info.node) for term in terms)
        )
        if state.allocator is not None:
            try:
                allocation = state.allocator.allocate(node_info.node)
            except AllocationError as error:
                return Status(Code.ERROR, (str(error),), NAME)
            if allocation.results is None:
                return unresolvable("cannot allocate all claims", allocation)
        if keys:
            return unresolvable("resourceclaim not available on the node", UnavailableClaims(keys))
        return SUCCESS

    def post_filter(self, cycle: FailedCycle) -> PostFilterResult:
        """Give an allocated claim back that nobody uses, if it is on the wrong node. Go: `PostFilter`.

        Go takes any such claim, we the first of the pod's.
        """
        state = cycle.state.states.get(NAME)
        if not isinstance(state, PodClaims) or not state.claims:
            return refused("no new claims to deallocate")
        wrong = {
            key
            for status in cycle.statuses.explicit.values()
            for why in status.why
            if isinstance(why, UnavailableClaims)
            for key in why.keys
        }
        for claim in state.claims:
            if claim.key in wrong and all(one.uid == cycle.pod.uid for one in claim.reserved_for):
                return refused("deallocation of ResourceClaim completed", Deallocation(claim))
        return refused("still not schedulable")

    # Hints

    def why_not(self, pod: Pod) -> str:
        """Why the pod's claims are not there; empty where they are."""
        try:
            tuple(pod_resource_claims(pod, self.claims))
        except ValueError as error:
            return str(error)
        return ""

    def after_claim_change(self, pod: Pod, old: ResourceClaim | None, new: ResourceClaim) -> Hint:
        """A claim came or changed. Go: `isSchedulableAfterClaimChange`."""
        if why := self.why_not(pod):
            return Hint(False, why)
        if old is not None and old.allocation is not None and new.allocation is None:
            return Hint(True, f"{new.key} gave its devices back")
        if all(claim.uid != new.uid for claim in pod_resource_claims(pod, self.claims)):
            return Hint(False, f"{new.key} is not one of its claims")
        if old is None:
            return Hint(True, f"its claim {new.key} is there")
        same = (old.allocation, old.reserved_for) == (new.allocation, new.reserved_for)
        return Hint(not same, f"the status of its claim {new.key} {'did not change' if same else 'changed'}")

    def after_pod_change(self, pod: Pod, old: Pod | None, new: Pod) -> Hint:
        """A claim was made for a pod. Go: `isSchedulableAfterPodChange`."""
        if pod.uid != new.uid:
            return Hint(False, "another pod got its claims")
        why = self.why_not(new)
        return Hint(not why, why or "its claims are made")

    def after_slice_change(self, pod: Pod, old: ResourceSlice | None, new: ResourceSlice) -> Hint:
        """A driver offers other devices. Go: `isSchedulableAfterResourceSliceChange`."""
        why = self.why_not(pod)
        return Hint(not why, why or f"the devices of {new.name} may be what it claims")


def unresolvable(reason: str, *why: object) -> Status:
    """A refusal that taking pods away does not change. Go: `statusUnschedulable`."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,), NAME, why)


def refused(reason: str, why: object = None) -> PostFilterResult:
    """What PostFilter answers: it never nominates a node."""
    return PostFilterResult(Status(Code.UNSCHEDULABLE, (reason,), NAME), why=why)
