"""The default filters over columns.

Those that look at a node's object alone are asked the readable way once for each node, and their answers remembered for
the next pods that ask for the same; the others count with whole columns.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from kubedev.api.names import CPU, EPHEMERAL_STORAGE, MEMORY
from kubedev.api.objects import Node, Pod
from kubedev.api.requests import Resource
from kubedev.scheduler.columns import affinity, spread
from kubedev.scheduler.columns.table import Ints, Table
from kubedev.scheduler.columns.verdict import PASSED, Verdict
from kubedev.scheduler.node_info import HostPort, NodeInfo
from kubedev.scheduler.plugins.fits import is_ignored, wanted
from kubedev.scheduler.plugins.node_affinity import NodeAffinity
from kubedev.scheduler.plugins.node_name import NodeName
from kubedev.scheduler.plugins.node_ports import NodePorts, conflicting_port
from kubedev.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kubedev.scheduler.plugins.node_unschedulable import NodeUnschedulable
from kubedev.scheduler.plugins.taint_toleration import TaintToleration
from kubedev.scheduler.plugins.topology.inter_pod_affinity import InterPodAffinity
from kubedev.scheduler.plugins.topology.pod_topology_spread import PodTopologySpread
from kubedev.scheduler.status import Code, Status

__all__ = ["FILTERS"]

Filter = Callable[[Table, Any, Any, Pod], Verdict | None]
"""Of a table, a plugin, its state and the pod: the verdict, or None where only the readable way can tell."""

MOST_RESOURCES = 60
"""A refusal's number has a bit for each resource that falls short."""


# Those that look at the node's object alone


class Answers:
    """What a plugin says of each node's object, remembered: few different refusals, by number."""

    def __init__(
        self, table: Table, ask: Callable[[Any], Status], seen: Callable[[Node], Hashable] | None
    ) -> None:
        self.table, self.ask, self.seen = table, ask, seen
        self.numbers: dict[tuple[Code, tuple[str, ...]], int] = {}
        self.kinds: dict[int, Status] = {}
        self.known: dict[Hashable, int] = {}
        self.codes: Ints = np.fromiter(map(self._code, range(table.size)), dtype=np.int64, count=table.size)
        self.all_pass = not self.codes.any()

    def _code(self, row: int) -> int:
        info = self.table.infos[row]
        if self.seen is None:
            return self._number(self.ask(info))
        key = self.seen(info.node)
        if key not in self.known:
            self.known[key] = self._number(self.ask(info))
        return self.known[key]

    def _number(self, status: Status) -> int:
        if status.is_success:
            return 0
        number = self.numbers.setdefault((status.code, status.reasons), len(self.numbers) + 1)
        self.kinds.setdefault(number, Status(status.code, status.reasons, status.plugin))
        return number

    def mended(self, rows: set[int]) -> "Answers":
        """The same with these rows asked for again."""
        for row in rows:
            self.codes[row] = self._code(row)
        self.all_pass = not self.codes.any()
        return self


def of_object(
    asked: Callable[[Any, Pod], Hashable], seen: Callable[[Node], Hashable] | None = None
) -> Filter:
    """A filter by the node's object: `asked` is what it looks at in its state and the pod, `seen` what in the node."""

    def verdict(table: Table, plugin: Any, state: Any, pod: Pod) -> Verdict:
        answers: Answers = table.remembered(
            ("answers", plugin, asked(state, pod)),
            lambda: Answers(table, lambda info: plugin.filter(state, pod, info), seen),
            Answers.mended,
            of_node=True,
        )
        return PASSED if answers.all_pass else Verdict(answers.codes, answers.kinds)

    return verdict


# Those that count


def fit(table: Table, plugin: NodeResourcesFit, state: Resource, pod: Pod) -> Verdict | None:
    """NodeResourcesFit: remembered for all pods that ask for the same, a bit for each resource that falls short."""
    ignored = plugin.ignored_resources, plugin.ignored_groups
    asked = tuple(one for one in wanted(state) if not is_ignored(one[0], *ignored))
    if len(asked) > MOST_RESOURCES:
        return None
    reasons = "Too many pods", *(f"Insufficient {name}" for name, _ in asked)

    def make() -> Ints:
        codes: Ints = np.greater_equal(table.columns["pods"], table.columns["allowed"]).astype(np.int64)
        for bit, (name, amount) in enumerate(asked, 1):
            codes |= (amount > free(table, name)).astype(np.int64) << bit
        return codes

    def of_row(info: NodeInfo) -> int:
        lacking = plugin.filter(state, pod, info).reasons
        return sum(1 << bit for bit, reason in enumerate(reasons) if reason in lacking)

    codes = table.reckoned(("fit", asked), make, of_row)
    if not codes.any():
        return PASSED
    kinds = {}
    for number in np.unique(codes).tolist():
        if number:
            lacking = tuple(reason for bit, reason in enumerate(reasons) if number >> bit & 1)
            kinds[number] = Status(Code.UNSCHEDULABLE, lacking, plugin.name)
    return Verdict(codes, kinds)


def free(table: Table, name: str) -> Ints:
    """What is left of a resource on each node."""
    if name in (CPU, MEMORY, EPHEMERAL_STORAGE):
        left: Ints = table.columns[f"allocatable/{name}"] - table.columns[f"requested/{name}"]
        return left
    used, given = table.scalar(name)
    return given - used


def ports(table: Table, plugin: NodePorts, state: tuple[HostPort, ...], pod: Pod) -> Verdict:
    """NodePorts."""
    taken = table.column(
        ("ports", state), lambda info: int(conflicting_port(info.used_ports, state) is not None)
    )
    reasons = ("node(s) didn't have free ports for the requested pod ports",)
    return Verdict.of([(taken == 1, Status(Code.UNSCHEDULABLE, reasons, plugin.name))])


FILTERS: Mapping[type, Filter] = {
    NodeUnschedulable: of_object(lambda state, pod: pod.tolerations, lambda node: node.unschedulable),
    NodeName: of_object(lambda state, pod: pod.node_name),
    TaintToleration: of_object(lambda state, pod: pod.tolerations, lambda node: node.taints),
    NodeAffinity: of_object(lambda state, pod: state),
    NodePorts: ports,
    NodeResourcesFit: fit,
    PodTopologySpread: spread.refusals,
    InterPodAffinity: affinity.refusals,
}
"""The filters that know columns, by the plugin's class."""
