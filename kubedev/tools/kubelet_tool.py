"""The kubelet of `kubedev kubelet`: its wire, its checkpoint file and the commands that are typed.

Containers are not started: it is shown what the container runtime would be told. The checkpoint is written as
a real kubelet writes it, so that it can be stopped and started again.
"""

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue

from kubedev.api.objects import Container, Node, Pod
from kubedev.api.quantity import Quantity, QuantityError
from kubedev.console import reason
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.devices.checkpoint import checkpoint_text
from kubedev.kubelet.events import (
    ContainerExited,
    Effect,
    KubeletEvent,
    KubeletRestarted,
    NodeStatusDue,
    PodBound,
    PodDeleted,
    SourcesReady,
    StopContainer,
)
from kubedev.kubelet.kubelet import new_kubelet, step
from kubedev.kubelet.pods import api_phase
from kubedev.tools.kubelet_flags import on_numa_nodes
from kubedev.tools.kubelet_lines import Line, capacity_line, device_lines, effect_line, event_line, why_line
from kubedev.wire.grpc_transport import GrpcTransport
from kubedev.wire.kubelet_wire import KubeletWire
from kubedev.wire.pod_resources import pod_resources_path
from kubedev.wire.sockets import (
    CHECKPOINT,
    KUBELET_SOCKET,
    SocketDirectoryError,
    read_checkpoint,
)

__all__ = ["USAGE", "CommandError", "KubeletTool", "parse_requests"]

NODE_STATUS_PERIOD = 10.0  # seconds, as in a real kubelet
COMMANDS_AHEAD = 100  # so many may wait; who sends more has to wait too
USAGE = {
    "allocate POD RESOURCE=N[,RESOURCE=N]": "a pod with one container comes to this node",
    "release POD": "the pod is deleted",
    "capacity": "what the node's status says",
    "devices": "all devices, and who holds them",
    "why POD": "how the pod came to its devices, or why it was refused",
    "restart": "the kubelet ends and starts again; pods keep running",
    "drop-stream RESOURCE": "the kubelet closes the plugin's ListAndWatch",
    "delete-socket": "kubelet.sock is deleted, as if by somebody's mistake",
    "advance SECONDS": "the clock jumps",
    "quit": "the end",
}
HUGE = {name: Quantity.parse(text) for name, text in (("cpu", "1k"), ("memory", "1Ti"), ("pods", "10k"))}

Say = Callable[[Line], None]


class CommandError(ValueError):
    """A command that cannot be followed; the text says what was expected."""


