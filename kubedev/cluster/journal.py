"""A sequence that only grows, as a value: a longer one shares all that stands in a shorter one.

A history keeps the messages of each of its states; as tuples they would take room with the square of their number.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

__all__ = ["Journal"]

T = TypeVar("T")
_lock = threading.Lock()


class Journal(Sequence[T], Generic[T]):
    """An immutable sequence; `with_more` returns a longer one, at the cost of what is added."""

    __slots__ = ("_length", "_shared")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._shared = list(items)
        self._length = len(self._shared)

    def with_more(self, items: Iterable[T]) -> "Journal[T]":
        """The sequence with more at its end. Only the first one to go on from here shares the list."""
        added = list(items)
        if not added:
            return self
        longer: Journal[T] = Journal()
        with _lock:
            shares = len(self._shared) == self._length
            longer._shared = self._shared if shares else self._shared[: self._length]
            longer._shared.extend(added)
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
            return tuple(self._shared[i] for i in range(*index.indices(self._length)))
        if not -self._length <= index < self._length:
            raise IndexError(f"expected an index below {self._length}, got {index}")
        return self._shared[index % self._length]

    def __iter__(self) -> Iterator[T]:
        return (self._shared[i] for i in range(self._length))

    def __reversed__(self) -> Iterator[T]:
        return (self._shared[i] for i in range(self._length - 1, -1, -1))

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, Journal | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Journal({list(self)!r})"
