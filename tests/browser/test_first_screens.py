"""The first screens in a page: they move, follow the theme, and are still where nothing may move."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import FLAGS
from tests.conftest import ROOT

IMAGES = sorted((ROOT / "labs" / "img").glob("*.svg"))
PAUSE = 2500  # milliseconds: longer than any moment of a first screen, and not a whole turn of it
TURNS = 4  # between two moves it may rest
SIZE = {"width": 1060, "height": 440}

Seen = dict[str, bytes]


def opened(browser: Browser, folder: Path, dark: bool = False) -> Page:
    """A page with all first screens, each in an `<img>` as a notebook shows it, all in view."""
    file = folder / "page.html"
    shown = "".join(
        f"<div style='height:{SIZE['height']}px'><img src='{path.as_uri()}' alt='a first screen'></div>"
        for path in IMAGES
    )
    file.write_text(f"<body style='margin:0'>{shown}</body>")
    view = {**SIZE, "height": SIZE["height"] * len(IMAGES)}
    page = browser.new_page(viewport=view, color_scheme="dark" if dark else "light")  # type: ignore[arg-type]
    page.goto(file.as_uri())
    page.wait_for_function("[...document.images].every((one) => one.complete && one.naturalWidth > 700)")
    return page


def seen(page: Page) -> Seen:
    """What is on the screen, image by image."""
    height = SIZE["height"]
    clips = {path.stem: {"x": 0, "y": height * place, **SIZE} for place, path in enumerate(IMAGES)}
    return {name: page.screenshot(clip=clip) for name, clip in clips.items()}  # type: ignore[arg-type]


@pytest.fixture
def still(chromium: Browser) -> Iterator[Browser]:
    """A browser in which nothing may move."""
    browser = chromium.browser_type.launch(
        executable_path=shutil.which("chromium"), args=[*FLAGS, "--force-prefers-reduced-motion"]
    )
    yield browser
    browser.close()


def changed(before: Seen, after: Seen) -> set[str]:
    return {name for name in before if before[name] != after[name]}


def test_every_first_screen_moves(chromium: Browser, tmp_path: Path) -> None:
    page = opened(chromium, tmp_path)
    before, moved = seen(page), set[str]()
    for _ in range(TURNS):
        page.wait_for_timeout(PAUSE)
        moved |= changed(before, seen(page))
        if moved == before.keys():
            break
    page.close()
    assert before.keys() - moved == set()


def test_first_screens_are_still_where_nothing_may_move_and_follow_the_theme(
    still: Browser, tmp_path: Path
) -> None:
    pages = [opened(still, tmp_path), opened(still, tmp_path, dark=True)]
    light, dark = before = [seen(page) for page in pages]
    assert changed(light, dark) == light.keys()
    for _ in range(TURNS):
        pages[0].wait_for_timeout(PAUSE)
        assert [changed(*both) for both in zip(before, map(seen, pages), strict=True)] == [set(), set()]
