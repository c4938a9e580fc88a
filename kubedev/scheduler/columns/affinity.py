"""InterPodAffinity over columns.

What the incoming pod wants is counted by row and summed up by domain. What the pods that are there want is asked the
readable way, of the rows that have such pods only, and remembered for the next pod that they see the same way.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kubedev.api.objects import Pod
from kubedev.scheduler.columns.table import Bools, Domains, Ints, Table
from kubedev.scheduler.columns.verdict import Verdict
from kubedev.scheduler.context import Context
from kubedev.scheduler.later import Later
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.topology.inter_pod_affinity import (
    AFFINITY_REASON,
    ANTI_AFFINITY_REASON,
    EXISTING_ANTI_AFFINITY_REASON,
    InterPodAffinity,
)
from kubedev.scheduler.plugins.topology.pod_affinity_counts import repelling, their_points
from kubedev.scheduler.plugins.topology.pod_affinity_terms import (
    AffinityTerm,
    AffinityTerms,
    matches_all,
    parse_affinity_terms,
)
from kubedev.scheduler.scores import MAX_NODE_SCORE
from kubedev.scheduler.status import SUCCESS, Code, Status

__all__ = ["FilterState", "ScoreState", "ask_filter", "ask_score", "refusals", "scored"]

Domain = tuple[str, str]
Points = Mapping[str, Ints]


class FilterState(Later[object]):
    """The filter's state, counted when somebody reads it, with what columns count by."""

    __slots__ = ("existing", "terms")

    def __init__(self, make: Callable[[], object], terms: AffinityTerms, existing: Points) -> None:
        super().__init__(make)
        self.terms, self.existing = terms, existing


@dataclass(frozen=True, slots=True)
class ScoreState:
    """The points of the domains by key, as columns of the key's domains."""

    points: Mapping[str, Ints] = field(default_factory=dict)


class Theirs:
    """What the pods that are there say of an incoming pod: by row, so that a row can be said anew, and by domain."""

    def __init__(self, table: Table, of_row: Callable[[NodeInfo], Iterable[tuple[Domain, int]]]) -> None:
        self.table, self.of_row = table, of_row
        self.by_row: dict[int, Sequence[tuple[Domain, int]]] = {}
        self.sums: dict[str, Sums] = {}

    def mended(self, rows: Iterable[int]) -> "Theirs":
        """The same with these rows asked again."""
        for row in rows:
            before, after = self.by_row.pop(row, ()), tuple(self.of_row(self.table.infos[row]))
            if after:
                self.by_row[row] = after
            for said, sign in ((before, -1), (after, 1)):
                for (key, value), amount in said:
                    self._add(key, value, sign, sign * amount)
        return self

    def _add(self, key: str, value: str, times: int, amount: int) -> None:
        domains = self.table.domains(key)
        sums = self.sums.get(key)
        if sums is None:
            sums = self.sums[key] = Sums(domains)
        if sums.domains is domains:  # otherwise nodes have changed, and all of it is summed up again
            number = domains.numbers[value]
            sums.times[number] += times
            sums.points[number] += amount

    def points(self) -> dict[str, Ints]:
        """The points of each domain, by key; of those keys of which anything is said."""
        if any(sums.domains is not self.table.domains(key) for key, sums in self.sums.items()):
            self.sums = {}
            for said in self.by_row.values():
                for (key, value), amount in said:
                    self._add(key, value, 1, amount)
        return {key: sums.points for key, sums in self.sums.items() if sums.times.any()}


class Sums:
    """Points and how often anything was said, as columns of a key's domains."""

    def __init__(self, domains: Domains) -> None:
        self.domains = domains
        self.points: Ints = np.zeros(len(domains), dtype=np.int64)
        self.times: Ints = np.zeros(len(domains), dtype=np.int64)


def theirs(
    table: Table, key: Hashable, rows: set[int], of_row: Callable[[NodeInfo], Iterable[tuple[Domain, int]]]
) -> Points:
    """What the pods of these rows say, by key as a column of domains, remembered under a key."""
    said: Theirs = table.remembered(key, lambda: Theirs(table, of_row).mended(rows), Theirs.mended)
    return said.points()


def seen_as(pod: Pod, context: Context) -> tuple[Hashable, Mapping[str, str]]:
    """What other pods' terms look at in a pod, and the labels of its namespace."""
    labels = context.namespace_labels.get(pod.namespace, {})
    return (pod.namespace, frozenset(pod.labels.items()), frozenset(labels.items())), labels


def domains_of(info: NodeInfo, terms: Iterable[tuple[AffinityTerm, int]]) -> Iterable[tuple[Domain, int]]:
    """The domains of a node that terms speak of, with the terms' amounts."""
    for term, amount in terms:
        value = info.node.labels.get(term.topology_key)
        if value is not None:
            yield (term.topology_key, value), amount


# The filter


def ask_filter(
    table: Table, plugin: InterPodAffinity, pod: Pod, context: Context
) -> tuple[FilterState | None, Status, None]:
    """In place of the plugin's `pre_filter`."""
    terms = parse_affinity_terms(pod)
    if terms.errors:
        _, status, _ = plugin.pre_filter(pod, context.node_infos, context)
        return None, status, None
    terms = terms.with_namespaces(context.namespace_labels)
    existing = repelled(table, pod, context) if table.with_required_anti_affinity else {}
    state = FilterState(lambda: plugin.pre_filter(pod, context.node_infos, context)[0], terms, existing)
    nothing = not (existing or terms.required_affinity or terms.required_anti_affinity)
    return state, Status(Code.SKIP) if nothing else SUCCESS, None


