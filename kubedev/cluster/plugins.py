"""Device plugins as seen from outside: what you do to them, and what their processes tell."""

from collections.abc import Sequence

from kubedev.api.messages import Device
from kubedev.api.values import replace
from kubedev.cluster import events as e
from kubedev.cluster.drivers import published
from kubedev.cluster.state import ClusterState, PluginState

__all__ = [
    "device_listed",
    "exited",
    "health_set",
    "killed",
    "launched",
    "list_received",
    "plugin_at",
    "registering",
    "serving",
    "with_plugin",
    "with_sockets",
]


def launched(state: ClusterState, event: e.PluginLaunched) -> ClusterState:
    """You start a plugin."""
    before = state.plugins.get((event.node, event.resource))
    launch = before.launch + 1 if before else 0
    resource = event.resource.partition("#")[0]
    plugin = PluginState(
        event.node, resource, event.devices, event.options, launch=launch, name=event.resource
    )
    state = with_plugin(state, replace(plugin, registers_again=event.registers_again))
    return published(state, event.node)


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
    return published(with_plugin(state, replace(plugin, devices=devices, heard=False)), event.node)


def device_listed(state: ClusterState, event: e.DeviceListed) -> ClusterState:
    """One of its devices is left out of its list, or listed again."""
    plugin = state.plugins[event.node, event.resource]
    everything = (*plugin.devices, *plugin.left_out)
    moved = tuple(device for device in everything if device.id == event.device_id)
    devices = tuple(device for device in plugin.devices if device not in moved)
    left_out = tuple(device for device in plugin.left_out if device not in moved)
    if event.listed:
        devices = (*devices, *moved)
    else:
        left_out = (*left_out, *moved)
    state = with_plugin(state, replace(plugin, devices=devices, left_out=left_out, heard=False))
    return published(state, event.node)


def plugin_at(state: ClusterState, node: str, resource: str, socket: str) -> PluginState | None:
    """The plugin of a resource that serves on a socket; before it has said where, the first one of the resource."""
    there = [p for p in state.plugins.values() if (p.node, p.resource) == (node, resource)]
    found = next((p for p in there if p.socket and f"/{socket}".endswith(f"/{p.socket}")), None)
    return found or next((p for p in there if not p.socket), None)


def registering(
    state: ClusterState, node: str, register_id: int, resource: str, endpoint: str
) -> ClusterState:
    """A plugin has called Register."""
    plugin = plugin_at(state, node, resource, endpoint)
    return with_plugin(state, replace(plugin, register_id=register_id)) if plugin else state


def list_received(state: ClusterState, node: str, client: int, devices: Sequence[Device]) -> ClusterState:
    """A list has reached a kubelet: whether it is the one that the plugin would send now."""
    endpoint = state.kubelets[node].devices.connections.get(client)
    plugin = plugin_at(state, node, endpoint.resource, endpoint.socket) if endpoint else None
    if plugin is None:
        return state

    def told(devices: Sequence[Device]) -> list[tuple[str, str]]:
        return [(device.id, device.health) for device in devices]

    return with_plugin(state, replace(plugin, heard=told(devices) == told(plugin.devices)))


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
    return replace(state, plugins={**state.plugins, (plugin.node, plugin.name): plugin})


def with_sockets(state: ClusterState, node: str, add: str = "", remove: str = "") -> ClusterState:
    """The state with a file more, or less, in a node's socket directory."""
    files = {*state.sockets.get(node, ()), add} - {remove, ""}
    return replace(state, sockets={**state.sockets, node: tuple(sorted(files))})
