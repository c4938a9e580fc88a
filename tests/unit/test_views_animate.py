"""The first screens of the labs: files that move by themselves, as they are drawn, and that give nothing away."""

import json
import re
from xml.etree import ElementTree

import pytest

from kubedev.views.animate import SECONDS, animated
from kubedev.views.images import FIRSTS, draw_firsts
from kubedev.views.picture import Picture, Pill, Text
from tests.conftest import ROOT
from tests.unit.picture_checks import problems

SVG = "{http://www.w3.org/2000/svg}"
LABS = sorted((ROOT / "labs").glob("[0-9][0-9]-*.ipynb"))
DRAWN = draw_firsts()


def frames() -> list[Picture]:
    """A word that stays, one that comes and goes, and a message that travels."""
    stays = Text("stays", 10, 20, "stays")
    seen = [
        Text("here", 10, 40, "here"),
        Pill("m", 60, 60, "hello", start=(10, 60)),
        Text("gone", 10, 40, "gone"),
    ]
    return [Picture("", "", 80, (stays, mark), (), "alt", 120) for mark in seen]


def test_the_files_are_up_to_date() -> None:
    stored = {path.name: path.read_text("utf-8") for path in (ROOT / "labs" / "img").glob("*.svg")}
    different = [name for name in stored.keys() | DRAWN.keys() if stored.get(name) != DRAWN.get(name)]
    assert not different, f"draw them anew with `python -m kubedev.views.images`: {different}"


@pytest.mark.parametrize("name", DRAWN)
def test_a_file_moves_by_css_alone_and_is_small(name: str) -> None:
    text = DRAWN[name]
    root = ElementTree.fromstring(text)
    assert len(text.encode()) < 24_000
    assert not re.search(r"<script|<animate|href|url\(|@import", text)
    assert f"{SECONDS}s" in text
    assert "prefers-color-scheme:dark" in text
    assert "prefers-reduced-motion:reduce" in text
    assert root.get("role") == "img"
    assert len(root.get("aria-label") or "") > 60


@pytest.mark.parametrize("name", FIRSTS)
def test_each_moment_is_in_order(name: str) -> None:
    first = FIRSTS[name]()
    assert [found for frame in first.frames for found in problems(frame)] == []
    assert len({frame.height for frame in first.frames}) == 1
    assert 0 <= first.still < len(first.frames)


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.stem[:2])
def test_the_first_cell_of_a_lab_shows_it(lab: object) -> None:
    number = lab.stem[:2]  # type: ignore[attr-defined]
    first = "".join(json.loads(lab.read_text("utf-8"))["cells"][0]["source"])  # type: ignore[attr-defined]
    assert f'<img src="img/{number}.svg" alt="{FIRSTS[number]().alt}">' in first


def test_the_first_screen_of_lab_00_gives_no_number_of_the_nodes_status() -> None:
    said = " ".join(m.text for f in FIRSTS["00"]().frames for m in f.marks if isinstance(m, Text))
    assert not re.search("capacity|allocatable", said)


def test_what_stays_is_there_once_and_what_comes_and_goes_is_switched() -> None:
    root = ElementTree.fromstring(animated(frames(), 1, "alt"))
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert sorted(texts) == ["gone", "hello", "here", "stays"]
    sheet = root.findtext(f"{SVG}style") or ""
    assert sheet.count("@keyframes s") == 3
    assert (
        sheet.count("{opacity:1;animation:s") == 1
    )  # of the three, the one that is shown where nothing moves


def test_a_message_travels_from_where_it_is_sent() -> None:
    text = animated(frames(), 1, "alt")
    assert "--x:-50px;--y:0px" in text
    assert "@keyframes m1" in text
