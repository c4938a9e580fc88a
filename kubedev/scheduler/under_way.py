"""What is under way for a pod between its decision and its binding, and what it gives back if it is not bound.

Go: `Unreserve` of the plugins VolumeBinding and DynamicResources.
"""

from kubedev.api.objects import Pod
from kubedev.api.values import replace
from kubedev.scheduler.claim_steps import ClaimBinding
from kubedev.scheduler.events import Effect, UnreserveClaims
from kubedev.scheduler.scheduler_state import SchedulerState

__all__ = ["claims_under_way", "without_binding", "without_claims"]


def without_binding(state: SchedulerState, assumed: Pod) -> SchedulerState:
    """Nothing is assumed of the pod's volumes any more, and nobody waits for them."""
    mine = [one for one in state.bindings if one.pod.uid == assumed.uid]
    for binding in mine:
        listers = replace(state.listers, storage=binding.restored_in(state.listers.storage))
        state = replace(state, listers=listers)
    return replace(state, bindings=tuple(one for one in state.bindings if one not in mine)) if mine else state


def claims_under_way(state: SchedulerState, uid: str) -> ClaimBinding | None:
    """The claims of a pod that is not bound yet."""
    return next((one for one in state.claim_bindings if one.pod.uid == uid), None)


def without_claims(state: SchedulerState, uid: str) -> tuple[SchedulerState, tuple[Effect, ...]]:
    """The pod gives its claims back: nothing is on its way, and what was reserved is to be free. Go: `Unreserve`."""
    chosen = claims_under_way(state, uid)
    if chosen is None:
        return state, ()
    state = state.with_claims(chosen.ended_in(state.listers.claims))
    state = replace(state, claim_bindings=tuple(one for one in state.claim_bindings if one is not chosen))
    keys = tuple(one.claim.key for one in chosen.reservations)
    return state, (UnreserveClaims(chosen.pod, keys),) if chosen.reserved else ()
