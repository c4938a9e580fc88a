"""What can be seen of a machine: the hints of its resources, mask by mask, and devices that are turned by knob or
click.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kubedev.kubelet.topology.hints import MaskVerdict, ResourceHints
from kubedev.lab.explore import Explorer, explore
from kubedev.lab.machine import POLICIES, Machine, full_name, pod_asking
from kubedev.lab.machine_checks import (
    admits,
    check_enough,
    one_change,
    only_preferred,
    passes,
    pods_run,
    tries,
    two_holders,
)
from kubedev.lab.machine_scene import machine_part
from kubedev.lab.merging import (
    LISTS,
    admitted,
    compare_policies,
    draw_lists,
    draw_merge,
    draw_pods,
    draw_policies,
    draw_scopes,
    lists,
    merge,
    merge_times,
)
from kubedev.views.catalogue import say
from kubedev.views.charts import hints_figure
from kubedev.views.grammar import Column, picture
from kubedev.views.hints import hint_sentence, hints_part
from kubedev.views.live import LivePicture
from kubedev.views.masks import mask_words
from kubedev.views.picture import Picture

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "ANSWERS",
    "LISTS",
    "PLACES",
    "POLICIES",
    "STATES",
    "VERDICTS",
    "admits",
    "admitted",
    "answer",
    "check_enough",
    "compare_policies",
    "draw_count",
    "draw_hints",
    "draw_lists",
    "draw_merge",
    "draw_pods",
    "draw_policies",
    "draw_scopes",
    "hints_map",
    "lists",
    "merge",
    "merge_times",
    "one_change",
    "only_preferred",
    "passes",
    "pod_asking",
    "pods_run",
    "side_by_side",
    "tries",
    "turn_devices",
    "turned",
    "two_holders",
    "verdicts",
]

STATES = ("free", "allocated", "unhealthy", "not listed")
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


def answer(machine: Machine, **asked: int) -> str:
    """What one resource answers, as one of ANSWERS."""
    (hints,) = machine.hints(**asked)
    return ANSWERS[1] if hints.hints is None else ANSWERS[0] if hints.hints else ANSWERS[2]


def verdicts(machine: Machine, **asked: int) -> dict[str, str]:
    """What became of each mask for one resource: preferred, not preferred (a hint all the same), or too few."""
    (hints,) = machine.hints(**asked)
    return {mask_words(mask.counts.mask): mask.verdict for mask in hints.masks}


# Pictures


def draw_hints(machine: Machine, clicks: Mapping[str, str] | None = None, **asked: int) -> Picture:
    """The machine, and below it what each resource answers to a container that asks for so many."""
    hints = machine.hints(**asked)
    body = Column(
        machine_part(machine.kubelet, clicks=clicks), hints_part(hints, machine.kubelet.config.numa.nodes)
    )
    return picture(say("scene.hints"), "; ".join(map(hint_sentence, hints)) + ".", body)


def draw_count(machine: Machine, step: int, **asked: int) -> Picture:
    """One mask after the other as it is judged, laid over the machine: `step` of them so far. One resource only."""
    (hints,) = machine.hints(**asked)
    last = hints.masks[step - 1]
    sentence = say("scene.count", step=step, total=len(hints.masks), why=_why(last, hints.request))
    masks = hints_part([hints], machine.kubelet.config.numa.nodes, judged=step)
    return picture(
        say("scene.count.title"), sentence, Column(machine_part(machine.kubelet, last.counts.mask), masks)
    )


def _why(verdict: MaskVerdict, request: int) -> str:
    """The arithmetic of one mask in words."""
    return say(f"scene.why.{verdict.verdict}", free=verdict.counts.available, request=request)


def side_by_side(machines: Mapping[str, Machine], **asked: int) -> LivePicture:
    """What one resource answers on several machines, as rows."""
    rows = [replace(hints, resource=name) for name, m in machines.items() for hints in m.hints(**asked)]
    words = ", ".join(f"{full_name(short)} x {count}" for short, count in asked.items())
    sentence = say("scene.answers.sentence", asked=words)
    nodes = next(iter(machines.values())).kubelet.config.numa.nodes
    return LivePicture(picture(say("scene.answers"), sentence, hints_part(rows, nodes)))


def hints_map(machine: Machine, requests: Iterable[int], short: str = "gpu") -> "Figure":
    """What becomes of every mask at several requests, as a heat map."""
    return hints_figure([_named(machine, short, request) for request in requests])


def _named(machine: Machine, short: str, request: int) -> ResourceHints:
    """What a resource answers to a request, under the request's name."""
    (hints,) = machine.hints(**{short: request})
    return replace(hints, resource=say("scene.asks", request=request))


# Devices with knobs


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
            case "allocated":
                machine = machine.taken(id_, by="other")
            case "unhealthy":
                machine = machine.unhealthy(id_)
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
        clicks = {i: f"{i}:{choices[(choices.index(w) + 1) % len(choices)]}" for i, w in settings.items()}
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
