"""Lab 10: one pod through the scheduling cycle: the extension points, the filters node by node, and the scores."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from kubedev.scheduler.cycle import Decision
from kubedev.scheduler.framework import Framework
from kubedev.views.catalogue import say
from kubedev.views.controls import act
from kubedev.views.grammar import Card, Column, Facts, Part, Row, Words, picture
from kubedev.views.picture import Picture, table
from kubedev.views.pipeline import Pipeline, Stop
from kubedev.views.scored import explained, short
from kubedev.views.sheet import Entry, Opener, Sheet, Way
from kubedev.views.style import WIDTH

__all__ = ["Cycle"]

_QUEUE, _CYCLE = ("PreEnqueue", "QueueSort"), ("PreFilter", "Filter", "PostFilter", "PreScore", "Score")
_POINTS = (*_QUEUE, *_CYCLE, "Reserve", "Permit", "PreBind", "Bind", "PostBind")
_FILTER, _POST_FILTER, _PRE_SCORE, _SCORE, _RESERVE, _PRE_BIND = 3, 4, 5, 6, 7, 9
_BRIEF = (0, 2, _FILTER, _SCORE, _RESERVE, _POINTS.index("Bind"))
_NAMED = 12  # so many nodes have a row each; of more, those that were stopped alike share one


@dataclass(frozen=True, slots=True)
class Cycle:
    """A decision at one moment: the extension point, how many filters were asked by then, how many scores are there."""

    decision: Decision
    framework: Framework
    point: int
    asked: int
    scored: int

    @classmethod
    def of(cls, decision: Decision, framework: Framework) -> "list[Cycle]":
        """All that there is to see, one after the other."""
        filters = len(framework.at("filter"))
        scores = len(decision.scores.plugins) if decision.scores else 0
        end = cls(decision, framework, _POINTS.index("PostBind"), filters, scores)
        stops = sorted({stop for name in end.nodes if (stop := end.stop(name))} | {filters})
        seen = [(0, 0, 0), (1, 0, 0), (2, 0, 0), *((_FILTER, n, 0) for n in stops)]
        if scores:
            seen += [(_PRE_SCORE, filters, 0), *((_SCORE, filters, n) for n in range(1, scores + 1))]
        after = range(_RESERVE, len(_POINTS)) if decision.node_name else [_POST_FILTER]
        return [
            cls(decision, framework, *moment) for moment in [*seen, *((n, filters, scores) for n in after)]
        ]

    @property
    def filters(self) -> list[str]:
        """The filters in their order."""
        return [plugin.name for plugin in self.framework.at("filter")]

    @property
    def nodes(self) -> list[str]:
        """The nodes that were looked at."""
        return sorted(self.decision.found.checks) if self.decision.found else []

    def stop(self, node: str) -> int:
        """The number of the filter that stopped a node; 0 where none did."""
        status = self.decision.found.checks[node].status if self.decision.found else None
        return 0 if status is None or status.is_success else self.filters.index(status.plugin) + 1

    def is_out(self, node: str) -> bool:
        """Whether a filter has stopped the node by now."""
        return 0 < self.stop(node) <= self.asked

    def picture(self, width: float = WIDTH, brief: bool = False) -> Picture:
        """Draw it; a raw score opens to its arithmetic. In `brief` some points are left out, and filters' names."""
        scores, asked = self.decision.scores, self._asked()
        heads: list[tuple[str, Part]] = [("", Words("")), (" ", Way(len(self.filters), asked, numbers=True))]
        for one in scores.plugins if scores else ():
            words = (say("cycle.raw"), say("cycle.norm"), f"×{one.weight}")
            heads += [(short(one.plugin), Words(head, "muted", anchor="end")) for head in words]
        heads += [(say("cycle.sum"), Words(""))] if scores else []
        end = replace(self, asked=len(self.filters), scored=len(scores.plugins) if scores else 0)
        last = [] if end == self else list(end._rows())
        names = ", ".join(f"{n} {self.filters[n - 1]}" for n in asked)
        silent = len(self.filters) - len(asked)
        legend = say("cycle.filters", names=names) + (
            f" {say('cycle.silent', count=silent)}" if silent else ""
        )
        facts = Facts(table("cycle", "node plugin reason sum", map(self._fact, self.nodes)))
        points = [n for n in range(len(_POINTS)) if not brief or n in _BRIEF]
        line = Pipeline([self._point(n) for n in points], points.index(self.point))
        sheet = Card("", Sheet(heads, list(self._rows()), last), *([] if brief else [Words(legend, "muted")]))
        title = say("cycle.title", pod=self.decision.pod.name)
        return picture(title, self._sentence(), Column(facts, line, sheet), width)

    def _asked(self) -> tuple[int, ...]:
        found = self.decision.found
        return tuple(n for n, name in enumerate(self.filters, 1) if found and name in found.asked)

    def _sentence(self) -> str:
        name, scores = self.decision.node_name, self.decision.scores
        left = sum(not self.is_out(node) for node in self.nodes)
        best = scores.best() if scores else ()
        said = _POINTS[self.point]
        if self.point >= _RESERVE and len(best) != 1:
            said = "tie" if best else "only"
        return say(
            f"cycle.{said}",
            out=len(self.nodes) - left,
            left=left,
            count=len(self.nodes),
            all=self.decision.num_all_nodes,
            tied=len(best),
            node=name,
            sum=scores.totals[name] if scores and name else "",
            plugin=self._last_asked(),
            score=short(scores.plugins[self.scored - 1].plugin) if scores and self.scored else "",
        )

    def _last_asked(self) -> str:
        return say("cycle.every") if self.asked == len(self.filters) else self.filters[self.asked - 1]

    def _point(self, n: int) -> Stop:
        group = "queue" if n < 2 else "scheduling" if n < _PRE_BIND else "binding"
        fit = sum(not self.stop(node) for node in self.nodes)
        skipped = (
            fit > 0 if n == _POST_FILTER else fit < 2 if n in (_PRE_SCORE, _SCORE) else n > _SCORE and not fit
        )
        below = say("cycle.not-needed") if skipped and self.point >= n else ""
        if n == _RESERVE and self.point >= n:
            below = self.decision.node_name
        left = None
        if 2 <= n <= _SCORE and not skipped and n <= self.point:
            left = sum(not self.is_out(node) for node in self.nodes) if n > 2 else self.decision.num_all_nodes
        return Stop(_POINTS[n], say(f"cycle.{group}"), below, left, self.decision.num_all_nodes, skipped)

    def _rows(self) -> Iterator[Entry]:
        """A row for each node; of many, one for those that were stopped alike, and the best of the others."""
        if len(self.nodes) <= _NAMED:
            yield from (self._row(node, node) for node in self.nodes)
            return
        out = sorted((self.stop(node), self._told(node), node) for node in self.nodes if self.is_out(node))
        for _, alike in groupby(out, key=lambda each: each[:2]):
            same = [node for *_, node in alike]
            yield self._row(same[0], say("cycle.nodes", count=len(same)) if len(same) > 1 else same[0])
        totals = self.decision.scores.totals if self.decision.scores else {}
        through = sorted((n for n in self.nodes if not self.is_out(n)), key=lambda n: (-totals.get(n, 0), n))
        best = through[: _NAMED // 2] if self.scored else []
        yield from (self._row(node, node) for node in best)
        if rest := len(through) - len(best):
            yield self._row(
                through[-1], say("cycle.more" if best else "cycle.nodes", count=rest), whole=False
            )
        if unseen := self.decision.num_all_nodes - len(self.nodes):
            name = say("cycle.nodes", count=unseen)
            yield Entry((Words(name, "muted"), Words("")), Words(say("cycle.unseen"), "muted"))

    def _row(self, node: str, name: str, whole: bool = True) -> Entry:
        scores, stations, asked = self.decision.scores, len(self.filters), self._asked()
        if self.is_out(node):
            way = Way(stations, asked, self.stop(node) - 1, stopped=True)
            by = Words(self.filters[self.stop(node) - 1], "unhealthy", bold=True)
            told = Row(by, Words(self._told(node)), shares=(0, 1), gap=10)
            return Entry((Words(name, "muted"), way), told)
        cells: list[Part] = [Words(name, bold=True), Way(stations, asked, self.asked)]
        shown = scores.plugins[: self.scored] if scores and whole and node in scores.totals else ()
        for one in shown:
            cells.append(
                Opener(
                    str(one.raw[node].value), explained(one, node), act("open", plugin=one.plugin, node=node)
                )
            )
            cells.append(Words(str(one.normalized[node]), "muted", anchor="end"))
            cells.append(Words(str(one.weighted(node)), bold=True, anchor="end"))
        if scores and shown and len(shown) == len(scores.plugins):
            cells.append(Words(str(scores.totals[node]), bold=True, anchor="end"))
        return Entry(tuple(cells), lit=self.point >= _RESERVE and node == self.decision.node_name)

    def _told(self, node: str) -> str:
        return self.decision.found.checks[node].status.message if self.decision.found else ""

    def _fact(self, node: str) -> tuple[str, ...]:
        scores = self.decision.scores
        total = str(scores.totals[node]) if scores and node in scores.totals and self.scored else ""
        return (
            (node, self.filters[self.stop(node) - 1], self._told(node), "")
            if self.is_out(node)
            else (node, "", "", total)
        )
