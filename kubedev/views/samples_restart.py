"""The moment that `images/` shows of lab 08: a kubelet has restarted while its plugin was away."""

from dataclasses import replace

from kubedev.api.messages import Device, DevicePluginOptions
from kubedev.api.objects import Container, Node, Pod
from kubedev.api.quantity import Quantity
from kubedev.cluster.journal import Journal
from kubedev.cluster.state import ClusterState, ContainerState, Message, PluginState
from kubedev.cluster.store import Store
from kubedev.kubelet.devices import device_manager
from kubedev.kubelet.devices.checkpoint import checkpoint_text
from kubedev.kubelet.kubelet_state import new_kubelet
from kubedev.views.firsts_pods import allocations
from kubedev.views.picture import Picture
from kubedev.views.restart import restart_picture
from kubedev.views.style import WIDTH

__all__ = ["restart"]

_GPU, _NODE = "example.com/gpu", "gpu-node-1"


def restart(width: float = WIDTH) -> Picture:
    """Lab 08: the plugin goes, the kubelet restarts, the node says 0, and the plugin is back."""
    ids = ("d0", "d1", "d2", "d3")
    app = Container("app", limits={_GPU: Quantity.of(2)})
    pod = Pod("trainer", uid="trainer", containers=(app,), node_name=_NODE, phase="Running")
    known, _ = allocations(pod, ids)
    plugin = PluginState(
        _NODE, _GPU, tuple(map(Device, ids)), DevicePluginOptions(), "registered", heard=True
    )
    kubelet = replace(new_kubelet(Node(_NODE), ""), devices=known)
    one = ClusterState(
        store=Store(pods={pod.uid: pod}),
        kubelets={_NODE: kubelet},
        plugins={(_NODE, _GPU): plugin},
        containers={(pod.uid, "app"): ContainerState(pod.uid, "app", _NODE, phase="running")},
    )
    one = _says(one, 4, 4)
    gone = _says(replace(one, now=60.0, plugins={(_NODE, _GPU): replace(plugin, phase="dead")}), 4, 0)
    read = device_manager.restart(checkpoint_text(known), 70.0)
    said = Journal([Message(1, 70.0, "local", "you", f"kubelet/{_NODE}", "kubelet-restarted")])
    again = replace(gone, now=70.0, kubelets={_NODE: replace(kubelet, devices=read)}, messages=said)
    zero = _says(again, 0, 0)
    back = replace(zero, now=90.0, plugins={(_NODE, _GPU): replace(plugin, launch=1, heard=False)})
    return restart_picture([one, gone, again, zero, back], _GPU, width, knobs=False)


def _says(state: ClusterState, capacity: int, allocatable: int) -> ClusterState:
    has, gives = ({_GPU: Quantity.of(count)} for count in (capacity, allocatable))
    node = Node(_NODE, capacity=has, allocatable=gives)
    return replace(state, store=replace(state.store, nodes={_NODE: node}))
