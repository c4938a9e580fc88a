"""What happens to a kubelet (events), and what it wants done in the world (effects).

The kubelet itself is `step(state, event) -> state, effects` (kubelet.py); a driver carries the effects out,
over gRPC or in memory, and posts what comes of them as further events.
"""

from dataclasses import dataclass

from kubedev.api.claims import ResourceClaim
from kubedev.api.messages import Answer, Call, Device, RegisterRequest
from kubedev.api.objects import Condition, Node, Pod, ResourceList
from kubedev.api.podresources import PodResourcesAnswer, PodResourcesRequest
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.pressure.usage import Summary

__all__ = [
    "Answered",
    "Ask",
    "ClaimsChanged",
    "CloseStream",
    "ContainerExited",
    "DriverRegistered",
    "Effect",
    "FiguresTaken",
    "KubeletEvent",
    "KubeletRestarted",
    "ListReceived",
    "NodeConditions",
    "NodeStatus",
    "NodeStatusDue",
    "NodeUpdated",
    "OpenStream",
    "PluginRegistering",
    "PodBound",
    "PodDeleted",
    "PodRemoved",
    "PodResourcesAsked",
    "PodResourcesReply",
    "PodStatus",
    "PodTerminated",
    "Reclaimed",
    "Reply",
    "SourcesReady",
    "StartContainer",
    "StopContainer",
    "StreamEnded",
]


@dataclass(frozen=True, slots=True)
class PluginRegistering:
    """A plugin called Register; `Reply` with the same `register_id` answers it."""

    register_id: int
    request: RegisterRequest


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to the call that `Ask` sent."""

    call_id: int
    answer: Answer


@dataclass(frozen=True, slots=True)
class ListReceived:
    """A ListAndWatch message came on the stream of `client`."""

    client: int
    devices: tuple[Device, ...]


@dataclass(frozen=True, slots=True)
class StreamEnded:
    """The ListAndWatch stream of `client` ended: the plugin died, stopped or broke the protocol."""

    client: int
    error: str


@dataclass(frozen=True, slots=True)
class PodBound:
    """The kubelet's watch shows a pod bound to this node; `claims` for devices are by the pod's name for them."""

    pod: Pod
    claims: tuple[tuple[str, ResourceClaim], ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimsChanged:
    """The claims of a pod of this node are others than they were."""

    uid: str
    claims: tuple[tuple[str, ResourceClaim], ...]


@dataclass(frozen=True, slots=True)
class DriverRegistered:
    """A driver of claims has registered with the kubelet."""

    driver: str


@dataclass(frozen=True, slots=True)
class PodDeleted:
    """The pod is to go: its containers are stopped and its devices are free once it is no longer active."""

    uid: str


@dataclass(frozen=True, slots=True)
class PodRemoved:
    """The API server does not know the pod any more: its containers are stopped, and it is not active from now on."""

    uid: str


@dataclass(frozen=True, slots=True)
class ContainerExited:
    """A container's process ended, by itself or because it was stopped."""

    pod_uid: str
    container: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class NodeStatusDue:
    """The node status is written (every ten seconds in a real kubelet): GetCapacity is asked."""


@dataclass(frozen=True, slots=True)
class FiguresTaken:
    """The eviction manager looks (every ten seconds): what everybody uses, and what it would be without dead
    containers and unused images.
    """

    summary: Summary
    after_reclaim: Summary


@dataclass(frozen=True, slots=True)
class NodeUpdated:
    """The kubelet's watch shows its node object as somebody else changed it."""

    node: Node


@dataclass(frozen=True, slots=True)
class KubeletRestarted:
    """The process ends and starts again: what remains is the checkpoint and, unless the machine was rebooted,
    the running containers. Its pods come again as `PodBound`, then `SourcesReady`. `config` is what it is set up with
    from now on; None: as before.
    """

    checkpoint: str | None
    reboot: bool = False
    config: KubeletConfig | None = None


@dataclass(frozen=True, slots=True)
class SourcesReady:
    """All sources of pods have been seen since the start: records of pods that are gone may be dropped."""


@dataclass(frozen=True, slots=True)
class PodResourcesAsked:
    """An agent asks the PodResources API; `PodResourcesReply` with the same `request_id` answers it."""

    request_id: int
    request: PodResourcesRequest


KubeletEvent = (
    PluginRegistering
    | Answered
    | ListReceived
    | StreamEnded
    | PodBound
    | ClaimsChanged
    | DriverRegistered
    | PodDeleted
    | PodRemoved
    | ContainerExited
    | NodeStatusDue
    | FiguresTaken
    | NodeUpdated
    | KubeletRestarted
    | SourcesReady
    | PodResourcesAsked
)


@dataclass(frozen=True, slots=True)
class Ask:
    """Send a call to a plugin; its answer comes back as `Answered`."""

    call_id: int
    call: Call


@dataclass(frozen=True, slots=True)
class OpenStream:
    """Open ListAndWatch to the plugin at `socket`; its messages come as `ListReceived` of this `client`."""

    client: int
    resource: str
    socket: str


@dataclass(frozen=True, slots=True)
class CloseStream:
    """Close the connection of `client`."""

    client: int


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer a plugin's Register call: None is success, a text is a gRPC error of code Unknown."""

    register_id: int
    resource: str
    error: str | None


@dataclass(frozen=True, slots=True)
class PodResourcesReply:
    """Answer an agent."""

    request_id: int
    answer: PodResourcesAnswer


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """The node's capacity and allocatable as the kubelet writes them."""

    capacity: ResourceList
    allocatable: ResourceList


@dataclass(frozen=True, slots=True)
class NodeConditions:
    """The conditions of pressure as the kubelet writes them into node.status."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Reclaimed:
    """Dead containers (`containers`) or unused images (`images`) are removed to make room on a disk."""

    collectors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PodStatus:
    """The pod's phase (Pending, Running, Succeeded, Failed) with reason and message, for the API server.

    `device_health` is (container, resource, device, health), empty without the switch ResourceHealthStatus.
    `disruption_target` is the message of that condition, where the kubelet itself ended the pod. `conditions` are all
    that are the kubelet's own, without times.
    """

    uid: str
    phase: str
    reason: str = ""
    message: str = ""
    device_health: tuple[tuple[str, str, str, str], ...] = ()
    disruption_target: str = ""
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class PodTerminated:
    """All containers of a deleted pod have ended: the API server may remove the object."""

    uid: str


@dataclass(frozen=True, slots=True)
class StartContainer:
    """Create and start a container with the options that the CRI request carries.

    `devices` are (host path, container path, permissions), `mounts` (host path, container path, read only).
    """

    pod_uid: str
    container: str
    envs: tuple[tuple[str, str], ...] = ()
    mounts: tuple[tuple[str, str, bool], ...] = ()
    devices: tuple[tuple[str, str, str], ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    cdi_devices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StopContainer:
    """Stop a container; its end comes back as `ContainerExited`."""

    pod_uid: str
    container: str


Effect = (
    Ask
    | OpenStream
    | CloseStream
    | Reply
    | PodResourcesReply
    | NodeStatus
    | NodeConditions
    | Reclaimed
    | PodStatus
    | PodTerminated
    | StartContainer
    | StopContainer
)
