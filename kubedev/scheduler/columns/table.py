"""The snapshot as columns: a row a node, in the order in which nodes are looked at.

A table is moved from one snapshot to another: only the rows that differ are written again, so that between two cycles
that is usually the one row on which a pod was assumed. It is a cache, and no part of any state: whatever snapshot is
asked for, the table shows that one.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kubedev.api.names import CPU, EPHEMERAL_STORAGE, MEMORY
from kubedev.api.values import SharedMap
from kubedev.scheduler.cache.ordered import NodesInOrder
from kubedev.scheduler.node_info import NodeInfo

__all__ = ["Bools", "Floats", "Ints", "Table", "table_of"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

REMEMBERED = 256
"""How many worked-out columns a table keeps; the one that was not asked for the longest goes."""
TABLES = 3
LONG = 100_000

NUMBERS = ("pods", "allowed", *(f"{kind}/{name}" for name in (CPU, MEMORY, EPHEMERAL_STORAGE) for kind in
           ("requested", "allocatable")), f"non-zero/{CPU}", f"non-zero/{MEMORY}")  # fmt: skip


class Table:
    """The columns of one list of nodes.

    `infos` are the nodes' values as the rows show them. `pods_log` and `node_log` are the rows that were written since
    the table was made, because of their pods or of their node: what was worked out for all rows is mended by them.
    `rows` are the numbers of all rows.
    """

    def __init__(self, names: tuple[str, ...], infos: Sequence[NodeInfo]) -> None:
        self.names, self.infos = names, list(infos)
        self.row_of = {name: row for row, name in enumerate(names)}
        self.of: SharedMap[str, NodeInfo] | None = None
        self.size = len(names)
        self.pods_log: list[int] = []
        self.node_log: list[int] = []
        self._numbers: Ints = np.zeros((len(NUMBERS), self.size), dtype=np.int64)
        self._remembered: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self.with_affinity: set[int] = set()
        self.with_required_anti_affinity: set[int] = set()
        self.with_images: set[int] = set()
        for row, info in enumerate(infos):
            self._write(row, info)
        self.columns = dict(zip(NUMBERS, self._numbers, strict=True))
        self.rows = np.arange(self.size)
        self.by_name = np.empty(self.size, dtype=np.int64)
        self.by_name[sorted(range(self.size), key=names.__getitem__)] = np.arange(self.size)

    def _write(self, row: int, info: NodeInfo) -> None:
        used, given, seen = info.requested, info.allocatable, info.non_zero_requested
        self._numbers[:, row] = (
            len(info.pods),
            given.allowed_pod_number,
            used.milli_cpu,
            given.milli_cpu,
            used.memory,
            given.memory,
            used.ephemeral_storage,
            given.ephemeral_storage,
            seen.milli_cpu,
            seen.memory,
        )
        for rows, there in (
            (self.with_affinity, info.pods_with_affinity),
            (self.with_required_anti_affinity, info.pods_with_required_anti_affinity),
            (self.with_images, info.node.images),
        ):
            if there:
                rows.add(row)
            else:
                rows.discard(row)

    def show(self, nodes: Sequence[NodeInfo]) -> None:
        """Move to another snapshot of the same nodes."""
        if isinstance(nodes, NodesInOrder):
            if nodes.by_name is self.of:
                return
            if self.of is not None:
                rows = [
                    self.row_of[name] for name in nodes.by_name.changed_since(self.of) if name in self.row_of
                ]
                changed = [(row, nodes.by_name[self.names[row]]) for row in rows]
            else:
                changed = list(enumerate(nodes))
            self.of = nodes.by_name
        else:
            changed, self.of = list(enumerate(nodes)), None
        for row, info in changed:
            old = self.infos[row]
            if old is not info:
                self.infos[row] = info
                self._write(row, info)
                self.pods_log.append(row)
                if old.node is not info.node:
                    self.node_log.append(row)
        if len(self.pods_log) > LONG:
            self.pods_log.clear()
            self.node_log.clear()
            self._remembered.clear()

    def rows_from(self, start: int) -> Ints:
        """All rows, beginning with one."""
        first = start % self.size
        return np.concatenate((self.rows[first:], self.rows[:first])) if first else self.rows

    # Columns that are worked out when they are asked for, and mended when rows change

    def remembered(
        self,
        key: Hashable,
        make: Callable[[], Any],
        mend: Callable[[Any, set[int]], Any],
        of_node: bool = False,
    ) -> Any:
        """What `make` gives for all rows, mended for the rows that changed since it was last asked for.

        `of_node`: it depends on the nodes' objects alone, and not on their pods. `mend` returns what takes its place.
        """
        log = self.node_log if of_node else self.pods_log
        known = self._remembered.get(key)
        if known is None:
            value = make()
            if len(self._remembered) >= REMEMBERED:
                self._remembered.popitem(last=False)
        else:
            value, seen = known
            self._remembered.move_to_end(key)
            if seen == len(log):
                return value
            value = mend(value, set(log[seen:]))
        self._remembered[key] = value, len(log)
        return value

    def column(self, key: Hashable, of_row: Callable[[NodeInfo], int], of_node: bool = False) -> Ints:
        """A number of each row, by what the readable way says of the one node."""

        def make() -> Ints:
            return np.fromiter(map(of_row, self.infos), dtype=np.int64, count=self.size)

        return self.reckoned(key, make, of_row, of_node)

    def reckoned(
        self,
        key: Hashable,
        make: Callable[[], Ints],
        of_row: Callable[[NodeInfo], int],
        of_node: bool = False,
    ) -> Ints:
        """A number of each row, reckoned for all rows at once; of rows that change the readable way says it anew."""

        def mend(numbers: Ints, rows: set[int]) -> Ints:
            for row in rows:
                numbers[row] = of_row(self.infos[row])
            return numbers

        column: Ints = self.remembered(key, make, mend, of_node)
        return column

    def summed(self, key: Hashable, of_row: Callable[[NodeInfo], int], label: str) -> Ints:
        """Such a column summed up by the domains of a label, over all rows: to be read, and not to be changed."""
        column, domains = self.column(key, of_row), self.domains(label)

        def make() -> Summed:
            return Summed(domains, column)

        def mend(known: Summed, rows: set[int]) -> Summed:
            return known.mended(column, rows) if known.domains is domains else make()

        summed: Summed = self.remembered(("summed", key, label), make, mend)
        return summed.sums

    def scalar(self, name: str) -> tuple[Ints, Ints]:
        """What is requested of a scalar resource, and what is allocatable: 0 where there is none."""
        return (
            self.column(("requested", name), lambda info: info.requested.scalar_resources.get(name, 0)),
            self.column(
                ("allocatable", name), lambda info: info.allocatable.scalar_resources.get(name, 0), True
            ),
        )

    def has_scalar(self, name: str) -> Bools:
        """Whether the node speaks of a scalar resource at all."""
        there = self.column(("has", name), lambda info: int(name in info.allocatable.scalar_resources), True)
        return there.astype(np.bool_)

    def domains(self, key: str) -> "Domains":
        """The nodes' values of a label, numbered."""

        def make() -> Domains:
            return Domains(key, self.infos)

        domains: Domains = self.remembered(("domains", key), make, lambda _, rows: make(), True)
        return domains


