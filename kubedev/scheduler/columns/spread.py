"""PodTopologySpread over columns: matching pods of each row, summed up by domain."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from kubedev.api.objects import Pod
from kubedev.scheduler.columns.arithmetic import quotients, rounded
from kubedev.scheduler.columns.table import Bools, Floats, Ints, Table
from kubedev.scheduler.columns.verdict import Verdict
from kubedev.scheduler.context import Context
from kubedev.scheduler.later import Later
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.topology.pod_topology_spread import (
    CONSTRAINTS_REASON,
    MISSING_LABEL_REASON,
    PodTopologySpread,
)
from kubedev.scheduler.plugins.topology.spread_constraints import HOSTNAME, Constraint, count_matching_pods
from kubedev.scheduler.scores import MAX_NODE_SCORE
from kubedev.scheduler.selectors.node_selector import RequiredNodeAffinity, required_node_affinity
from kubedev.scheduler.status import SUCCESS, Code, Status

__all__ = ["HardState", "SoftState", "ask_hard", "ask_soft", "refusals", "scored"]


class HardState(Later[object]):
    """The filter's state, counted when somebody reads it, with the constraints that columns count by."""

    __slots__ = ("constraints",)

    def __init__(self, make: Callable[[], object], constraints: tuple[Constraint, ...]) -> None:
        super().__init__(make)
        self.constraints = constraints


@dataclass(frozen=True, slots=True)
class SoftState:
    """What the scores need: the constraints, and whether a node needs the labels of all of them."""

    constraints: tuple[Constraint, ...] = ()
    require_all: bool = field(default=False)


def ask_hard(plugin: PodTopologySpread, pod: Pod, context: Context) -> tuple[HardState | None, Status, None]:
    """In place of the plugin's `pre_filter`."""
    constraints, status = plugin.hard(pod, context)
    if not status.is_success:
        return None, status, None
    return (
        HardState(lambda: plugin.pre_filter(pod, context.node_infos, context)[0], constraints),
        SUCCESS,
        None,
    )


def ask_soft(plugin: PodTopologySpread, pod: Pod, context: Context) -> tuple[SoftState, Status]:
    """In place of the plugin's `pre_score`."""
    constraints, status = plugin.soft(pod, context)
    return SoftState(constraints, plugin.requires_all(pod)), status


def refusals(table: Table, plugin: PodTopologySpread, state: HardState, pod: Pod) -> Verdict:
    """The filter: a label is missing, or the skew is too large."""
    constraints = state.constraints
    everywhere = both(has_all(table, constraints), np.ones(table.size, dtype=np.bool_))
    counted: dict[
        str, tuple[Ints, Bools]
    ] = {}  # as one node's counts by key: the later constraint of a key counts
    for one in constraints:
        counts, where = matching(table, one, pod), both(everywhere, counting(table, one, pod))
        assert where is not None
        if one.topology_key in counted:
            before, there = counted[one.topology_key]
            counts, where = np.where(where, counts, before), where | there
        counted[one.topology_key] = counts, where
    missing = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (MISSING_LABEL_REASON,), plugin.name)
    uneven = Status(Code.UNSCHEDULABLE, (CONSTRAINTS_REASON,), plugin.name)
    found: list[tuple[Bools, Status]] = []
    for one in constraints:
        domains = table.domains(one.topology_key)
        counts, where = counted[one.topology_key]
        sums = domains.sums(counts, where)
        there = np.zeros(len(domains), dtype=np.bool_)
        there[domains.ids[where]] = True
        number = int(there.sum())
        if not domains.all_have:
            found.append((~domains.has, missing))
        if number == 0:
            continue
        lowest = int(sums[there].min()) if number >= one.min_domains else 0
        own = 1 if one.selector.matches(pod.labels) else 0
        too_many = sums + (own - lowest) > one.max_skew
        found.append((domains.has & too_many[domains.ids], uneven))
    return Verdict.of(found)


def both(one: Bools | None, other: Bools | None) -> Bools | None:
    """Where both hold; None holds everywhere."""
    return one if other is None else other if one is None else one & other


