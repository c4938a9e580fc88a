"""Lab 04: each setting of a pod's devices on its way: in the plugin's answer, in the CRI request, in the process."""

from collections.abc import Sequence
from dataclasses import dataclass

from kubedev.views.catalogue import say
from kubedev.views.grammar import Card, Column, Facts, Row, Space, Words, aligned, picture
from kubedev.views.picture import Picture, table
from kubedev.views.style import WIDTH
from kubedev.views.wires import Way, Wired

__all__ = ["Setting", "handover_picture"]

_GAP = 40.0
_STATIONS = ("answer", "request", "process")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its kind (`env`), what the plugin said of it, what the runtime is asked, what the process sees.

    `said` is false where the answer does not have it (the pod's own), `seen` where the process cannot see it.
    """

    kind: str
    answer: str
    request: str
    process: str
    said: bool = True
    seen: bool = True


def handover_picture(settings: Sequence[Setting], width: float = WIDTH) -> Picture:
    """Draw three stations side by side; each setting stands at the same height in all of them."""
    cards = [
        Card(say(f"hand.{station}"), *(_setting(each, station) for each in settings), key=station)
        for station in _STATIONS
    ]
    each = (width - 2 * _GAP) / 3
    ways = [Way("answer", "request"), Way("request", "process")]
    rows = [(s.kind, s.answer, s.request, s.process) for s in settings]
    facts = Facts(table("hand", "setting plugin.answer cri process", rows))
    said, seen = sum(s.said for s in settings), sum(s.seen for s in settings)
    sentence = say("hand.sentence", answered=said, asked=len(settings), seen=seen)
    body = Column(facts, Wired(Row(*aligned(cards, each), gap=_GAP), *ways))
    return picture(say("hand.title"), sentence, body, width)


def _setting(setting: Setting, station: str) -> Column:
    there = {"answer": setting.said, "request": True, "process": setting.seen}[station]
    words = Words(getattr(setting, station), "ink" if there else "muted", mono=there)
    return Column(Space(4), Words(setting.kind, "muted"), words, gap=1)
