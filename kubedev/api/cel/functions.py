"""What can be called in CEL: operators, CEL's own functions, and Kubernetes' for quantities and versions.

Each overload is a row: the types that it takes, the one that it gives, and how. The checker reads the types, the
evaluation calls. Go: `cel-go/common/stdlib/standard.go`, `k8s.io/apiserver/pkg/cel/library/quantity.go, semverlib.go`.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, NamedTuple

from kubedev.api.cel.lexer import UInt
from kubedev.api.cel.semver import Semver
from kubedev.api.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    NUMBERS,
    QUANTITY,
    SEMVER,
    STRING,
    UINT,
    A,
    B,
    Type,
    list_of,
    map_of,
    type_of,
)
from kubedev.api.int64 import MAX_INT64, fits_int64
from kubedev.api.quantity import Quantity

__all__ = [
    "FUNCTIONS",
    "MAX_COST",
    "METHODS",
    "CostError",
    "EvaluationError",
    "Overload",
    "are_equal",
    "found_in",
]


class EvaluationError(ValueError):
    """An expression that has no value for what it was asked of; the text is CEL's."""


class CostError(Exception):
    """An evaluation takes too long, or too much; no `||` goes on after that."""


MAX_COST = 1_000_000
"""The steps that an evaluation may take, and the length of what it puts together; Kubernetes counts more finely.

Go: `CELSelectorExpressionMaxCost`.
"""


class Overload(NamedTuple):
    """A function for some types; `call` gets the values."""

    params: tuple[Type, ...]
    result: Type
    call: Callable[..., Any]


WHOLE = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)
PLAIN = (str, int, bool)
"""Types of values that Python compares as CEL does, among their own."""


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def are_equal(one: Any, other: Any) -> bool:
    """Whether two values are equal: numbers of any kind by their value, others of different types never.

    Go: `cel-go/common/types: Equal`.
    """
    if (type(one) is type(other) and type(one) in PLAIN) or (is_number(one) and is_number(other)):
        return bool(one == other)
    if type_of(one) != type_of(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(are_equal, one, other))
    if isinstance(one, Mapping):
        return len(one) == len(other) and all(
            key in other and are_equal(value, other[key]) for key, value in one.items()
        )
    if isinstance(one, Semver):
        return one.compare(other) == 0
    return bool(one == other)


def found_in(key: Any, values: Mapping[Any, Any]) -> tuple[Any, bool]:
    """What a map has for a key, and whether it has anything. A map may answer for keys that it has not."""
    default = getattr(values, "default", None)
    if type(key) is str:
        return (values[key], True) if key in values else (default, default is not None)
    for known, value in values.items():
        if are_equal(known, key):
            return value, True
    return default, default is not None


def in_range(number: int, of: type[int]) -> int:
    """A whole number that its type holds."""
    if of is UInt:
        if not 0 <= number < 1 << 64:
            raise EvaluationError("unsigned integer overflow")
        return UInt(number)
    if not fits_int64(number):
        raise EvaluationError("integer overflow")
    return number


def whole(calculate: Callable[[int, int], int]) -> Callable[[int, int], int]:
    """Arithmetic on whole numbers of one type."""

    def call(one: int, other: int) -> int:
        return in_range(calculate(int(one), int(other)), type(one))

    return call


def together(one: Any, other: Any) -> Any:
    """Two texts or lists as one."""
    if len(one) + len(other) > MAX_COST:
        raise CostError
    return one + other


def quotient(one: int, other: int) -> int:
    if not other:
        raise EvaluationError("division by zero")
    return abs(one) // abs(other) * (-1 if (one < 0) != (other < 0) else 1)


def remainder(one: int, other: int) -> int:
    if not other:
        raise EvaluationError("modulus by zero")
    return one - other * quotient(one, other)


def ratio(one: float, other: float) -> float:
    if other:
        return one / other
    return math.nan if not one or math.isnan(one) else math.copysign(math.inf, one)


def item(values: tuple[Any, ...], index: Any) -> Any:
    if not 0 <= index < len(values):
        raise EvaluationError(f"index out of bounds: {index}")
    return values[index]


def entry(values: Mapping[Any, Any], key: Any) -> Any:
    value, found = found_in(key, values)
    if not found:
        raise EvaluationError(f"no such key: {key}")
    return value


