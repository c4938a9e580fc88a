"""The first screens of labs 00 to 03: what each is about, moving, before any cell is run.

The decisions in them are taken by the rooms they belong to. They show the subject, and never what a lab asks for.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kubedev.api.messages import (
    HEALTHY,
    UNHEALTHY,
    VERSION,
    Device,
    Empty,
    RegisterRequest,
    converse,
)
from kubedev.api.objects import Pod
from kubedev.api.requests import Role, pod_arithmetic
from kubedev.kubelet.devices.allocation import DeviceRequest, DevicesToAllocate, devices_to_allocate
from kubedev.kubelet.devices.capacity import list_and_watch, with_plugin
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.kubelet.devices.registration import register as registers
from kubedev.views.calls import Calls, Said
from kubedev.views.catalogue import say
from kubedev.views.grammar import AtLeast, Card, Column, Part, Row, Space, Words, picture
from kubedev.views.parts import Cells
from kubedev.views.parts import Device as Shown
from kubedev.views.picture import Look, Picture
from kubedev.views.plots import Bar, Bars, Piece, Steps
from kubedev.views.style import DeviceState
from kubedev.views.wires import Way, Wired

__all__ = ["First", "asks", "listed", "registered", "screen", "way"]

WIDTH = 720.0
_GPU = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class First:
    """A first screen: its moments, the one to show where nothing may move, and what there is to see in words."""

    frames: tuple[Picture, ...]
    still: int
    alt: str


def screen(lab: str, names: Sequence[str], bodies: Sequence[Part], still: int) -> First:
    """Put the moments of a lab above the line of their names, if they have any."""
    high = max(body.lay(WIDTH, "").height for body in bodies)
    alt = say(f"first.{lab}.alt")
    frames = tuple(
        picture("", alt, Column(AtLeast(body, high), *([Steps(names, now)] if names else [])), WIDTH)
        for now, body in enumerate(bodies)
    )
    return First(frames, still, alt)


def _names(lab: str) -> list[str]:
    return say(f"first.{lab}.steps").split("|")


# Lab 00


def way() -> First:
    """Lab 00: from Register to a container that runs with its device."""
    ids = ("d0", "d1", "d2", "d3")
    offered = with_plugin(DeviceManagerState(), _GPU, [Device(i) for i in ids])
    taken = tuple(allocated(offered, DeviceRequest("trainer", "main", _GPU, 1)).sets.taken)
    known, device = say("first.00.list", count=len(ids)), taken[0]
    messages = (
        ("plugin", "kubelet", "Register"),
        ("plugin", "kubelet", known),
        ("you", "store", say("first.00.pod")),
        ("scheduler", "store", say("first.00.bind")),
        ("kubelet", "plugin", say("first.00.allocate", device=device)),
        ("kubelet", "container", say("first.00.run", device=device)),
    )
    bodies = []
    for now, (source, target, text) in enumerate(messages):
        shown = ids if now else ()
        held = taken if now >= 4 else ()
        bodies.append(_stations(source, target, text, shown, held, runs=now == 5, number=now))
    return screen("00", _names("00"), bodies, still=4)


def allocated(
    state: DeviceManagerState, request: DeviceRequest, affinity: int | None = None
) -> DevicesToAllocate:
    """What the kubelet takes of a plugin that has no preference, and is not asked."""
    return converse(devices_to_allocate(state, request, affinity=affinity), lambda _: Empty())[1]


def _stations(
    source: str, target: str, text: str, ids: Sequence[str], held: Sequence[str], *, runs: bool, number: int
) -> Part:
    def card(name: str, title: str) -> Card:
        look: Look = "lit" if name in (source, target) else "plain"
        return Card(title, key=name, look="dead" if name == "container" and not runs else look, high=34)

    above = Row(
        card("you", say("path.you")), Space(wide=120), card("store", say("path.store")), Space(wide=110),
        card("scheduler", say("path.scheduler")), shares=(1, 0, 1, 0, 1), gap=0,
    )  # fmt: skip
    below = Row(
        card("plugin", say("path.plugin")), Space(wide=150), card("kubelet", say("path.kubelet")),
        Space(wide=140), card("container", say("path.container")), shares=(1.05, 0, 1, 0, 1), gap=0,
    )  # fmt: skip
    states = [DeviceState.ALLOCATED if i in held else DeviceState.FREE for i in ids]
    cells = [Shown(i.removeprefix("d"), s, key=f"cell/{i}") for i, s in zip(ids, states, strict=True)]
    said = say("first.00.known", count=len(ids), resource=_GPU) if ids else say("first.00.none")
    devices = (
        Row(Cells(*cells, high=36), Words(said, "muted"), shares=(0, 1), middle=True)
        if ids
        else Words(said, "muted")
    )
    node = Card(say("path.node", name="gpu-node-1"), below, AtLeast(devices, 36), key="node")
    quiet = [
        ("you", "store"),
        ("scheduler", "store"),
        ("store", "kubelet"),
        ("plugin", "kubelet"),
        ("kubelet", "container"),
    ]
    ways = [Way(a, b) for a, b in quiet if {a, b} != {source, target}]
    lit = Way(source, target, pill=text, short=text, number=number)
    return Wired(Column(Card("", above), Space(20), node, gap=0), *ways, lit)


# Lab 01


def asks() -> First:
    """Lab 01: the moments of a pod's life, one after the other."""

    def container(name: str, cpu: int) -> dict[str, object]:
        return {"name": name, "resources": {"requests": {"cpu": cpu}}}

    inits = [container("fetch", 2), container("unpack", 3), container("check", 1)]
    spec = {"initContainers": inits, "containers": [container("app", 1), container("helper", 1)]}
    steps = pod_arithmetic(Pod.parse({"metadata": {"name": "web"}, "spec": spec})).steps

    def cpus(step: int) -> float:
        return float(steps[step].requests["cpu"].value())

    first = [n for n, step in enumerate(steps) if step.role is Role.INIT]
    rest = [n for n, step in enumerate(steps) if step.role is Role.CONTAINER]
    bars = [Bar(steps[n].container, (Piece(cpus(n)),)) for n in first]
    together = tuple(Piece(cpus(n), ("accent", "free")[n % 2], steps[n].container) for n in rest)
    bars.append(Bar(" + ".join(steps[n].container for n in rest), together))
    bodies = [
        Bars([bar if n <= now else Bar(bar.label, ()) for n, bar in enumerate(bars)], 3, ticks=range(4),
             unit=say("first.01.cpus"), high=170)
        for now in range(len(bars))
    ]  # fmt: skip
    return screen("01", (), bodies, still=len(bars) - 1)


