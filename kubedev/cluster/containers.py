"""Containers as the runtime tells of them."""

import signal
from typing import Any

from kubedev.api.values import replace
from kubedev.cluster import events as e
from kubedev.cluster.kubelets import on_kubelet
from kubedev.cluster.state import ClusterState, with_container
from kubedev.kubelet.events import ContainerExited

__all__ = ["ended", "killed", "printed", "started", "went_live"]


def started(state: ClusterState, event: e.ContainerStarted) -> ClusterState:
    """A container's process runs."""
    return with_container(state, event.pod_uid, event.container, phase="running", pid=event.pid)


def printed(state: ClusterState, event: e.ContainerPrinted) -> ClusterState:
    """It has printed a line."""
    output = state.containers[event.pod_uid, event.container].output
    return with_container(state, event.pod_uid, event.container, output=(*output, event.line))


def ended(state: ClusterState, event: e.ContainerEnded) -> ClusterState:
    """It has ended, which its kubelet hears at once."""
    uid, name, code = event.pod_uid, event.container, event.exit_code
    state = with_container(state, uid, name, phase="ended", exit_code=code)
    node = state.containers[uid, name].node
    return on_kubelet(state, e.OnKubelet(node, ContainerExited(uid, name, code)))


def killed(state: ClusterState, event: e.ContainerKilled) -> ClusterState:
    """You kill its process: it ends at once, whatever it does."""
    uid, name = event.pod_uid, event.container
    attempt = state.containers[uid, name].attempt
    return ended(state, e.ContainerEnded(uid, name, -signal.SIGKILL, attempt))


def went_live(state: ClusterState, event: e.WentLive) -> ClusterState:
    """Containers are started anew, as processes, with nothing printed yet."""
    begun: dict[str, Any] = {"phase": "created", "output": ()}
    anew = {key: replace(c, **begun) for key, c in state.containers.items() if c.phase != "ended"}
    return replace(state, containers={**state.containers, **anew})
