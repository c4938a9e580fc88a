"""Finding things in a cluster's state by what a reader calls them, with errors that say what there is."""

from collections.abc import Iterable

from kubedev.api.messages import Device
from kubedev.api.objects import Node, Pod
from kubedev.api.selectors import Taint
from kubedev.cluster.state import ClusterState
from kubedev.kubelet.devices.holdings import who_holds

__all__ = [
    "devices_of",
    "find_pod",
    "known_node",
    "matching_taints",
    "node_name",
    "plugin_key",
    "read_devices",
    "read_taint",
]


def find_pod(state: ClusterState, name: str) -> Pod:
    """A pod by its name, or KeyError."""
    for pod in state.store.pods.values():
        if pod.name == name:
            return pod
    names = ", ".join(pod.name for pod in state.store.pods.values()) or "none"
    raise KeyError(f"no pod {name!r}; there are: {names}")


def devices_of(state: ClusterState, pod: Pod) -> tuple[str, ...]:
    """The ids of the devices that a pod holds, whatever their resource."""
    if pod.node_name not in state.kubelets:
        return ()
    held = who_holds(state.kubelets[pod.node_name].devices)
    return tuple(sorted({holding.device for holding in held if holding.pod_uid == pod.uid}))


def node_name(state: ClusterState, node: str) -> str:
    """The node that is meant, the first one where none is named; ValueError where it is not there."""
    if not state.kubelets or (node and node not in state.kubelets):
        there = ", ".join(state.kubelets) or "none yet"
        raise ValueError(f"expected one of the nodes there are ({there}), got {node!r}")
    return node or next(iter(state.kubelets))


def plugin_key(state: ClusterState, resource: str = "", node: str = "") -> tuple[str, str]:
    """Node and resource of the plugin that is meant: the first that runs where nothing more is said, or ValueError."""
    running = [(key, plugin) for key, plugin in state.plugins.items() if plugin.alive]
    for key, plugin in running:
        if resource in ("", plugin.name) and node in ("", plugin.node):
            return key
    there = ", ".join(f"{plugin.name} on {plugin.node}" for _, plugin in running) or "none"
    raise ValueError(f"no such plugin runs; running: {there}")


def read_devices(devices: Iterable[Device]) -> tuple[Device, ...]:
    """The devices that a plugin is to list, or ValueError before anything has begun."""
    found = tuple(devices) if isinstance(devices, Iterable) else (devices,)
    wrong = [device for device in found if not isinstance(device, Device)]
    if wrong:
        raise ValueError(f"expected a number of devices, or a list such as [Device('d0')], got {wrong[0]!r}")
    return found


EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def known_node(state: ClusterState, node: str) -> str:
    """The node whose object is meant, the first one where none is named; ValueError where it is not there."""
    nodes = state.store.nodes
    if not nodes or (node and node not in nodes):
        raise ValueError(
            f"expected one of the nodes there are ({', '.join(nodes) or 'none yet'}), got {node!r}"
        )
    return node or next(iter(nodes))


def read_taint(text: str) -> Taint:
    """A taint as kubectl reads it: `key=value:Effect` or `key:Effect`. Go: `pkg/cmd/taint/utils.go: parseTaint`."""
    pair, _, effect = text.partition(":")
    key, _, value = pair.partition("=")
    if not key or text.count(":") != 1 or pair.count("=") > 1:
        raise ValueError(f"invalid taint spec: {text}; expected key=value:Effect or key:Effect")
    if effect not in EFFECTS:
        raise ValueError(
            f"invalid taint effect: {effect}, unsupported taint effect; expected one of {', '.join(EFFECTS)}"
        )
    return Taint(key, value, effect)


def matching_taints(node: Node, text: str) -> tuple[Taint, ...]:
    """The taints of a node that `key`, `key:Effect` or `key=value:Effect` means; ValueError where there is none."""
    pair, _, effect = text.removesuffix("-").partition(":")
    key = pair.partition("=")[0]
    found = tuple(t for t in node.taints if t.key == key and effect in ("", t.effect))
    if not found:
        raise ValueError(f'taint "{text}" not found')
    return found