# Lab 02


def registered() -> First:
    """Lab 02: the calls of a registration, as the kubelet's own conversation makes them."""
    talk = registers(
        DeviceManagerState(), RegisterRequest(VERSION, "gpu.sock", _GPU, None), "/device-plugins", 1
    )
    plugin, kubelet = say("path.plugin"), say("path.kubelet")
    _, call = next(talk)
    said = [
        Said(plugin, kubelet, "Register", f"{VERSION}, gpu.sock, {_GPU}"),
        Said(kubelet, plugin, call.method, call.socket),
    ]
    state, call = talk.send((DeviceManagerState(), Empty()))
    said += [Said(kubelet, plugin, call.method), Said(kubelet, plugin, "ListAndWatch", say("first.02.open"))]
    assert state is not None
    bodies = []
    for now in range(len(said) + 1):
        shown = [
            Said(s.source, s.target, s.text, s.note, s.answer, n == now - 1) for n, s in enumerate(said[:now])
        ]
        files = [
            Words("kubelet.sock", mono=True),
            Words("gpu.sock", mono=True, tone="accent" if now == 0 else "ink"),
        ]
        directory = Card(say("first.02.files"), *files)
        bodies.append(Row(directory, Calls((plugin, kubelet), shown), shares=(1, 1.7), gap=24))
    return screen("02", _names("02"), bodies, still=4)


# Lab 03


def listed() -> First:
    """Lab 03: what the plugin sees, and what the kubelet knows of it since the last list."""
    healths = [HEALTHY, UNHEALTHY, UNHEALTHY, HEALTHY, HEALTHY]
    sent = [True, False, True, False, True]
    state, bodies = DeviceManagerState(), []
    for now, (health, list_) in enumerate(zip(healths, sent, strict=True)):
        devices = [Device(f"d{n}", health if n == 2 else HEALTHY) for n in range(4)]
        if list_:
            state = list_and_watch(state, _GPU, devices)
        healthy = state.healthy_devices.get(_GPU, frozenset())
        sees = _cells({d.id: d.health == HEALTHY for d in devices}, "sees")
        knows = _cells({i: i in healthy for i in sorted(state.all_devices[_GPU])}, "knows")
        cards = [_seen("plugin", "has", sees, lit=list_), _seen("kubelet", "knows", knows, lit=list_)]
        stream = Way("plugin", "kubelet", pill=say("first.03.list") if list_ else "", dashed=True, number=now)
        bodies.append(Wired(Row(cards[0], Space(wide=150), cards[1], shares=(1, 0, 1), gap=0), stream))
    return screen("03", _names("03"), bodies, still=2)


def _seen(name: str, words: str, cells: Cells, *, lit: bool) -> Card:
    look: Look = "lit" if lit else "plain"
    return Card(
        say(f"path.{name}"),
        Words(say(f"first.03.{words}"), "muted"),
        Space(6),
        cells,
        key=name,
        look=look,
        high=130,
    )


def _cells(healthy: dict[str, bool], key: str) -> Cells:
    states = {True: DeviceState.FREE, False: DeviceState.UNHEALTHY}
    return Cells(
        *(Shown(i.removeprefix("d"), states[ok], key=f"{key}/{i}") for i, ok in healthy.items()), high=50
    )
