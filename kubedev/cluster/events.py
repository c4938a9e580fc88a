"""Everything that can happen in a cluster. Each event is one step of the history.

Those of the first group come from outside (you, a real plugin, a real process, the clock); those of the second
follow from others inside the cluster, one message each, so that every message can be seen on its way.
"""

from dataclasses import dataclass

from kubedev.api.messages import Device, DevicePluginOptions
from kubedev.api.objects import Node, Pod
from kubedev.api.resource_slices import Device as ClaimedDevice
from kubedev.api.selectors import Taint
from kubedev.cluster.controllers.effects import Effect as Wanted
from kubedev.cluster.store import Object, WatchEvent
from kubedev.cluster.usage import MachineUsage, Usage
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.events import Effect, KubeletEvent
from kubedev.scheduler.framework import Framework
from kubedev.scheduler.queue.queue_state import Durations

__all__ = [
    "ClockAdvanced",
    "ContainerEnded",
    "ContainerKilled",
    "ContainerPrinted",
    "ContainerStarted",
    "ControllerWants",
    "DeviceListed",
    "DriverLaunched",
    "Event",
    "FromKubelet",
    "HealthSet",
    "KubeletSilenced",
    "KubeletStopped",
    "MachineUsageSet",
    "NodeCreated",
    "NodeDeleted",
    "NodePatched",
    "ObjectApplied",
    "OnKubelet",
    "PluginExited",
    "PluginKilled",
    "PluginLaunched",
    "PluginServing",
    "PodCreated",
    "PodDeletionAsked",
    "PodUngated",
    "SchedulerConfigured",
    "SchedulerTurn",
    "SchedulerWants",
    "UsageSet",
    "Watched",
    "WentLive",
]


# From outside


@dataclass(frozen=True, slots=True)
class NodeCreated:
    """A machine joins: its node object, and a kubelet with an empty socket directory on it."""

    node: Node
    config: KubeletConfig = KubeletConfig()


@dataclass(frozen=True, slots=True)
class ObjectApplied:
    """You apply an object that is no pod (a PriorityClass, a PodDisruptionBudget, ...), or edit a node's status."""

    object: Object


@dataclass(frozen=True, slots=True)
class SchedulerConfigured:
    """You start the scheduler anew with these profiles: it forgets all, and reads the cluster again.

    `durations` are how long pods wait in its queue.
    """

    profiles: tuple[Framework, ...]
    durations: Durations = Durations()


@dataclass(frozen=True, slots=True)
class PodCreated:
    """You create a pod."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class PodDeletionAsked:
    """You delete a pod: it goes when its containers have ended.

    `grace_seconds` is how long they may take, None for what the pod says itself; with 0 the object goes at once,
    whatever its kubelet does (`kubectl delete --force --grace-period=0`).
    """

    uid: str
    grace_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class PodUngated:
    """You take a scheduling gate off a pod."""

    uid: str
    gate: str


@dataclass(frozen=True, slots=True)
class NodePatched:
    """You cordon a node (`unschedulable`; None leaves it), or add and remove taints (by key and effect)."""

    node: str
    unschedulable: bool | None = None
    add: tuple[Taint, ...] = ()
    remove: tuple[Taint, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeDeleted:
    """You delete a node's object; its machine goes on."""

    node: str


@dataclass(frozen=True, slots=True)
class KubeletSilenced:
    """A kubelet and the API server hear nothing of each other, or (`silent` false) do again."""

    node: str
    silent: bool = True


@dataclass(frozen=True, slots=True)
class PluginLaunched:
    """You start a device plugin on a node. No kubelet ever does that: a plugin starts by itself.

    `resource` is the plugin's name, here and below: a second plugin of `example.com/gpu` on a node is
    `example.com/gpu#2`, for example. One that does not `registers_again` stays unknown to a kubelet that restarts.
    """

    node: str
    resource: str
    devices: tuple[Device, ...]
    options: DevicePluginOptions = DevicePluginOptions(get_preferred_allocation_available=True)
    registers_again: bool = True


@dataclass(frozen=True, slots=True)
class DriverLaunched:
    """You start a driver of claims on a node, which offers the devices of a plugin's `resource` as `devices` say."""

    node: str
    resource: str
    devices: tuple[ClaimedDevice, ...]


@dataclass(frozen=True, slots=True)
class PluginServing:
    """The plugin's gRPC server listens on its socket; `pid` is None where it is no process of its own.

    `launch` says which start of the plugin this is about: the first one has 0.
    """

    node: str
    resource: str
    socket: str
    pid: int | None = None
    launch: int = 0


