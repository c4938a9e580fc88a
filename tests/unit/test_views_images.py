"""The files of images/ are what the code draws, byte for byte."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from kubedev.views.images import IMAGES, draw
from tests.unit.picture_checks import problems

IMAGES_DIRECTORY = Path(__file__).parents[2] / "images"


def test_files_are_up_to_date() -> None:
    stored = {path.name: path.read_text("utf-8") for path in IMAGES_DIRECTORY.glob("*.svg")}
    drawn = draw()
    different = sorted(name for name in stored.keys() | drawn.keys() if stored.get(name) != drawn.get(name))
    assert not different, f"draw them anew with `python -m kubedev.views.images`: {different}"


@pytest.mark.parametrize("name", sorted(IMAGES))
def test_nothing_overlaps_or_is_cut(name: str) -> None:
    assert problems(IMAGES[name]()) == []


@pytest.mark.parametrize("name", sorted(draw()))
def test_each_file_is_whole_in_itself(name: str) -> None:
    text = draw()[name]
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img"
    assert len(root.get("aria-label") or "") > 40
    assert "href" not in text
    assert "<script" not in text
    assert "var(" not in text
