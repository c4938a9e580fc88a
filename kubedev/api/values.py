"""States are values; here is what makes a changed one cheap: it shares all that did not change.

`replace` is that of dataclasses, in a sixth of the time. A SharedMap is a mapping that is changed by making another
one: of 50,000 pods a change copies some hundred references.
"""

from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from dataclasses import fields
from functools import cache
from inspect import ismemberdescriptor
from typing import TYPE_CHECKING, Any, Generic, TypeVar

__all__ = ["Same", "SharedMap", "replace", "with_item", "without_item"]

if TYPE_CHECKING:
    from dataclasses import replace  # the checker knows it, and what it may change
else:

    def replace(value, /, **changes):
        """The value with some fields changed. TypeError for what is not a field."""
        cls = type(value)
        changed = _replacer_of(cls)(cls, value, changes)
        if changes:
            raise TypeError(f"{cls.__name__} is not made of a field {next(iter(changes))!r}")
        return changed


@cache
def _replacer_of(cls: type) -> Callable[[type, Any, dict[str, Any]], Any]:
    """A function of a class, a value of it and changes (which it takes out) that makes the changed value.

    It is written here as one would by hand, a part a field, since that is the quickest way. Where nothing is checked or
    worked out when a value is made, the fields are set at once.
    """
    if any(field.kw_only for field in fields(cls)):
        raise TypeError(
            f"expected a class of fields that have a place, got {cls.__name__} with some by keyword"
        )
    names = [field.name for field in fields(cls) if field.init]
    parts = {name: f"changes.pop({name!r}) if {name!r} in changes else value.{name}" for name in names}
    slots: dict[str, Any] = {f"set_{field.name}": getattr(cls, field.name, None) for field in fields(cls)}
    if (
        hasattr(cls, "__post_init__")
        or len(names) < len(slots)
        or not all(map(ismemberdescriptor, slots.values()))
    ):
        lines, scope = [f"return cls({', '.join(parts.values())})"], {}
    else:
        lines = [
            "made = new(cls)",
            *(f"set_{name}(made, {part})" for name, part in parts.items()),
            "return made",
        ]
        scope = {"new": object.__new__} | {name: slot.__set__ for name, slot in slots.items()}
    exec("\n    ".join(["def replacer(cls, value, changes):", *lines]), scope)
    replacer: Callable[[type, Any, dict[str, Any]], Any] = scope["replacer"]
    return replacer


K = TypeVar("K")
V = TypeVar("V")