@dataclass(frozen=True, slots=True)
class PluginKilled:
    """You kill the plugin (SIGKILL): it cannot clean up, its socket file stays."""

    node: str
    resource: str


@dataclass(frozen=True, slots=True)
class PluginExited:
    """The plugin is gone: stopped because the kubelet refused it, or `killed` by somebody else, which leaves its
    socket's file behind. `launch` is as in PluginServing.
    """

    node: str
    resource: str
    launch: int = 0
    killed: bool = False


@dataclass(frozen=True, slots=True)
class HealthSet:
    """You make a device healthy or unhealthy; the plugin tells the kubelet with a new list."""

    node: str
    resource: str
    device_id: str
    health: str


@dataclass(frozen=True, slots=True)
class DeviceListed:
    """A plugin's list leaves a device out from now on, or (`listed`) has it again."""

    node: str
    resource: str
    device_id: str
    listed: bool


@dataclass(frozen=True, slots=True)
class KubeletStopped:
    """You restart a kubelet, or (`reboot`) the whole machine: the containers are gone then too.

    `config` is what the kubelet is set up with from now on; None: as before. `checkpoint` is the text that
    somebody left as its checkpoint file meanwhile, empty where it is gone; None: it is as the kubelet wrote it.
    """

    node: str
    reboot: bool = False
    config: KubeletConfig | None = None
    checkpoint: str | None = None


@dataclass(frozen=True, slots=True)
class OnKubelet:
    """Something happened to the kubelet of a node."""

    node: str
    event: KubeletEvent


@dataclass(frozen=True, slots=True)
class ContainerStarted:
    """A container's process runs. `attempt` says which start of the container this is about: the first one has 0."""

    pod_uid: str
    container: str
    pid: int | None
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class ContainerPrinted:
    """A container's process printed a line."""

    pod_uid: str
    container: str
    line: str
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class ContainerEnded:
    """A container's process ended."""

    pod_uid: str
    container: str
    exit_code: int
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class ContainerKilled:
    """You kill a container's process (SIGKILL): it ends at once."""

    pod_uid: str
    container: str


@dataclass(frozen=True, slots=True)
class UsageSet:
    """A container uses so much from now on."""

    pod_uid: str
    container: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class MachineUsageSet:
    """A machine uses so much from now on, besides its pods."""

    node: str
    usage: MachineUsage


@dataclass(frozen=True, slots=True)
class ClockAdvanced:
    """The simulated clock moves on.

    `asked` is what you asked for where this is a part of it, and 0 where the lab goes on by itself.
    """

    seconds: float
    asked: float | None = None


@dataclass(frozen=True, slots=True)
class WentLive:
    """A fork that was played in memory continues with real plugins and processes."""


# From inside


@dataclass(frozen=True, slots=True)
class FromKubelet:
    """The kubelet of a node wants something done: by a plugin, a container runtime, or the API server."""

    node: str
    effect: Effect


@dataclass(frozen=True, slots=True)
class Watched:
    """The store tells a watcher (`scheduler`, or a node's name) of a change."""

    watcher: str
    event: WatchEvent


@dataclass(frozen=True, slots=True)
class SchedulerTurn:
    """The scheduler takes the next pod from its queue and decides."""


@dataclass(frozen=True, slots=True)
class SchedulerWants:
    """The scheduler wants something done by the API server: bind a pod, set a status, delete a victim."""

    effect: object


@dataclass(frozen=True, slots=True)
class ControllerWants:
    """A controller wants something done by the API server."""

    controller: str
    effect: Wanted


Event = (
    NodeCreated
    | NodePatched
    | NodeDeleted
    | DeviceListed
    | KubeletSilenced
    | PodUngated
    | ControllerWants
    | ObjectApplied
    | SchedulerConfigured
    | PodCreated
    | PodDeletionAsked
    | PluginLaunched
    | DriverLaunched
    | PluginServing
    | PluginKilled
    | PluginExited
    | HealthSet
    | KubeletStopped
    | OnKubelet
    | ContainerStarted
    | ContainerPrinted
    | ContainerEnded
    | ContainerKilled
    | UsageSet
    | MachineUsageSet
    | ClockAdvanced
    | WentLive
    | FromKubelet
    | Watched
    | SchedulerTurn
    | SchedulerWants
)
