"""One step of the whole cluster: `step(state, event) -> state`. Nothing here touches the world.

What follows from an event stands in `state.pending` and is applied first-in, first-out, each as a step of its
own. What comes from outside may cut in: it happens there and then, and what is pending goes on after it, decided
anew in the state that it finds; the scheduler takes its turn when it has heard of all that was written. Events that
also ask something of the world (start a plugin, call it, start a container) are looked at by a transport after the
step; what comes of them arrives as further events.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kubedev.api.values import replace
from kubedev.cluster import (
    apiserver,
    claims,
    clock,
    containers,
    controlling,
    drivers,
    figures,
    kubelets,
    nodes,
    plugins,
    scheduling,
    volumes,
)
from kubedev.cluster import events as e
from kubedev.cluster.late import comes_too_late
from kubedev.cluster.log import describe
from kubedev.cluster.state import ClusterState, scheduler_last

__all__ = ["STEPS", "WATCHERS", "step"]

Step = Callable[[ClusterState, Any], ClusterState]

WATCHERS: Mapping[str, Step] = {
    apiserver.SCHEDULER: scheduling.watched,
    apiserver.VOLUMES: volumes.watched,
    apiserver.CLAIMS: claims.watched,
    **controlling.WATCHERS,
}
"""What becomes of a watch event, by watcher; all others are kubelets."""


def watched(state: ClusterState, event: e.Watched) -> ClusterState:
    """The API server tells a watcher of a change."""
    return WATCHERS.get(event.watcher, kubelets.watched)(state, event)


FROM_OUTSIDE: Mapping[type, Step] = {
    e.NodeCreated: kubelets.node_created,
    e.ObjectApplied: apiserver.applied,
    e.SchedulerConfigured: scheduling.configured,
    e.PodCreated: apiserver.pod_created,
    e.PodDeletionAsked: apiserver.pod_deletion_asked,
    e.PodUngated: apiserver.pod_ungated,
    e.NodePatched: nodes.patched,
    e.NodeDeleted: nodes.deleted,
    e.KubeletSilenced: nodes.silenced,
    e.PluginLaunched: plugins.launched,
    e.DriverLaunched: drivers.launched,
    e.PluginServing: plugins.serving,
    e.PluginKilled: plugins.killed,
    e.PluginExited: plugins.exited,
    e.HealthSet: plugins.health_set,
    e.DeviceListed: plugins.device_listed,
    e.KubeletStopped: kubelets.stopped,
    e.OnKubelet: kubelets.on_kubelet,
    e.ContainerStarted: containers.started,
    e.ContainerPrinted: containers.printed,
    e.ContainerEnded: containers.ended,
    e.ContainerKilled: containers.killed,
    e.UsageSet: figures.usage_set,
    e.MachineUsageSet: figures.machine_usage_set,
    e.ClockAdvanced: clock.advanced,
    e.WentLive: containers.went_live,
}
"""What each kind of event from outside does."""

FROM_INSIDE: Mapping[type, Step] = {
    e.FromKubelet: kubelets.from_kubelet,
    e.Watched: watched,
    e.SchedulerTurn: scheduling.turn,
    e.SchedulerWants: scheduling.wants,
    e.ControllerWants: controlling.wants,
}
"""What each kind of event does that follows from others; it is applied in its turn only."""

STEPS: Mapping[type, Step] = {**FROM_OUTSIDE, **FROM_INSIDE}


def _to_scheduler(event: e.Event) -> bool:
    return isinstance(event, e.Watched) and event.watcher == apiserver.SCHEDULER


def step(state: ClusterState, event: e.Event) -> ClusterState:
    """The state after an event: the first that is pending, or one from outside, which may come at any time.

    ValueError for what follows from others and is not its turn. What comes too late changes nothing.
    """
    if type(event) not in STEPS:
        raise TypeError(f"expected an event of kubedev.cluster.events, got {event!r}")
    if state.pending and event == state.pending[0]:
        state = replace(state, pending=state.pending[1:])
    elif type(event) in FROM_INSIDE:
        expected = f"the pending event {state.pending[0]!r}" if state.pending else "an event from outside"
        raise ValueError(f"expected {expected}, got {event!r}")
    if comes_too_late(state, event):
        return state
    after = STEPS[type(event)](state, event)
    if type(event) in FROM_OUTSIDE or any(map(_to_scheduler, after.pending[len(state.pending) :])):
        after = scheduler_last(after)
    return replace(after, messages=state.messages.with_more(describe(state, event, after)))
