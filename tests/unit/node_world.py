"""A node for tests: a kubelet, plugins in memory, a runtime that does as it is told, a clock moved by hand."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from kubedev.api.messages import (
    VERSION,
    Answer,
    Call,
    Device,
    DevicePluginOptions,
    Empty,
    RegisterRequest,
    Request,
    RpcError,
)
from kubedev.api.objects import Container, Node, Pod
from kubedev.api.quantity import Quantity
from kubedev.api.switches import check_switches
from kubedev.deviceplugin.plugin import Plugin, answer, make_devices
from kubedev.kubelet import events as k
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.devices.checkpoint import checkpoint_text
from kubedev.kubelet.kubelet import KubeletState, new_kubelet, step

GPU = "example.com/gpu"
DIRECTORY = "/plugins"
MAX_MESSAGE = 4 * 2**20  # bytes: gRPC's limit
NO_OPTIONS = DevicePluginOptions()
PLENTY = {"cpu": Quantity.of(64), "memory": Quantity.of(2**40), "pods": Quantity.of(110)}


def container(name: str = "c", restart_policy: str | None = None, **counts: int) -> Container:
    """A container that asks for devices: `gpu=2` are two of example.com/gpu."""
    limits = {f"example.com/{kind}": Quantity.of(count) for kind, count in counts.items()}
    return Container(name, requests=limits, limits=limits, restart_policy=restart_policy)


def pod(name: str, *containers: Container, init: Iterable[Container] = (), **counts: int) -> Pod:
    """A pod bound to the node; without containers it has one that asks for the counts."""
    all_ = containers or (container(**counts),)
    return Pod(name, uid=name, node_name="n1", containers=all_, init_containers=tuple(init))


def ids(*names: str) -> tuple[Device, ...]:
    """Healthy devices without topology."""
    return tuple(map(Device, names))


@dataclass
class Served:
    """A plugin's server on a socket: the plugin, and who answers for it if not it itself."""

    plugin: Plugin
    answer: Callable[[Request], Answer | None] = lambda request: None


