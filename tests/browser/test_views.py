"""Pictures in a page: recorded frames step without a kernel, and make the picture that Python meant."""

from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Page

from kubedev.views import samples
from kubedev.views.live import frames_html
from kubedev.views.path import path_picture
from kubedev.views.path_state import PathState
from kubedev.views.picture import Picture
from kubedev.views.svg import inline
from tests.browser.looks import CUT
from tests.unit.test_views_path import path_states


def moment(number: int) -> PathState:
    state = samples.sample_path()
    return replace(state, step=number, messages=state.messages[:number])


def frames() -> list[Picture]:
    return [path_picture(moment(number)) for number in range(16)]


def open_page(chromium: Browser, html: str, theme: str = "light") -> Page:
    page = chromium.new_context(viewport={"width": 1280, "height": 800}, offline=True).new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    light = "true" if theme == "light" else "false"
    page.set_content(f'<body data-jp-theme-light="{light}">{html}</body>')
    assert errors == []
    return page


def test_frames_step_with_the_keyboard_and_without_a_kernel(chromium: Browser) -> None:
    page = open_page(chromium, frames_html(frames()))
    sentence = page.locator(".kd-sentence")
    assert sentence.inner_text() == "Step 0 of 18: Nothing has happened yet."
    back, forward = page.get_by_role("button").all()
    assert back.is_disabled()
    forward.focus()
    for _ in range(15):
        page.keyboard.press("Enter")
    assert sentence.inner_text().endswith("prepare device 2 for pod trainer")
    assert forward.is_disabled()
    assert page.locator("[data-k^='lit/15'] text").text_content() == "Allocate [2]"
    back.click()
    assert sentence.inner_text().startswith("Step 14 of 18")
    page.get_by_role("slider", name="History").fill("3")
    assert sentence.inner_text().startswith("Step 3 of 18")
    page.context.close()


def test_the_table_follows(chromium: Browser) -> None:
    page = open_page(chromium, frames_html(frames()))
    page.get_by_text("The same as a table").click()
    rows = page.locator("table").nth(2).locator("tbody tr")
    assert rows.count() == 0
    page.get_by_role("slider", name="History").fill("15")
    assert rows.count() == 15
    assert rows.last.inner_text().split("\t") == ["15", "kubelet", "plugin", "gpu-node-1", "Allocate [2]"]
    page.get_by_role("slider", name="History").fill("2")
    assert rows.count() == 2
    page.context.close()


def test_text_is_large_enough_and_inside(chromium: Browser) -> None:
    page = open_page(
        chromium, frames_html([getattr(samples, name)() for name in samples.__all__ if name != "sample_path"])
    )
    for number in range(8):
        page.get_by_role("slider", name="History").fill(str(number))
        found = page.locator("svg").first.evaluate(CUT)
        assert found == []
    page.context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_is_followed(chromium: Browser, theme: str) -> None:
    page = open_page(chromium, frames_html(frames()[:1]), theme)
    colour = page.evaluate("getComputedStyle(document.querySelector('.kubedev')).backgroundColor")
    assert colour == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 27)"}[theme]
    page.context.close()


def test_motion_is_short_and_off_where_it_is_not_wanted(chromium: Browser) -> None:
    page = open_page(chromium, frames_html(frames()))
    page.wait_for_timeout(200)
    durations = page.get_by_role("slider", name="History").evaluate(
        """(slider) => {  // at once: what is looked for is soon over
            slider.value = "15";
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            return document.getAnimations().map((a) => a.effect.getTiming().duration);
        }"""
    )
    assert durations
    assert max(durations) < 400
    page.emulate_media(reduced_motion="reduce")
    page.wait_for_timeout(600)
    page.get_by_role("slider", name="History").fill("14")
    assert page.evaluate("document.getAnimations().length") == 0
    page.context.close()


def test_patches_applied_by_the_script_make_the_picture_that_python_draws(chromium: Browser) -> None:
    """A walk through random states, patch by patch, ends at the very bytes that `inline` gives."""
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st

    page = open_page(chromium, "<div></div>")

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(path_states(), min_size=2, max_size=4))
    def walk(states: list[PathState]) -> None:
        pictures = [path_picture(state) for state in states]
        page.set_content(frames_html(pictures))
        slider = page.get_by_role("slider", name="History")
        for at in range(len(pictures)):
            slider.fill(str(at))
        drawn, wanted = page.evaluate(
            """(wanted) => {
                const keyed = (svg) => [...svg.querySelectorAll(':scope > g')].map((g) => {
                    const place = g.getAttribute('transform') ?? '';
                    g.removeAttribute('transform');
                    return place + g.outerHTML;
                });
                const other = document.createElement('div');
                other.innerHTML = wanted;
                return [keyed(document.querySelector('.kd-stage svg')), keyed(other.querySelector('svg'))];
            }""",
            inline(pictures[-1]),
        )
        assert drawn == wanted

    walk()
    page.context.close()
