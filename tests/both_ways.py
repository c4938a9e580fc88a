"""Cycles that are decided both ways, over columns and one node after another, with equal results.

`both_ways()` makes every cycle within it compare the two: who fits and in which order, each refusal with its code,
reasons and plugin, the counts, the scores of every plugin, the totals, the best, errors and texts.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from kubedev.api.objects import Pod
from kubedev.scheduler import cycle
from kubedev.scheduler.columns.way import OverColumns
from kubedev.scheduler.finding import Found, OneByOne
from kubedev.scheduler.framework import Framework
from kubedev.scheduler.scoring import ScoreError, Scores
from kubedev.scheduler.snapshot import Snapshot


class BothWays:
    """A way that goes both, and answers over columns."""

    compared = 0

    def __init__(self, framework: Framework, pod: Pod, snapshot: Snapshot) -> None:
        self.plain = OneByOne(framework, pod, snapshot)
        self.columns = OverColumns(framework, pod, snapshot)
        self.found: Found | None = None

    def find(self, start: int) -> tuple[Found, int]:
        """Compare what the filters say."""
        BothWays.compared += 1
        plain, next_start = self.plain.find(start)
        found, start_over_columns = self.columns.find(start)
        assert start_over_columns == next_start
        if looked := self.columns.looked:
            names = self.columns.table.names
            assert [names[row] for row in looked.feasible.tolist()] == [info.name for info in plain.feasible]
            ours = {
                names[row]: looked.kinds[number - 1]
                for row, number in enumerate(looked.refused.tolist())
                if number
            }
            assert {name: (one.code, one.reasons, one.plugin) for name, one in ours.items()} == {
                name: (one.code, one.reasons, one.plugin) for name, one in plain.statuses.explicit.items()
            }
        total = len(self.plain.snapshot.node_infos)
        assert found.statuses.reasons(total) == plain.statuses.reasons(total)
        assert {one.plugin for one in found.statuses.refusals()} == {
            one.plugin for one in plain.statuses.refusals()
        }
        assert (len(found.feasible), len(found.checks), len(found.statuses.explicit)) == (
            len(plain.feasible),
            len(plain.checks),
            len(plain.statuses.explicit),
        )
        for status in {one.code for one in plain.statuses.refusals()}:
            infos = self.plain.snapshot.node_infos
            ours_helped = found.statuses.nodes_for_status_code(infos, status)
            assert ours_helped == plain.statuses.nodes_for_status_code(infos, status)
        assert found == plain
        self.found = plain
        return found, next_start

    def prioritize(self, found: Found) -> tuple[Scores, Sequence[str]]:
        """Compare what the score plugins say."""
        assert self.found is not None
        try:
            plain, best = self.plain.prioritize(self.found)
        except ScoreError as error:
            with pytest.raises(ScoreError, match=f"^{re.escape(str(error))}$"):
                self.columns.prioritize(found)
            raise
        scores, best_over_columns = self.columns.prioritize(found)
        assert best_over_columns[0] == best[0]
        assert tuple(best_over_columns) == tuple(best)
        if self.columns.totals is not None:
            names = [info.name for info in self.found.feasible]
            assert dict(zip(names, self.columns.totals.tolist(), strict=True)) == plain.totals
            assert self.columns.normalized.keys() == {one.plugin for one in plain.plugins}
            for one in plain.plugins:
                ours = self.columns.normalized[one.plugin]
                assert dict(zip(names, ours.tolist(), strict=True)) == one.normalized, one.plugin
        assert (len(scores.plugins), len(scores.totals)) == (len(plain.plugins), len(plain.totals))
        assert scores == plain
        return scores, best


@contextmanager
def both_ways() -> Iterator[None]:
    """Within it, every cycle with a node goes both ways, and they are compared."""
    with patch.object(cycle, "way_of", BothWays):
        yield
