"""Drivers of claims as seen from outside: they publish their devices in slices, as their plugins list them."""

from kubedev.api.values import replace
from kubedev.cluster import events as e
from kubedev.cluster.apiserver import write
from kubedev.cluster.state import ClusterState, DriverState, then
from kubedev.deviceplugin.driver import driver_name, offered, resource_slice
from kubedev.kubelet import events as k

__all__ = ["launched", "published"]


def launched(state: ClusterState, event: e.DriverLaunched) -> ClusterState:
    """You start a driver beside a plugin: it registers with the kubelet, and publishes the plugin's devices."""
    name = driver_name(event.resource)
    driver = DriverState(event.node, name, event.resource, event.devices)
    state = replace(state, drivers={**state.drivers, (event.node, name): driver})
    state = then(state, [e.OnKubelet(event.node, k.DriverRegistered(name))])
    return published(state, event.node)


def published(state: ClusterState, node: str) -> ClusterState:
    """Write the slices of a node's drivers anew where their devices have changed: a generation more each time."""
    for driver in [one for one in state.drivers.values() if one.node == node]:
        plugin = state.plugins.get((node, driver.resource))
        devices = offered(driver.devices, plugin.devices if plugin is not None else ())
        known = state.store.resource_slices.get(resource_slice(node, driver.name, (), 1).name)
        if known is not None and known.devices == devices:
            continue
        generation = known.pool.generation + 1 if known is not None else 1
        state = write(state, resource_slice(node, driver.name, devices, generation))
    return state