def read(text: str, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def can_be_read(parse: Callable[[str], Any]) -> Callable[[str], bool]:
    def call(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return call


def as_integer(quantity: Quantity) -> int:
    value = quantity.as_int64()
    if value is None:
        raise EvaluationError("cannot convert value to integer")
    return value


def to_int(value: Any) -> int:
    if isinstance(value, float) and not (math.isfinite(value) and abs(value) < MAX_INT64):
        raise EvaluationError("integer overflow")
    if isinstance(value, str) and not WHOLE.fullmatch(value):
        raise EvaluationError(f"cannot convert {value!r} to int")
    return in_range(int(value), int)


def to_double(value: Any) -> float:
    return float(read(value, float)) if isinstance(value, str) else float(value)


def to_string(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(int(value) if isinstance(value, int) else value)


def same(types: tuple[Type, ...], result: Type | None, call: Callable[..., Any]) -> list[Overload]:
    """Overloads of two values of one type each; without a result they give their own type."""
    return [Overload((of, of), result or of, call) for of in types]


def ordered(compare: Callable[[Any, Any], bool]) -> list[Overload]:
    """Comparisons: of numbers with any others, of the rest with their own kind."""
    pairs = [*product(NUMBERS, NUMBERS), (STRING, STRING), (BYTES, BYTES), (BOOL, BOOL)]
    return [Overload(pair, BOOL, compare) for pair in pairs]


def arithmetic(
    calculate: Callable[[int, int], int], of_doubles: Callable[[float, float], float]
) -> list[Overload]:
    return [*same((INT, UINT), None, whole(calculate)), Overload((DOUBLE, DOUBLE), DOUBLE, of_doubles)]


def compared(of: Type, compare: Callable[[Any, Any], int]) -> dict[str, Overload]:
    """The three methods of values that are compared by calls."""
    return {
        "isLessThan": Overload((of, of), BOOL, lambda one, other: compare(one, other) < 0),
        "isGreaterThan": Overload((of, of), BOOL, lambda one, other: compare(one, other) > 0),
        "compareTo": Overload((of, of), INT, compare),
    }


SIZES = [Overload((of,), INT, len) for of in (STRING, BYTES, list_of(A), map_of(A, B))]

FUNCTIONS: Mapping[str, list[Overload]] = {
    "_==_": [Overload((A, A), BOOL, are_equal)],
    "_!=_": [Overload((A, A), BOOL, lambda one, other: not are_equal(one, other))],
    "_<_": ordered(operator.lt),
    "_<=_": ordered(operator.le),
    "_>_": ordered(operator.gt),
    "_>=_": ordered(operator.ge),
    "@in": [
        Overload((A, list_of(A)), BOOL, lambda one, values: any(are_equal(one, value) for value in values)),
        Overload((A, map_of(A, B)), BOOL, lambda key, values: any(are_equal(key, known) for known in values)),
    ],
    "_[_]": [
        Overload((list_of(A), INT), A, item),
        Overload((map_of(A, B), A), B, entry),
    ],
    "_+_": [
        *arithmetic(operator.add, operator.add),
        *same((STRING, BYTES, list_of(A)), None, together),
    ],
    "_-_": arithmetic(operator.sub, operator.sub),
    "_*_": arithmetic(operator.mul, operator.mul),
    "_/_": arithmetic(quotient, ratio),
    "_%_": same((INT, UINT), None, whole(remainder)),
    "-_": [
        Overload((INT,), INT, lambda number: in_range(-number, int)),
        Overload((DOUBLE,), DOUBLE, operator.neg),
    ],
    "!_": [Overload((BOOL,), BOOL, operator.not_)],
    "size": SIZES,
    "dyn": [Overload((A,), DYN, lambda value: value)],
    "int": [Overload((of,), INT, to_int) for of in (*NUMBERS, STRING)],
    "uint": [Overload((of,), UINT, lambda value: in_range(to_int(value), UInt)) for of in (*NUMBERS, STRING)],
    "double": [Overload((of,), DOUBLE, to_double) for of in (*NUMBERS, STRING)],
    "string": [Overload((of,), STRING, to_string) for of in (*NUMBERS, STRING, BOOL)],
    "quantity": [Overload((STRING,), QUANTITY, lambda text: read(text, Quantity.parse))],
    "isQuantity": [Overload((STRING,), BOOL, can_be_read(Quantity.parse))],
    "semver": [Overload((STRING,), SEMVER, lambda text: read(text, Semver.parse))],
    "isSemver": [Overload((STRING,), BOOL, can_be_read(Semver.parse))],
    "sign": [Overload((QUANTITY,), INT, Quantity.sign)],
}
"""Functions and operators by name."""

OF_QUANTITIES, OF_VERSIONS = compared(QUANTITY, Quantity.cmp), compared(SEMVER, Semver.compare)

METHODS: Mapping[str, list[Overload]] = {
    "startsWith": same((STRING,), BOOL, str.startswith),
    "endsWith": same((STRING,), BOOL, str.endswith),
    "contains": same((STRING,), BOOL, str.__contains__),
    "lowerAscii": [Overload((STRING,), STRING, str.lower)],
    "upperAscii": [Overload((STRING,), STRING, str.upper)],
    "trim": [Overload((STRING,), STRING, str.strip)],
    "size": SIZES,
    **{name: [OF_QUANTITIES[name], OF_VERSIONS[name]] for name in OF_QUANTITIES},
    "isInteger": [Overload((QUANTITY,), BOOL, lambda quantity: quantity.as_int64() is not None)],
    "asInteger": [Overload((QUANTITY,), INT, as_integer)],
    "asApproximateFloat": [Overload((QUANTITY,), DOUBLE, lambda quantity: float(quantity.as_dec()))],
    "add": [
        Overload((QUANTITY, QUANTITY), QUANTITY, operator.add),
        Overload((QUANTITY, INT), QUANTITY, lambda one, number: one + Quantity.of(number)),
    ],
    "sub": [
        Overload((QUANTITY, QUANTITY), QUANTITY, operator.sub),
        Overload((QUANTITY, INT), QUANTITY, lambda one, number: one - Quantity.of(number)),
    ],
    "major": [Overload((SEMVER,), INT, lambda version: version.major)],
    "minor": [Overload((SEMVER,), INT, lambda version: version.minor)],
    "patch": [Overload((SEMVER,), INT, lambda version: version.patch)],
}
"""Functions that are called on a value (`text.startsWith("a")`)."""
