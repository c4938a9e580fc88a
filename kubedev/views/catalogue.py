"""Every sentence, label and word that kubedev shows, by key; the texts of a language are one file, `texts/en.toml`.

Names of Kubernetes (kubelet, Allocate, capacity, NUMA) and Kubernetes' own messages are data, not text: they stand in
the room that decides.
"""

import tomllib
import warnings
from pathlib import Path

__all__ = ["TEXTS", "MissingTextWarning", "say", "templates"]

FILE = Path(__file__).parents[1] / "texts" / "en.toml"

TEXTS: dict[str, str] = tomllib.loads(FILE.read_text("utf-8"))
"""Key -> template, filled in by `say` as `str.format` does."""


class MissingTextWarning(UserWarning):
    """A key has no text: its own words are shown in its place."""


def say(key: str, **values: object) -> str:
    """Return the text of `key` with `values` filled in; the key's own words (and a warning) where it has none."""
    template = TEXTS.get(key)
    if template is None:
        warnings.warn(f"no text {key!r} in {FILE}", MissingTextWarning, stacklevel=2)
        return key.replace(".", " ").replace("-", " ")
    return template.format(**values)


def templates(room: str) -> dict[str, str]:
    """Return the texts of all keys that begin with `room` and a dot, by the rest of the key, to be filled in later."""
    return {key.removeprefix(f"{room}."): text for key, text in TEXTS.items() if key.startswith(f"{room}.")}
