"""The way over columns: one pod, all nodes at once. Its answers are those of the readable way.

A decision knows its winner, its message and its numbers; what it says of single nodes is made by the readable way when
it is read.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kubedev.api.objects import Pod
from kubedev.api.values import replace
from kubedev.scheduler.columns import affinity, spread
from kubedev.scheduler.columns.decided import Looked, later_scores, refused_rows
from kubedev.scheduler.columns.filters import FILTERS
from kubedev.scheduler.columns.scores import SCORES
from kubedev.scheduler.columns.table import Ints, Table, table_of
from kubedev.scheduler.columns.verdict import PASSED, Verdict, first_refusals
from kubedev.scheduler.context import Context
from kubedev.scheduler.diagnosis import NodeToStatus
from kubedev.scheduler.finding import Found, enough_nodes, find_nodes_that_fit_pod
from kubedev.scheduler.framework import Framework, PreFiltered, Unasked, ask_pre_filter, run_filters
from kubedev.scheduler.later import Later, LaterMapping, LaterSequence
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.image_locality import ImageLocality
from kubedev.scheduler.plugins.topology.inter_pod_affinity import InterPodAffinity
from kubedev.scheduler.plugins.topology.pod_topology_spread import PodTopologySpread
from kubedev.scheduler.scores import MAX_NODE_SCORE
from kubedev.scheduler.scoring import (
    Scores,
    check_range,
    pre_score,
    prioritize_nodes,
    score_with,
)
from kubedev.scheduler.snapshot import NodeChecker, Snapshot
from kubedev.scheduler.status import SUCCESS, Status

__all__ = ["OverColumns"]

FEW = 8
"""So many nodes that fit are named at once."""


class NotOverColumnsError(Exception):
    """Only the readable way can tell: a filter failed, or something was found that columns do not know."""


class States(Mapping[str, Any]):
    """The states of the plugins; one that columns did without is made when it is read."""

    def __init__(self, states: Mapping[str, Any]) -> None:
        self.states = states

    def __getitem__(self, name: str) -> Any:
        state = self.states[name]
        return state.now() if isinstance(state, Later) else state

    def __iter__(self) -> Iterator[str]:
        return iter(self.states)

    def __len__(self) -> int:
        return len(self.states)


class Looking:
    """A look at the nodes under way: each row's refusal as in Looked, and which filter it is from."""

    def __init__(self, refused: Ints, kinds: Sequence[Status], by: Ints) -> None:
        self.refused, self.kinds, self.by = refused, list(kinds), by
        self._numbers: dict[Status, int] = {}

    def say(self, row: int, status: Status) -> None:
        """What all filters say of one row. Raises NotOverColumnsError where one failed."""
        self.by[row] = -1
        self.refused[row] = 0
        if status.is_success:
            return
        if not status.is_rejected:
            raise NotOverColumnsError
        kind = Status(status.code, status.reasons, status.plugin)
        if kind not in self._numbers:
            self.kinds.append(kind)
            self._numbers[kind] = len(self.kinds)
        self.refused[row] = self._numbers[kind]


