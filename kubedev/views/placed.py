"""Where pods were placed, case beside case: each node's bar, its pods, who waits, and the largest gap that is left."""

from collections.abc import Mapping, Sequence

from kubedev.scheduler.node_info import NodeInfo
from kubedev.views.catalogue import say
from kubedev.views.fills import Fill, Fills
from kubedev.views.grammar import Card, Column, Field, Grid, Words, picture
from kubedev.views.parts import Legend
from kubedev.views.picture import Picture
from kubedev.views.style import WIDTH

__all__ = ["placed_picture"]

Case = tuple[Mapping[str, str], Sequence[NodeInfo]]
"""The node of each pod by their names, an empty text for one that waits; and the nodes with the pods on them."""


def placed_picture(title: str, cases: Mapping[str, Case], resource: str, width: float = WIDTH) -> Picture:
    """Draw each case as a card: what is requested of the resource on each node, and what that leaves."""
    cards = [_card(name, placed, nodes, resource) for name, (placed, nodes) in cases.items()]
    legend = Legend(tones=[(say("fits.taken"), "edge", False)])
    waits = "; ".join(
        say("placed.case", name=n, count=len(_waiting(placed))) for n, (placed, _) in cases.items()
    )
    body = Column(Grid(*cards, across=3, caption=title), legend)
    return picture(title, say("placed.sentence", resource=resource, waits=waits), body, width)


def _waiting(placed: Mapping[str, str]) -> list[str]:
    return [pod for pod, node in placed.items() if not node]


def _card(name: str, placed: Mapping[str, str], nodes: Sequence[NodeInfo], resource: str) -> Card:
    amounts = {info.name: (info.requested.get(resource), info.allocatable.get(resource)) for info in nodes}
    bars = Fills(*(Fill(f"{node} {taken}/{room}", taken, room) for node, (taken, room) in amounts.items()))
    pods = "; ".join(
        f"{node}: {', '.join(held)}"
        for node in amounts
        if (held := [p for p, at in placed.items() if at == node])
    )
    free = [room - taken for taken, room in amounts.values()]
    gap = say(
        "placed.free", total=sum(free), gap=max(free, default=0), empty=sum(not info.pods for info in nodes)
    )
    waiting = ", ".join(_waiting(placed))
    return Card(
        name,
        bars,
        Field(say("placed.pods"), Words(pods or say("set.none")), shown=True),
        Field(say("placed.left"), Words(gap), shown=True),
        Field(
            say("placed.waits"),
            Words(waiting or say("set.none"), "unhealthy" if waiting else "free"),
            shown=True,
        ),
    )
