"""Plugins without a mind of their own: each step is taken by hand, in any order, right or wrong.

They meet a lab's kubelet in its socket directory, as a plugin from anywhere would; where there is no gRPC, in memory. A
hand-made plugin ends with its lab, and does not live on in a fork.
"""

import posixpath
import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from kubedev.api.messages import VERSION, Device, DevicePluginOptions, RegisterRequest, RpcError
from kubedev.cluster.events import FromKubelet, OnKubelet
from kubedev.cluster.state import ClusterState
from kubedev.deviceplugin.plugin import Plugin, make_devices
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.events import Ask, ListReceived
from kubedev.lab.needs_wire import NeedsWireError
from kubedev.lab.registration_scene import registration_state, short
from kubedev.lab.session import Lab
from kubedev.views.catalogue import say
from kubedev.views.registration import Attempt
from kubedev.wire.codec import METHODS
from kubedev.wire.transport import Registering, Server

__all__ = ["HandMade", "RegistrationLab"]

SOON = 1.0
"""How long `run` waits for steps that take milliseconds, in seconds; a dial in vain takes ten."""


class RegistrationLab(Lab):
    """A lab with one node whose kubelet can be met by plugins that are made by hand."""

    def __init__(self, name: str, switches: Iterable[str] = ()) -> None:
        self._hands: list[HandMade] = []
        super().__init__(name, nodes=1, config=KubeletConfig(switches=frozenset(switches)))

    @property
    def directory(self) -> str:
        """The real socket directory of the node; a real kubelet has /var/lib/kubelet/device-plugins."""
        return self.directories[next(iter(self.state.kubelets))]

    def files(self) -> list[str]:
        """The names of the files in it."""
        return self._world.files(next(iter(self.state.kubelets)))

    def by_hand(
        self,
        resource: str,
        devices: int | Iterable[str] = 1,
        socket: str = "",
        version: str = VERSION,
        without: Collection[str] = (),
        options: DevicePluginOptions | None = None,
    ) -> "HandMade":
        """A plugin that does nothing yet: `serve`, `register` and `send` are its steps, `start` is the first two.

        `without` are calls that it does not implement. Its socket is named after the resource if it has no name.
        """
        made = make_devices(devices) if isinstance(devices, int) else tuple(map(Device, devices))
        name = socket or self._free_name(resource.rpartition("/")[2])
        plugin = Plugin(resource, made, options or DevicePluginOptions())
        hand = HandMade(self, plugin, name, version, without)
        self._hands.append(hand)
        return hand

    def _free_name(self, kind: str) -> str:
        taken = {hand.socket for hand in self._hands}
        names = (f"{kind}.sock", *(f"{kind}-{number}.sock" for number in range(2, len(taken) + 2)))
        return next(name for name in names if name not in taken)

    def numbers(self, resource: str) -> str:
        """What the node's status says of a resource."""
        node = self.node()
        if resource not in node.capacity:
            return say("numbers.none")
        capacity, allocatable = node.capacity[resource], node.allocatable.get(resource)
        return say("numbers", capacity=capacity, allocatable=allocatable)

    def after(self, step: Callable[[], object], resource: str) -> str:
        """Take a step, then say what the node's status says of a resource."""
        step()
        return self.numbers(resource)

    def start_all(self, plugins: Iterable["HandMade"], unserved: Collection["HandMade"] = ()) -> list[str]:
        """Start plugins at the same time, and wait for all; what Register answered to each of them.

        Those in `unserved` register without serving.
        """
        waiting = [(p, threading.Thread(target=p.register if p in unserved else p.start)) for p in plugins]
        for _, thread in waiting:
            thread.start()
        for _, thread in waiting:
            thread.join()
        return [plugin.answer for plugin, _ in waiting]

    def asked(self) -> tuple[str, ...]:
        """The methods that the kubelet has called, in order."""
        history = self.history
        events = (history[index].event for index in range(history.first, len(history)))
        return tuple(
            event.effect.call.method
            for event in events
            if isinstance(event, FromKubelet) and isinstance(event.effect, Ask)
        )

    def attempt(self, plugin: "HandMade", title: str, note: str = "") -> Attempt:
        """What a plugin went through up to its answer, for `attempts_picture`."""
        calls = registration_state(self.history, len(self.history) - 1, self.node().name, plugin.name).calls
        before = [c for c in calls if not c.answer]
        error = "" if plugin.answer == say("hand.accepted") else plugin.answer
        return Attempt(title, tuple(c for c in before if c.text != "ListAndWatch" or not error), error, note)

    def end(self) -> None:
        """End the plugins by hand, then the rest."""
        for hand in self._hands:
            hand.end()
        self._hands = []
        super().end()


