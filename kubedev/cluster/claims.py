"""Claims for devices in their cluster: made from templates, reserved, given back when their pods are gone.

The controller is told of every change of a claim, and of pods that have some; what it does takes no time on the
simulated clock. The API server's part in binding is here too.

Go: `pkg/controller/resourceclaim/controller.go`.
"""

from collections.abc import Iterator
from itertools import count

from kubedev.api.claims import ConsumerReference, ResourceClaim, ResourceClaimTemplate
from kubedev.api.gotext import quote
from kubedev.api.objects import OwnerReference, Pod, PodResourceClaim
from kubedev.api.values import replace
from kubedev.cluster import events as e
from kubedev.cluster.apiserver import CLAIMS, remove, write
from kubedev.cluster.state import ClusterState
from kubedev.scheduler import events as s
from kubedev.scheduler.claim_steps import FINALIZER
from kubedev.scheduler.claims.tracker import claim_name_of, is_made_for, is_reserved_for

__all__ = ["CLAIMS", "claim_of", "claims_on", "deallocated", "reserved", "unreserved", "watched"]

POD_CLAIM = "resource.kubernetes.io/pod-claim-name"
LONGEST_BASE = 57
"""A name of 63 characters, without a hyphen and the five letters that Kubernetes adds."""
FINISHED = ("Succeeded", "Failed")


def watched(state: ClusterState, event: e.Watched) -> ClusterState:
    """A claim or a template changed, or a pod with claims came, changed, or went."""
    thing = event.event.object
    if isinstance(thing, ResourceClaimTemplate):
        for pod in list(state.store.pods.values()):
            state = synced_pod(state, pod)
    elif isinstance(thing, Pod):
        if thing.uid in state.store.pods:
            state = synced_pod(state, state.store.pods[thing.uid])
        for claim in list(claims_of(state, thing)):
            state = synced_claim(state, claim)
    elif isinstance(thing, ResourceClaim):
        known = state.store.resource_claims.get(thing.key)
        state = synced_claim(state, known) if known is not None else state
        for pod in list(state.store.pods.values()):
            if pod.resource_claims and thing.key in (one.key for _, one in claims_on(state, pod)):
                state = synced_pod(state, pod)
    return state


def claim_of(state: ClusterState, pod: Pod, claim: PodResourceClaim) -> ResourceClaim | None:
    """The claim that one of a pod's stands for, as the store has it; None where there is none (yet)."""
    try:
        name = claim_name_of(pod, claim)
    except ValueError:
        return None
    return state.store.resource_claims.get(f"{pod.namespace}/{name}")


def claims_of(state: ClusterState, pod: Pod) -> Iterator[ResourceClaim]:
    """The claims that a pod names, was reserved or owns."""
    for claim in state.store.resource_claims.values():
        if is_made_for(pod, claim) or is_reserved_for(pod, claim):
            yield claim


def claims_on(state: ClusterState, pod: Pod) -> tuple[tuple[str, ResourceClaim], ...]:
    """The claims of a pod that are there, each under the pod's name for it: what its kubelet looks up."""
    found = ((one.name, claim_of(state, pod, one)) for one in pod.resource_claims)
    return tuple((name, claim) for name, claim in found if claim is not None)


# Pods


def synced_pod(state: ClusterState, pod: Pod) -> ClusterState:
    """Make the claims that a pod lacks, and reserve those of a pod that came to its node without the scheduler.

    Go: `syncPod`.
    """
    if pod.deletion_timestamp is not None or pod.phase in FINISHED:
        return state
    statuses = dict(pod.resource_claim_statuses)
    for named in pod.resource_claims:
        template_name = named.resource_claim_template_name
        template = state.store.resource_claim_templates.get(f"{pod.namespace}/{template_name}")
        known = claim_of(state, pod, named)
        if template is None or (known is not None and is_made_for(pod, known)):
            continue
        made = orphan_of(state, pod, named) or made_from(state, template, pod, named)
        if made.key not in state.store.resource_claims:
            state = write(state, made)
        statuses[named.name] = made.name
    if statuses != pod.resource_claim_statuses:
        pod = replace(pod, resource_claim_statuses=statuses)
        state = write(state, pod)
    for _, claim in claims_on(state, pod) if pod.node_name else ():
        if claim.allocation is not None and not is_reserved_for(pod, claim):
            state = write(state, with_reservation(claim, pod))
    return state


def orphan_of(state: ClusterState, pod: Pod, named: PodResourceClaim) -> ResourceClaim | None:
    """A claim that was made for a pod, which does not say so yet. Go: `findPodResourceClaim`."""
    mine = (claim for claim in state.store.resource_claims.values() if is_made_for(pod, claim))
    return next((claim for claim in mine if claim.annotations.get(POD_CLAIM) == named.name), None)