class Domains:
    """A label as a column: `ids` are the numbers of the values, `has` says where there is a label at all.

    A node without it stands with those whose label is empty.
    """

    def __init__(self, key: str, infos: Sequence[NodeInfo]) -> None:
        self.numbers: dict[str, int] = {}
        numbers = self.numbers
        values = [info.node.labels.get(key) for info in infos]
        self.has: Bools = np.array([value is not None for value in values], dtype=np.bool_)
        self.ids: Ints = np.array(
            [numbers.setdefault(value or "", len(numbers)) for value in values], dtype=np.int64
        )
        self.all_have = bool(self.has.all())

    def __len__(self) -> int:
        return len(self.numbers)

    def sums(self, counts: Ints, where: Bools | None = None) -> Ints:
        """The sum of a column in each domain, over the rows that count."""
        ids = self.ids if where is None else self.ids[where]
        weights = counts if where is None else counts[where]
        return np.bincount(ids, weights=weights, minlength=len(self)).astype(np.int64)


class Summed:
    """A column summed up by domain, with what it was made of, so that it can be mended by row."""

    def __init__(self, domains: Domains, column: Ints) -> None:
        self.domains, self.column, self.sums = domains, column.copy(), domains.sums(column)

    def mended(self, column: Ints, rows: set[int]) -> "Summed":
        """The same with these rows as they are now."""
        for row in rows:
            self.sums[self.domains.ids[row]] += column[row] - self.column[row]
            self.column[row] = column[row]
        return self


_mine = threading.local()


def table_of(nodes: Sequence[NodeInfo]) -> Table:
    """The table of these nodes: one that this thread has already, moved, or a new one."""
    tables: list[Table] = _mine.__dict__.setdefault("tables", [])
    names = nodes.names if isinstance(nodes, NodesInOrder) else tuple(info.name for info in nodes)
    for table in tables:
        if table.names is names or table.names == names:
            break
    else:
        table = Table(names, nodes)
        if isinstance(nodes, NodesInOrder):
            table.of = nodes.by_name
    tables[:] = [table, *(other for other in tables if other is not table)][:TABLES]
    table.show(nodes)
    return table
