"""Who is evicted first: pods in order, with the keys that decide.

Go source: `pkg/kubelet/eviction/helpers.go: rankMemoryPressure, rankPIDPressure, rankDiskPressureFunc`. The class of
service is no key: a pod within its requests goes after every pod over its own. Pods that compare equal are in no
order; here they keep the one they came in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubedev.api.names import EPHEMERAL_STORAGE, MEMORY
from kubedev.api.objects import Pod
from kubedev.api.quantity import NANO, Quantity
from kubedev.kubelet.pressure.thresholds import INODES, PIDS
from kubedev.kubelet.pressure.usage import (
    IMAGES,
    LOCAL_VOLUMES,
    LOGS,
    ROOT,
    PodStats,
    disk_usage,
    request_quantity,
)

__all__ = ["Comparison", "RankBy", "Ranked", "Ranking", "rank", "rank_by_signal"]

NO_STATS, OVER_REQUEST, PRIORITY, AMOUNT = "no stats", "over request", "priority", "amount over request"
BILLION = 10**9


@dataclass(frozen=True, slots=True)
class RankBy:
    """What is compared: a resource, and for disks which kinds of data are counted."""

    resource: str
    measured: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranked:
    """A pod in the order of eviction, with the values it is compared by.

    `usage` is bytes or a count, None where there are no figures; `over` is usage less request in
    billionths (a request can be finer than a byte). Process counts are compared without a request.
    """

    pod: Pod
    priority: int
    usage: int | None = None
    request: Quantity = Quantity()
    over_request: bool = False
    over: int = 0

    def keys(self, resource: str) -> tuple[tuple[str, int], ...]:
        """The keys in their order; the smaller value goes first."""
        missing = (NO_STATS, int(self.usage is not None))
        amount = (AMOUNT, -self.over)
        if resource == PIDS:
            return (PRIORITY, self.priority), missing, amount
        over = (OVER_REQUEST, int(not self.over_request))
        return missing, over, (PRIORITY, self.priority), amount


@dataclass(frozen=True, slots=True)
class Comparison:
    """Why one pod goes before the next: the first key in which they differ, empty where none does."""

    first: Ranked
    second: Ranked
    key: str


@dataclass(frozen=True, slots=True)
class Ranking:
    """The pods in the order of their eviction."""

    by: RankBy
    ranked: tuple[Ranked, ...]

    def compare(self, first: Ranked, second: Ranked) -> Comparison:
        """Which key tells two pods apart."""
        pairs = zip(first.keys(self.by.resource), second.keys(self.by.resource), strict=True)
        return Comparison(first, second, next((left[0] for left, right in pairs if left != right), ""))

    def comparisons(self) -> tuple[Comparison, ...]:
        """Each pod compared with the one after it."""
        return tuple(map(self.compare, self.ranked, self.ranked[1:]))

    def groups(self) -> tuple[tuple[Ranked, ...], ...]:
        """The pods in order, those that compare equal together."""
        groups: list[list[Ranked]] = []
        for each in self.ranked:
            if groups and not self.compare(groups[-1][0], each).key:
                groups[-1].append(each)
            else:
                groups.append([each])
        return tuple(map(tuple, groups))


def rank(pods: Sequence[Pod], stats: Mapping[str, PodStats], by: RankBy) -> Ranking:
    """The pods in the order in which they would be evicted; `stats` are by uid."""
    ranked = (_ranked(pod, stats.get(pod.uid), by) for pod in pods)
    ordered = sorted(ranked, key=lambda each: tuple(value for _, value in each.keys(by.resource)))
    return Ranking(by, tuple(ordered))


def _ranked(pod: Pod, stats: PodStats | None, by: RankBy) -> Ranked:
    priority = pod.priority or 0
    if stats is None:
        return Ranked(pod, priority)
    if by.resource == PIDS:
        count = stats.process_count or 0
        return Ranked(pod, priority, count, over=count * BILLION)
    in_memory = by.resource == MEMORY
    usage = (stats.memory or 0) if in_memory else disk_usage(stats, pod, by.measured, by.resource)
    own = request_quantity(pod, by.resource)
    # inodes too are compared with what the pod requests of disk space
    less = own if in_memory else request_quantity(pod, EPHEMERAL_STORAGE)
    over_request = usage * BILLION > own.rounded_up(NANO)
    return Ranked(pod, priority, usage, own, over_request, usage * BILLION - less.rounded_up(NANO))


def rank_by_signal(signal: str, image_fs: bool, split_fs: bool) -> RankBy | None:
    """What pods are ranked by under a signal, which depends on the node's file systems (`buildSignalToRankFunc`)."""
    if signal in ("memory.available", "allocatableMemory.available"):
        return RankBy(MEMORY)
    if signal == "pid.available":
        return RankBy(PIDS)
    filesystem, _, what = signal.partition(".")
    measured = _measured(image_fs, split_fs).get(filesystem)
    if measured is None or what not in ("available", "inodesFree"):
        return None
    return RankBy(INODES if what == "inodesFree" else EPHEMERAL_STORAGE, measured)


def _measured(image_fs: bool, split_fs: bool) -> dict[str, tuple[str, ...]]:
    if not image_fs:
        everything = (IMAGES, ROOT, LOGS, LOCAL_VOLUMES)
        return dict.fromkeys(("nodefs", "imagefs", "containerfs"), everything)
    if split_fs:
        of_node = (LOGS, LOCAL_VOLUMES, ROOT)
        return {"nodefs": of_node, "containerfs": of_node, "imagefs": (IMAGES,)}
    return {"nodefs": (LOGS, LOCAL_VOLUMES), "imagefs": (ROOT, IMAGES), "containerfs": (ROOT, IMAGES)}