class OverColumns:
    """One pod's look at all nodes.

    `table` are the nodes as columns. Afterwards `looked` is what the filters said, `normalized` what each score plugin
    said of the nodes that fit, and `totals` the sums.
    """

    def __init__(self, framework: Framework, pod: Pod, snapshot: Snapshot) -> None:
        self.framework, self.pod, self.snapshot = framework, pod, snapshot
        self.table: Table = table_of(snapshot.node_infos)
        self.looked: Looked | None = None
        self.totals: Ints | None = None
        self.normalized: dict[str, Ints] = {}

    # The filters

    def find(self, start: int) -> tuple[Found, int]:
        """The nodes that fit, and where the next cycle starts: as `finding.find_nodes_that_fit_pod`."""
        try:
            return self._find(start)
        except NotOverColumnsError:
            return find_nodes_that_fit_pod(self.framework, self.pod, self.snapshot, start)

    def _find(self, start: int) -> tuple[Found, int]:
        framework, pod, snapshot = self.framework, self.pod, self.snapshot
        pre_filtered = framework.pre_filter(pod, snapshot.context, self._ask_pre_filter)
        if not pre_filtered.status.is_success or pre_filtered.node_names is not None:
            raise NotOverColumnsError
        states = pre_filtered.state.states
        state = replace(pre_filtered.state, states=States(states))
        pre_filtered = replace(pre_filtered, state=state)
        filters = [plugin for plugin in framework.at("filter") if plugin.name not in state.skip]
        asked = tuple(plugin.name for plugin in filters)
        checker = Later(lambda: NodeChecker.of(framework, pod, snapshot.nominator, state))
        nominated = self._nominated(checker)
        if nominated is not None and not nominated[1].is_rejected:
            raise NotOverColumnsError  # it fits, and is the only one that is tried; or its check failed
        verdicts = [self._verdict(plugin, states.get(plugin.name)) for plugin in filters]
        looked = Looking(*first_refusals([verdict or PASSED for verdict in verdicts], self.table.size))
        for row in self._crowded():
            looked.say(row, checker.now().check(self.table.infos[row]).status)
        rows = self.table.rows_from(start)
        enough = enough_nodes(framework, self.table.size)
        readable = [place for place, verdict in enumerate(verdicts) if verdict is None]
        if readable:
            calls = [(place, checker.now().calls[place]) for place in readable]
            feasible, seen = self._one_after_another(looked, rows, enough, calls)
        else:
            feasible, seen = rows[:enough], rows[:enough]
            if looked.kinds:
                passing = np.flatnonzero(looked.refused[rows] == 0)
                seen = rows if len(passing) < enough else rows[: passing[enough - 1] + 1]
                feasible = rows[passing[:enough]]
        visited = len(seen)
        if looked.kinds:
            was_seen = np.zeros(self.table.size, dtype=np.bool_)
            was_seen[seen] = True
            if nominated is not None and not was_seen[nominated[0]]:
                looked.say(*nominated)
                was_seen[nominated[0]] = True
                visited += 1
            looked.refused[~was_seen] = 0
        self.looked = Looked(feasible, looked.refused, tuple(looked.kinds))
        return self._found(pre_filtered, asked, enough, visited, start), (start + visited) % self.table.size

    def _ask_pre_filter(self, plugin: Any, pod: Pod, context: Context) -> Any:
        if type(plugin) is PodTopologySpread:
            return spread.ask_hard(plugin, pod, context)
        if type(plugin) is InterPodAffinity:
            return affinity.ask_filter(self.table, plugin, pod, context)
        return ask_pre_filter(plugin, pod, context)

    def _nominated(self, checker: Later[NodeChecker]) -> tuple[int, Status] | None:
        """The node that preemption made room on, and what the filters say of it."""
        name = self.pod.nominated_node_name
        if not name or self.snapshot.by_name.get(name) is None:
            return None
        row = self.table.row_of.get(name)
        if row is None:
            raise NotOverColumnsError  # a node that is gone, with pods on it still
        return row, checker.now().check(self.table.infos[row]).status

    def _verdict(self, plugin: Any, state: Any) -> Verdict | None:
        known = FILTERS.get(type(plugin))
        if known is None or isinstance(state, Unasked):
            return None
        return known(self.table, plugin, state, self.pod)

    def _crowded(self) -> list[int]:
        """The rows to which other pods are nominated: the filters are asked with those and without."""
        nominations = self.snapshot.nominator.nominations.values()
        rows = (self.table.row_of.get(node) for pod, node in nominations if pod.uid != self.pod.uid)
        return sorted({row for row in rows if row is not None})

    def _one_after_another(
        self, looked: Looking, rows: Ints, enough: int, calls: Sequence[tuple[int, Any]]
    ) -> tuple[Ints, Ints]:
        """Ask the filters that do not know columns, about the nodes that no earlier one refused, until enough fit.

        Returns the rows that fit, and those that were looked at.
        """
        feasible: list[int] = []
        for count, (row, place) in enumerate(zip(rows.tolist(), looked.by[rows].tolist(), strict=True), 1):
            earlier = tuple(call for at, call in calls if at < place)
            status = run_filters(earlier, self.pod, self.table.infos[row]) if earlier else SUCCESS
            if not status.is_success:
                looked.say(row, status)
            elif looked.refused[row] == 0:
                feasible.append(row)
                if len(feasible) >= enough:
                    rows = rows[:count]
                    break
        return np.array(feasible, dtype=np.int64), rows

    def _found(
        self, pre_filtered: PreFiltered, asked: tuple[str, ...], enough: int, visited: int, start: int
    ) -> Found:
        assert self.looked is not None
        framework, pod, snapshot = self.framework, self.pod, self.snapshot
        plain = Later(lambda: find_nodes_that_fit_pod(framework, pod, snapshot, start)[0])
        rows = self.looked.feasible
        feasible: Sequence[NodeInfo] = LaterSequence(lambda: tuple(plain.now().feasible), len(rows))
        if len(rows) <= FEW:
            feasible = tuple(self.table.infos[row] for row in rows.tolist())
        checks = LaterMapping(lambda: plain.now().checks, visited)
        statuses = NodeToStatus()
        if self.looked.refused.any():
            statuses = refused_rows(plain, self.looked, snapshot)
        return Found(pre_filtered, asked, feasible, checks, statuses, enough)

    # The scores

    def prioritize(self, found: Found) -> tuple[Scores, Sequence[str]]:
        """The scores of the nodes that fit, and the best by name: as `scoring.prioritize_nodes`. Raises ScoreError."""
        framework, pod, context = self.framework, self.pod, self.snapshot.context
        if self.looked is None or not framework.at("score"):
            scores = prioritize_nodes(framework, pod, found.feasible, context)
            return scores, scores.best()
        rows, nodes = self.looked.feasible, found.feasible
        states, skipped = pre_score(framework, pod, nodes, context, self._ask_pre_score)
        totals = np.zeros(len(rows), dtype=np.int64)
        for plugin in framework.at("score"):
            if plugin.name not in skipped:
                self.normalized[plugin.name] = self._scores(plugin, states.get(plugin.name), rows)
                totals += framework.weights.get(plugin.name, 1) * self.normalized[plugin.name]
        self.totals = totals
        plain = Later(lambda: prioritize_nodes(framework, pod, nodes, context))
        scores = later_scores(plain, len(rows), len(self.normalized), skipped)
        return scores, Best(self.table, rows[totals == totals.max()])

    def _ask_pre_score(
        self, plugin: Any, pod: Pod, nodes: Sequence[NodeInfo], context: Context
    ) -> tuple[Any, Status]:
        answer: tuple[Any, Status] | None = None
        if type(plugin) is PodTopologySpread:
            answer = spread.ask_soft(plugin, pod, context)
        elif type(plugin) is InterPodAffinity:
            answer = affinity.ask_score(self.table, plugin, pod, context)
        elif type(plugin) is ImageLocality:
            answer = context, SUCCESS
        return answer or plugin.pre_score(pod, nodes, context)

    def _scores(self, plugin: Any, state: Any, rows: Ints) -> Ints:
        """One plugin's normalized scores."""
        known = SCORES.get(type(plugin))
        scored = known(self.table, plugin, state, self.pod, rows) if known else None
        if scored is not None:
            normalized = scored[1]
            if (
                normalized.view(np.uint64).max() > MAX_NODE_SCORE
            ):  # where a negative number is a very large one
                check_range(plugin.name, normalized.tolist())
            return normalized
        infos = [self.table.infos[row] for row in rows.tolist()]
        plain = score_with(plugin, 1, state, self.pod, [(info.name, info) for info in infos])
        return np.array([plain.normalized[info.name] for info in infos], dtype=np.int64)


class Best(LaterSequence[str]):
    """The names of some rows, sorted; who wants the first of thousands does not wait for all."""

    def __init__(self, table: Table, rows: Ints) -> None:
        names, by_name = table.names, table.by_name[rows]
        self.first = names[int(rows[by_name.argmin()])]
        super().__init__(lambda: tuple([names[row] for row in rows[np.argsort(by_name)].tolist()]), len(rows))

    def __getitem__(self, index: Any) -> Any:
        return self.first if index == 0 else super().__getitem__(index)
