"""Values of kubedev as JSON and back: frozen dataclasses, enums, tuples, sets and mappings."""

import dataclasses
import enum
import importlib
from collections.abc import Mapping
from functools import reduce
from typing import Any

from kubedev.api.values import SharedMap
from kubedev.cluster.journal import Journal
from kubedev.scheduler.later import MadeLater
from kubedev.scheduler.queue.active import ActiveQueue

__all__ = ["decode", "encode"]

ROOT = "kubedev."


def encode(value: Any) -> Any:
    """A JSON value that `decode` turns back into an equal one. Raises TypeError for what kubedev does not use."""
    if value is None or (isinstance(value, bool | int | float | str) and not isinstance(value, enum.Enum)):
        return value
    if isinstance(value, MadeLater):
        return encode(value.now())
    if isinstance(value, enum.Enum):
        return {"enum": _name(type(value)), "value": value.name}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"class": _name(type(value)), "fields": fields}
    if isinstance(value, Journal):
        return {"journal": [encode(item) for item in value], "dropped": value.dropped}
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if isinstance(value, list):
        return {"list": [encode(item) for item in value]}
    if isinstance(value, frozenset | set):
        return {"set": [encode(item) for item in sorted(value, key=repr)]}
    if isinstance(value, ActiveQueue):
        return {"active": [encode(queued) for queued in value.values()]}
    if isinstance(value, SharedMap):
        return {"shared": [[encode(key), encode(item)] for key, item in value.items()]}
    if isinstance(value, Mapping):
        return {"map": [[encode(key), encode(item)] for key, item in value.items()]}
    raise TypeError(f"cannot write a {type(value).__name__} to JSON")


def decode(data: Any) -> Any:
    """The value that `encode` wrote. Raises ValueError where the text names something outside kubedev."""
    if isinstance(data, list):
        return tuple(decode(item) for item in data)
    if not isinstance(data, dict):
        return data
    match data:
        case {"class": name, "fields": fields}:
            return _made(_class(name), {key: decode(value) for key, value in fields.items()})
        case {"enum": name, "value": value}:
            return _class(name)[value]
        case {"bytes": text}:
            return bytes.fromhex(text)
        case {"journal": items, "dropped": dropped}:
            return Journal(map(decode, items), dropped)
        case {"list": items}:
            return [decode(item) for item in items]
        case {"set": items}:
            return frozenset(decode(item) for item in items)
        case {"active": pods}:
            return reduce(ActiveQueue.with_pod, map(decode, pods), ActiveQueue())
        case {"shared": pairs}:
            return SharedMap({decode(key): decode(value) for key, value in pairs})
        case {"map": pairs}:
            return {decode(key): decode(value) for key, value in pairs}
    raise ValueError(f"expected a value written by kubedev, got an object with the keys {sorted(data)}")


def _name(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _class(name: str) -> Any:
    module, _, qualname = name.partition(":")
    if not module.startswith(ROOT):
        raise ValueError(f"expected a class of kubedev, got {name!r}")
    found = getattr(importlib.import_module(module), qualname)
    if not (dataclasses.is_dataclass(found) or issubclass(found, enum.Enum)):
        raise ValueError(f"expected a value class of kubedev, got {name!r}")
    return found


def _made(cls: type, fields: dict[str, Any]) -> Any:
    """An instance with these fields, those that __init__ does not take included."""
    made = cls(**{f.name: fields[f.name] for f in dataclasses.fields(cls) if f.init and f.name in fields})
    for field in dataclasses.fields(cls):
        if not field.init and field.name in fields:
            object.__setattr__(made, field.name, fields[field.name])
    return made
