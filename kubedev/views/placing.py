"""Where many pods went: the nodes that got some, with what they had and what they got, and what is left over."""

from collections.abc import Mapping, Sequence

from kubedev.api.names import CPU, EPHEMERAL_STORAGE, MEMORY
from kubedev.scheduler.node_info import NodeInfo
from kubedev.views.catalogue import say
from kubedev.views.fills import Fill, Fills
from kubedev.views.grammar import Card, Column, Facts, Grid, Part, Words, picture
from kubedev.views.parts import Legend
from kubedev.views.picture import Picture, table
from kubedev.views.style import WIDTH

__all__ = ["placing_picture"]

DRAWN = 36
"""So many nodes have a card; the others stand in the table."""
BARS = 4


def placing_picture(
    nodes: Sequence[tuple[NodeInfo, NodeInfo, int]],
    resources: Sequence[str],
    placed: int,
    left: Mapping[str, Sequence[str]],
    width: float = WIDTH,
) -> Picture:
    """Draw the nodes before and after, with how many pods each got, and by message the pods that are left over."""
    names = [name for name in resources if name != EPHEMERAL_STORAGE][:BARS] or [CPU, MEMORY]
    cards = [_card(before, after, count, names) for before, after, count in nodes[:DRAWN]]
    over = sum(map(len, left.values()))
    title = say("placing.title", count=placed + over)
    sentence = say("placing.all" if not over else "placing.some", placed=placed, left=over, nodes=len(nodes))
    rows = [(after.name, str(count), _sums(before, after, names)) for before, after, count in nodes]
    parts: list[Part] = [Facts(table("placing", "node pods sums", rows))]
    if cards:
        legend = [
            (say(f"placing.{name}"), tone, ghost)
            for name, tone, ghost in (("had", "edge", False), ("got", "accent", True))
        ]
        parts += [Column(Words(say("placing.bars", bars=", ".join(names))), Legend(tones=legend), gap=6)]
        parts += [Grid(*cards, across=6, gap=8)]
    if len(nodes) > DRAWN:
        parts.append(Words(say("placing.more", count=len(nodes) - DRAWN), "muted"))
    for message, pods in left.items():
        parts.append(
            Card(
                say("placing.left", count=len(pods), first=pods[0]), Words(message, "unhealthy"), look="dead"
            )
        )
    return picture(title, sentence, Column(*parts), width)


def _card(before: NodeInfo, after: NodeInfo, count: int, names: Sequence[str]) -> Part:
    bars = Fills(*(_fill(before, after, name) for name in names), high=9)
    return Card(
        after.name, bars, look="plain", corner=[Words(f"+{count}", "free", anchor="end")], key=after.name
    )


def _fill(before: NodeInfo, after: NodeInfo, name: str) -> Fill:
    had = before.requested.get(name)
    return Fill(name.rpartition("/")[2], had, after.allocatable.get(name), after.requested.get(name) - had)


def _sums(before: NodeInfo, after: NodeInfo, names: Sequence[str]) -> str:
    return "; ".join(
        f"{name} {before.requested.get(name)} + {after.requested.get(name) - before.requested.get(name)} / "
        f"{after.allocatable.get(name)}"
        for name in names
    )
