"""Remembering what was worked out for a value, by the object itself: comparing large values would cost more."""

from typing import Generic, TypeVar

__all__ = ["Same"]

T = TypeVar("T")


class Same(Generic[T]):
    """A value as a key of a cache: equal to itself alone. What holds the key keeps the value alive."""

    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)
