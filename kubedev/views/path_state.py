"""What the picture of the path shows: plain values that whoever holds a cluster fills in.

Nothing here knows a cluster; `path.path_picture` turns a `PathState` into a picture.
"""

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "ContainerView",
    "DeviceView",
    "MessageView",
    "NodeView",
    "PartyName",
    "PathControls",
    "PathMode",
    "PathState",
    "PluginView",
    "PodView",
    "ResourceView",
]

PartyName = Literal["you", "store", "scheduler", "kubelet", "plugin", "container"]
PathMode = Literal["live", "memory", "replay", "fork", "closed"]


@dataclass(frozen=True, slots=True)
class PluginView:
    """A device plugin of the node; `pid` is None in memory; `streaming` says that ListAndWatch is open."""

    resource: str
    socket: str
    pid: int | None = None
    alive: bool = True
    streaming: bool = False


@dataclass(frozen=True, slots=True)
class DeviceView:
    """A device as the kubelet knows it; `numa` is empty without topology, `owner` is a pod's name.

    `container` is the one of the pod's containers that holds it. It is `gone` if the pod is deleted: the kubelet
    takes the device back when it next admits a pod.
    """

    id: str
    numa: tuple[int, ...] = ()
    healthy: bool = True
    owner: str = ""
    container: str = ""
    gone: bool = False


@dataclass(frozen=True, slots=True)
class ResourceView:
    """A device resource: what the node's status says (None: absent) and the devices the kubelet knows."""

    name: str
    capacity: int | None
    allocatable: int | None
    devices: tuple[DeviceView, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerView:
    """A container that was started: `pid` None without a real process, `lines` what it saw and printed."""

    pod: str
    name: str
    pid: int | None = None
    running: bool = True
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node; `files` are the names in its socket directory, `kubelet` says what its kubelet does.

    `conditions` are those that mean trouble (MemoryPressure, ...), `taints` what keeps pods away.
    """

    name: str
    plugins: tuple[PluginView, ...] = ()
    files: tuple[str, ...] = ()
    resources: tuple[ResourceView, ...] = ()
    containers: tuple[ContainerView, ...] = ()
    kubelet: str = ""
    conditions: tuple[str, ...] = ()
    taints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PodView:
    """A pod in the store; `devices` is short, as `0, 1`; `message` says why it waits or was refused."""

    name: str
    phase: str
    node: str = ""
    reason: str = ""
    message: str = ""
    devices: str = ""


@dataclass(frozen=True, slots=True)
class MessageView:
    """One message of the log, or with `source == target` one decision.

    `text` is shown in the log, `label` (short: `Allocate`, `bind`, `status`) where `text` has no room.
    `sentence` says in plain words what happens ("the kubelet asks the plugin to prepare device 2"); without
    it the text is shown. `about` is the resource of the plugin or the pod of the container that takes part, and
    `container` that container's name; `file` is the socket it goes through, `node` the node it belongs to.
    """

    number: int
    source: PartyName
    target: PartyName
    text: str
    label: str
    sentence: str = ""
    about: str = ""
    file: str = ""
    node: str = ""
    stream: bool = False
    container: str = ""


@dataclass(frozen=True, slots=True)
class PathControls:
    """What the reader can do in the picture: `samples` are the pods to choose from, `sample` the chosen one.

    The actions: `apply` (manifest: what was chosen), `paste`, `start_plugin` (node), `kill_plugin` (resource, node),
    `restart_kubelet` (node), `show_node` (node), `delete` (pod), and on a device `set_health` (node, resource, device,
    healthy). Where `changing` is false they are there, and off.
    """

    samples: tuple[str, ...]
    sample: str
    changing: bool = True


@dataclass(frozen=True, slots=True)
class PathState:
    """One moment of the whole path.

    `step` of `total` counts history from 0; `node` names the node that is drawn in full (the first if empty);
    `messages` is the log up to now and its last one is lit, unless `quiet`. `focus` names the pod whose
    details are shown (else the last one). `forked_at` is the step at which this branch left another one.
    Without `status` nothing is said of what the node's status says.
    """

    title: str
    step: int
    total: int
    now: float
    mode: PathMode
    nodes: tuple[NodeView, ...] = ()
    pods: tuple[PodView, ...] = ()
    messages: tuple[MessageView, ...] = ()
    node: str = ""
    focus: str = ""
    queued: int = 0
    cached: int = 0
    quiet: bool = False
    forked_at: int | None = None
    controls: PathControls | None = None
    status: bool = True
