"""The catalogue: every message that is used is there, and none is there that is not used."""

import importlib
import re
from pathlib import Path

import pytest

from kubedev.views import catalogue
from kubedev.views.catalogue import ENGLISH, register, say

VIEWS = Path(catalogue.__file__).parent


def test_every_literal_key_exists() -> None:
    for path in sorted(VIEWS.glob("*.py")):
        importlib.import_module(f"kubedev.views.{path.stem}")  # a picture may bring its own words
        for key in re.findall(r'\bsay\(\s*"([^"{}]+)"', path.read_text("utf-8")):
            assert key in ENGLISH, f"{path.name}: {key}"


def test_an_unknown_key_says_where_to_add_it() -> None:
    with pytest.raises(KeyError, match="catalogue"):
        say("no.such.key")


def test_keys_are_registered_once() -> None:
    with pytest.raises(ValueError, match="frame"):
        register({"frame.step": "again"})
