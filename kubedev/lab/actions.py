"""What a reader can do to a lab, as data: `{"do": "set_health", "device": "d0", "healthy": False}`.

A click in a picture, a button, a line of code and a recording are the same thing: methods marked with `@action` are
what can be done, `carry_out` does one, `line_of_code` writes it down as Python.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from kubedev.views.catalogue import say

__all__ = ["ACTIONS", "Action", "Actor", "Done", "action", "allow", "carry_out", "line_of_code"]

Action = Mapping[str, Any]
P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Actor")


class Actor(Protocol):
    """Whoever can be acted on keeps what was done."""

    def began(self) -> Any:
        """What is to be remembered of the moment before an action."""

    def done(self, action: Action, before: Any) -> None:
        """Take down what was done."""


@dataclass(frozen=True, slots=True)
class Done:
    """An action, and how long the history was when it was done."""

    step: int
    action: Action


ACTIONS: dict[str, inspect.Signature] = {}
"""Everything that can be done: the name -> its arguments."""

_KINDS: dict[str, Callable[[Any], Any]] = {"int": int, "float": float}


def action(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Mark a method as something a reader can do; what it refuses is not taken down."""
    name, signature = method.__name__, inspect.signature(method)
    ACTIONS[name] = signature

    @wraps(method)
    def carried(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
        before = self.began()
        result = method(self, *args, **kwargs)
        bound = signature.bind(self, *args, **kwargs).arguments
        given = {
            key: str(value) if isinstance(value, Path) else value
            for key, value in list(bound.items())[1:]
            if not _is_default(signature, key, value)
        }
        self.done({"do": name, **given}, before)
        return result

    return cast(Callable[Concatenate[S, P], R], carried)


def allow(method: Callable[..., Any]) -> None:
    """Let a method be done as an action too, though it is not taken down: looking around changes nothing."""
    ACTIONS[method.__name__] = inspect.signature(method)


def _is_default(signature: inspect.Signature, name: str, value: Any) -> bool:
    default = signature.parameters[name].default
    return default is not inspect.Parameter.empty and bool(default == value)


def carry_out(actor: object, action: Action) -> Any:
    """Do what an action says. Raises ValueError for one that nobody can do, and whatever the doing raises."""
    name = action.get("do")
    signature = ACTIONS.get(str(name))
    if signature is None or not hasattr(actor, str(name)):
        there = ", ".join(known for known in sorted(ACTIONS) if hasattr(actor, known))
        raise ValueError(say("action.unknown", there=there, got=name))
    given = {key: _as_asked(signature, key, value) for key, value in action.items() if key != "do"}
    try:
        signature.bind(actor, **given)
    except TypeError as error:
        raise ValueError(
            say("action.arguments", name=name, signature=_words(signature), error=error)
        ) from None
    return getattr(actor, str(name))(**given)


def _as_asked(signature: inspect.Signature, name: str, value: Any) -> Any:
    """A number that was typed comes as text."""
    kind = signature.parameters[name].annotation if name in signature.parameters else None
    convert = _KINDS.get(getattr(kind, "__name__", str(kind)))
    return convert(value) if convert is not None and isinstance(value, str) else value


def _words(signature: inspect.Signature) -> str:
    return ", ".join(list(signature.parameters)[1:])


def line_of_code(action: Action, of: str = "lab") -> str:
    """An action as a line of Python; what is asked for first stands without its name."""
    names = list(ACTIONS[action["do"]].parameters)[1:]
    parts = []
    for name, value in action.items():
        if name == "do":
            continue
        text = f'"""\\\n{value}"""' if isinstance(value, str) and "\n" in value else _repr(value)
        parts.append(text if names and name == names[0] else f"{name}={text}")
    return f"{of}.{action['do']}({', '.join(parts)})"


def _repr(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f'"{value}"' if isinstance(value, str) and '"' not in value else repr(value)
