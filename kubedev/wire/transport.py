"""What a kubelet needs of its transport: to be registered with, to ask plugins, and to follow their lists.

There are two: gRPC on unix sockets (server.py, client.py), and in memory (memory.py), for a history that was
forked, for a browser, and for platforms without unix sockets. Both do the same in the same order; callbacks
of gRPC come on its threads, those of the memory on the caller's. A callback posts an event and returns.
"""

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Protocol

from kubedev.api.messages import Answer, Call, Device, RegisterRequest, RpcError
from kubedev.api.podresources import PodResourcesAnswer, PodResourcesRequest

__all__ = [
    "Client",
    "Listener",
    "OnAnswer",
    "OnEnd",
    "OnList",
    "OnPluginEvent",
    "OnPodResources",
    "OnRegister",
    "OnRegistered",
    "PluginEvent",
    "PluginHandle",
    "Registering",
    "Reply",
    "Server",
    "Transport",
    "endpoint_name",
]

# Called once, from any thread: None lets the plugin in, a text refuses it (gRPC code Unknown).
Reply = Callable[[str | None], None]
OnRegister = Callable[[RegisterRequest, Reply], None]
OnAnswer = Callable[[Answer], None]
# Called with an agent's request and the function that answers it, which is called once, from any thread.
OnPodResources = Callable[[PodResourcesRequest, Callable[[PodResourcesAnswer], None]], None]
# Called once, with None or the error that Register ended with.
OnRegistered = Callable[[RpcError | None], None]
OnList = Callable[[tuple[Device, ...]], None]
OnEnd = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class PluginEvent:
    """What a plugin tells of itself.

    `event` is `serving` (on `socket`), `registered`, `refused` (with the kubelet's `error`), `away` (no
    kubelet answers), `changed` (`devices` are listed, `healthy` of them healthy), `error`, at last `stopped`.
    """

    event: str
    socket: str = ""
    error: str = ""
    devices: int | None = None
    healthy: int | None = None

    def fields(self) -> dict[str, str | int]:
        """The fields that say something, for a line of JSON."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}


OnPluginEvent = Callable[[PluginEvent], None]


def endpoint_name(resource: str) -> str:
    """The file name of a plugin's socket: `example.com-gpu.sock`, cut where it would be long.

    Two resources never have the same: a dash of the resource's own is doubled.
    """
    name = resource.replace("-", "--").replace("/", "-")
    if len(name) > 32:
        name = f"{name[:15]}~{sha256(os.fsencode(resource)).hexdigest()[:16]}"
    return f"{name}.sock"


class Client(Protocol):
    """The kubelet's connection to one plugin."""

    def ask(self, call: Call, on_answer: OnAnswer) -> None:
        """Send a call; `on_answer` is called once, with the plugin's answer or an RpcError."""

    def call(self, call: Call) -> Answer:
        """Send a call and wait for its answer."""

    def list_and_watch(self, on_list: OnList, on_end: OnEnd) -> None:
        """Follow the plugin's list until it ends; `on_end` is called once, also after `close`.

        Its text is `EOF` where the plugin ended the stream by itself, and a gRPC error otherwise.
        """

    def close(self) -> None:
        """End the stream and all calls under way, which are answered with an RpcError of code Canceled."""


class Server(Protocol):
    """A plugin's end of the wire, which does nothing by itself: it is served and ended by hand."""

    def start(self) -> None:
        """Serve on the socket. Raises SocketDirectoryError."""

    def changed(self) -> None:
        """Send the list of devices again to all who follow it."""

    def end_streams(self) -> None:
        """Return from ListAndWatch, and go on serving."""

    def stop(self) -> None:
        """End the streams, serve no more, and remove the socket."""

    def kill(self) -> None:
        """Break all connections and leave the socket's file behind, as the end of the process would."""


class Registering(Protocol):
    """A call of Register that is under way."""

    def close(self) -> None:
        """Give it up if it has no answer yet."""


class Listener(Protocol):
    """The kubelet's registration server while it serves."""

    def stop(self) -> None:
        """Stop serving. Plugins that wait for their reply get an error."""

    def abandon(self) -> None:
        """Remove the socket and leave all else: the process is about to end."""


class PluginHandle(Protocol):
    """A plugin that was made here, wherever it runs: in memory, in a thread, or in a process of its own."""

    def start(self) -> None:
        """Serve and register, and again with each new kubelet. A handle is started once."""

    def set_health(self, device_id: str, healthy: bool) -> None:
        """Turn a device healthy or unhealthy."""

    def set_count(self, count: int) -> None:
        """Have `count` devices from now on."""

    def set_listed(self, device_id: str, listed: bool) -> None:
        """Leave a device out of the list, or list it again."""

    def freeze(self) -> None:
        """Stop it where it is, as SIGSTOP does: it lives, its socket is there, and it answers nothing."""

    def thaw(self) -> None:
        """Let it go on, as SIGCONT does."""

    def kill(self) -> None:
        """End it as SIGKILL does: connections break, the socket's file stays behind."""

    def stop(self) -> None:
        """End it properly, as SIGTERM does."""


class Transport(Protocol):
    """One kubelet's way to the plugins of its node; `directory` is the path of the socket directory.

    `threaded` says that callbacks come on threads of the transport's own, which may be made to wait.
    """

    directory: str
    threaded: bool

    def listen(self, on_register: OnRegister) -> Listener:
        """Serve the registration of plugins."""

    def serve_pod_resources(self, on_request: OnPodResources) -> Listener:
        """Serve the PodResources API to the agents of the node."""

    def connect(self, socket: str) -> Client:
        """A client for the plugin at `socket`, a path; nothing is sent before its first call (Dial)."""

    def files(self) -> list[str]:
        """The names of the files in the directory, sorted."""
