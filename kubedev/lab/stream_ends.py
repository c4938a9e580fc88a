"""Six ways in which a ListAndWatch stream ends, each on a real wire: a kubelet's device manager, a real plugin.

The socket directory, the sockets and the plugins are real and private to the experiment, or in memory where there is no
gRPC; the clock is simulated, so that nobody waits for the five minutes.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import count
from queue import Empty, SimpleQueue

from kubedev.api.messages import VERSION, Device, DevicePluginOptions, ListAndWatchResponse, RegisterRequest
from kubedev.api.objects import Node
from kubedev.cluster.state import PluginState
from kubedev.deviceplugin.plugin import Plugin, make_devices
from kubedev.kubelet import events as k
from kubedev.kubelet.devices.checkpoint import checkpoint_text
from kubedev.kubelet.kubelet import new_kubelet, step
from kubedev.lab.check import Checked
from kubedev.lab.streams import sample_of
from kubedev.views.catalogue import say
from kubedev.views.live import LivePicture
from kubedev.views.stream_ends import StreamEnd, stream_ends_picture
from kubedev.views.timeline import Sample
from kubedev.wire.backends import backend
from kubedev.wire.codec import METHODS
from kubedev.wire.kubelet_wire import KubeletWire
from kubedev.wire.transport import PluginHandle, Server

__all__ = ["WAYS", "WireBench", "check_list", "end_stream", "show_ends", "wire_bench"]

NODE, RESOURCE = "node", "example.com/gpu"
PATIENCE = 15.0  # seconds of real time for a message on the wire


class WireBench:
    """A kubelet's device manager on a socket directory, driven by hand: nothing happens until it is told to look.

    `ended` are the errors of the streams that the kubelet saw end, `devices` what the plugins made here list.
    """

    def __init__(self, switches: frozenset[str], stack: ExitStack) -> None:
        self._stack, self._backend = stack, backend()
        stack.callback(self._backend.close)
        self._transport = self._backend.transport(NODE)
        directory = self._transport.directory
        self.devices = make_devices(4, 2)
        self.ended: list[str] = []
        self.now = 0.0
        kubelet = new_kubelet(Node(NODE), directory)
        self.state = replace(kubelet, devices=replace(kubelet.devices, switches=switches))
        self._inbox: SimpleQueue[k.KubeletEvent] = SimpleQueue()
        self._wire = KubeletWire(self._transport, self._inbox.put, directory, count(1))
        stack.callback(self._wire.close)

    def process(self) -> PluginHandle:
        """Start a plugin in a process of its own, and wait for its list."""
        state = PluginState(NODE, RESOURCE, self.devices, DevicePluginOptions())
        plugin = self._backend.plugin(self._transport, state, lambda _: None)
        self._stack.callback(plugin.stop)
        plugin.start()
        self.until(self.listed)
        return plugin

    def server(self, socket: str = "plugin.sock") -> Server:
        """Serve a plugin from here and register it, and wait for its list."""
        server = self._backend.server(
            self._transport, socket, lambda: Plugin(RESOURCE, self.devices), tuple(METHODS)
        )
        self._stack.callback(server.stop)
        server.start()
        request = RegisterRequest(VERSION, socket, RESOURCE)
        call = self._backend.register(self._transport, request, lambda _: None)
        self._stack.callback(call.close)
        self.until(lambda: bool(self.ended) or self.listed(socket))
        return server

    def restart_kubelet(self) -> None:
        """The kubelet's end of everything is closed; a new one reads the checkpoint."""
        checkpoint = checkpoint_text(self.state.devices)
        self._wire.restart()
        self._apply(k.KubeletRestarted(checkpoint))

    def listed(self, socket: str = "") -> bool:
        """Whether the plugin in force, at this socket if one is named, is connected and has sent a list."""
        endpoint = self.state.devices.endpoint(RESOURCE)
        known = self.state.devices.all_devices.get(RESOURCE)
        return (
            endpoint is not None
            and endpoint.phase == "connected"
            and known is not None
            and endpoint.socket.endswith(socket)
        )

    def until(self, done: Callable[[], bool]) -> None:
        """Take what comes over the wire until `done`. TimeoutError where nothing comes for too long."""
        while not done():
            try:
                self._apply(self._inbox.get(timeout=PATIENCE))
            except Empty:
                raise TimeoutError(f"nothing came over the wire for {PATIENCE:g} s") from None

    def look(self, at: float) -> Sample:
        """What the node's status says at this time."""
        self.now = at
        self._apply(k.NodeStatusDue())
        return Sample(at, *sample_of(self.state.node, RESOURCE))

    def _apply(self, event: k.KubeletEvent) -> None:
        if isinstance(event, k.StreamEnded) and event.client in self.state.devices.connections:
            self.ended.append(event.error)
        self.state, effects = step(self.state, event, self.now)
        for effect in effects:
            self._wire.carry_out(effect)
        self._wire.handled(event)


