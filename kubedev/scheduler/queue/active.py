"""The pods that are to be scheduled, the next one first: a value, and quick to change when there are thousands.

Go: `pkg/scheduler/backend/heap/heap.go`. Ours is a leftist heap, whose parts are shared by the queues before and after
a change. A pod that leaves from the middle stays in the heap until it is the first: it is passed over then.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Union

from kubedev.api.values import SharedMap
from kubedev.scheduler.queue.queued_pod import QueuedPod, sort_key

__all__ = ["ActiveQueue"]

Order = tuple[tuple[int, float], int]


class Heap(NamedTuple):
    """A pod that comes before all others below it; `rank` is the length of the way down on the right."""

    rank: int
    order: Order
    queued: QueuedPod
    left: Union["Heap", None]
    right: Union["Heap", None]


class ActiveQueue(Mapping[str, QueuedPod]):
    """Queued pods by `namespace/name`, in the order in which they became active; `first` is the next one to pop."""

    __slots__ = ("_came", "_heap", "_in_heap", "_pods")

    def __init__(self) -> None:
        self._pods: SharedMap[str, QueuedPod] = SharedMap()
        self._heap: Heap | None = None
        self._came = self._in_heap = 0

    def first(self) -> QueuedPod | None:
        """The pod to be scheduled next: of equals the one that came first. None where there is none."""
        return self._heap.queued if self._heap else None

    def with_pod(self, queued: QueuedPod) -> "ActiveQueue":
        """With a pod, the last of its equals, in place of an older version."""
        pods = self._pods.without(queued.key) if queued.key in self._pods else self._pods
        order = sort_key(queued), self._came
        heap = merged(self._heap, Heap(1, order, queued, None, None))
        return self._changed(pods.with_item(queued.key, queued), heap, 1)

    def without(self, key: str) -> "ActiveQueue":
        """Without a pod. KeyError where it is not there."""
        return self._changed(self._pods.without(key), self._heap, 0)

    def _changed(self, pods: SharedMap[str, QueuedPod], heap: Heap | None, came: int) -> "ActiveQueue":
        """The queue afterwards, with a pod that is there at the top of the heap."""
        made = ActiveQueue()
        in_heap = self._in_heap + came
        while heap and pods.get(heap.queued.key) is not heap.queued:
            heap, in_heap = merged(heap.left, heap.right), in_heap - 1
        if in_heap > 2 * len(pods) + 64:  # mostly pods that have left
            for queued in pods.values():
                made = made.with_pod(queued)
            return made
        made._pods, made._heap, made._in_heap, made._came = pods, heap, in_heap, self._came + came
        return made

    def __getitem__(self, key: str) -> QueuedPod:
        return self._pods[key]

    def __contains__(self, key: object) -> bool:
        return key in self._pods

    def __iter__(self) -> Iterator[str]:
        return iter(self._pods)

    def __len__(self) -> int:
        return len(self._pods)

    def __repr__(self) -> str:
        return repr(self._pods)


def merged(one: Heap | None, other: Heap | None) -> Heap | None:
    """Two heaps as one."""
    if one is None or other is None:
        return one or other
    if other.order < one.order:
        one, other = other, one
    left, right = one.left, merged(one.right, other)
    if rank(left) < rank(right):
        left, right = right, left
    return Heap(rank(right) + 1, one.order, one.queued, left, right)


def rank(heap: Heap | None) -> int:
    """The length of the way down on the right."""
    return heap.rank if heap else 0
