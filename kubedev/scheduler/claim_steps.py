"""Claims between a decision and the pod's binding: devices chosen, written to the API server, and reserved.

Go: `pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go: Reserve, Unreserve, PreBind, bindClaim`.
"""

from dataclasses import dataclass

from kubedev.api.claims import ResourceClaim
from kubedev.api.objects import Pod
from kubedev.api.values import replace
from kubedev.scheduler.claims.tracker import Claims, is_reserved_for
from kubedev.scheduler.cycle import Decision
from kubedev.scheduler.events import Reservation
from kubedev.scheduler.framework import Framework
from kubedev.scheduler.plugins.dynamic_resources import NAME, DynamicResources, PodClaims

__all__ = ["FINALIZER", "ClaimBinding", "claims_of", "seeing"]

FINALIZER = "resource.kubernetes.io/delete-protection"


@dataclass(frozen=True, slots=True)
class ClaimBinding:
    """The claims of a pod that has its node: those to be reserved for it, allocated first where they are not.

    `reserved` says that it is written.
    """

    pod: Pod
    reservations: tuple[Reservation, ...]
    reserved: bool = False

    def begun_in(self, claims: Claims) -> Claims:
        """With the devices chosen. Go: `Reserve`."""
        for one in self.reservations:
            if one.allocation is not None:
                claims = claims.with_in_flight(replace(one.claim, allocation=one.allocation))
        return claims

    def ended_in(self, claims: Claims) -> Claims:
        """With nothing of it under way."""
        for one in self.reservations:
            claims = claims.without_in_flight(one.claim.uid)
        return claims

    def written_in(self, claims: Claims, written: tuple[ResourceClaim, ...]) -> Claims:
        """With the claims as the API server has them now, until the watch shows them."""
        for claim in written:
            claims = claims.assume(claim)
        return self.ended_in(claims)


def claims_of(framework: Framework, decision: Decision) -> ClaimBinding | None:
    """What is to be allocated and reserved for a pod on its node; None where all is."""
    if decision.found is None or not framework.stands_at(NAME, "reserve"):
        return None
    state = decision.found.pre_filtered.state.states.get(NAME)
    if not isinstance(state, PodClaims):
        return None
    results = {}
    if state.allocator is not None:
        node = next(info.node for info in decision.found.feasible if info.name == decision.node_name)
        found = state.allocator.allocate(node).results or ()
        pairs = zip(state.allocator.claims, found, strict=True)
        results = {claim.uid: allocation for claim, allocation in pairs}
    reservations = tuple(
        Reservation(claim, results.get(claim.uid))
        for claim in state.claims
        if not is_reserved_for(decision.pod, claim)
    )
    pod = replace(decision.pod, node_name=decision.node_name)
    return ClaimBinding(pod, reservations) if reservations else None


def seeing(profile: Framework, claims: Claims) -> Framework:
    """The profile with what its DynamicResources plugin knows of claims."""
    if not any(isinstance(plugin, DynamicResources) for plugin in profile.plugins):
        return profile
    plugins = tuple(
        replace(plugin, claims=claims) if isinstance(plugin, DynamicResources) else plugin
        for plugin in profile.plugins
    )
    return replace(profile, plugins=plugins)
