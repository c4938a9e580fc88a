"""A sequence that only grows, as a value: a longer one shares all that stands in a shorter one.

A history keeps the messages of each of its states; as tuples they would take room with the square of their number.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

__all__ = ["KEPT", "Journal"]

T = TypeVar("T")
_lock = threading.Lock()

KEPT = 20_000
"""How many items are kept at least; of more than twice as many the oldest are dropped."""


class Journal(Sequence[T], Generic[T]):
    """An immutable sequence; `with_more` returns a longer one, at the cost of what is added.

    Its length counts all items that there ever were, and each keeps its index; of very many only the newest are there
    (`dropped` says how many are not), and only those are iterated.
    """

    __slots__ = ("_items", "_length", "dropped")

    def __init__(self, items: Iterable[T] = (), dropped: int = 0) -> None:
        self.dropped = dropped
        self._items = list(items)
        self._length = dropped + len(self._items)

    def with_more(self, items: Iterable[T]) -> "Journal[T]":
        """The sequence with more at its end. Only the first one to go on from here shares the list."""
        added = list(items)
        if not added:
            return self
        longer: Journal[T] = Journal()
        longer.dropped = self.dropped
        with _lock:
            own = self._length - self.dropped
            shares = len(self._items) == own
            longer._items = (
                self._items if shares and own < 2 * KEPT else self._items[max(own - KEPT, 0) : own]
            )
            if longer._items is not self._items:
                longer.dropped = self._length - len(longer._items)
            longer._items.extend(added)
        longer._length = self._length + len(added)
        return longer

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            wanted = range(*index.indices(self._length))
            return tuple(self._items[i - self.dropped] for i in wanted if i >= self.dropped)
        at = index + self._length if index < 0 else index
        if not self.dropped <= at < self._length:
            raise IndexError(f"expected an index from {self.dropped} to {self._length - 1}, got {index}")
        return self._items[at - self.dropped]

    def __iter__(self) -> Iterator[T]:
        return (self._items[i] for i in range(self._length - self.dropped))

    def __reversed__(self) -> Iterator[T]:
        return (self._items[i] for i in range(self._length - self.dropped - 1, -1, -1))

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, Journal | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Journal({list(self)!r})"
