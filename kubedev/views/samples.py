"""The moments that `images/` shows; the decisions in them are taken by the rooms they belong to."""

from dataclasses import replace

from kubedev.api.messages import (
    HEALTHY,
    UNHEALTHY,
    Device,
    PreferredAllocationResponse,
    converse,
)
from kubedev.api.objects import Pod
from kubedev.api.qos import compute_pod_qos
from kubedev.api.requests import pod_arithmetic as work_out
from kubedev.kubelet.devices.allocation import DeviceRequest, DevicesToAllocate, devices_to_allocate
from kubedev.kubelet.devices.capacity import with_plugin
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.kubelet.topology.hints import ResourceHints, device_hints
from kubedev.kubelet.topology.merge import NUMAInfo
from kubedev.kubelet.topology.topology import (
    BEST_EFFORT,
    NONE,
    RESTRICTED,
    SINGLE_NUMA_NODE,
    TopologyManager,
    decide,
)
from kubedev.views.allocation_sets import allocation_picture
from kubedev.views.arithmetic import arithmetic_picture
from kubedev.views.hints import hints_picture
from kubedev.views.merge import merge_picture
from kubedev.views.numa import CpuView, NumaBoard, NumaNodeView, numa_picture
from kubedev.views.path import path_picture
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
from kubedev.views.picture import Picture
from kubedev.views.registration import RegistrationState, SequenceCall, registration_picture
from kubedev.views.style import WIDTH
from kubedev.views.timeline import Sample, Timeline, timeline_picture

__all__ = [
    "allocation_sets",
    "hints",
    "list_and_watch",
    "merge",
    "numa_board",
    "path",
    "pod_arithmetic",
    "registration",
    "sample_path",
]

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


def path(width: float = WIDTH) -> Picture:
    """Lab 00."""
    return path_picture(sample_path(), width)


def pod_arithmetic() -> Picture:
    """Lab 01: an init container is hungrier than all that follows."""

    def container(name: str, cpu: str, **more: str) -> dict[str, object]:
        return {"name": name, "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}, **more}

    init = [
        container("load", "4"),
        container("proxy", "500m", restartPolicy="Always"),
        container("migrate", "1"),
    ]
    containers = [container("app", "2"), container("helper", "1")]
    spec = {"initContainers": init, "containers": containers, "overhead": {"cpu": "250m"}}
    pod = Pod.parse({"metadata": {"name": "trainer"}, "spec": spec})
    return arithmetic_picture(work_out(pod), "cpu", compute_pod_qos(pod))


def registration() -> Picture:
    """Lab 02: the options have come, the plugin is connected."""
    calls = (
        SequenceCall("plugin", "kubelet", "Register", f"v1beta1, example-gpu.sock, {_GPU}"),
        SequenceCall("kubelet", "plugin", "Dial", "/var/lib/kubelet/device-plugins/example-gpu.sock"),
        SequenceCall("kubelet", "plugin", "GetDevicePluginOptions"),
        SequenceCall("plugin", "kubelet", "DevicePluginOptions", "pre_start_required: false", answer=True),
    )
    files = ("kubelet.sock", "example-gpu.sock")
    state = RegistrationState("connected", "asking options", "options come", calls, files=files)
    return registration_picture(state)


def list_and_watch() -> Picture:
    """Lab 03: a device falls sick, the plugin stops, and after five minutes the capacity is gone."""
    devices = tuple(DeviceView(str(i), (i // 4,), healthy=False) for i in range(8))
    samples = (Sample(0, 8, 8), Sample(60, 8, 7), Sample(100, 8, 0), Sample(410, 0, 0))
    messages = ((2.0, "8 devices"), (58.0, "8 devices, 1 Unhealthy"))
    return timeline_picture(Timeline(_GPU, 470, devices, samples, messages, stops=(100,)))


def allocation_sets(width: float = WIDTH) -> Picture:
    """Lab 04: three devices are aligned and four are needed."""
    sick, used = ("4",), ("1", "8")
    ids = [str(i) for i in range(10)]
    devices = {i: Device(i, UNHEALTHY if i in sick else HEALTHY, (int(i) // 5,)) for i in ids}
    state = with_plugin(DeviceManagerState(), _GPU, tuple(devices.values()), preferred=True)
    state = replace(state, allocated_devices={_GPU: frozenset(used)})
    decision = _answered(state, DeviceRequest("trainer", "trainer", _GPU, 4), ("0", "2", "3", "5"))
    return allocation_picture(decision, devices, 0b01, width=width)


def _answered(
    state: DeviceManagerState, request: DeviceRequest, preferred: tuple[str, ...]
) -> DevicesToAllocate:
    """Carry the conversation: the plugin prefers what is given."""
    asked = devices_to_allocate(state, request, affinity=0b01)
    return converse(asked, lambda _: PreferredAllocationResponse((preferred,)))[1]


def numa_board() -> Picture:
    """Labs 05 and 06: two NUMA nodes, the mask on the second."""
    cpus = {*range(5), 8, 9}
    nodes = tuple(
        NumaNodeView(
            node,
            node,
            tuple(CpuView(cpu, "web" if cpu in cpus else "") for cpu in range(8 * node, 8 * node + 8)),
            ((27 + 19 * node) << 30, 64 << 30),
        )
        for node in (0, 1)
    )
    owners = dict.fromkeys((0, 3, 6), "web")
    devices = tuple(DeviceView(str(i), (i // 4,), i != 2, owners.get(i, "")) for i in range(8))
    return numa_picture(NumaBoard(nodes, (ResourceView(_GPU, 8, 7, devices),), mask=0b10))


def _two_resources() -> list[ResourceHints]:
    def answer(resource: str, count: int, request: int, used: set[int]) -> ResourceHints:
        devices = {str(i): Device(str(i), numa_nodes=(2 * i // count,)) for i in range(count)}
        free = frozenset(devices) - {str(i) for i in used}
        return device_hints(resource, request, devices, free, (0, 1))

    return [answer("cpu", 16, 6, {0, 1, 2, 3, 4, 8, 9}), answer(_GPU, 8, 2, {0, 2, 3, 6})]


def hints() -> Picture:
    """Lab 05: what two resources answer on the machine of `numa_board`."""
    return hints_picture(_two_resources(), (0, 1))


def merge() -> Picture:
    """Lab 06: their merge, and what each policy makes of it."""
    answers = [{resource.resource: resource.hints} for resource in _two_resources()]
    numa = NUMAInfo((0, 1))
    decisions = [
        decide(TopologyManager.new(policy, "container", numa), answers)
        for policy in (NONE, BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE)
    ]
    return merge_picture(decisions[2], decisions)
