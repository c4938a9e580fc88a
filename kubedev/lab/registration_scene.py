"""From a lab's history to the picture of registration: calls, phases and files. Nothing is decided here."""

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from kubedev.api.messages import Call, Device, DevicePluginOptions, Dial, RpcError
from kubedev.cluster import events as e
from kubedev.cluster.history import History
from kubedev.cluster.state import ClusterState
from kubedev.kubelet import events as k
from kubedev.kubelet.devices.endpoint import PLUGIN_PHASES, Endpoint, Phase
from kubedev.kubelet.devices.registration import clients
from kubedev.lab.session import Lab
from kubedev.views.catalogue import say
from kubedev.views.picture import Picture
from kubedev.views.registration import RegistrationState, SequenceCall, registration_picture
from kubedev.views.style import WIDTH

__all__ = ["draw_registration", "files", "registration_state", "short"]

KUBELET = "kubelet"


@dataclass
class _Run:
    """What was gathered from the history so far; `moves` are the last transitions, by connection."""

    calls: list[SequenceCall] = field(default_factory=list)
    parties: list[str] = field(default_factory=list)
    endpoints: dict[int, str] = field(default_factory=dict)  # the plugin's name, by Register call
    moves: dict[int, tuple[Phase, str, Phase]] = field(default_factory=dict)
    sockets: dict[int, str] = field(default_factory=dict)
    focus: int | None = None
    note: str = ""


def draw_registration(lab: Lab, step: int, width: int = WIDTH) -> Picture:
    """The life cycle, the calls and the socket directory of the lab's first node; for `lab.show`."""
    node = next(iter(lab.state.kubelets))
    plugins = lab.history[step].state.plugins.values()
    alive = next((p.resource for p in plugins if p.node == node and p.alive), "")
    state = replace(registration_state(lab.history, step, node), node=node, plugin=alive)
    return registration_picture(state, width)


def registration_state(history: History, step: int, node: str, only: str = "") -> RegistrationState:
    """What the picture shows of one node at a step of a history; `only` is the name of the plugin to look at."""
    run = _Run()
    for index in range(1, step + 1):
        event = history[index].event
        before = _connections(history[index - 1].state, node)
        after = _connections(history[index].state, node)
        _note_call(run, history[index - 1].state, event, node)
        _note_moves(run, event, before, after)
    if only:
        run.parties = [only]
    return _state(run, history[step].state, node)


def _connections(state: ClusterState, node: str) -> Mapping[int, Endpoint]:
    return state.kubelets[node].devices.connections if node in state.kubelets else {}


def _state(run: _Run, state: ClusterState, node: str) -> RegistrationState:
    alive = run.parties[-2:]
    parties = (alive[0], KUBELET, *alive[1:]) if alive else ("plugin", KUBELET)
    calls = [c for c in run.calls if {c.source, c.target} <= set(parties)]
    if len(alive) == 1:
        parties = ("plugin", KUBELET)
        calls = [replace(c, source=_one(c.source), target=_one(c.target)) for c in calls]
    before, event, phase = run.moves.get(run.focus or 0, ("absent", "", "absent"))
    there, dead = files(state, node)
    return RegistrationState(
        phase, before, event, tuple(calls), parties, there, dead, _places(state, node), run.note
    )


def _one(party: str) -> str:
    return party if party == KUBELET else "plugin"


def _places(state: ClusterState, node: str) -> tuple[tuple[str, Phase], ...]:
    """Where the plugins are, when more than one is known: a connection each."""
    found = [(short(c.socket), c.phase) for c in _connections(state, node).values()]
    return tuple(found) if len(found) > 1 else ()