def made_from(
    state: ClusterState, template: ResourceClaimTemplate, pod: Pod, named: PodResourceClaim
) -> ResourceClaim:
    """The claim that a template makes for a pod. Its name ends with a number, in Kubernetes with random letters."""
    base = f"{pod.name}-{named.name}-"
    if len(base) > LONGEST_BASE:
        parts = (text[: len(text) * LONGEST_BASE // len(base)] for text in (pod.name, named.name))
        base = "-".join(parts) + "-"
    numbered = (f"{base}{number}" for number in count(1))
    name = next(one for one in numbered if f"{pod.namespace}/{one}" not in state.store.resource_claims)
    owner = OwnerReference("Pod", pod.name, pod.uid, "v1", controller=True)
    return ResourceClaim(
        name,
        pod.namespace,
        uid=f"{pod.uid}/{name}",
        labels=template.labels,
        annotations={**template.annotations, POD_CLAIM: named.name},
        owner_references=(owner,),
        spec=template.spec,
    )


# Claims


def synced_claim(state: ClusterState, claim: ResourceClaim) -> ClusterState:
    """Forget pods that need the claim no more; where none is left, give its devices back. Go: `syncClaim`.

    A claim that was made for a pod goes with it, as the garbage collector has it.
    """
    left = tuple(one for one in claim.reserved_for if is_needed(state, one))
    if len(left) < len(claim.reserved_for):
        claim = replace(claim, reserved_for=left)
        if not left:
            finalizers = tuple(one for one in claim.finalizers if one != FINALIZER)
            claim = replace(claim, allocation=None, finalizers=finalizers)
        state = write(state, claim)
    owner = next((one for one in claim.owner_references if one.controller and one.kind == "Pod"), None)
    if left or owner is None or not is_over(state, owner.uid):
        return state
    return remove(state, claim)


def is_needed(state: ClusterState, one: ConsumerReference) -> bool:
    """Whether the pod of a reservation may still use the claim."""
    return one.resource == "pods" and not is_over(state, one.uid)


def is_over(state: ClusterState, uid: str) -> bool:
    """Whether a pod is gone, or will not run any more. Go: `isPodDone`."""
    pod = state.store.pods.get(uid)
    if pod is None or pod.phase in FINISHED:
        return True
    return pod.deletion_timestamp is not None and not pod.node_name


# What the scheduler wants of the API server


def with_reservation(claim: ResourceClaim, pod: Pod) -> ResourceClaim:
    """A claim that is reserved for one pod more."""
    return replace(claim, reserved_for=(*claim.reserved_for, ConsumerReference("pods", pod.name, pod.uid)))


def reserved(
    state: ClusterState, effect: s.BindClaims
) -> tuple[ClusterState, tuple[ResourceClaim, ...], str]:
    """Write allocations and reservations one after another: the claims that are written, and what ended it.

    Go: `bindClaim`, `ValidateResourceClaimStatusUpdate`.
    """
    written: list[ResourceClaim] = []
    for one in effect.reservations:
        key = one.claim.key
        claim = state.store.resource_claims.get(key)
        doing = "add allocation and reservation" if one.allocation else "add reservation"
        problem = ""
        if claim is None or claim.uid != one.claim.uid:
            problem = (
                f"{doing} to claim {key}: resourceclaims.resource.k8s.io {quote(one.claim.name)} not found"
            )
        elif claim.deletion_timestamp is not None:
            problem = f"claim {key} got deleted in the meantime"
        elif one.allocation is not None and claim.allocation is not None:
            problem = f"claim {key} got allocated elsewhere in the meantime"
        elif one.allocation is None and claim.allocation is None:
            problem = (
                f"{doing} to claim {key}: ResourceClaim.resource.k8s.io {quote(claim.name)} is invalid: "
                "status.reservedFor: Forbidden: may not be specified when `allocated` is not set"
            )
        if problem or claim is None:
            return state, tuple(written), problem
        if one.allocation is not None:
            finalizers = dict.fromkeys((*claim.finalizers, FINALIZER))
            claim = replace(claim, allocation=one.allocation, finalizers=tuple(finalizers))
        claim = with_reservation(claim, effect.pod)
        state = write(state, claim)
        written.append(claim)
    return state, tuple(written), ""


def unreserved(state: ClusterState, effect: s.UnreserveClaims) -> ClusterState:
    """Take a pod out of those whom claims are reserved for; they stay allocated. Go: `Unreserve`."""
    for key in effect.keys:
        claim = state.store.resource_claims.get(key)
        if claim is not None and is_reserved_for(effect.pod, claim):
            left = tuple(one for one in claim.reserved_for if one.uid != effect.pod.uid)
            state = write(state, replace(claim, reserved_for=left))
    return state


def deallocated(state: ClusterState, effect: s.DeallocateClaim) -> ClusterState:
    """Take a claim's allocation away, if nothing became of it meanwhile. Go: `PostFilter`."""
    claim = state.store.resource_claims.get(effect.claim.key)
    if claim is None or claim != effect.claim:
        return state
    return write(state, replace(claim, allocation=None, reserved_for=()))
