"""What the API server says about a field that it refuses, in its words, and what to do about it.

Go source: `k8s.io/apimachinery/pkg/util/validation/field/errors.go`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kubedev.api.gotext import quote

__all__ = [
    "Problem",
    "Problems",
    "duplicate",
    "forbidden",
    "invalid",
    "invalids",
    "not_found",
    "required",
    "too_long",
    "too_many",
    "unsupported",
]


@dataclass(frozen=True, slots=True)
class Problem:
    """A field, what is wrong with it, and what to do; printed as the API server prints it."""

    field: str
    message: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


Problems = Iterator[Problem]


def invalid(field: str, value: object, detail: str, advice: str = "") -> Problem:
    """A value that breaks a rule."""
    return Problem(field, f"Invalid value: {go_value(value)}: {detail}", advice)


def invalids(field: str, value: object, details: Iterable[str]) -> Problems:
    """A value that breaks several rules."""
    return (invalid(field, value, detail) for detail in details)


def required(field: str, detail: str = "", advice: str = "") -> Problem:
    """A value that is missing."""
    return Problem(field, f"Required value: {detail}" if detail else "Required value", advice)


def forbidden(field: str, detail: str, advice: str = "") -> Problem:
    """A value where there must be none."""
    return Problem(field, f"Forbidden: {detail}", advice)


def duplicate(field: str, value: str, advice: str = "") -> Problem:
    """A value that stands twice where it may stand once."""
    return Problem(field, f"Duplicate value: {go_value(value)}", advice)


def unsupported(field: str, value: str, supported: Iterable[str]) -> Problem:
    """A value that is not among those that are known."""
    known = ", ".join(map(go_value, supported))
    return Problem(field, f"Unsupported value: {go_value(value)}: supported values: {known}")


def not_found(field: str, value: str, detail: str) -> Problem:
    """A value that names what is not there."""
    return Problem(field, f"Not found: {go_value(value)}: {detail}")


def too_long(field: str, most: int) -> Problem:
    """A text of more bytes than there may be."""
    return Problem(field, f"Too long: may not be more than {most} bytes")


def too_many(field: str, number: int, most: int) -> Problem:
    """A list of more items than there may be."""
    return Problem(field, f"Too many: {number}: must have at most {most} items")


def go_value(value: object) -> str:
    """A value as Go prints it: texts in double quotes, numbers bare, labels as `map[string]string{"a":"b"}`."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, Mapping):
        members = ", ".join(f"{go_value(key)}:{go_value(value[key])}" for key in sorted(value))
        return f"map[string]string{{{members}}}"
    return str(value).lower() if isinstance(value, bool) else str(value)
