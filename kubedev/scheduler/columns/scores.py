"""The default scores over columns: raw and normalized, for the rows of the nodes that fit."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kubedev.api.names import CPU, EPHEMERAL_STORAGE, MEMORY, is_scalar_resource_name
from kubedev.api.objects import Pod
from kubedev.api.values import Same
from kubedev.scheduler.columns import affinity, spread
from kubedev.scheduler.columns.arithmetic import quotients, rounded
from kubedev.scheduler.columns.table import Bools, Floats, Ints, Table
from kubedev.scheduler.context import Context
from kubedev.scheduler.plugins.image_locality import ImageLocality, normalized_image_name
from kubedev.scheduler.plugins.node_affinity import NodeAffinity
from kubedev.scheduler.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from kubedev.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kubedev.scheduler.plugins.resource_scores import Strategy, broken_linear
from kubedev.scheduler.plugins.taint_toleration import TaintToleration
from kubedev.scheduler.plugins.topology.inter_pod_affinity import InterPodAffinity
from kubedev.scheduler.plugins.topology.pod_topology_spread import PodTopologySpread
from kubedev.scheduler.scores import MAX_NODE_SCORE, NO_SCORE

__all__ = ["SCORES"]

Scored = tuple[Ints, Ints]
Scorer = Callable[[Table, Any, Any, Pod, Ints], Scored | None]
"""Of a table, a plugin, its state, the pod and the rows: raw and normalized scores, or None where only the readable way
can tell."""


def used_and_given(table: Table, name: str, request: int, kind: str) -> tuple[Ints, Ints] | None:
    """What would be requested of a resource with the pod there, and what is allocatable; None where it counts nowhere.

    Go: `calculateResourceAllocatableRequest`.
    """
    if name in (CPU, MEMORY):
        used, given = table.columns[f"{kind}/{name}"], table.columns[f"allocatable/{name}"]
    elif name == EPHEMERAL_STORAGE:
        used, given = table.columns[f"requested/{name}"], table.columns[f"allocatable/{name}"]
    elif request == 0 and is_scalar_resource_name(name):
        return None
    else:
        used, given = table.scalar(name)
        there = table.has_scalar(name)
        return np.where(there, used + request, 0), np.where(there, given, 0)
    return used + request, given


def balanced(
    table: Table, plugin: NodeResourcesBalancedAllocation, state: tuple[int, ...], pod: Pod, rows: Ints
) -> Scored:
    """NodeResourcesBalancedAllocation: remembered for all pods that ask for the same."""
    raw = table.reckoned(
        ("balanced", Same(plugin), state),
        lambda: balance(table, plugin, state),
        lambda info: plugin.score(state, pod, info).value,
    )
    return taken(table, raw, rows)


def taken(table: Table, raw: Ints, rows: Ints) -> Scored:
    """The rows' part of a column that needs no normalizing."""
    mine = raw if rows is table.rows else raw[rows]
    return mine, mine


def balance(table: Table, plugin: NodeResourcesBalancedAllocation, state: Sequence[int]) -> Ints:
    """How equally full the resources of each row would be."""
    fractions: list[tuple[Floats, Bools]] = []
    for (name, _), request in zip(plugin.resources, state, strict=True):
        if (amounts := used_and_given(table, name, request, "requested")) is not None:
            used, given = amounts
            counts = given != 0
            part = used.astype(np.float64) / np.where(counts, given, 1).astype(np.float64)
            fractions.append((np.where(counts, np.minimum(part, 1.0), 0.0), counts))
    raw: Ints = ((1 - deviations(fractions, table.size)) * MAX_NODE_SCORE).astype(np.int64)
    return raw


def deviations(fractions: Sequence[tuple[Floats, Bools]], size: int) -> Floats:
    """How far each row's fractions are from their mean, in the order of Go's operations; 0 for less than two."""
    if len(fractions) < 2:
        return np.zeros(size)
    number = sum(counts.astype(np.int64) for _, counts in fractions)
    if len(fractions) == 2:
        return np.where(number == 2, np.abs((fractions[0][0] - fractions[1][0]) / 2), 0.0)
    mean = sum(part for part, _ in fractions) / np.maximum(number, 1)
    squares = np.zeros(size)
    for part, counts in fractions:
        squares = squares + np.where(counts, (part - mean) * (part - mean), 0.0)
    many = np.sqrt(squares / np.maximum(number, 1))
    first, second = np.full(size, np.nan), np.full(size, np.nan)
    for part, counts in fractions:
        second = np.where(counts & np.isnan(second) & ~np.isnan(first), part, second)
        first = np.where(counts & np.isnan(first), part, first)
    return np.where(number > 2, many, np.where(number == 2, np.abs((first - second) / 2), 0.0))


