"""What was seen of a plugin while it was tried: plain values, which a duty is judged by.

Whoever tries a plugin collects them: the command on sockets and processes, a lab in memory. What was not tried is not
there, and the duties that need it do not apply.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kubedev.api.messages import (
    HEALTHY,
    AllocateResponse,
    Answer,
    Call,
    ContainerAllocateResponse,
    Device,
    DevicePluginOptions,
    RegisterRequest,
    RpcError,
)

__all__ = [
    "AWAY",
    "LIMITS",
    "Asked",
    "Ended",
    "Limits",
    "Listed",
    "MemorySize",
    "Registered",
    "Seen",
    "StreamEnd",
    "Waited",
    "failed",
]


@dataclass(frozen=True, slots=True)
class Limits:
    """How long each thing is waited for, in seconds, and how often devices are allocated.

    `total` bounds the whole: a wait is cut where it would be over.
    """

    register: float = 25
    list: float = 20
    call: float = 20
    pre_start: float = 30
    own_socket: float = 8
    restart: float = 30
    renamed: float = 12
    held: float = 2
    end: float = 30
    total: float = 55
    allocations: int = 1000
    allocating: float = 8


LIMITS = Limits()

AWAY = ("own socket", "restart", "silent")
"""Stages in which the kubelet goes: a plugin may end then, since a DaemonSet starts it again."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A call of Register, and how the kubelet answered: with `error`, or None if the plugin was let in.

    `serving` says whether its socket took a connection in the moment that the call came; `answered` is false for a
    kubelet that is silent. `process` counts the plugin's processes, `stage` is what was tried meanwhile.
    """

    request: RegisterRequest
    error: str | None = None
    serving: bool | None = None
    options: DevicePluginOptions | None = None
    answered: bool = True
    stage: str = "start"
    process: int = 1
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Listed:
    """A list of devices; `stream` counts the ListAndWatch calls, `seconds` are since its call."""

    devices: tuple[Device, ...]
    stream: int = 1
    seconds: float = 0.0
    stage: str = "start"
    process: int = 1


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """A ListAndWatch that the plugin's side ended; `again` says whether the plugin registered again after it."""

    error: str
    stage: str
    stream: int = 1
    again: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A call, what came back and after how many seconds; `why` says what it was to show (calls.py)."""

    why: str
    call: Call
    answer: Answer
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Ended:
    """The plugin's process ended without being asked; `code` is below 0 for a signal, `words` its last ones."""

    stage: str
    code: int
    words: str = ""

    def __str__(self) -> str:
        how = f"by signal {-self.code}" if self.code < 0 else f"with exit status {self.code}"
        return f"it ended {how}" + (f"; its last words: {self.words}" if self.words else "")


@dataclass(frozen=True, slots=True)
class MemorySize:
    """The memory of the plugin's process, in bytes, after so many calls of Allocate."""

    allocations: int
    resident: int


@dataclass(frozen=True, slots=True)
class Waited:
    """What was waited for at a stage, how long, and whether it came; `cut` where there was no time to wait longer."""

    what: str
    seconds: float
    came: bool
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """All that was seen of one plugin. `directory` is the socket directory, `left` the sockets it left behind."""

    resource: str
    directory: str = "/var/lib/kubelet/device-plugins"
    limits: Limits = LIMITS
    started: bool = False
    registered: tuple[Registered, ...] = ()
    listed: tuple[Listed, ...] = ()
    stream_ends: tuple[StreamEnd, ...] = ()
    asked: tuple[Asked, ...] = ()
    ended: tuple[Ended, ...] = ()
    memory: tuple[MemorySize, ...] = ()
    waited: tuple[Waited, ...] = ()
    left: tuple[str, ...] | None = None

    def mine(self) -> tuple[Registered, ...]:
        """The calls of Register for the resource that is tried."""
        return tuple(r for r in self.registered if r.request.resource_name == self.resource)

    def let_in(self) -> Registered | None:
        """The first call of Register that was let in."""
        return next((r for r in self.mine() if r.answered and r.error is None), None)

    def devices(self) -> tuple[Device, ...]:
        """The first list with a healthy device, else the first of all; empty where none came."""
        lists = [listed.devices for listed in self.listed]
        healthy = (devices for devices in lists if any(device.health == HEALTHY for device in devices))
        return next(healthy, lists[0] if lists else ())

    def about(self, *why: str) -> tuple[Asked, ...]:
        """The calls that were to show one of these."""
        return tuple(asked for asked in self.asked if asked.why in why)

    def wait(self, what: str) -> Waited | None:
        """How the wait for something went; None where it was not waited for."""
        return next((waited for waited in self.waited if waited.what == what), None)

    def answers(self) -> Iterator[tuple[Asked, ContainerAllocateResponse]]:
        """Every container's answer of Allocate."""
        for asked in self.asked:
            if isinstance(asked.answer, AllocateResponse):
                for response in asked.answer.container_responses:
                    yield asked, response


def failed(asked: Asked) -> RpcError | None:
    """The error of a call, None where it was answered."""
    return asked.answer if isinstance(asked.answer, RpcError) else None