def has_all(table: Table, constraints: Sequence[Constraint]) -> Bools | None:
    """The nodes that have the labels of all constraints; None: all nodes."""
    there: Bools | None = None
    for one in constraints:
        domains = table.domains(one.topology_key)
        there = both(there, None if domains.all_have else domains.has)
    return there


def matching(table: Table, constraint: Constraint, pod: Pod) -> Ints:
    """How many pods of each node a constraint counts."""
    return table.column(*_matching(constraint, pod))


def _matching(constraint: Constraint, pod: Pod) -> tuple[Hashable, Callable[[NodeInfo], int]]:
    selector, namespace = constraint.selector, pod.namespace
    key = "matching", selector, namespace
    return key, lambda info: count_matching_pods(info, selector, namespace)


def counting(table: Table, constraint: Constraint, pod: Pod) -> Bools | None:
    """The nodes whose pods count for a constraint; None: all nodes."""
    required = required_node_affinity(pod)
    free = constraint.node_affinity_policy != "Honor" or required == RequiredNodeAffinity()
    if free and constraint.node_taints_policy != "Honor":
        return None
    policies = constraint.node_affinity_policy, constraint.node_taints_policy
    column = table.column(
        ("counting", policies, required, pod.tolerations),
        lambda info: int(constraint.counts_node(pod, info.node, required)),
        of_node=True,
    )
    return np.equal(column, 1)


def scored(
    table: Table, plugin: PodTopologySpread, state: SoftState, pod: Pod, rows: Ints
) -> tuple[Ints, Ints]:
    """The raw scores of these rows, and the normalized ones."""
    constraints = state.constraints
    there = has_all(table, constraints)
    counted = there[rows] if state.require_all and there is not None else None
    weights, sums = by_domain(table, state, pod, rows if counted is None else rows[counted], there)
    total: Floats = np.zeros(len(rows), dtype=np.float64)
    for one, weight in zip(constraints, weights, strict=True):
        domains = table.domains(one.topology_key)
        if one.topology_key == HOSTNAME:
            points = matching(table, one, pod)[rows] * weight + (one.max_skew - 1)
        else:
            points = (sums[one.topology_key] * weight + (one.max_skew - 1))[domains.ids[rows]]
        total = total + (points if domains.all_have else np.where(domains.has[rows], points, 0.0))
    raw = rounded(total) if constraints else np.zeros(len(rows), dtype=np.int64)
    seen = raw if counted is None else raw[counted]
    highest, lowest = (int(seen.max()), int(seen.min())) if len(seen) and constraints else (0, 0)
    if highest == 0:
        normalized = np.full(len(rows), MAX_NODE_SCORE, dtype=np.int64)
    else:
        normalized = quotients(MAX_NODE_SCORE * (highest + lowest - raw), highest)
    return (
        (raw, normalized)
        if counted is None
        else (np.where(counted, raw, 0), np.where(counted, normalized, 0))
    )


def by_domain(
    table: Table, state: SoftState, pod: Pod, scored_rows: Ints, there: Bools | None
) -> tuple[list[float], dict[str, Ints]]:
    """Each constraint's weight, and the pods of each domain of a node to be scored; a host counts for itself."""
    weights: list[float] = []
    open_domains: dict[str, Bools] = {}
    for one in state.constraints:
        key = one.topology_key
        if key == HOSTNAME:
            weights.append(math.log(len(scored_rows) + 2))
            continue
        domains = table.domains(key)
        mine = np.zeros(len(domains), dtype=np.bool_)
        mine[domains.ids[scored_rows]] = True
        before = open_domains.get(key)
        weights.append(math.log(int((mine if before is None else mine & ~before).sum()) + 2))
        open_domains[key] = mine if before is None else mine | before
    sums = {key: np.zeros(len(mine), dtype=np.int64) for key, mine in open_domains.items()}
    for one in state.constraints:
        key = one.topology_key
        if key == HOSTNAME:
            continue
        domains, mine = table.domains(key), open_domains[key]
        where = both(counting(table, one, pod), None if mine.all() else mine[domains.ids])
        where = both(where, there if state.require_all else None)
        if where is None:
            sums[key] += table.summed(*_matching(one, pod), key)
        else:
            sums[key] += domains.sums(matching(table, one, pod), where)
    return weights, sums
