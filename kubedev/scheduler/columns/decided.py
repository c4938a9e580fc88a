"""What a decision over columns says of single nodes: made by the readable way when somebody reads it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kubedev.scheduler.columns.table import Ints
from kubedev.scheduler.diagnosis import NodeToStatus
from kubedev.scheduler.finding import Found
from kubedev.scheduler.later import Later, LaterMapping, LaterSequence, MadeLater
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.scoring import Scores
from kubedev.scheduler.snapshot import Snapshot
from kubedev.scheduler.status import Code, Status

__all__ = ["LaterScores", "Looked", "RefusedRows", "later_scores", "refused_rows"]


@dataclass(frozen=True, slots=True)
class Looked:
    """What the filters said: the rows that fit in the order in which they were found, and each row's refusal.

    `refused` is a number in `kinds` plus 1, 0 where the node passes or was not looked at.
    """

    feasible: Ints
    refused: Ints
    kinds: tuple[Status, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class RefusedRows(MadeLater, NodeToStatus):
    """The refusals by node, of which it is known how many nodes there are of each kind.

    `unschedulable` has a bit for each of the `nodes`, set where preemption may help.
    """

    kinds: tuple[tuple[Status, int], ...] = ()
    unschedulable: bytes = b""
    nodes: Sequence[NodeInfo] = ()

    def now(self) -> NodeToStatus:
        """The statuses as they are."""
        return NodeToStatus(self.explicit, self.absent)

    def refusals(self) -> Iterable[Status]:
        """Each kind of refusal once."""
        return [status for status, count in self.kinds if count]

    def reasons(self, num_all_nodes: int) -> Mapping[str, int]:
        """How many nodes give each reason."""
        counts: Counter[str] = Counter()
        for status, count in self.kinds:
            for reason in status.reasons if count else ():
                counts[reason] += count
        return counts

    def nodes_for_status_code(self, node_infos: Sequence[NodeInfo], code: Code) -> tuple[NodeInfo, ...]:
        """The nodes that were refused with this code."""
        if code is not Code.UNSCHEDULABLE or node_infos is not self.nodes:
            return self.now().nodes_for_status_code(node_infos, code)
        bits = np.unpackbits(np.frombuffer(self.unschedulable, dtype=np.uint8), count=len(node_infos))
        return tuple(node_infos[row] for row in np.flatnonzero(bits).tolist())


def refused_rows(plain: Later[Found], looked: Looked, snapshot: Snapshot) -> RefusedRows:
    """The refusals of what was looked at; `plain` is the readable way's answer, for who reads single nodes."""
    numbers = np.bincount(looked.refused, minlength=len(looked.kinds) + 1).tolist()
    helpful = [number for number, kind in enumerate(looked.kinds, 1) if kind.code is Code.UNSCHEDULABLE]
    return RefusedRows(
        LaterMapping(lambda: plain.now().statuses.explicit, sum(numbers[1:])),
        kinds=tuple(zip(looked.kinds, numbers[1:], strict=True)),
        unschedulable=np.packbits(np.isin(looked.refused, helpful)).tobytes(),
        nodes=snapshot.node_infos,
    )


@dataclass(frozen=True, slots=True, eq=False)
class LaterScores(MadeLater, Scores):
    """Scores that are made when somebody reads them."""

    def now(self) -> Scores:
        """The scores as they are."""
        return Scores(self.totals, self.plugins, self.skipped)


def later_scores(plain: Later[Scores], nodes: int, plugins: int, skipped: tuple[str, ...]) -> LaterScores:
    """The scores of so many nodes by so many plugins."""
    return LaterScores(
        LaterMapping(lambda: plain.now().totals, nodes),
        LaterSequence(lambda: tuple(plain.now().plugins), plugins),
        skipped,
    )
