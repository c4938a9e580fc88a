"""Lab 08: plugin, kubelet and machine, each with its own life, and the file that is left between two kubelets.

In the file is lit what the newest kubelet has read back; what it knew before, and what it knows now, stand beside it.
"""

from collections.abc import Sequence

from kubedev.cluster.state import ClusterState, PluginState
from kubedev.kubelet.devices.checkpoint import checkpoint_text
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.views.catalogue import say
from kubedev.views.checkpoint import file_leaves
from kubedev.views.controls import Button, act
from kubedev.views.grammar import Card, Column, Knob, Row, Words, picture
from kubedev.views.lanes import Lanes, Life
from kubedev.views.masks import natural
from kubedev.views.part import Part
from kubedev.views.parts import Cells, Device
from kubedev.views.picture import Look, Picture
from kubedev.views.style import WIDTH, DeviceState
from kubedev.views.tree import Tree

__all__ = ["lives", "memory_card", "restart_picture"]

_LIVES = ("plugin", "kubelet", "machine", "status")
Was = tuple[str, Look, int]


def restart_picture(
    states: Sequence[ClusterState], resource: str, width: float = WIDTH, knobs: bool = True
) -> Picture:
    """Draw the lives up to the last state, with what ends them (`knobs`), and what its kubelet has read of the file."""
    states = [state for state in states if state.kubelets and state.store.nodes]
    if not states:
        return picture(say("restart.title"), say("path.no-node"), Words(say("path.no-node"), "muted"), width)
    known = [next(iter(state.kubelets.values())).devices for state in states]
    starts = [n for n in range(1, len(states)) if _kubelets(states[n]) > _kubelets(states[n - 1])]
    read, before = (known[starts[-1]], known[starts[-1] - 1]) if starts else (None, known[-1])
    leaves = file_leaves(checkpoint_text(read or before), read, checkpoint_text(before))
    after: Part = Card(say("restart.next"), Words(say("restart.next.words"), "muted"))
    body = Column(
        Card("", lives(states, resource, 8 if width > 900 else 4, knobs)),
        Row(
            memory_card("before" if read else "now", before, resource),
            Card("kubelet_internal_checkpoint", Tree(*leaves, caption=say("table.checkpoint"))),
            memory_card("after", known[-1], resource) if read else after,
            shares=(1, 2.2, 1),
        ),
        gap=8,
    )
    said = "; ".join(
        f"{_title(name)}: {words}" for name, (words, *_) in _moment(states[-1], resource).items()
    )
    return picture(say("restart.title"), f"{said[:1].upper()}{said[1:]}.", body, width)


def lives(states: Sequence[ClusterState], resource: str, most: int = 8, knobs: bool = False) -> Lanes:
    """The lives of plugin, kubelet and machine, the node's status and the pods, at the newest moments that differ."""
    moments = [(f"{state.now:g}", _moment(state, resource)) for state in states if state.store.nodes]
    moments = [pair for n, pair in enumerate(moments) if not n or pair[1] != moments[n - 1][1]]
    shown, more = moments[-most:], len(moments) - most
    acts = _knobs(states[-1], resource) if knobs else {}
    absent: Was = ("–", "dead", 0)
    lanes = [
        Life(_title(name), tuple(moment.get(name, absent) for _, moment in shown), acts.get(name, ()))
        for name in dict.fromkeys(name for _, moment in shown for name in moment)
    ]
    corner = say("restart.earlier", count=more) if more > 0 else ""
    heads = [say("timeline.seconds", seconds=time) for time, _ in shown]
    return Lanes(heads, *lanes, columns=most, corner=corner, caption=say("table.moments"))


def _title(name: str) -> str:
    return say(f"restart.{name}") if name in _LIVES else name.removeprefix("pod/")


def _kubelets(state: ClusterState) -> int:
    return sum(m.key in ("kubelet-restarted", "node-rebooted") for m in state.messages)


