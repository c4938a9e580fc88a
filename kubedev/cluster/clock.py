"""The simulated clock: what is due when time passes."""

from dataclasses import replace

from kubedev.cluster import events as e
from kubedev.cluster import scheduling
from kubedev.cluster.state import ClusterState, then
from kubedev.kubelet.events import NodeStatusDue

__all__ = ["advanced"]


def advanced(state: ClusterState, event: e.ClockAdvanced) -> ClusterState:
    """Time has passed: the scheduler flushes what is due, and each kubelet writes its node's status."""
    state = scheduling.tick(replace(state, now=state.now + event.seconds))
    return then(state, (e.OnKubelet(name, NodeStatusDue()) for name in sorted(state.kubelets)))
