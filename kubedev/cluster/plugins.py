"""Device plugins as seen from outside: what you do to them, and what their processes tell."""

from dataclasses import replace

from kubedev.cluster import events as e
from kubedev.cluster.state import ClusterState, PluginState

__all__ = ["exited", "health_set", "killed", "launched", "serving", "with_plugin", "with_sockets"]


def launched(state: ClusterState, event: e.PluginLaunched) -> ClusterState:
    """You start a plugin."""
    before = state.plugins.get((event.node, event.resource))
    launch = before.launch + 1 if before else 0
    plugin = PluginState(event.node, event.resource, event.devices, event.options, launch=launch)
    return with_plugin(state, plugin)


def serving(state: ClusterState, event: e.PluginServing) -> ClusterState:
    """The plugin's server listens."""
    plugin = replace(state.plugins[event.node, event.resource], socket=event.socket, pid=event.pid)
    if plugin.phase == "launched":  # its news may come after its registration
        plugin = replace(plugin, phase="serving")
    return with_sockets(with_plugin(state, plugin), event.node, add=event.socket)


def health_set(state: ClusterState, event: e.HealthSet) -> ClusterState:
    """You turn one of its devices healthy or unhealthy."""
    plugin = state.plugins[event.node, event.resource]
    devices = tuple(replace(d, health=event.health) if d.id == event.device_id else d for d in plugin.devices)
    return with_plugin(state, replace(plugin, devices=devices))


def killed(state: ClusterState, event: e.PluginKilled) -> ClusterState:
    """You kill the plugin."""
    return with_plugin(state, replace(state.plugins[event.node, event.resource], phase="dead", pid=None))


def exited(state: ClusterState, event: e.PluginExited) -> ClusterState:
    """The plugin's process is gone."""
    plugin = state.plugins[event.node, event.resource]
    if not event.killed:
        state = with_sockets(state, event.node, remove=plugin.socket)
    phase = "refused" if plugin.phase == "refused" else "dead"
    return with_plugin(state, replace(plugin, phase=phase, pid=None))


def with_plugin(state: ClusterState, plugin: PluginState) -> ClusterState:
    """The state with this plugin, in place of an older one of its resource."""
    return replace(state, plugins={**state.plugins, (plugin.node, plugin.resource): plugin})


def with_sockets(state: ClusterState, node: str, add: str = "", remove: str = "") -> ClusterState:
    """The state with a file more, or less, in a node's socket directory."""
    files = {*state.sockets.get(node, ()), add} - {remove, ""}
    return replace(state, sockets={**state.sockets, node: tuple(sorted(files))})
