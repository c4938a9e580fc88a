"""What the API server refuses of the names of drivers, devices and attributes, and of lists of such.

Go: `pkg/apis/resource/validation/validation.go`.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from kubedev.api import names
from kubedev.api.problems import Problems, duplicate, invalid, invalids, required, too_long, too_many

__all__ = [
    "attribute_name_problems",
    "driver_problems",
    "each",
    "label_problems",
    "too_many_problems",
    "twice",
]

LONGEST_ID, LONGEST_DRIVER = 32, 63
C_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
NO_C_IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
    "'[A-Za-z_][A-Za-z0-9_]*')"
)

T = TypeVar("T")


def driver_problems(name: str, path: str) -> Problems:
    """Go: `ValidateCSIDriverName`."""
    if not name:
        yield required(path)
        return
    if len(name) > LONGEST_DRIVER:
        yield too_long(path, LONGEST_DRIVER)
    yield from invalids(path, name, names.dns_subdomain_problems(name.lower()))


def attribute_name_problems(name: str, path: str) -> Problems:
    """Go: `validateQualifiedName`."""
    if not name:
        yield required(path, "name required")
        return
    *domains, short = name.split("/")
    if len(domains) > 1:
        return
    if domains and not domains[0]:
        yield required(path, "the prefix must not be empty")
    elif domains:
        yield from driver_problems(domains[0], path)
    if domains and not short:
        yield required(path, "the name must not be empty")
        return
    if len(short) > LONGEST_ID:
        yield too_long(path, LONGEST_ID)
    if not C_IDENTIFIER.fullmatch(short):
        yield invalid(path, short, NO_C_IDENTIFIER)


def label_problems(name: str, path: str) -> Problems:
    """Go: `ValidateDNS1123Label`."""
    yield from invalids(path, name, names.dns_label_problems(name))


def each(items: Sequence[T], most: int, problems: Callable[[T, str], Problems], path: str) -> Problems:
    """Go: `validateSlice`."""
    for i, item in enumerate(items):
        yield from problems(item, f"{path}[{i}]")
    yield from too_many_problems(items, most, path)


def too_many_problems(items: Sequence[object], most: int, path: str) -> Problems:
    """A list that is too long."""
    if len(items) > most:
        yield too_many(path, len(items), most)


def twice(keys: Iterable[str], path: str, below: str = "") -> Problems:
    """Keys that stand in a list twice. Go: `validateSet`."""
    seen: set[str] = set()
    for i, key in enumerate(keys):
        if key in seen:
            yield duplicate(f"{path}[{i}]{below}", key)
        seen.add(key)
