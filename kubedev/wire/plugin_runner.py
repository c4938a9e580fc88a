"""The life of a real plugin: serves, registers, and does so again with each new kubelet.

One loop takes everything from one inbox: commands, changes of kubelet.sock, the kubelet's replies.
`deviceplugin.life_cycle` says what follows from what.
"""

import os
import threading
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from kubedev.api.messages import HEALTHY, VERSION, RegisterRequest, RpcError
from kubedev.deviceplugin.life_cycle import TRANSITIONS
from kubedev.deviceplugin.plugin import Plugin, PluginError, obey
from kubedev.wire.kubelet_watch import Identity, KubeletWatch, identity
from kubedev.wire.plugin_server import PluginServer, Registration
from kubedev.wire.sockets import SocketDirectoryError, check_socket_path, require_unix_sockets
from kubedev.wire.transport import OnPluginEvent, PluginEvent, endpoint_name

__all__ = ["PluginRunner"]

RETRY = 1.0  # seconds until a kubelet that is away is looked for again
NOT_THERE = ("Unavailable", "DeadlineExceeded", "Canceled")  # codes of a Register that reached no kubelet


@dataclass(frozen=True, slots=True)
class _Command:
    text: str
    waited: bool


@dataclass(frozen=True, slots=True)
class _Look:
    """Has kubelet.sock come, gone, or been made anew?"""


@dataclass(frozen=True, slots=True)
class _Replied:
    attempt: int
    error: RpcError | None


class PluginRunner:
    """Runs one plugin until it is told to stop or the kubelet refuses it.

    Of the commands of who is willing to wait, at most `ahead` are waiting.
    """

    def __init__(
        self,
        plugin: Plugin,
        kubelet_socket: str,
        on_event: OnPluginEvent,
        version: str = VERSION,
        ahead: int = 100,
    ) -> None:
        self._plugin = plugin
        self._kubelet_socket = os.path.abspath(kubelet_socket)
        directory = os.path.dirname(self._kubelet_socket)
        self._path = os.path.join(directory, plugin.endpoint or endpoint_name(plugin.resource))
        self._on_event = on_event
        self._version = version
        self._inbox: SimpleQueue[_Command | _Look | _Replied] = SimpleQueue()
        self._watch = KubeletWatch(directory, lambda: self._inbox.put(_Look()))
        self._room = threading.Semaphore(ahead)
        self._life = "away"
        self._kubelet: Identity = None
        self._server: PluginServer | None = None
        self._registration: Registration | None = None
        self._attempt = 0
        self._told_away = False
        self._exit_code = 0
        self._end = ""

    def post(self, command: str, wait: bool = False) -> None:
        """Hand in a command: `unhealthy ID`, `healthy ID`, `set COUNT`, `stop` or `kill`. From any thread.

        `stop` and `kill` overtake all others.
        """
        command = command.strip()
        if command in ("stop", "kill") and not wait:
            self._end = self._end or command
        elif wait:
            self._room.acquire()
        self._inbox.put(_Command(command, wait))

    def abandon(self) -> None:
        """Remove the socket, from any thread: the process is about to end."""
        if self._server and self._server.owns_path():
            os.unlink(self._path)

    def run(self) -> int:
        """Run to the end; returns the exit code, 1 where the kubelet refused or no socket could be made."""
        try:
            require_unix_sockets()
            check_socket_path(self._kubelet_socket)
            self._look()
            while self._life != "stopped":
                if self._life != "registering":
                    self._watch.start()
                self._step()
        except SocketDirectoryError as error:
            self._tell("error", error=str(error))
            self._exit_code = 1
        finally:
            self._watch.stop()
            self._end_registration()
            if self._server:
                self._server.stop()
        self._tell("stopped")
        return self._exit_code

    def _step(self) -> None:
        try:
            message = self._inbox.get(timeout=RETRY if self._life == "away" else None)
        except Empty:
            self._look()
            if self._kubelet:
                self._advance("retry")
            return
        if self._end:
            self._obey(self._end)
            return
        match message:
            case _Command(text, waited):
                if waited:
                    self._room.release()
                self._obey(text)
            case _Look():
                self._look()
            case _Replied(attempt, error) if attempt == self._attempt:
                self._replied(error)

    def _look(self) -> None:
        before = self._kubelet
        try:
            self._kubelet = identity(self._kubelet_socket)
        except OSError as error:
            self._kubelet = None
            self._tell_away(_why_away(self._kubelet_socket, error))
        knew = self._life == "registered" and not self._plugin.registers_again
        if self._kubelet != before and not knew:
            self._advance("kubelet_appeared" if self._kubelet else "kubelet_gone")

    def _advance(self, event: str) -> None:
        if (self._life, event) not in TRANSITIONS:
            return
        self._life = TRANSITIONS[self._life, event]
        if self._life == "registering":
            self._register(serve_anew=event == "kubelet_appeared")

    def _register(self, serve_anew: bool) -> None:
        """Serve before registering, since the kubelet calls back; streams to the kubelet before are ended."""
        self._end_registration()
        if serve_anew or self._server is None or not self._server.owns_path():
            if self._server:
                self._server.stop()
            self._server = None
            server = PluginServer(self._path, lambda: self._plugin)
            try:
                server.start()
            except SocketDirectoryError as error:
                if not isinstance(error.__cause__, PermissionError):
                    raise
                self._tell_away(str(error))
                self._advance("unreachable")
                return
            self._server = server
            self._tell("serving", socket=self._path)
        self._attempt += 1
        attempt, plugin = self._attempt, self._plugin
        self._registration = Registration(
            self._kubelet_socket,
            RegisterRequest(self._version, os.path.basename(self._path), plugin.resource, plugin.options),
            lambda error: self._inbox.put(_Replied(attempt, error)),
        )

    def _replied(self, error: RpcError | None) -> None:
        self._end_registration()
        if error is None:
            self._told_away = False
            self._tell("registered")
            self._advance("accepted")
        elif error.code in NOT_THERE:
            self._tell_away(str(error))
            self._advance("unreachable")
        else:
            self._tell("refused", error=str(error))
            self._exit_code = 1
            self._advance("refused")

    def _end_registration(self) -> None:
        if self._registration:
            self._registration.close()
            self._registration = None

    def _obey(self, command: str) -> None:
        if command == "stop":
            self._advance("stop")
        elif command == "kill":
            if self._server:
                self._server.kill()
            self._server = None
            self._advance("stop")
        else:
            self._change(command)

    def _change(self, command: str) -> None:
        try:
            self._plugin = obey(self._plugin, command)
        except PluginError as error:
            self._tell("error", error=str(error))
            return
        if self._server:
            self._server.changed()
        devices = self._plugin.devices
        healthy = sum(device.health == HEALTHY for device in devices)
        self._on_event(PluginEvent("changed", devices=len(devices), healthy=healthy))

    def _tell(self, event: str, socket: str = "", error: str = "") -> None:
        self._on_event(PluginEvent(event, socket, error))

    def _tell_away(self, error: str) -> None:
        """Say once, and not at each try, that no kubelet is there."""
        if not self._told_away:
            self._told_away = True
            self._tell("away", error=error)


def _why_away(path: str, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return (
            f"{path}: permission is missing ({error.strerror}). It is tried again: run as a user who may, "
            f"or change the mode of {os.path.dirname(path)}"
        )
    missing = isinstance(error, FileNotFoundError)
    return f"{path} does not exist" if missing else f"{path}: {error.strerror}"
