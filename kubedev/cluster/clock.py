"""The simulated clock: what is due when time passes."""

from dataclasses import replace

from kubedev.cluster import events as e
from kubedev.cluster import scheduling
from kubedev.cluster.figures import looks
from kubedev.cluster.state import ClusterState, then
from kubedev.cluster.volumes import provisioned
from kubedev.kubelet.events import NodeStatusDue

__all__ = ["advanced"]


def advanced(state: ClusterState, event: e.ClockAdvanced) -> ClusterState:
    """Time has passed: the scheduler flushes what is due; kubelets write their nodes' status and take the figures."""
    before, state = state.now, provisioned(replace(state, now=state.now + event.seconds))
    state = scheduling.tick(state)
    state = then(state, (e.OnKubelet(name, NodeStatusDue()) for name in sorted(state.kubelets)))
    return then(state, looks(state, before))
