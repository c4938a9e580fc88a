"""Pictures of a machine with NUMA nodes for labs 05 and 06, and devices that are turned by knob or click."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kubedev.api.messages import Device
from kubedev.kubelet.topology.hints import MaskVerdict, ResourceHints
from kubedev.lab.explore import Explorer, explore
from kubedev.lab.numa_machine import Machine, full_name
from kubedev.lab.session import Lab
from kubedev.views.catalogue import say
from kubedev.views.charts import hints_figure
from kubedev.views.hints import hint_sentence, hints_picture
from kubedev.views.masks import mask_words
from kubedev.views.numa import CpuView, NumaBoard, NumaNodeView, numa_picture
from kubedev.views.path_state import DeviceView, ResourceView
from kubedev.views.picture import Cell, Picture
from kubedev.views.stack import stack
from kubedev.views.style import text_width

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "ANSWERS",
    "PLACES",
    "STATES",
    "VERDICTS",
    "answer",
    "answers_by_request",
    "board",
    "device_views",
    "draw_answers",
    "draw_count",
    "draw_hints",
    "hints_map",
    "listed",
    "machine_of",
    "turn_devices",
    "turned",
    "verdicts",
    "where",
]

STATES = ("free", "in use", "sick", "not listed")
PLACES = ("NUMA 0", "NUMA 1", "NUMA 0 and 1", "no topology", "topology without nodes")

VERDICTS = ("preferred", "not preferred", "too few")
ANSWERS = ("hints", "null: it does not care", "[]: no place will do")

_NODES: Mapping[str, tuple[int, ...] | None] = {
    "NUMA 0": (0,),
    "NUMA 1": (1,),
    "NUMA 2": (2,),
    "NUMA 0 and 1": (0, 1),
    "no topology": None,
    "topology without nodes": (),
}


def turned(machine: Machine, settings: Mapping[str, Any]) -> Machine:
    """The machine with its devices set to states or places, by their words in STATES and PLACES.

    Settings that are not of a device are left out.
    """
    for id_, word in settings.items():
        if id_ not in machine.devices:
            continue
        match word:
            case "free":
                pass
            case "in use":
                machine = machine.taken(id_, by="other")
            case "sick":
                machine = machine.sick(id_)
            case "not listed":
                machine = machine.without(id_)
            case _:
                machine = machine.moved(id_, _NODES[word])
    return machine


def turn_devices(
    machine: Machine,
    ids: str,
    choices: Sequence[str],
    *,
    start: Mapping[str, str] | None = None,
    frames: Sequence[Mapping[str, Any]] = (),
    **asked: Any,
) -> Explorer:
    """Show the hints of a machine with a knob for each of these devices (a click turns it on), and for what is asked.

    `asked` is a number, or a range to choose from; `start` says what is not at its first choice. What is set is
    `turned(machine, explorer.values)`.
    """

    def draw(**values: Any) -> Picture:
        settings = {id_: values[id_] for id_ in ids.split()}
        clicks = {id_: choices[(choices.index(word) + 1) % len(choices)] for id_, word in settings.items()}
        amounts = {short: values.get(short, amount) for short, amount in asked.items()}
        return draw_hints(turned(machine, settings), clicks, **amounts)

    ranges = {short: amount for short, amount in asked.items() if isinstance(amount, range)}
    words = {say(f"turn.{word}"): word for word in choices}
    start = {**_places(machine, ids, choices), **(start or {})}
    return explore(draw, frames=frames, start=start, **ranges, **dict.fromkeys(ids.split(), words))


def _places(machine: Machine, ids: str, choices: Sequence[str]) -> dict[str, str]:
    """Where the devices are, if that can be chosen."""
    words = {nodes: word for word, nodes in _NODES.items() if word in choices}
    places = {id_: machine.devices[id_].numa_nodes for id_ in ids.split()}
    return {id_: words[nodes] for id_, nodes in places.items() if nodes in words}


# Pictures


def board(machine: Machine, mask: int | None = None, clicks: Mapping[str, str] | None = None) -> Picture:
    """The machine with a mask laid over it; `clicks` is what a click on a device sets its knob to."""
    picture = numa_picture(NumaBoard(_nodes(machine), _resources(machine), mask))
    cells = [mark for mark in picture.marks if isinstance(mark, Cell) and mark.action]
    whole = all(text_width(_id(cell), bold=True) <= cell.size - 4 for cell in cells)
    return replace(picture, marks=tuple(_clickable(mark, whole, clicks or {}) for mark in picture.marks))


def _clickable(mark: Any, whole: bool, clicks: Mapping[str, str]) -> Any:
    """A device's cell with its whole name, if all have room for it, and what a click does; CPUs stay as they are."""
    if not isinstance(mark, Cell) or not mark.action:
        return mark
    id_ = _id(mark)
    label = id_ if whole else mark.label
    return replace(mark, label=label, action=f"{id_}:{clicks[id_]}" if id_ in clicks else "")


def _id(cell: Cell) -> str:
    """The name of the device that a cell stands for."""
    return str(cell.action).rpartition(":")[2]


