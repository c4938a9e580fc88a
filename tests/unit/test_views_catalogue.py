"""The texts: every one that is asked for is there, and each can be filled in."""

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubedev.views.catalogue import FILE, TEXTS, MissingTextWarning, say, templates
from tests.conftest import ROOT

PACKAGE = ROOT / "kubedev"
MODULES = sorted(path for room in ("views", "lab", "tools") for path in (PACKAGE / room).rglob("*.py"))


def said(path: Path) -> Iterator[tuple[int, str]]:
    """The keys that a module says, as regular expressions: what is filled in may be anything."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "say" and node.args:
            key = node.args[0]
            if isinstance(key, ast.Constant):
                yield node.lineno, re.escape(str(key.value))
            elif isinstance(key, ast.JoinedStr):
                parts = [re.escape(v.value) if isinstance(v, ast.Constant) else ".+" for v in key.values]
                yield node.lineno, "".join(parts)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_every_key_that_is_said_has_a_text(path: Path) -> None:
    for line, key in said(path):
        assert any(re.fullmatch(key, known) for known in TEXTS), f"{path}:{line}: {key}"


def test_a_key_without_a_text_shows_its_own_words_and_warns() -> None:
    with pytest.warns(MissingTextWarning, match="no text 'hints.too-few'"):
        assert say("hints.too-few", have=1) == "hints too few"


def test_a_template_is_filled_in() -> None:
    assert say("frame.step", step=2, total=7) == "Step 2 of 7"


def test_templates_of_a_room_are_its_own_alone() -> None:
    assert templates("question")["lock"] == TEXTS["question.lock"]
    assert all(f"question.{name}" in TEXTS for name in templates("question"))


def test_every_text_can_be_filled_in_by_name() -> None:
    for key, text in TEXTS.items():
        fields = [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
        assert all(re.fullmatch(r"\w+", name) for name in fields), key


def test_the_texts_are_one_file_beside_the_package() -> None:
    assert FILE == PACKAGE / "texts" / "en.toml"
