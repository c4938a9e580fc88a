"""What lab 02 looks at: the life of a registration in pictures, Register call by call, and plugins by hand."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kubedev.api.messages import DevicePluginOptions as DevicePluginOptions
from kubedev.kubelet.devices.endpoint import PLUGIN_PHASES
from kubedev.lab.check import Checked
from kubedev.lab.hand_made import RegistrationLab as RegistrationLab
from kubedev.lab.register_then import PLUGINS as PLUGINS
from kubedev.lab.register_then import draw_register as draw_register
from kubedev.lab.registration_scene import draw_registration as draw
from kubedev.views.catalogue import say
from kubedev.views.graphs import life_cycle_graph
from kubedev.views.live import LivePicture
from kubedev.views.registration import Attempt, attempts_picture
from kubedev.wire.codec import METHODS

if TYPE_CHECKING:
    from networkx import MultiDiGraph

__all__ = [
    "CALLS",
    "PLUGINS",
    "DevicePluginOptions",
    "RegistrationLab",
    "check_way",
    "draw",
    "draw_register",
    "life",
    "side_by_side",
]

_LIFE: Mapping[tuple[str, str], str] = {(state, event): to for (state, event), to in PLUGIN_PHASES.items()}

CALLS = tuple(METHODS)
"""The calls that a plugin can implement, by their names."""


def life() -> "MultiDiGraph":
    """The life cycle of a registration as a graph: its states, and the events between them."""
    return life_cycle_graph(_LIFE)


def check_way(way_back: "Callable[[MultiDiGraph, str], Iterable[str]]") -> Checked:
    """Whether a function of the graph names the events that lead from each state to `connected`, and no more than
    it takes.
    """
    import networkx as nx

    graph, broken = life(), []
    for state in graph:
        fewest = nx.shortest_path_length(graph, state, "connected")
        try:
            events = list(way_back(life(), state))
        except Exception as error:  # whatever a reader's function does
            broken.append(say("check.error", what=state, error=repr(error)))
            continue
        at = state
        for event in events:
            at = _LIFE.get((at, event), "")
        said = ", ".join(map(str, events)) or say("set.none")
        if at != "connected":
            broken.append(say("check.way", state=state, events=said, to=at or say("check.way.nowhere")))
        elif len(events) > fewest:
            broken.append(say("check.way.long", state=state, events=said, fewest=fewest))
    return Checked(broken)


def side_by_side(attempts: Sequence[Attempt]) -> LivePicture:
    """Several attempts to register, each with its calls and the answer that came back."""
    return LivePicture(attempts_picture(attempts))