def files(state: ClusterState, node: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """The files of a node's socket directory, and those of them that nobody serves any more.

    A plugin that the lab did not start is known to be there as long as the kubelet is connected to it.
    """
    known = set(state.sockets.get(node, ()))
    if node in state.kubelets:
        devices = state.kubelets[node].devices
        opened = (devices.connections[client] for client in clients(devices))
        known |= {posixpath.basename(c.socket) for c in opened if c.phase != "dialing"}
    served = {p.socket for p in state.plugins.values() if p.node == node and p.alive}
    dead = {p.socket for p in state.plugins.values() if p.node == node and not p.alive} - served
    return tuple(sorted(known, key=lambda name: (name != "kubelet.sock", name))), frozenset(dead & known)


def short(socket: str) -> str:
    """A plugin's name: that of its socket's file, without the ending."""
    return posixpath.basename(socket).removesuffix(".sock")


def _note_moves(
    run: _Run, event: e.Event | None, before: Mapping[int, Endpoint], after: Mapping[int, Endpoint]
) -> None:
    own = None
    for client in {**before, **after}:
        old: Phase = before[client].phase if client in before else "absent"
        new: Phase = after[client].phase if client in after else "absent"
        what = _transition(event, client, old, new)
        if what:
            run.moves[client] = (old, what, new)
            own = client if own is None or what != "replaced" else own
    if own is not None:
        run.focus = own


def _transition(event: e.Event | None, client: int, old: Phase, new: Phase) -> str:
    """The name of what moved a connection from one phase to another; empty where nothing did."""
    names = [name for (phase, name), to in PLUGIN_PHASES.items() if (phase, to) == (old, new)]
    what = event.event if isinstance(event, e.OnKubelet) else None
    if old == new:
        comes = isinstance(what, k.ListReceived) and what.client == client
        return "list comes" if comes and "list comes" in names else ""
    if "replaced" in names and len(names) > 1:
        names.remove("grace period over" if isinstance(what, k.Answered) else "replaced")
    return names[0] if names else ""


def _note_call(run: _Run, state: ClusterState, event: e.Event | None, node: str) -> None:
    match event:
        case e.OnKubelet(name, what) if name == node:
            run.note = ""
            calls = list(_heard(run, state, what, node))
        case e.FromKubelet(name, effect) if name == node:
            calls = list(_said(run, effect))
        case _:
            return
    for call in calls:
        run.calls.append(call)
        party = call.target if call.source == KUBELET else call.source
        if party in run.parties:
            run.parties.remove(party)
        run.parties.append(party)


def _heard(run: _Run, state: ClusterState, event: k.KubeletEvent, node: str) -> Iterator[SequenceCall]:
    """What the kubelet was told by a plugin."""
    agent = state.kubelets[node]
    match event:
        case k.PluginRegistering(number, request):
            run.focus = None
            run.endpoints[number] = name = short(request.endpoint)
            words = ", ".join((request.version or "-", request.endpoint, request.resource_name))
            yield SequenceCall(name, KUBELET, "Register", words)
        case k.Answered(number, answer) if number in agent.talks:
            call = agent.talks[number].call
            if isinstance(answer, RpcError):
                yield SequenceCall(short(call.socket), KUBELET, str(answer), "", True, True)
            elif isinstance(answer, DevicePluginOptions):
                words = options_words(answer)
                yield SequenceCall(short(call.socket), KUBELET, "DevicePluginOptions", words, answer=True)
        case k.ListReceived(client, devices) if client in agent.devices.connections:
            words = list_words(devices)
            name = short(agent.devices.connections[client].socket)
            yield SequenceCall(name, KUBELET, say("registration.call.list"), words, answer=True)
        case k.StreamEnded(client, error) if client in agent.devices.connections:
            name = short(agent.devices.connections[client].socket)
            words = say("registration.call.stream-ended")
            yield SequenceCall(name, KUBELET, words, error, answer=True)


def _said(run: _Run, effect: k.Effect) -> Iterator[SequenceCall]:
    """What the kubelet told a plugin."""
    match effect:
        case k.Ask(_, call) if call.method in ("Dial", "GetDevicePluginOptions"):
            yield asked(call, short(call.socket))
        case k.OpenStream(client, _, socket):
            run.sockets[client] = socket
            yield SequenceCall(KUBELET, short(socket), "ListAndWatch")
        case k.Reply(number, _, error):
            name = run.endpoints.get(number, "plugin")
            run.note = say("registration.refused", error=error) if error else ""
            words = error or say("registration.call.ok")
            yield SequenceCall(KUBELET, name, words, answer=True, error=error is not None)
        case k.CloseStream(client) if client in run.sockets:
            words = say("registration.call.closed")
            yield SequenceCall(KUBELET, short(run.sockets[client]), words, error=True)


def asked(call: Call, plugin: str) -> SequenceCall:
    """A call of the kubelet as an arrow."""
    return SequenceCall(KUBELET, plugin, call.method, call.socket if isinstance(call.request, Dial) else "")


def options_words(options: DevicePluginOptions) -> str:
    """The options in short."""
    flags = {True: say("table.yes"), False: say("table.no")}
    return say(
        "registration.options",
        pre_start=flags[options.pre_start_required],
        preferred=flags[options.get_preferred_allocation_available],
    )


def list_words(devices: tuple[Device, ...]) -> str:
    """A list of devices in short."""
    names = ", ".join(device.id for device in devices)
    one = ".one" if len(devices) == 1 else ""
    return say(f"registration.call.devices{one}", count=len(devices), devices=names)
