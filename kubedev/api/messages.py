"""The v1beta1 device plugin messages as plain values, and a call of the kubelet to a plugin.

Names and fields are those of `k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1/api.proto`; the rooms that decide
things use these, only `wire` knows protobuf. Maps are kept as tuples of pairs so that every value is
hashable and keeps its order.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TypeVar, cast

__all__ = [
    "HEALTHY",
    "UNHEALTHY",
    "VERSION",
    "AllocateRequest",
    "AllocateResponse",
    "Answer",
    "Call",
    "ContainerAllocateResponse",
    "ContainerPreferredAllocationRequest",
    "Conversation",
    "Device",
    "DevicePluginOptions",
    "DeviceSpec",
    "Dial",
    "Empty",
    "ListAndWatchResponse",
    "Mount",
    "Pairs",
    "PreStartContainerRequest",
    "PreferredAllocationRequest",
    "PreferredAllocationResponse",
    "RegisterRequest",
    "Request",
    "RpcError",
    "converse",
]

VERSION = "v1beta1"
HEALTHY = "Healthy"
UNHEALTHY = "Unhealthy"

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Device:
    """One device as ListAndWatch lists it.

    `numa_nodes` is None where the plugin sent no topology at all, and empty where it sent one without nodes:
    Kubernetes tells the two apart only in GetDevices, and treats both as "no affinity".
    """

    id: str
    health: str = HEALTHY
    numa_nodes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class DevicePluginOptions:
    """What the plugin wants to be asked, beyond Allocate."""

    pre_start_required: bool = False
    get_preferred_allocation_available: bool = False


@dataclass(frozen=True, slots=True)
class RegisterRequest:
    """A plugin's word to the kubelet; `endpoint` is a file name in the kubelet's socket directory."""

    version: str = VERSION
    endpoint: str = ""
    resource_name: str = ""
    options: DevicePluginOptions | None = None


@dataclass(frozen=True, slots=True)
class Empty:
    """The empty message: the request of GetDevicePluginOptions, the answer of Register and PreStartContainer."""


@dataclass(frozen=True, slots=True)
class ListAndWatchResponse:
    """The complete list of devices; each one replaces the list before it."""

    devices: tuple[Device, ...] = ()


@dataclass(frozen=True, slots=True)
class Mount:
    """A directory or file of the host, seen in the container."""

    container_path: str = ""
    host_path: str = ""
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """A device node of the host, made in the container; `permissions` are cgroup ones, of r, w and m."""

    container_path: str = ""
    host_path: str = ""
    permissions: str = ""


@dataclass(frozen=True, slots=True)
class ContainerAllocateResponse:
    """What one container needs in order to use its devices: specs for the runtime, nothing is done here."""

    envs: Pairs = ()
    mounts: tuple[Mount, ...] = ()
    devices: tuple[DeviceSpec, ...] = ()
    annotations: Pairs = ()
    cdi_devices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AllocateRequest:
    """Device ids per container. The kubelet sends one container at a time."""

    container_requests: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class AllocateResponse:
    """One answer per container asked for."""

    container_responses: tuple[ContainerAllocateResponse, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerPreferredAllocationRequest:
    """Which `allocation_size` of the available devices would the plugin like, given those it must include?"""

    available_device_ids: tuple[str, ...] = ()
    must_include_device_ids: tuple[str, ...] = ()
    allocation_size: int = 0


@dataclass(frozen=True, slots=True)
class PreferredAllocationRequest:
    """One request per container. The kubelet sends one container at a time."""

    container_requests: tuple[ContainerPreferredAllocationRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class PreferredAllocationResponse:
    """Device ids per container: a wish that the kubelet checks before it follows it."""

    container_responses: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class PreStartContainerRequest:
    """The container's device ids, sent before each start where the plugin asked for it."""

    devices_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dial:
    """Not a message: the kubelet opens the connection to the plugin's socket. The answer is Empty."""


Request = Dial | Empty | PreferredAllocationRequest | AllocateRequest | PreStartContainerRequest


@dataclass(frozen=True, slots=True)
class RpcError:
    """An answer that is an error: code by its name in Go (`Unimplemented`) and text."""

    code: str
    message: str

    def __str__(self) -> str:
        return f"rpc error: code = {self.code} desc = {self.message}"


Answer = Empty | DevicePluginOptions | PreferredAllocationResponse | AllocateResponse | RpcError


@dataclass(frozen=True, slots=True)
class Call:
    """A request of the kubelet to one plugin; `socket` is the plugin's path, `timeout` is in seconds.

    `method` is the RPC's name, or `Dial`.
    """

    resource: str
    socket: str
    method: str
    request: Request = field(default_factory=Empty)
    timeout: float | None = None


S = TypeVar("S")
R = TypeVar("R")

# A conversation with plugins, without I/O: yields (state so far, next call), is sent (state now, answer) as other
# events go on meanwhile, and returns (state, result). Run again from the same answers it does the same.
Conversation = Generator[tuple[S, Call], tuple[S, Answer], tuple[S, R]]


def converse(conversation: Conversation[S, R], answer: Callable[[Call], Answer]) -> tuple[S, R]:
    """Carry a conversation to its end, each call answered by `answer`, while nothing else goes on.

    Returns what the conversation returns: the state reached, and its result.
    """
    try:
        state, call = next(conversation)
        while True:
            state, call = conversation.send((state, answer(call)))
    except StopIteration as done:
        return cast(tuple[S, R], done.value)