class KubeletTool:
    """The kubelet, its wire, its checkpoint file and its commands. One loop applies everything.

    Raises SocketDirectoryError where the directory cannot be used.
    """

    def __init__(
        self,
        directory: str,
        numa: int,
        say: Say,
        pod_resources: str | None = None,
        config: KubeletConfig | None = None,
    ) -> None:
        self.directory = os.path.abspath(directory)
        self._say = say
        self._inbox: SimpleQueue[KubeletEvent | str | None] = SimpleQueue()
        self._room = threading.Semaphore(COMMANDS_AHEAD)
        self._ended = False
        self._advanced = 0.0
        node = Node("node", capacity=HUGE, allocatable=HUGE)
        self.state = new_kubelet(node, self.directory, on_numa_nodes(config or KubeletConfig(), numa))
        self._written: str | None = None
        agents = os.path.abspath(pod_resources) if pod_resources else None
        own = [os.path.realpath(os.path.join(self.directory, name)) for name in (KUBELET_SOCKET, CHECKPOINT)]
        if agents and os.path.realpath(agents) in own:
            raise SocketDirectoryError(
                f"{agents}: the kubelet needs that path itself. Expected another one for agents, by default "
                f"{pod_resources_path(self.directory)}."
            )
        transport = GrpcTransport(self.directory, agents)
        self._wire = KubeletWire(transport, self._inbox.put, self.directory, count(1))
        sockets = {"socket": self._kubelet_socket, "pod_resources": transport.pod_resources}
        try:
            self._say({"event": "listening", **sockets})
            self._start(reboot=True)
            self._apply(SourcesReady())
        except BaseException:
            self._wire.close()
            raise

    @property
    def _kubelet_socket(self) -> str:
        return os.path.join(self.directory, KUBELET_SOCKET)

    @property
    def now(self) -> float:
        """Seconds on a clock that `advance` moves on."""
        return time.monotonic() + self._advanced

    def post(self, command: str) -> None:
        """Hand in a command, from any thread but the one that runs; waits where too many others wait."""
        self._room.acquire()
        self._inbox.put(command)

    def end(self) -> None:
        """End at once, whatever waits. From any thread, and from a signal's handler."""
        self._ended = True
        self._inbox.put(None)

    def abandon(self) -> None:
        """Remove the sockets, from any thread: the process is about to end as it is."""
        self._wire.abandon()

    def run(self) -> None:
        """Work until `quit`, or `end`."""
        try:
            while self._next():
                pass
        finally:
            self._wire.close()

    def _next(self) -> bool:
        try:
            item: KubeletEvent | str | None = self._inbox.get(timeout=NODE_STATUS_PERIOD)
        except Empty:
            item = NodeStatusDue()
        if self._ended or item is None:
            return False
        if not isinstance(item, str):
            self._apply(item)
            self._wire.handled(item)
            return True
        self._room.release()
        words = item.split()
        if words == ["quit"]:
            return False
        try:
            self._command(words)
        except CommandError as error:
            self._say({"event": "error", "error": str(error)})
        return True

    def _apply(self, event: KubeletEvent) -> None:
        self._tell(event_line(self.state, event))
        before = capacity_line(self.state)
        self.state, effects = step(self.state, event, self.now)
        self._write_checkpoint()
        for effect in effects:
            self._carry_out(effect)
        if (after := capacity_line(self.state)) != before:
            self._say({**after, "event": "node status"})

    def _carry_out(self, effect: Effect) -> None:
        self._tell(effect_line(self.state, effect))
        if isinstance(effect, StopContainer):
            self._inbox.put(ContainerExited(effect.pod_uid, effect.container, 0))
        else:
            self._wire.carry_out(effect)

    def _tell(self, line: Line | None) -> None:
        if line is not None:
            self._say(line)

    # The checkpoint file

    def _start(self, reboot: bool) -> None:
        """Begin with what the checkpoint says, and with the containers that run still, unless after a reboot."""
        self._written = self._read_checkpoint()
        self._apply(KubeletRestarted(self._written, reboot))
        if self.state.devices.read_error:
            self._say(
                {"event": "error", "error": f"{CHECKPOINT} is not used: {self.state.devices.read_error}"}
            )

    def _read_checkpoint(self) -> str | None:
        try:
            return read_checkpoint(self.directory)
        except SocketDirectoryError as error:
            self._say({"event": "error", "error": str(error)})
            return None

    def _write_checkpoint(self) -> None:
        """Write a new content beside the file and rename it, so that no half of it is ever seen."""
        text = checkpoint_text(self.state.devices)
        if text is None or text == self._written:
            return
        new = Path(self.directory, f".{CHECKPOINT}")
        try:
            with open(new, "w", encoding="utf-8", opener=_for_its_owner) as file:
                file.write(text)
            new.rename(Path(self.directory, CHECKPOINT))
        except OSError as error:  # a kubelet goes on, too
            self._say({"event": "error", "error": f"{CHECKPOINT} cannot be written: {reason(error)}"})
        self._written = text

    # Commands

    def _command(self, words: list[str]) -> None:
        match words:
            case ["allocate", name, requests]:
                self._allocate(name, requests)
            case ["release", name]:
                self._known(name)
                self._apply(PodDeleted(name))
            case ["capacity"]:
                self._apply(NodeStatusDue())
                self._say(capacity_line(self.state))
            case ["devices"]:
                for line in device_lines(self.state):
                    self._say(line)
            case ["why", name]:
                self._known(name)
                self._say(why_line(self.state.pods[name]))
            case ["restart"]:
                self._restart()
            case ["drop-stream", resource]:
                self._drop_stream(resource)
            case ["delete-socket"]:
                with suppress(FileNotFoundError):
                    os.unlink(self._kubelet_socket)
                self._say({"event": "socket deleted"})
            case ["advance", seconds]:
                self._advance(seconds)
            case []:
                pass
            case _:
                raise CommandError(f"{' '.join(words)!r} is no command; there are: {', '.join(USAGE)}")

    def _allocate(self, name: str, requests: str) -> None:
        if name in self.state.pods:
            phase = api_phase(self.state.pods[name])
            raise CommandError(
                f"there is a pod {name} already ({phase}): release it first, or choose another name"
            )
        limits = parse_requests(requests)
        container = Container("app", requests=limits, limits=limits)
        self._apply(PodBound(Pod(name, uid=name, node_name="node", containers=(container,))))

    def _known(self, name: str) -> None:
        if name not in self.state.pods:
            pods = ", ".join(sorted(self.state.pods)) or "none"
            raise CommandError(f"there is no pod {name!r}; there are: {pods}")

    def _restart(self) -> None:
        pods = [record.pod for record in self.state.pods.values() if record.active]
        self._wire.restart()
        self._say({"event": "restarted"})
        self._start(reboot=False)
        for pod in pods:
            self._apply(PodBound(pod))
        self._apply(SourcesReady())

    def _drop_stream(self, resource: str) -> None:
        client = self.state.devices.endpoints.get(resource)
        if client is None or not self._wire.drop_stream(client):
            raise CommandError(f"no stream of {resource!r} is open")

    def _advance(self, seconds: str) -> None:
        try:
            amount = float(seconds)
        except ValueError:
            amount = -1.0
        if not 0 <= amount < float("inf"):
            raise CommandError(f"advance takes a number of seconds, 0 or more, and not {seconds!r}")
        self._advanced += amount
        self._apply(NodeStatusDue())


def _for_its_owner(path: str, flags: int) -> int:
    """Open a file that nobody else may read, as a real kubelet's checkpoint; one that was left half-written goes."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    return os.open(path, flags | os.O_EXCL, 0o600)


def parse_requests(text: str) -> dict[str, Quantity]:
    """Read `example.com/gpu=2,example.com/nic=1k`: quantities that are whole numbers. Raises CommandError."""
    limits: dict[str, Quantity] = {}
    for part in text.split(","):
        resource, _, count = part.partition("=")
        try:
            quantity = Quantity.parse(count)
        except QuantityError:
            quantity = Quantity(-1)
        whole = quantity.exponent >= 0 or quantity.mantissa % 10**-quantity.exponent == 0
        if not resource or quantity.sign() < 0 or not whole or resource in limits:
            raise CommandError(
                f"{part!r}: expected RESOURCE=N once a resource, for example example.com/gpu=2"
            )
        limits[resource] = quantity
    return limits
