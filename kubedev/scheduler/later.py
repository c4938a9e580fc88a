"""What is worked out when somebody reads it: the parts of a decision that nobody may ever look at.

A decision over thousands of nodes knows its winner and its message at once; each node's status and scores are made, by
the readable way, when they are read. They are equal to those that were made at once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

__all__ = ["Later", "LaterMapping", "LaterSequence", "MadeLater"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class MadeLater:
    """What stands for a value that is made when it is read: `now` gives it, and equal is what it is equal to."""

    __slots__ = ()

    def now(self) -> Any:
        """The value."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return bool(self.now() == (other.now() if isinstance(other, MadeLater) else other))

    __hash__ = None  # type: ignore[assignment]


class Later(MadeLater, Generic[T]):
    """A value that is made once, when it is asked for with `now`."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make

    def now(self) -> T:
        """The value."""
        if self._make is not None:
            self._made = self._make()
            self._make = None  # what it was made of may go
        return self._made

    def __repr__(self) -> str:
        return repr(self.now())


class LaterSequence(Later[tuple[T, ...]], Sequence[T]):
    """A tuple that is made when it is read; how long it is may be known before."""

    __slots__ = ("_length",)

    def __init__(self, make: Callable[[], tuple[T, ...]], length: int | None = None) -> None:
        super().__init__(make)
        self._length = length

    def __len__(self) -> int:
        return len(self.now()) if self._length is None else self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self.now()[index]

    def __iter__(self) -> Iterator[T]:
        return iter(self.now())


class LaterMapping(Later[Mapping[K, V]], Mapping[K, V]):
    """A mapping that is made when it is read; how many items it has may be known before."""

    __slots__ = ("_length",)

    def __init__(self, make: Callable[[], Mapping[K, V]], length: int | None = None) -> None:
        super().__init__(make)
        self._length = length

    def __len__(self) -> int:
        return len(self.now()) if self._length is None else self._length

    def __getitem__(self, key: K) -> V:
        return self.now()[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self.now())

    def __contains__(self, key: Any) -> bool:
        return key in self.now()