@dataclass
class World:
    """The node. What a call to a plugin with `hold` in front of it is answered, the test says."""

    switches: Iterable[str] = ()
    now: float = 0.0
    servers: dict[str, Served] = field(default_factory=dict)
    streams: dict[int, str] = field(default_factory=dict)
    lists: dict[int, tuple[Device, ...]] = field(default_factory=dict)
    log: list[k.Effect] = field(default_factory=list)
    history: list[tuple[k.KubeletEvent, float]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    hold: Callable[[Call], bool] = lambda call: False
    held: list[k.Ask] = field(default_factory=list)
    pods: dict[str, Pod] = field(default_factory=dict)
    kubelet: KubeletState = field(init=False)

    def __post_init__(self) -> None:
        node = Node("n1", capacity=PLENTY, allocatable=PLENTY)
        self.kubelet = new_kubelet(node, DIRECTORY, KubeletConfig(switches=check_switches(self.switches)))

    # What happens

    def feed(self, *events: k.KubeletEvent) -> list[k.Effect]:
        """Let events happen, and all that comes of them; the effects."""
        start, queue = len(self.log), list(events)
        while queue:
            event = queue.pop(0)
            self.history.append((event, self.now))
            self.kubelet, effects = step(self.kubelet, event, self.now)
            self.log += effects
            for effect in effects:
                queue += self._carry_out(effect)
        return self.log[start:]

    def _carry_out(self, effect: k.Effect) -> list[k.KubeletEvent]:
        match effect:
            case k.Ask(call_id, call):
                self.calls.append(call)
                if self.hold(call):
                    self.held.append(effect)
                    return []
                return [k.Answered(call_id, self._answer(call))]
            case k.OpenStream(client, _, socket):
                self.streams[client] = socket
                return [self._list(client)]
            case k.CloseStream(client) if client in self.streams:
                del self.streams[client]
                return [k.StreamEnded(client, "closed")]
            case k.StopContainer(uid, name):
                return [k.ContainerExited(uid, name, 0)]
        return []

    def _list(self, client: int) -> k.KubeletEvent:
        """The plugin's list on a stream, or the end of the stream where gRPC refuses a message of that size."""
        devices = self.servers[self.streams[client]].plugin.devices
        if sum(len(device.id) + 14 for device in devices) <= MAX_MESSAGE:
            self.lists[client] = devices
            return k.ListReceived(client, devices)
        del self.streams[client]
        return k.StreamEnded(client, "rpc error: code = ResourceExhausted")

    def _answer(self, call: Call) -> Answer:
        served = self.servers.get(call.socket)
        if served is None:
            if call.method == "Dial":
                self.now += call.timeout or 0
                return RpcError("DeadlineExceeded", "context deadline exceeded")
            return RpcError("Unavailable", f"connection error: dial unix {call.socket}: connection refused")
        if call.method == "Dial":
            return Empty()
        return served.answer(call.request) or answer(served.plugin, call.request)

    def release(self, with_: Answer | None = None) -> list[k.Effect]:
        """Answer the call that was held first."""
        ask = self.held.pop(0)
        return self.feed(k.Answered(ask.call_id, with_ or self._answer(ask.call)))

    # Plugins

    def serve(
        self,
        devices: Iterable[Device] | int,
        resource: str = GPU,
        endpoint: str = "gpu.sock",
        options: DevicePluginOptions = NO_OPTIONS,
        answer: Callable[[Request], Answer | None] = lambda request: None,
    ) -> None:
        """Let a plugin listen on a socket of the plugin directory, without registering it."""
        listed = make_devices(devices) if isinstance(devices, int) else tuple(devices)
        self.servers[f"{DIRECTORY}/{endpoint}"] = Served(Plugin(resource, listed, options), answer)

    def register(self, resource: str = GPU, endpoint: str = "gpu.sock", version: str = VERSION) -> str | None:
        """Let the plugin call Register; the error's text, or None."""
        request = RegisterRequest(version, endpoint, resource)
        replies = [e for e in self.feed(k.PluginRegistering(1, request)) if isinstance(e, k.Reply)]
        return replies[0].error

    def plugin(self, devices: Iterable[Device] | int, resource: str = GPU, **more: object) -> None:
        """Serve and register."""
        self.serve(devices, resource, **more)  # type: ignore[arg-type]
        assert self.register(resource, str(more.get("endpoint", "gpu.sock"))) is None

    def send(self, devices: Iterable[Device], endpoint: str = "gpu.sock", client: int | None = None) -> None:
        """Let the plugin send a list, on its newest stream or on the one that is named."""
        socket = f"{DIRECTORY}/{endpoint}"
        served = self.servers[socket]
        served.plugin = replace(served.plugin, devices=tuple(devices))
        streams = [c for c, s in self.streams.items() if s == socket]
        self.feed(self._list(client or streams[-1]))

    def end_stream(self, client: int) -> None:
        """Let a stream end."""
        del self.streams[client]
        self.feed(k.StreamEnded(client, "end of stream"))

    def die(self, endpoint: str = "gpu.sock") -> None:
        """Let the plugin's process end, and all its streams with it."""
        socket = f"{DIRECTORY}/{endpoint}"
        del self.servers[socket]
        for client in [c for c, s in self.streams.items() if s == socket]:
            if client in self.streams:
                self.end_stream(client)

    # Pods

    def admit(self, new: Pod) -> tuple[str, str]:
        """Bind a pod to the node; its phase and message afterwards."""
        self.pods[new.uid] = new
        self.feed(k.PodBound(new))
        return self.status(new.uid)

    def status(self, uid: str) -> tuple[str, str]:
        """A pod's phase in the kubelet, with the message if there is one."""
        record = self.kubelet.pods[uid]
        return record.phase, record.message

    def delete(self, uid: str) -> None:
        """Delete a pod."""
        self.pods.pop(uid, None)
        self.feed(k.PodDeleted(uid))

    def held_by(self, uid: str, name: str = "c", resource: str = GPU) -> set[str] | None:
        """The devices in a container's record."""
        info = self.kubelet.devices.pod_devices.get(uid, {}).get(name, {}).get(resource)
        return None if info is None else set(info.devices)

    # Node

    def numbers(self, resource: str = GPU) -> tuple[int | None, int | None]:
        """Capacity and allocatable as the node's status has them after the next write; None: no such key."""
        self.feed(k.NodeStatusDue())
        node = self.kubelet.node
        found = (node.capacity.get(resource), node.allocatable.get(resource))
        capacity, allocatable = (None if quantity is None else quantity.value() for quantity in found)
        return capacity, allocatable

    def restart(self, reboot: bool = False, ready: bool = True, checkpoint: str | None = "kept") -> None:
        """Restart the kubelet (or machine): plugins have to register again, pods come in again."""
        text = checkpoint_text(self.kubelet.devices) if checkpoint == "kept" else checkpoint
        self.streams.clear()
        self.feed(k.KubeletRestarted(text, reboot))
        for bound in self.pods.values():
            self.feed(k.PodBound(bound))
        if ready:
            self.feed(k.SourcesReady())
