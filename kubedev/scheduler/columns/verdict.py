"""What one filter says of all nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kubedev.scheduler.columns.table import Bools, Ints
from kubedev.scheduler.status import Status

__all__ = ["PASSED", "Verdict", "first_refusals"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A filter's answers as a column: 0 where a node passes, otherwise the number of a refusal in `kinds`.

    A kind is a refusal as far as it is the same for many nodes: code, reasons and plugin. The values behind it differ
    from node to node; who reads a node's status gets them.
    """

    codes: Ints | None = None
    kinds: Mapping[int, Status] = field(default_factory=dict)

    @classmethod
    def of(cls, refusals: Sequence[tuple[Bools, Status]]) -> "Verdict":
        """The first of these refusals that holds for a node."""
        holding = [(where, status) for where, status in refusals if where.any()]
        if not holding:
            return PASSED
        codes = np.zeros(len(holding[0][0]), dtype=np.int64)
        for number, (where, _) in enumerate(holding, 1):
            codes[where & (codes == 0)] = number
        return cls(codes, {number: status for number, (_, status) in enumerate(holding, 1)})


PASSED = Verdict()
"""All nodes pass."""


def first_refusals(verdicts: Sequence[Verdict], size: int) -> tuple[Ints, tuple[Status, ...], Ints]:
    """Each node's first refusal: its number in the list of kinds plus 1 (0: it passes), and which filter's it is."""
    refused, by = np.zeros(size, dtype=np.int64), np.full(size, len(verdicts), dtype=np.int64)
    kinds: list[Status] = []
    for place, verdict in enumerate(verdicts):
        if verdict.codes is None:
            continue
        left = refused == 0
        for code, status in verdict.kinds.items():
            where = left & (verdict.codes == code)
            kinds.append(status)
            refused[where] = len(kinds)
            by[where] = place
    return refused, tuple(kinds), by