def repelled(table: Table, pod: Pod, context: Context) -> Points:
    """How often the pods that are there do not want this one in a domain."""
    key, labels = seen_as(pod, context)

    def of_row(info: NodeInfo) -> Iterable[tuple[Domain, int]]:
        for other in info.pods_with_required_anti_affinity:
            yield from domains_of(info, ((term, 1) for term in repelling(other.terms, pod, labels)))

    return theirs(table, ("repelling", key), table.with_required_anti_affinity, of_row)


def refusals(table: Table, plugin: InterPodAffinity, state: FilterState, pod: Pod) -> Verdict:
    """The filter: the pod's affinity, its anti-affinity, then that of the pods that are there."""
    found: list[tuple[Bools, Status]] = []
    if wanted := state.terms.required_affinity:
        where = unsatisfied(table, wanted, pod)
        found.append((where, Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (AFFINITY_REASON,), plugin.name)))
    unwanted: dict[str, Ints] = {}
    for term in state.terms.required_anti_affinity:
        sums = sums_of(table, term, (term,))
        before = unwanted.get(term.topology_key)
        unwanted[term.topology_key] = sums if before is None else before + sums
    for key, sums in unwanted.items():
        domains = table.domains(key)
        status = Status(Code.UNSCHEDULABLE, (ANTI_AFFINITY_REASON,), plugin.name)
        found.append((domains.has & (sums > 0)[domains.ids], status))
    for key, sums in state.existing.items():
        domains = table.domains(key)
        status = Status(Code.UNSCHEDULABLE, (EXISTING_ANTI_AFFINITY_REASON,), plugin.name)
        found.append((domains.has & (sums > 0)[domains.ids], status))
    return Verdict.of(merged(found))


def merged(found: Sequence[tuple[Bools, Status]]) -> list[tuple[Bools, Status]]:
    """Neighbours with the same refusal as one."""
    together: list[tuple[Bools, Status]] = []
    for where, status in found:
        if together and together[-1][1] == status:
            together[-1] = together[-1][0] | where, status
        else:
            together.append((where, status))
    return together


def unsatisfied(table: Table, wanted: Sequence[AffinityTerm], pod: Pod) -> Bools:
    """The nodes that do not satisfy all affinity terms; the first pod of a group may go where the labels are."""
    together = tuple(wanted)
    sums: dict[str, Ints] = {}
    for term in wanted:
        more = sums_of(table, term, together)
        sums[term.topology_key] = sums[term.topology_key] + more if term.topology_key in sums else more
    missing = np.zeros(table.size, dtype=np.bool_)
    empty = np.zeros(table.size, dtype=np.bool_)
    for term in wanted:
        domains = table.domains(term.topology_key)
        missing |= ~domains.has
        empty |= (sums[term.topology_key] <= 0)[domains.ids]
    nobody = all(int(one.sum()) == 0 for one in sums.values())
    return missing if nobody and matches_all(wanted, pod) else missing | empty


def sums_of(table: Table, term: AffinityTerm, together: tuple[AffinityTerm, ...]) -> Ints:
    """How many pods all these terms mean, by domain of one term's key, over the nodes that have its label."""
    key, domains = ("meant", together), table.domains(term.topology_key)

    def of_row(info: NodeInfo) -> int:
        return sum([1 for one in info.pods if matches_all(together, one.pod)])

    if domains.all_have:
        return table.summed(key, of_row, term.topology_key)
    return domains.sums(table.column(key, of_row), domains.has)


# The scores


def ask_score(
    table: Table, plugin: InterPodAffinity, pod: Pod, context: Context
) -> tuple[ScoreState, Status] | None:
    """In place of the plugin's `pre_score`; None where that has to answer, since it counts nothing."""
    affinity = pod.affinity
    rules = (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ()
    if plugin.ignore_preferred_terms_of_existing_pods and not any(rule and rule.preferred for rule in rules):
        return ScoreState(), Status(Code.SKIP)
    terms = parse_affinity_terms(pod)
    if terms.errors:
        return None
    terms = terms.with_namespaces(context.namespace_labels)
    points = given_points(table, plugin, pod, context) if table.with_affinity else {}
    own = [(term, term.weight) for term in terms.preferred_affinity]
    own += [(term, -term.weight) for term in terms.preferred_anti_affinity]
    for term, weight in own:
        sums = sums_of(table, term, (term,))
        if sums.any():
            before = points.get(term.topology_key)
            points[term.topology_key] = weight * sums if before is None else before + weight * sums
    return ScoreState(points), SUCCESS if points else Status(Code.SKIP)


def given_points(table: Table, plugin: InterPodAffinity, pod: Pod, context: Context) -> dict[str, Ints]:
    """What the pods that are there give to a domain for this one."""
    key, labels = seen_as(pod, context)

    def of_row(info: NodeInfo) -> Iterable[tuple[Domain, int]]:
        for other in info.pods_with_affinity:
            said = their_points(other.terms, plugin.hard_pod_affinity_weight)
            yield from domains_of(info, ((t, weight) for t, weight in said if t.matches(pod, labels)))

    weight_key = "points", key, plugin.hard_pod_affinity_weight
    return dict(theirs(table, weight_key, table.with_affinity, of_row))


def scored(
    table: Table, plugin: InterPodAffinity, state: ScoreState, pod: Pod, rows: Ints
) -> tuple[Ints, Ints]:
    """The raw scores of these rows, and the normalized ones."""
    raw = np.zeros(len(rows), dtype=np.int64)
    for key, points in state.points.items():
        domains = table.domains(key)
        ids = domains.ids[rows]
        raw += points[ids] if domains.all_have else np.where(domains.has[rows], points[ids], 0)
    lowest = int(raw.min())
    span = int(raw.max()) - lowest
    if span == 0:
        return raw, np.zeros(len(rows), dtype=np.int64)
    return raw, (MAX_NODE_SCORE * ((raw - lowest) / span)).astype(np.int64)
