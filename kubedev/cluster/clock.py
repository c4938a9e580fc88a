"""The simulated clock: what is due when time passes."""

from collections.abc import Callable
from dataclasses import replace

from kubedev.cluster import controlling, figures, scheduling
from kubedev.cluster import events as e
from kubedev.cluster.state import ClusterState, then
from kubedev.cluster.volumes import provisioned
from kubedev.kubelet.events import NodeStatusDue

__all__ = ["advanced", "next_due"]

DUE: tuple[Callable[[ClusterState], float | None], ...] = (controlling.next_due, figures.next_due)
"""Who says when something is due: a clock that is moved on far stops there."""


def next_due(state: ClusterState) -> float | None:
    """The next moment at which time alone makes something happen; None where there is none."""
    times = [at for due in DUE if (at := due(state)) is not None and at > state.now]
    return min(times, default=None)


def advanced(state: ClusterState, event: e.ClockAdvanced) -> ClusterState:
    """Time has passed: the scheduler and the controllers do what is due; kubelets write their nodes' status and take
    the figures.
    """
    before, state = state.now, provisioned(replace(state, now=state.now + event.seconds))
    state = controlling.tick(scheduling.tick(state), before)
    state = then(state, (e.OnKubelet(name, NodeStatusDue()) for name in sorted(state.kubelets)))
    return then(state, figures.looks(state, before))