class Same(Generic[V]):
    """A value as a key of a cache: equal to itself alone, since comparing large values would cost more than is saved.
    What holds the key keeps the value alive.
    """

    __slots__ = ("value",)

    def __init__(self, value: V) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class SharedMap(Mapping[K, V], Generic[K, V]):
    """A mapping in the order of insertion, as a dict is, and equal to any mapping with the same items.

    Items stand in chunks of `_size` by the number that they got when they came; `_numbers` finds a key's number. A
    change copies one chunk and the list of them: the size is about the square root of how many items there are.
    """

    __slots__ = ("_chunks", "_length", "_next", "_numbers", "_size")

    def __init__(self, items: Mapping[K, V] | None = None) -> None:
        given = items or {}
        size = self._size = _chunk_size(len(given))
        chunks: dict[int, dict[K, V]] = {}
        numbers: dict[int, dict[K, int]] = {}
        for number, (key, value) in enumerate(given.items()):
            chunks.setdefault(number // size, {})[key] = value
            numbers.setdefault(hash(key) % size, {})[key] = number
        self._chunks, self._numbers = chunks, numbers
        self._length = self._next = len(given)

    def with_item(self, key: K, value: V) -> "SharedMap[K, V]":
        """With a value for the key: in the old one's place, or at the end."""
        number = self._number(key)
        if number is not None:
            return self._made(number, key, value, self._numbers, self._length, self._next)
        if self._length > 4 * self._size**2:
            return SharedMap({**dict(self.items()), key: value})
        number = self._next
        bucket = hash(key) % self._size
        numbers = {**self._numbers, bucket: {**self._numbers.get(bucket, {}), key: number}}
        return self._made(number, key, value, numbers, self._length + 1, number + 1)

    def without(self, key: K) -> "SharedMap[K, V]":
        """Without the key. KeyError where it is not there."""
        number = self._number(key)
        if number is None:
            raise KeyError(key)
        bucket, place = hash(key) % self._size, number // self._size
        chunks, numbers = self._chunks.copy(), self._numbers.copy()
        chunks[place], numbers[bucket] = chunks[place].copy(), numbers[bucket].copy()
        del chunks[place][key], numbers[bucket][key]
        if not chunks[place]:
            del chunks[place]
        return _of_parts(self._size, chunks, numbers, self._length - 1, self._next)

    def changed_since(self, older: "SharedMap[K, V]") -> list[K]:
        """The keys whose value is another object here than in an older map, or came; quick where little changed."""
        if older._size != self._size:
            return [key for key, value in self.items() if older.get(key) is not value]
        changed: list[K] = []
        for place, chunk in self._chunks.items():
            before = older._chunks.get(place, {})
            if before is not chunk:
                changed += [key for key, value in chunk.items() if before.get(key) is not value]
        return changed

    def _number(self, key: K) -> int | None:
        bucket = self._numbers.get(hash(key) % self._size)
        return None if bucket is None else bucket.get(key)

    def _made(
        self, number: int, key: K, value: V, numbers: dict[int, dict[K, int]], length: int, after: int
    ) -> "SharedMap[K, V]":
        place = number // self._size
        chunk = {**self._chunks.get(place, {}), key: value}
        return _of_parts(self._size, {**self._chunks, place: chunk}, numbers, length, after)

    def get(self, key: K, default: Any = None) -> Any:
        """The value of the key, or the default."""
        number = self._number(key)
        return default if number is None else self._chunks[number // self._size][key]

    def __contains__(self, key: object) -> bool:
        bucket = self._numbers.get(hash(key) % self._size)
        return bucket is not None and key in bucket

    def __getitem__(self, key: K) -> V:
        number = self._number(key)
        if number is None:
            raise KeyError(key)
        return self._chunks[number // self._size][key]

    def __iter__(self) -> Iterator[K]:
        for chunk in self._chunks.values():
            yield from chunk

    def __len__(self) -> int:
        return self._length

    def values(self) -> ValuesView[V]:
        """The values in order."""
        return _Values(self)

    def items(self) -> ItemsView[K, V]:
        """The keys with their values, in order."""
        return _Items(self)

    def __repr__(self) -> str:
        return repr(dict(self.items()))


class _Values(ValuesView[V]):
    """All values, without looking up each."""

    _mapping: SharedMap[Any, V]

    def __iter__(self) -> Iterator[V]:
        for chunk in self._mapping._chunks.values():
            yield from chunk.values()


class _Items(ItemsView[K, V]):
    """All items, without looking up each."""

    _mapping: SharedMap[K, V]

    def __iter__(self) -> Iterator[tuple[K, V]]:
        for chunk in self._mapping._chunks.values():
            yield from chunk.items()


def _chunk_size(length: int) -> int:
    """The power of two, at least 8, of which half the square is not reached."""
    size = 8
    while size * size < 2 * length:
        size *= 2
    return size


def _of_parts(
    size: int, chunks: dict[int, dict[K, V]], numbers: dict[int, dict[K, int]], length: int, after: int
) -> SharedMap[K, V]:
    made: SharedMap[K, V] = SharedMap.__new__(SharedMap)
    made._size, made._chunks, made._numbers, made._length, made._next = size, chunks, numbers, length, after
    return made


def with_item(items: Mapping[K, V], key: K, value: V) -> SharedMap[K, V]:
    """A mapping with one value more, or another one."""
    return (items if isinstance(items, SharedMap) else SharedMap(items)).with_item(key, value)


def without_item(items: Mapping[K, V], key: K) -> SharedMap[K, V]:
    """A mapping without a key. KeyError where it is not there."""
    return (items if isinstance(items, SharedMap) else SharedMap(items)).without(key)
