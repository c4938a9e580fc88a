"""The moments that `images/` shows."""

from kubedev.views.path_state import (
    ContainerView,
    DeviceView,
    MessageView,
    NodeView,
    PartyName,
    PathState,
    PluginView,
    PodView,
    ResourceView,
)

__all__ = ["sample_path"]

_GPU = "example.com/gpu"
_LOG: tuple[tuple[PartyName, PartyName, str, str], ...] = (
    ("plugin", "kubelet", f"Register {_GPU}", "Register"),
    ("kubelet", "plugin", "GetDevicePluginOptions", "options"),
    ("plugin", "kubelet", "ListAndWatch: 8 devices", "8 devices"),
    ("kubelet", "store", "capacity 8, allocatable 8", "status 8, 8"),
    ("you", "store", f"pod web, {_GPU}: 2", "pod web"),
    ("store", "scheduler", "pod web is pending", "pod web"),
    ("scheduler", "store", "bind web to gpu-node-1", "bind web"),
    ("store", "kubelet", "pod web is bound here", "pod web"),
    ("kubelet", "plugin", "Allocate [0, 1]", "Allocate"),
    ("kubelet", "container", "start web", "start"),
    ("plugin", "kubelet", "ListAndWatch: device 4 is Unhealthy", "4 Unhealthy"),
    ("kubelet", "store", "capacity 8, allocatable 7", "status 8, 7"),
    ("you", "store", f"pod trainer, {_GPU}: 1", "pod trainer"),
    ("scheduler", "store", "bind trainer to gpu-node-1", "bind trainer"),
    ("kubelet", "plugin", "Allocate [2]", "Allocate"),
)


def sample_path() -> PathState:
    """The path while the kubelet asks the plugin for the second pod's device."""
    owners = {"0": "web", "1": "web", "2": "trainer"}
    devices = tuple(
        DeviceView(str(i), (i // 4,), healthy=i != 4, owner=owners.get(str(i), "")) for i in range(8)
    )
    node = NodeView(
        "gpu-node-1",
        (PluginView(_GPU, "example-gpu.sock", pid=4121, streaming=True),),
        ("kubelet.sock", "example-gpu.sock"),
        (ResourceView(_GPU, 8, 7, devices),),
        (ContainerView("web", "main", 4242, lines=("EXAMPLE_VISIBLE_DEVICES=0,1", "I see 2 devices: 0, 1")),),
        "admits trainer",
    )
    pods = (
        PodView("web", "Running", node.name, devices="0, 1"),
        PodView("trainer", "Pending", node.name, devices="2"),
    )
    return PathState(
        title="One pod, one GPU, the whole way",
        step=len(_LOG),
        total=18,
        now=41,
        mode="live",
        nodes=(node, NodeView("cpu-node-2")),
        pods=pods,
        messages=tuple(_message(number) for number in range(1, len(_LOG) + 1)),
        focus="web",
        cached=2,
    )


def _message(number: int) -> MessageView:
    source, target, text, label = _LOG[number - 1]
    sentence = ""
    if number == len(_LOG):
        sentence = "the kubelet asks the plugin to prepare device 2 for pod trainer"
    about = _GPU if "plugin" in (source, target) else "web"
    file = "kubelet.sock" if label == "Register" else "example-gpu.sock" if about == _GPU else ""
    stream = text.startswith("ListAndWatch")
    return MessageView(number, source, target, text, label, sentence, about, file, "gpu-node-1", stream)
