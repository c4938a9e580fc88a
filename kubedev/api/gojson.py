"""JSON as Go's encoding/json reads and writes it, where that differs from Python's.

Go reads into values that are there already, and is lenient: keys match a field in any case, unknown ones are
skipped, repeated ones are read one after another, null empties a list or map and leaves all else as it was.
So an object is read as its members in order, and a reader is told the value that it reads over.

Source: Go's `encoding/json/decode.go, encode.go`.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

__all__ = [
    "JSONError",
    "Reader",
    "int64",
    "int_key",
    "list_of",
    "map_of",
    "octets",
    "pointer_to",
    "quote",
    "struct",
    "text",
    "uint64",
    "unmarshal",
]

SURROGATES = re.compile("[\ud800-\udfff]")
ESCAPED = re.compile('[<>&\u2028\u2029\x00-\x1f"\\\\\ud800-\udfff]')
SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class JSONError(ValueError):
    """A text that is no JSON, or a value that does not fit where it stands."""


# Reads a value over another one; the text says where it stands, for the error.
Reader = Callable[[Any, Any, str], Any]


@dataclass(frozen=True, slots=True)
class _Number:
    literal: str


@dataclass(frozen=True, slots=True)
class _Object:
    members: tuple[tuple[str, Any], ...]


def unmarshal(source: str, reader: Reader, over: Any) -> Any:
    """Read a JSON text over a value; JSONError if it cannot be. What is no Unicode becomes U+FFFD."""
    try:
        value = _DECODER.decode(SURROGATES.sub("\ufffd", source))
    except (ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError) and (
            error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
        ):
            raise JSONError("unexpected end of JSON input") from None
        raise JSONError(f"invalid JSON: {error}") from None
    return reader(value, over, "")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"expected a value, got {name}")


_DECODER = json.JSONDecoder(
    object_pairs_hook=lambda members: _Object(tuple(members)),
    parse_int=_Number,
    parse_float=_Number,
    parse_constant=_no_constant,
)


def struct(fields: Mapping[str, Reader]) -> Reader:
    """A Go struct with these fields, here a dict. Fields that are absent stay as they were."""
    folded = {name.casefold(): (name, reader) for name, reader in fields.items()}

    def read(value: Any, over: Any, where: str) -> Any:
        if value is None:
            return over
        result = dict(over)
        for key, member in _as(_Object, value, where).members:
            if key.casefold() in folded:
                name, reader = folded[key.casefold()]
                result[name] = reader(member, result[name], f"{where}.{name}")
        return result

    return read


def list_of(reader: Reader, zero: Any) -> Reader:
    """A Go slice, here a list, or None for nil. `zero` is what an element is read over."""

    def read(value: Any, over: Any, where: str) -> Any:
        if value is None:
            return None
        return [reader(element, zero, f"{where}.{i}") for i, element in enumerate(_as(list, value, where))]

    return read


def map_of(reader: Reader, key: Callable[[str], Any] = str) -> Reader:
    """A Go map of lists or maps, here a dict, or None for nil; `key` reads a key or raises ValueError."""

    def read(value: Any, over: Any, where: str) -> Any:
        if value is None:
            return None
        result = dict(over or {})
        for name, member in _as(_Object, value, where).members:
            try:
                result[key(name)] = reader(member, None, f"{where}.{name}")
            except JSONError:
                raise
            except ValueError:
                raise JSONError(f"json: cannot unmarshal key {quote(name)} of {where.lstrip('.')}") from None
        return result

    return read


def pointer_to(reader: Reader, zero: Any) -> Reader:
    """A Go pointer, here None for nil; `zero` is what a new value is read over."""

    def read(value: Any, over: Any, where: str) -> Any:
        return None if value is None else reader(value, zero if over is None else over, where)

    return read


def text(value: Any, over: Any, where: str) -> Any:
    """A Go string; what is no Unicode becomes U+FFFD."""
    return over if value is None else SURROGATES.sub("\ufffd", _as(str, value, where))


def uint64(value: Any, over: Any, where: str) -> Any:
    """A Go uint64: digits only, no sign, fraction or exponent."""
    if value is None:
        return over
    literal = _as(_Number, value, where).literal
    if len(literal) > 20 or not literal.isdecimal() or int(literal) >= 2**64:
        raise JSONError(f"json: cannot unmarshal number {literal} into {where.lstrip('.')} of type uint64")
    return int(literal)


def int64(value: Any, over: Any, where: str) -> Any:
    """A Go int: a whole number without fraction or exponent."""
    if value is None:
        return over
    literal = _as(_Number, value, where).literal
    if not re.fullmatch("-?[0-9]{1,19}", literal) or not -(2**63) <= int(literal) < 2**63:
        raise JSONError(f"json: cannot unmarshal number {literal} into {where.lstrip('.')} of type int")
    return int(literal)


def int_key(key: str) -> int:
    """A key of a Go map with int keys; ValueError if it is none."""
    if not (key.isascii() and key.lstrip("+-").isdecimal()) or not -(2**63) <= int(key) < 2**63:
        raise ValueError(key)
    return int(key)


def octets(value: Any, over: Any, where: str) -> Any:
    """A Go []byte, which JSON has in base64; None for nil."""
    if value is None:
        return None
    encoded = re.sub("[\r\n]", "", _as(str, value, where))
    try:
        if len(encoded) % 4:
            raise ValueError("incomplete")
        return base64.b64decode(encoded, validate=True)
    except ValueError:
        raise JSONError(f"json: illegal base64 data in {where.lstrip('.')}") from None


def _as(expected: type[Any], value: Any, where: str) -> Any:
    if isinstance(value, expected):
        return value
    names = {_Object: "object", list: "array", str: "string", _Number: "number", bool: "bool"}
    raise JSONError(
        f"json: cannot unmarshal {names[type(value)]} into {where.lstrip('.') or 'the whole'}, "
        f"expected {names[expected]}"
    )


def quote(source: str) -> str:
    """A text as Go writes it: non-ASCII stays, but for what could end a script in HTML, and for what is not UTF-8."""
    return f'"{ESCAPED.sub(_escape, source)}"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char >= "\ud800":
        return "\\ufffd"  # U+2028 and the like are below
    return SHORT.get(char) or f"\\u{ord(char):04x}"
