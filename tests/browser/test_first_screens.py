"""The first screens in a page: they move, follow the theme, and are still where nothing may move."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import FLAGS
from tests.conftest import ROOT

IMAGES = sorted((ROOT / "labs" / "img").glob("*.svg"))
PAUSE = 2500  # milliseconds: longer than any moment of a first screen, and not a whole turn of it


@pytest.fixture(params=IMAGES, ids=lambda path: path.stem)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A page with one first screen in an `<img>`, as a notebook shows it."""
    page = tmp_path / "page.html"
    page.write_text(
        f"<body style='margin:0'><img src='{request.param.as_uri()}' alt='a first screen'></body>"
    )
    return page.as_uri()


def seen(browser: Browser, url: str, dark: bool = False) -> tuple[bytes, bytes]:
    """What is on the screen, and a while later."""
    page = browser.new_page(viewport={"width": 1060, "height": 440}, color_scheme="dark" if dark else "light")
    page.goto(url)
    page.wait_for_function("document.images[0].complete && document.images[0].naturalWidth > 700")
    before = page.screenshot()
    for _ in range(4):  # between two moves it may rest
        page.wait_for_timeout(PAUSE)
        after = page.screenshot()
        if after != before:
            break
    page.close()
    return before, after


def test_a_first_screen_moves(chromium: Browser, url: str) -> None:
    before, after = seen(chromium, url)
    assert before != after


def test_a_first_screen_is_still_where_nothing_may_move_and_follows_the_theme(
    chromium: Browser, url: str
) -> None:
    still = chromium.browser_type.launch(
        executable_path=shutil.which("chromium"), args=[*FLAGS, "--force-prefers-reduced-motion"]
    )
    light, dark = seen(still, url), seen(still, url, dark=True)
    still.close()
    assert light[0] == light[1]
    assert dark[0] == dark[1]
    assert light[0] != dark[0]