class HandMade:
    """One plugin by hand; made by `RegistrationLab.by_hand`."""

    def __init__(
        self, lab: RegistrationLab, plugin: Plugin, socket: str, version: str, without: Collection[str]
    ) -> None:
        self.plugin = plugin
        self.socket = socket
        self._answer = self._missing = ""
        self._lab = lab
        self._version = version
        self._methods = [name for name in METHODS if name not in without]
        self._server: Server | None = None
        self._registration: Registering | None = None
        self._runner: threading.Thread | None = None
        self._ended = False

    @property
    def name(self) -> str:
        """The socket's name without its ending."""
        return short(self.socket)

    @property
    def answer(self) -> str:
        """The last answer to Register."""
        if self._missing:
            raise NeedsWireError(self._missing)
        return self._answer

    def serve_later(self, seconds: float) -> None:
        """Begin to serve when so many seconds have gone by: real ones, since a kubelet dials in real time."""
        if not self._lab.real:
            self._missing = say("hand.later")
            raise NeedsWireError(self._missing)
        threading.Timer(seconds, self.serve).start()

    def serve(self) -> None:
        """Serve on the socket, anew if it did before."""
        world = self._lab.world
        if self._server:
            self._server.stop()
        self._server = world.server(self._lab.node().name, self.socket, lambda: self.plugin, self._methods)
        self._server.start()

    def register(self) -> str:
        """Call Register, wait for the answer, and if it is good for the first list; the answer as text."""
        self._ended = False
        error = self._register()
        self._answer = say("hand.accepted") if error is None else str(error)
        if error is None:
            self._lab.wait(self._followed)
        if not self._ended:
            self._lab.wait()
        return self.answer

    def start(self) -> str:
        """Serve, then register: the right order."""
        self.serve()
        return self.register()

    def run(self, *steps: str) -> str:
        """Take steps (`serve`, `register`) one after another without waiting for the last; what came of them."""
        if unknown := [step for step in steps if step not in ("serve", "register")]:
            raise ValueError(f"expected the steps 'serve' and 'register', got {unknown[0]!r}")
        self.stop()
        done: list[str] = []

        def go() -> None:
            for step in steps:
                if not self._ended:
                    done.append(say("hand.step", step=step, outcome=self._step(step)))

        self._ended = False
        self._runner = threading.Thread(target=go, name=f"hand-made {self.name}", daemon=True)
        self._runner.start()
        self._runner.join(SOON)
        waits = [say("hand.step", step=s, outcome=say("hand.waiting")) for s in steps[len(done) :][:1]]
        return "; ".join([*done, *waits])

    def _step(self, step: str) -> str:
        if step == "register":
            return self.register()
        self.serve()
        return say("hand.done")

    def send(self, *devices: str) -> None:
        """Have these devices from now on, and send the list to all who follow it."""
        self.plugin = replace(self.plugin, devices=tuple(map(Device, devices)))
        if self._server is None or not self._open(self._lab.state):
            return
        seen = len(self._lab.history)
        self._server.changed()
        self._lab.wait(lambda state: self._told(seen))
        self._lab.wait()

    def leave_socket(self) -> None:
        """Serve, and end as SIGKILL ends a process: the file stays, and nobody listens."""
        self.serve()
        if self._server:
            self._server.kill()
        self._server = None

    def stop(self) -> None:
        """End: the streams are closed, the socket is removed."""
        self.end()
        if self._lab.mode == "live":
            self._lab.wait(lambda state: not self._open(state) and not state.pending)

    def end(self) -> None:
        """End without waiting for what the kubelet makes of it."""
        self._ended = True
        if self._registration:
            self._registration.close()
        if self._runner and self._runner is not threading.current_thread():
            self._runner.join()
        if self._server:
            self._server.stop()
        self._server = self._runner = None

    def _register(self) -> RpcError | None:
        answers: list[RpcError | None] = []
        done = threading.Event()

        def on_done(error: RpcError | None) -> None:
            answers.append(error)
            done.set()

        request = RegisterRequest(self._version, self.socket, self.plugin.resource, self.plugin.options)
        self._registration = self._lab.world.register(self._lab.node().name, request, on_done)
        done.wait()
        self._registration.close()
        self._registration = None
        return answers[0]

    def _open(self, state: ClusterState) -> bool:
        """Whether a kubelet's connection to this plugin stands."""
        connections = state.kubelets[self._lab.node().name].devices.connections.values()
        mine = (c for c in connections if posixpath.basename(c.socket) == self.socket)
        return any(c.phase in ("connected", "superseded") for c in mine)

    def _followed(self, state: ClusterState) -> bool:
        """Whether the first list has come, or its stream has ended."""
        known = state.kubelets[self._lab.node().name].devices.all_devices.get(self.plugin.resource)
        listed = known is not None and tuple(known.values()) == self.plugin.devices
        return listed or not self._open(state)

    def _told(self, seen: int) -> bool:
        """Whether the list has come to the kubelet since a step of the history."""
        history = self._lab.history
        return any(
            isinstance(event := history[index].event, OnKubelet)
            and isinstance(event.event, ListReceived)
            and event.event.devices == self.plugin.devices
            for index in range(seen, len(history))
        )