@contextmanager
def wire_bench(switches: frozenset[str] = frozenset()) -> Iterator[WireBench]:
    """A bench; all that was started on it is ended."""
    with ExitStack() as stack:
        yield WireBench(switches, stack)


# Each way makes its plugin, lets the caller look, and then ends the stream.


def _killed(bench: WireBench) -> Iterator[None]:
    plugin = bench.process()
    yield
    plugin.kill()


def _stopped(bench: WireBench) -> Iterator[None]:
    plugin = bench.process()
    yield
    plugin.stop()


def _closed(bench: WireBench) -> Iterator[None]:
    server = bench.server()
    yield
    server.end_streams()


def _too_long(bench: WireBench) -> Iterator[None]:
    server = bench.server()
    yield
    bench.devices = tuple(Device(f"{number:064}") for number in range(60_000))
    server.changed()


def _kubelet_restarts(bench: WireBench) -> Iterator[None]:
    bench.process()
    yield
    bench.restart_kubelet()


def _second_registers(bench: WireBench) -> Iterator[None]:
    first = bench.server("first.sock")
    bench.server("second.sock")
    yield
    first.stop()


WAYS: dict[str, Callable[[WireBench], Iterator[None]]] = {
    "killed": _killed,
    "stopped": _stopped,
    "closed": _closed,
    "too long": _too_long,
    "kubelet restarts": _kubelet_restarts,
    "second registers": _second_registers,
}


def end_stream(way: str, switches: Sequence[str] = ()) -> StreamEnd:
    """End a stream in one of WAYS and look at the node four times. Nobody repairs anything."""
    with wire_bench(frozenset(switches)) as bench:
        steps = WAYS[way](bench)
        next(steps)
        before = bench.look(0)
        next(steps, None)
        restarted = way == "kubelet restarts"
        if not restarted:
            bench.until(lambda: bool(bench.ended))
        at_once = bench.look(1)
        if restarted:
            bench.until(bench.listed)
        later = (bench.look(300), bench.look(302))
        mended = "121994" in switches and way == "second registers"
        error = "" if restarted else bench.ended[0]
        return StreamEnd(way, error, (before, at_once, *later), f"ends.{way}.mended" if mended else "")


def show_ends(*ends: StreamEnd) -> LivePicture:
    """The picture of some ends, side by side."""
    return LivePicture(stream_ends_picture(ends))


def check_list(devices: Sequence[Device], count: int) -> Checked:
    """Send a plugin's list over a real wire: all devices must arrive, and be different."""
    broken = [say("check.list-short", count=len(devices), wanted=count)] if len(devices) != count else []
    twice = [device for device, times in Counter(d.id for d in devices).items() if times > 1]
    broken += [say("check.list-twice", device=twice[0])] if twice else []
    with wire_bench() as bench:
        bench.devices = tuple(devices)
        bench.server()
        here = bench.look(1).capacity or 0
        size = len(METHODS["ListAndWatch"].encode_response(ListAndWatchResponse(tuple(devices))))
        if bench.ended:
            error = bench.ended[0]
            broken.append(
                say(
                    "check.list-too-long", size=size, error=error, resource=RESOURCE, count=here, wanted=count
                )
            )
    return Checked(broken)
