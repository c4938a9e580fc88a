"""Which events come too late: threads and processes tell what was true when they told it."""

from kubedev.cluster import events as e
from kubedev.cluster.state import ClusterState

__all__ = ["comes_too_late"]


def comes_too_late(state: ClusterState, event: e.Event) -> bool:
    """Whether an event is about something that is gone, or that another one has taken the place of."""
    match event:
        case e.PodDeletionAsked(uid) | e.PodUngated(uid) | e.UsageSet(uid):
            return uid not in state.store.pods
        case e.NodePatched(node) | e.NodeDeleted(node):
            return node not in state.store.nodes
        case e.KubeletSilenced(node, silent):
            return (node in state.silent) == silent
        case e.PluginServing(node, resource, launch=launch) | e.PluginExited(node, resource, launch=launch):
            plugin = state.plugins[node, resource]
            return plugin.launch != launch or plugin.phase == "dead"
        case e.DeviceListed(node, resource, device_id, listed):
            plugin = state.plugins[node, resource]
            there = plugin.left_out if listed else plugin.devices
            return not plugin.alive or device_id not in [device.id for device in there]
        case e.PluginKilled(node, resource):
            return not state.plugins[node, resource].alive
        case e.HealthSet(node, resource, device_id):
            plugin = state.plugins[node, resource]
            return not plugin.alive or device_id not in [device.id for device in plugin.devices]
        case e.ContainerKilled(uid, name):
            return (uid, name) not in state.containers or state.containers[uid, name].phase != "running"
        case e.ContainerStarted() | e.ContainerPrinted() | e.ContainerEnded():
            container = state.containers.get((event.pod_uid, event.container))
            return container is None or container.attempt != event.attempt or container.phase == "ended"
    return False
