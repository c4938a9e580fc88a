"""A kubelet reduced to its wire: it lets plugins in, asks them, and notes what comes."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kubedev.api.messages import (
    AllocateRequest,
    Answer,
    Call,
    Device,
    Empty,
    RegisterRequest,
    Request,
    RpcError,
)
from kubedev.wire.transport import Client, Listener, PluginEvent, Reply, Transport

PATIENCE = 15.0  # seconds for what comes within milliseconds on a machine that is not busy


class Notes:
    """What was noted, in order; `wait` until it is enough."""

    def __init__(self) -> None:
        self.all: list[object] = []
        self._changed = threading.Condition()

    def add(self, note: object) -> None:
        with self._changed:
            self.all.append(note)
            self._changed.notify_all()

    def wait(self, enough: Callable[[list[object]], bool]) -> list[object]:
        with self._changed:
            assert self._changed.wait_for(lambda: enough(self.all), PATIENCE), f"not enough: {self.all}"
            return list(self.all)

    def has(self, note: object, times: int = 1) -> None:
        self.wait(lambda notes: notes.count(note) >= times)


class Kubelet:
    """Answers Register as a kubelet does: dials back, asks for the options, follows the list."""

    def __init__(self, transport: Transport, refusal: str | None = None) -> None:
        self.transport = transport
        self.refusal = refusal
        self.notes = Notes()
        self.clients: list[Client] = []
        self._listener: Listener = transport.listen(self._on_register)

    def restart(self) -> None:
        """End and start anew: connections are closed, the sockets of plugins are removed."""
        self.stop()
        self._listener = self.transport.listen(self._on_register)

    def stop(self) -> None:
        self._listener.stop()
        for client in self.clients:
            client.close()

    def _on_register(self, request: RegisterRequest, reply: Reply) -> None:
        self.notes.add(("register", request))
        if self.refusal is not None:
            reply(self.refusal)
            return
        client = self.transport.connect(self.socket(request.endpoint))
        self.clients.append(client)
        number = len(self.clients)
        answers = [ask(client, "Dial"), ask(client, "GetDevicePluginOptions")]
        self.notes.add(("connected", number, *answers))
        reply(None)
        client.list_and_watch(
            lambda devices: self.notes.add(("list", number, devices)),
            lambda error: self.notes.add(("end", number, code(error))),
        )

    def socket(self, endpoint: str) -> str:
        return str(Path(self.transport.directory, endpoint))


def ask(client: Client, method: str, request: Request | None = None, timeout: float | None = 5) -> Answer:
    return client.call(Call("example.com/gpu", "", method, request or Empty(), timeout))


def allocate(client: Client, *device_ids: str) -> Answer:
    return ask(client, "Allocate", AllocateRequest((device_ids,)))


def code(error: str) -> str:
    """The code in the text of a gRPC error; `EOF` has none."""
    return error.removeprefix("rpc error: code = ").partition(" ")[0]


def code_of(answer: Answer) -> str:
    return answer.code if isinstance(answer, RpcError) else "OK"


def event_notes(notes: Notes) -> Callable[[PluginEvent], None]:
    """Notes a plugin's events without what differs between machines: its path, and how often it was away."""

    def note(event: PluginEvent) -> None:
        if event.event != "away":
            notes.add((event.event, event.error, event.devices, event.healthy))

    return note


def ids(devices: tuple[Device, ...]) -> list[str]:
    return [device.id for device in devices]


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """Fails where more threads of Python or descriptors are there after than before."""
    before, files = threading.enumerate(), open_files()
    yield
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        left = [thread.name for thread in threading.enumerate() if thread not in before]
        if not left and len(open_files()) <= len(files):
            return
        time.sleep(0.05)
    raise AssertionError(f"threads left: {left}; descriptors: {files} before, {open_files()} after")


def open_files() -> list[str]:
    """What this process has open, but for the poller that gRPC makes and drops as it likes."""
    found = []
    for path in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the descriptor that lists them is gone again
            found.append(os.readlink(path))
    return sorted(file for file in found if not file.startswith("anon_inode:[event"))
