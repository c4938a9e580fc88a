"""The types of CEL, and which of them a value has. Go: `cel-go/common/types/types.go`, `checker/types.go`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubedev.api.cel.lexer import UInt
from kubedev.api.cel.semver import Semver
from kubedev.api.quantity import Quantity

__all__ = [
    "ANY", "BOOL", "BYTES", "DEVICE", "DOUBLE", "DYN", "INT", "NULL", "NUMBERS", "QUANTITY", "SEMVER", "STRING",
    "UINT", "A", "B", "Type", "fits", "has_type", "joined", "list_of", "map_of", "resolved", "type_of",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Type:
    """A type with those of what it holds."""

    name: str
    params: tuple["Type", ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.params))})" if self.params else self.name

    @property
    def is_dynamic(self) -> bool:
        """Whether only the value will tell."""
        return self.name in ("dyn", "any")


BOOL, INT, UINT, DOUBLE = Type("bool"), Type("int"), Type("uint"), Type("double")
STRING, BYTES, NULL = Type("string"), Type("bytes"), Type("null_type")
DYN, ANY = Type("dyn"), Type("any")
QUANTITY, SEMVER, DEVICE = (
    Type("kubernetes.Quantity"),
    Type("kubernetes.Semver"),
    Type("kubernetes.DRADevice"),
)
A, B = Type("<A>"), Type("<B>")
"""Any types at all, each the same wherever it stands in a signature."""
NUMBERS = (INT, UINT, DOUBLE)

LIST, MAP = Type("list"), Type("map")
OF_VALUES: Mapping[type, Type] = {
    bool: BOOL,
    UInt: UINT,
    int: INT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
    Quantity: QUANTITY,
    Semver: SEMVER,
    tuple: LIST,
}


def list_of(item: Type) -> Type:
    """A list of one type."""
    return Type("list", (item,))


def map_of(key: Type, value: Type) -> Type:
    """A map from one type to another."""
    return Type("map", (key, value))


def type_of(value: Any) -> Type:
    """The type of a value, without that of what it holds."""
    return OF_VALUES.get(type(value), MAP)


def has_type(value: Any, wanted: Type) -> bool:
    """Whether a value can stand where a signature wants a type."""
    return wanted.is_dynamic or wanted in (A, B) or type_of(value).name == wanted.name


def joined(one: Type, other: Type) -> Type | None:
    """The type that holds both; None where there is none."""
    if one.is_dynamic or other.is_dynamic:
        return one if one.is_dynamic else other
    if one.name != other.name or len(one.params) != len(other.params):
        return None
    params = [joined(left, right) for left, right in zip(one.params, other.params, strict=True)]
    found = tuple(param for param in params if param is not None)
    return Type(one.name, found) if len(found) == len(params) else None


def fits(actual: Type, wanted: Type, known: dict[Type, Type]) -> bool:
    """Whether a type can stand where a signature wants another; `known` is what A and B are, and is added to."""
    if wanted in (A, B):
        both = joined(known.get(wanted, actual), actual)
        if both is not None:
            known[wanted] = both
        return both is not None
    if actual.is_dynamic or wanted.is_dynamic:
        return True
    return actual.name == wanted.name and all(
        fits(mine, its, known) for mine, its in zip(actual.params, wanted.params, strict=True)
    )


def resolved(found: Type, known: Mapping[Type, Type]) -> Type:
    """A signature's type with what A and B are; dyn where nothing says."""
    if found in (A, B):
        return known.get(found, DYN)
    return Type(found.name, tuple(resolved(param, known) for param in found.params))