def allocation(
    table: Table, plugin: NodeResourcesFit, state: tuple[int, ...], pod: Pod, rows: Ints
) -> Scored | None:
    """NodeResourcesFit: remembered for all pods that ask for the same."""
    for name, _ in plugin.resources:
        given = table.columns.get(f"allocatable/{name}")
        if (table.scalar(name)[1] if given is None else given).min() < 0:
            return None
    raw = table.reckoned(
        ("allocation", Same(plugin), state),
        lambda: fullness(table, plugin, state),
        lambda info: plugin.score(state, pod, info).value,
    )
    return taken(table, raw, rows)


def fullness(table: Table, plugin: NodeResourcesFit, state: Sequence[int]) -> Ints:
    """The weighted mean over the resources of each row."""
    ratio = plugin.strategy is Strategy.REQUESTED_TO_CAPACITY_RATIO
    total, weights = np.zeros(table.size, dtype=np.int64), np.zeros(table.size, dtype=np.int64)
    for (name, weight), request in zip(plugin.resources, state, strict=True):
        if (amounts := used_and_given(table, name, request, "non-zero")) is None:
            continue
        used, given = amounts
        counts = given != 0
        scores = one_resource(plugin, used, np.where(counts, given, 1))
        if ratio:
            counts = counts & (scores != 0)
        total += np.where(counts, scores * weight, 0)
        weights += np.where(counts, weight, 0)
    some = np.maximum(weights, 1)
    return rounded(total / some) if ratio else quotients(total, some)


def one_resource(plugin: NodeResourcesFit, used: Ints, given: Ints) -> Ints:
    """One resource's scores, 0 to 100; sums and products wrap as int64 does."""
    if plugin.strategy is Strategy.LEAST_ALLOCATED:
        return quotients(np.where(used > given, 0, given - used) * MAX_NODE_SCORE, given)
    if plugin.strategy is Strategy.MOST_ALLOCATED:
        return quotients(np.minimum(used, given) * MAX_NODE_SCORE, given)
    utilization = np.where(used > given, 100, quotients(used * 100, given))
    values, places = np.unique(utilization, return_inverse=True)
    points = np.array([broken_linear(plugin.shape, value) for value in values.tolist()], dtype=np.int64)
    return points[places]


def taints(table: Table, plugin: TaintToleration, state: Any, pod: Pod, rows: Ints) -> Scored:
    """TaintToleration: the fewest taints that are not tolerated are the best."""
    raw = table.column(
        ("intolerable", plugin, state), lambda info: plugin.score(state, pod, info).value, of_node=True
    )[rows]
    highest = int(raw.max())
    if highest == 0:
        return raw, np.full(len(rows), MAX_NODE_SCORE, dtype=np.int64)
    return raw, MAX_NODE_SCORE - quotients(MAX_NODE_SCORE * raw, highest)


def node_affinity(table: Table, plugin: NodeAffinity, state: Any, pod: Pod, rows: Ints) -> Scored:
    """NodeAffinity: the highest sum of weights is the best."""
    raw = table.column(("preferred", state), lambda info: plugin.score(state, pod, info).value, of_node=True)[
        rows
    ]
    highest = int(raw.max())
    return raw, raw if highest <= 0 else quotients(MAX_NODE_SCORE * raw, highest)


def images(table: Table, plugin: ImageLocality, state: Context, pod: Pod, rows: Ints) -> Scored:
    """ImageLocality: nodes that have no images at all need no look."""
    if not table.with_images:
        raw = np.full(len(rows), NO_SCORE.value, dtype=np.int64)
        return raw, raw
    wanted = tuple(normalized_image_name(c.image) for c in (*pod.init_containers, *pod.containers))

    def make() -> Ints:
        shares, _ = plugin.pre_score(pod, table.infos, state)
        return np.array([plugin.score(shares, pod, info).value for info in table.infos], dtype=np.int64)

    known: Ints = table.remembered(("images", wanted), make, lambda _, changed: make(), of_node=True)
    return known[rows], known[rows]


SCORES: Mapping[type, Scorer] = {
    TaintToleration: taints,
    NodeAffinity: node_affinity,
    NodeResourcesFit: allocation,
    NodeResourcesBalancedAllocation: balanced,
    ImageLocality: images,
    PodTopologySpread: spread.scored,
    InterPodAffinity: affinity.scored,
}
"""The scores that know columns, by the plugin's class."""
