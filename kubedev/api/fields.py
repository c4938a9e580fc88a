"""Reading typed fields out of a manifest: JSON values in, values or an error that names the field out."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kubedev.api.quantity import Quantity, QuantityError

__all__ = ["FieldError", "Fields"]

RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[-+]\d\d:\d\d)", re.ASCII)


class FieldError(ValueError):
    """A field that cannot be read: where it stands, and what was expected, what came and what to do."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object and the path to it. Absent and null are the same, as in Kubernetes: the empty value."""

    values: Mapping[str, Any]
    path: str = ""

    @classmethod
    def of(cls, value: object, path: str = "") -> "Fields":
        """The object at a path, or FieldError where something else stands."""
        if value is None:
            return cls({}, path)
        if not isinstance(value, Mapping):
            raise FieldError(path or "(the document)", expected("an object (key: value lines)", value))
        return cls(value, path)

    def at(self, key: object) -> str:
        """The path of a field of this object."""
        return f"{self.path}.{key}" if self.path else str(key)

    def has(self, key: str) -> bool:
        """Whether something stands there."""
        return self.values.get(key) is not None

    def text(self, key: str, default: str = "") -> str:
        """A text; absent, null and empty all give the default."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, str):
            raise FieldError(self.at(key), expected("a text", value) + ": put it in quotes")
        return value or default

    def integer(self, key: str, default: int = 0, bits: int = 32) -> int:
        """A whole number that so many bits hold."""
        value = self.values.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int):
            raise FieldError(self.at(key), expected("a whole number, without quotes", value))
        if not -(1 << bits - 1) <= value < 1 << bits - 1:
            most = (1 << bits - 1) - 1
            raise FieldError(self.at(key), expected(f"a whole number from {-most - 1} to {most}", value))
        return value

    def optional_integer(self, key: str, bits: int = 32) -> int | None:
        """A whole number, or None where there is none: 0 and nothing differ here."""
        return self.integer(key, bits=bits) if self.has(key) else None

    def boolean(self, key: str) -> bool:
        """True or false; absent is false."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, bool):
            raise FieldError(self.at(key), expected("true or false, without quotes", value))
        return bool(value)

    def time(self, key: str) -> float | None:
        """A moment in RFC 3339, as seconds since 1970; None where there is none."""
        text = self.text(key)
        if not text:
            return None
        try:
            if RFC3339.fullmatch(text):
                return datetime.fromisoformat(text).timestamp()
        except ValueError:  # the 32nd of a month
            pass
        raise FieldError(self.at(key), expected("a time such as 2024-01-31T12:00:00Z", text))

    def child(self, key: str) -> "Fields":
        """The object in a field; an empty one where there is none."""
        return Fields.of(self.values.get(key), self.at(key))

    def children(self, key: str) -> list["Fields"]:
        """The objects of a list."""
        return [Fields.of(item, f"{self.at(key)}[{i}]") for i, item in enumerate(self.items(key))]

    def items(self, key: str) -> list[Any]:
        """A list of anything."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, list | tuple):
            raise FieldError(self.at(key), expected("a list (lines that start with -)", value))
        return list(value or ())

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        items = self.items(key)
        for i, item in enumerate(items):
            if not isinstance(item, str):
                raise FieldError(f"{self.at(key)}[{i}]", expected("a text", item) + ": put it in quotes")
        return tuple(items)

    def text_map(self, key: str) -> dict[str, str]:
        """Texts by text: labels, annotations."""
        child = self.child(key)
        for name in child.values:
            if not isinstance(name, str):
                raise FieldError(child.at(name), expected("a text as key", name) + ": put it in quotes")
        return {name: child.text(name) for name in child.values}

    def quantities(self, key: str) -> dict[str, Quantity]:
        """Quantities by resource name."""
        child = self.child(key)
        return {
            str(name): read_quantity(value, f"{child.path}[{name}]") for name, value in child.values.items()
        }

    def quantity(self, key: str) -> Quantity:
        """One quantity; absent is zero."""
        return read_quantity(self.values.get(key), self.at(key))


def read_quantity(value: object, path: str) -> Quantity:
    """A quantity as it stands in a manifest, or FieldError."""
    try:
        return Quantity.from_json(value)
    except QuantityError as error:
        raise FieldError(
            path,
            f"Invalid value: {shown(value)}: {error}: write a number with a suffix of Kubernetes, "
            "such as 500m, 2, 1.5Gi",
        ) from None


def expected(what: str, value: object) -> str:
    """The sentence that says what should stand there and what does."""
    return f"expected {what}, got {shown(value)}"


def shown(value: object) -> str:
    """A value as it would be written in JSON, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