def _plugin(state: ClusterState, resource: str) -> PluginState | None:
    return next((p for p in state.plugins.values() if p.resource == resource), None)


def _moment(state: ClusterState, resource: str) -> dict[str, Was]:
    """What each life is, by its name: words, look, and how often it has begun."""
    node, plugin, known = next(iter(state.store.nodes.values())), _plugin(state, resource), state.store.pods
    phase, count, launch = (plugin.phase, len(plugin.devices), plugin.launch) if plugin else ("none", 0, 0)
    if plugin and plugin.alive and phase != "forgotten":
        phase = "lists" if plugin.heard else "starts"
    look: Look = "lit" if phase == "lists" else _look(plugin is not None and plugin.alive)
    boots = sum(m.key == "node-rebooted" for m in state.messages)
    boots += sum(c.attempt for c in state.containers.values())
    running = {c.pod_uid for c in state.containers.values() if c.phase == "running"}
    names = ", ".join(sorted(map(_short, running)))
    counts = [amounts.get(resource) for amounts in (node.capacity, node.allocatable)]
    numbers = " / ".join("–" if c is None else str(c.value()) for c in counts)
    there = any(count and count.value() for count in counts)
    runs = say("restart.machine.runs", pods=names or say("restart.nothing"))
    pods = {f"pod/{p.name}": (p.phase or "Pending", _look(p.phase != "Failed"), 0) for p in known.values()}
    return {
        "plugin": (say(f"restart.plugin.{phase}", count=count), look, launch),
        "kubelet": (say("restart.kubelet.number", number=_kubelets(state) + 1), "plain", _kubelets(state)),
        "machine": (runs, _look(bool(names)), boots),
        "status": (numbers, _look(there), 0),
        **pods,
    }


def _look(there: bool) -> Look:
    return "plain" if there else "dead"


def _short(uid: str) -> str:
    """A pod's name from the UID that it has here."""
    return uid.rpartition("/")[2]


def _knobs(state: ClusterState, resource: str) -> dict[str, tuple[Part, ...]]:
    """What ends each life, or begins one."""
    node, plugin = next(iter(state.kubelets)), _plugin(state, resource)
    devices = len(plugin.devices) if plugin else 4
    acts = {
        "plugin": ("start", act("plugin", resource=resource, devices=devices, numa=1, node=node)),
        "kubelet": ("restart", act("restart_kubelet", node=node)),
        "machine": ("reboot", act("restart_kubelet", node=node, reboot=True)),
    }
    if plugin and plugin.alive:
        acts["plugin"] = ("kill", act("kill_plugin", resource=resource, node=node))
    return {
        name: (Knob(Button(say(f"restart.{label}"), action), f"control/{name}"),)
        for name, (label, action) in acts.items()
    }


def memory_card(title: str, devices: DeviceManagerState, resource: str) -> Card:
    """What a kubelet has in its memory of a resource."""
    held = {
        f"{_short(uid)} {name}": resources[resource].devices
        for uid, containers in devices.pod_devices.items()
        for name, resources in containers.items()
        if resource in resources
    } or {say("restart.nobody"): frozenset()}
    endpoint = devices.endpoint(resource)
    rows = [(say("restart.held", name=name), ids, DeviceState.ALLOCATED) for name, ids in held.items()]
    rows.append(
        (say("restart.healthy"), devices.healthy_devices.get(resource, frozenset()), DeviceState.FREE)
    )
    plugin = Words(say("restart.endpoint", phase=endpoint.phase if endpoint else "–"), "muted")
    return Card(say(f"restart.{title}"), *(_cells(title, *row) for row in rows), plugin)


def _cells(where: str, title: str, ids: frozenset[str], state: DeviceState) -> Part:
    shown = [Device(i, state, f"{where}/{title}/{i}") for i in sorted(ids, key=natural)]
    cells = Cells(*shown, high=28.0) if shown else Words(say("set.none"), "unhealthy", bold=True)
    return Column(Words(title, "muted"), cells, gap=2)
