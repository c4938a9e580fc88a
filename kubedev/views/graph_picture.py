"""A graph as it is drawn: columns of named boxes, and a line for each edge, from left to right."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import accumulate
from statistics import fmean
from typing import TYPE_CHECKING, Any

from kubedev.views.catalogue import say
from kubedev.views.grammar import Block, Card, Facts, Part, picture
from kubedev.views.graphs import layered
from kubedev.views.masks import natural
from kubedev.views.picture import Box, Line, Look, Mark, Picture, Table, Text
from kubedev.views.style import WIDTH, text_width

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["graph_picture"]

_MOST = 18  # boxes of a column
_HIGH, _PITCH, _HEAD = 24.0, 30.0, 26.0


def graph_picture(graph: "nx.DiGraph", width: float = WIDTH) -> Picture:
    """Draw a graph whose nodes say by `kind` what they are: a column for each kind, or for each layer where they don't.

    Of a column with many nodes those with edges from the left are drawn; how many are left out is said, and the tables
    have all.
    """
    columns = _columns(graph)
    counts = ", ".join(say("graph.count", count=len(nodes), kind=kind) for kind, nodes in columns.items())
    nodes = Table(say("graph.nodes"), (say("table.what"), say("graph.about")), tuple(_rows(graph)))
    edges = tuple((str(source), str(target)) for source, target in graph.edges())
    facts = Facts(nodes), Facts(Table(say("graph.edges"), (say("table.from"), say("table.to")), edges))
    body = Card("", _Columns(graph, columns), *facts)
    return picture(say("graph.title"), say("graph.sentence", counts=counts), body, width)


def _rows(graph: "nx.DiGraph") -> Iterator[tuple[str, str]]:
    for node, attributes in graph.nodes(data=True):
        yield str(node), ", ".join(f"{name} {value}" for name, value in attributes.items() if value != "")


def _columns(graph: "nx.DiGraph") -> dict[str, list[Hashable]]:
    """The nodes by kind, the kinds in the order of the graph; in a column next to those that they lead to."""
    layers, kinds = layered(graph), dict(graph.nodes(data="kind"))
    furthest: dict[str, int] = {}
    columns: dict[str, list[Hashable]] = {}
    for node in sorted(graph, key=lambda node: natural(str(node))):
        kind = str(kinds[node] or say("graph.layer", number=layers[node])).replace("numa", "NUMA")
        columns.setdefault(kind, []).append(node)
        furthest[kind] = max(furthest.get(kind, 0), layers[node])
    ordered = [columns[kind] for kind in sorted(columns, key=lambda kind: furthest[kind])]
    for left, right in zip(ordered[-2::-1], ordered[:0:-1], strict=True):
        place = {node: n for n, node in enumerate(right)}
        left.sort(key=lambda node: _mean(place, graph.successors(node)))
    return {kind: columns[kind] for kind in sorted(columns, key=lambda kind: furthest[kind])}


def _mean(place: Mapping[Hashable, int], nodes: Iterator[Hashable]) -> float:
    found = [place[node] for node in nodes if node in place]
    return fmean(found) if found else float(len(place))


class _Columns(Part):
    def __init__(self, graph: "nx.DiGraph", columns: Mapping[str, Sequence[Hashable]]) -> None:
        self.graph = graph
        self.columns = {kind: self._shown(nodes) for kind, nodes in columns.items()}
        self.left_out = {kind: len(nodes) - len(self.columns[kind]) for kind, nodes in columns.items()}

    def _shown(self, nodes: Sequence[Hashable]) -> list[Hashable]:
        chosen = sorted(nodes, key=lambda node: not self.graph.in_degree(node))[:_MOST]
        return [node for node in nodes if node in chosen]

    def _label(self, node: Hashable) -> str:
        """A node's own name: what it is, is said above its column."""
        attributes = self.graph.nodes[node]
        known = attributes.get("id", attributes.get("name", attributes.get("number")))
        return str(node if known is None else known)

    def _wide(self, kind: str) -> float:
        return max(
            [
                text_width(kind, bold=True),
                *(text_width(self._label(n), bold=True) + 26 for n in self.columns[kind]),
            ]
        )

    def least(self) -> float:
        return sum(map(self._wide, self.columns)) + 60 * (len(self.columns) - 1)

    def lay(self, width: float, key: str) -> Block:
        wides = [self._wide(kind) for kind in self.columns]
        gap = min(260.0, (width - sum(wides)) / max(1, len(wides) - 1))
        lefts = list(accumulate((wide + gap for wide in wides), initial=0.0))
        rows = max(
            (len(nodes) + bool(self.left_out[kind]) for kind, nodes in self.columns.items()), default=0
        )

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            tops = {kind: self._top(kind, rows) for kind in self.columns}
            places = {
                node: (x + left, y + tops[kind] + _PITCH * n, wide)
                for (kind, nodes), left, wide in zip(self.columns.items(), lefts, wides, strict=False)
                for n, node in enumerate(nodes)
            }
            for source, target in self.graph.edges():
                if source in places and target in places:
                    (ax, ay, wide), (bx, by, _) = places[source], places[target]
                    ends = ((ax + wide, ay + _HIGH / 2), (bx, by + _HIGH / 2))
                    yield Line(f"{key}/{source}/{target}", ends)
            for (kind, nodes), left in zip(self.columns.items(), lefts, strict=False):
                yield Text(f"{key}/head/{kind}", x + left, y + 14, kind, tone="muted", bold=True)
                if self.left_out[kind]:
                    words, at = say("frame.more", count=self.left_out[kind]), tops[kind] + _PITCH * len(nodes)
                    yield Text(f"{key}/more/{kind}", x + left, y + at + 17, words, tone="muted")
            for node, (left, top, wide) in places.items():
                place = (left, top, wide, _HIGH)
                yield Box(f"{key}/{node}", *place, self._label(node), look=self._look(node), centred=True)

        return Block(_HEAD + _PITCH * rows, draw)

    def _top(self, kind: str, rows: int) -> float:
        """Where a column begins: those with fewer nodes stand in the middle."""
        return _HEAD + _PITCH * (rows - len(self.columns[kind]) - bool(self.left_out[kind])) / 2

    def _look(self, node: Hashable) -> Look:
        attributes: dict[str, Any] = self.graph.nodes[node]
        return "impossible" if "unhealthy" in str(attributes.get("condition", "")) else "plain"

    def about(self) -> str:
        return ", ".join(self.columns)