def _nodes(machine: Machine) -> tuple[NumaNodeView, ...]:
    cpus = machine.kubelet.cpus
    details = cpus.policy.topology.details.infos if cpus.policy else {}
    owners = {
        cpu: uid for uid, containers in cpus.assignments.items() for own in containers.values() for cpu in own
    }
    owners |= {cpu: say("board.system") for cpu in (cpus.policy.reserved if cpus.policy else ())}
    return tuple(
        NumaNodeView(
            node,
            node,
            tuple(
                CpuView(cpu, owners.get(cpu, ""))
                for cpu, at in sorted(details.items())
                if at.numa_node == node
            ),
        )
        for node in machine.kubelet.config.numa.nodes
    )


def device_views(machine: Machine, resource: str) -> tuple[DeviceView, ...]:
    """A resource's devices as pictures show them."""
    healthy, owners = machine.kubelet.devices.healthy_devices[resource], machine.owners
    listed = machine.kubelet.devices.all_devices[resource].values()
    return tuple(DeviceView(d.id, d.numa_nodes or (), d.id in healthy, owners.get(d.id, "")) for d in listed)


def _resources(machine: Machine) -> tuple[ResourceView, ...]:
    return tuple(
        ResourceView(name, None, None, device_views(machine, name))
        for name in machine.kubelet.devices.all_devices
    )


def answers_by_request(machine: Machine, requests: Iterable[int], short: str = "gpu") -> list[ResourceHints]:
    """What a resource answers to several requests, each named after its number: the rows of a heat map."""
    rows = []
    for request in requests:
        (hints,) = machine.hints(**{short: request})
        rows.append(replace(hints, resource=say("scene.asks", request=request)))
    return rows


def hints_map(machine: Machine, requests: Iterable[int], short: str = "gpu") -> "Figure":
    """What becomes of every mask at several requests, as a heat map."""
    return hints_figure(answers_by_request(machine, requests, short))


def draw_hints(machine: Machine, clicks: Mapping[str, str] | None = None, **asked: int) -> Picture:
    """The machine, and below it what each resource answers to a container that asks for so many."""
    hints = machine.hints(**asked)
    sentence = "; ".join(map(hint_sentence, hints)) + "."
    matrix = hints_picture(hints, machine.kubelet.config.numa.nodes)
    return stack(say("scene.hints"), sentence, board(machine, clicks=clicks), matrix, heads=False)


def draw_count(machine: Machine, step: int, **asked: int) -> Picture:
    """One mask after the other as it is judged, laid over the machine: `step` of them so far. One resource only."""
    (hints,) = machine.hints(**asked)
    last = hints.masks[step - 1]
    so_far = replace(hints, masks=hints.masks[:step])
    sentence = say("scene.count", step=step, total=len(hints.masks), why=_why(last, hints.request))
    return stack(
        say("scene.count.title"),
        sentence,
        board(machine, last.counts.mask),
        hints_picture([so_far], machine.kubelet.config.numa.nodes),
        heads=False,
    )


def _why(verdict: MaskVerdict, request: int) -> str:
    """The arithmetic of one mask in words."""
    counts = verdict.counts
    return say(
        f"scene.why.{verdict.verdict}",
        all=counts.all,
        free=counts.available,
        request=request,
        nodes=counts.mask.bit_count(),
    )


def draw_answers(machines: Mapping[str, Machine], **asked: int) -> Picture:
    """What one resource answers on several machines, as rows."""
    rows: list[ResourceHints] = []
    for name, machine in machines.items():
        (hints,) = machine.hints(**asked)
        rows.append(replace(hints, resource=name))
    picture = hints_picture(rows, next(iter(machines.values())).kubelet.config.numa.nodes)
    words = ", ".join(f"{full_name(short)} x {count}" for short, count in asked.items())
    return replace(picture, title=say("scene.answers"), sentence=say("scene.answers.sentence", asked=words))


def machine_of(lab: Lab) -> Machine:
    """The machine that a lab's first kubelet knows, by what its plugins have sent."""
    return Machine(next(iter(lab.state.kubelets.values())))


def answer(machine: Machine, **asked: int) -> str:
    """What one resource answers, as one of ANSWERS."""
    (hints,) = machine.hints(**asked)
    return ANSWERS[1] if hints.hints is None else ANSWERS[0] if hints.hints else ANSWERS[2]


def verdicts(machine: Machine, **asked: int) -> dict[str, str]:
    """What became of each mask for one resource: preferred, not preferred (a hint all the same), or too few."""
    (hints,) = machine.hints(**asked)
    return {mask_words(mask.counts.mask): mask.verdict for mask in hints.masks}


def listed(found: Mapping[str, str]) -> str:
    """Words by mask or device in one line, to be printed."""
    return ", ".join(f"{key} {word}" for key, word in found.items())


def where(devices: Iterable[Device]) -> str:
    """Where devices are, in one line, to be printed: `a0 NUMA 0, x0 no topology`."""
    return listed({device.id: _place(device.numa_nodes) for device in devices})


def _place(nodes: tuple[int, ...] | None) -> str:
    """A device's place as the knobs call it, for any number of nodes."""
    if not nodes:
        return say("turn.no topology" if nodes is None else "turn.topology without nodes")
    return "NUMA " + ",".join(map(str, nodes))
