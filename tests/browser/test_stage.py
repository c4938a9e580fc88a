"""The stage in JupyterLab: it plays where it is seen, goes back at once, and is there when it is opened again."""

import contextlib
import json
import re
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, expect

from tests.browser.jupyterlab import LabPage
from tests.browser.panel import SECONDS, CellPage, PanelPage
from tests.browser.test_whole_page_bench import put
from tests.lab_server import LabServer

CELLS = {
    "play": """
from kubedev.lab import Lab
lab = Lab("played", nodes=1)
lab.plugin("nvidia.com/gpu", devices=4, numa=2)
lab.apply("one-gpu")
stage = lab.play()
stage""",
    "again": "stage",
    "flip": "lab.set_health('d3', healthy=False)",
    "linked": """
import ipywidgets as widgets
box = widgets.Checkbox(True, description="d2 is healthy")
stage.link(box, {"do": "set_health", "device": "d2"})
widgets.VBox([box, widgets.HTML("in a box")])""",
    "far": "import IPython.display as d; d.HTML('<div style=\"height: 3000px\">far</div>')",
}


@dataclass
class Opened:
    """The notebook in a page."""

    lab: LabPage
    cells: CellPage

    @property
    def views(self) -> Locator:
        return self.lab.page.locator(".kd-theatre")

    def panel(self, cell: str) -> PanelPage:
        return self.cells.panel(cell)


@pytest.fixture
def opened(chromium: Browser, lab_server: LabServer) -> Iterator[Opened]:
    file = put(lab_server, "stage.ipynb", CELLS)
    page = chromium.new_context(viewport={"width": 1280, "height": 800}).new_page()
    lab = LabPage(page, lab_server)
    lab.open("stage.ipynb")
    cells = CellPage(page, file)
    cells.run("play")
    expect(cells.panel("play").slider).to_have_attribute("max", re.compile("^[1-9][0-9]$"), timeout=SECONDS)
    yield Opened(lab, cells)
    page.context.close()
    lab_server.end_kernels()
    assert lab.errors == []


def at(panel: PanelPage) -> int:
    return int(panel.slider.input_value())


def last(panel: PanelPage) -> int:
    return int(panel.slider.get_attribute("max") or 0)


def pressed(panel: PanelPage, button: str) -> tuple[int, int]:
    """Press a button; the frames before and after it, with no time between for the stage to play on."""
    before, after = panel.root.evaluate(
        """(root, name) => {
            const at = () => Number(root.querySelector("[type=range]").value);
            const before = at();
            root.querySelector(`button[aria-label="${name}"]`).click();
            return [before, at()];
        }""",
        button,
    )
    return before, after


def test_s13_what_moves_and_its_transport_are_seen_together(opened: Opened) -> None:
    panel, page = opened.panel("play"), opened.lab.page
    for width, height in ((1280, 800), (1366, 768)):
        page.set_viewport_size({"width": width, "height": height})
        panel.root.scroll_into_view_if_needed()
        panel.slider.scroll_into_view_if_needed()
        expect(page.locator("body")).to_have_js_property("clientWidth", width)
        box = panel.root.bounding_box()
        view = page.locator(".jp-WindowedPanel-outer").first.bounding_box()
        assert box is not None
        assert view is not None
        assert box["height"] <= 560
        assert box["height"] <= view["height"]
        assert box["x"] + box["width"] <= view["x"] + view["width"]


def test_s12_it_plays_only_where_it_is_seen_and_back_goes_one_back(opened: Opened) -> None:
    panel, page = opened.panel("play"), opened.lab.page
    opened.cells.run("far")
    panel.svg.evaluate("(svg) => svg.scrollIntoView({ block: 'center' })")
    assert pressed(panel, "Replay")[1] == 0
    expect(panel.mode).to_contain_text("playing")
    page.locator("text=far").last.evaluate("(far) => far.scrollIntoView({ block: 'end' })")
    page.wait_for_timeout(1000)
    stopped = at(panel) if panel.slider.count() else None
    page.wait_for_timeout(2000)
    assert stopped is None or at(panel) <= stopped + 1
    panel.svg.evaluate("(svg) => svg.scrollIntoView({ block: 'center' })")
    expect(panel.mode).to_contain_text("playing")
    expect(panel.slider).to_have_attribute("aria-valuetext", re.compile("[1-9] "))
    before, after = pressed(panel, "Step back")
    assert 0 < before < last(panel)
    assert after == before - 1
    page.wait_for_timeout(1200)
    assert at(panel) == after
    assert pressed(panel, "Replay")[1] == 0
    expect(panel.mode).to_contain_text("playing")


def test_n03_every_view_shows_the_same_state(opened: Opened) -> None:
    panel = opened.panel("play")
    panel.press("To the end")
    opened.cells.run("flip")
    opened.cells.run("again")
    other = opened.panel("again")
    other.press("To the end")
    expect(other.sentence).to_contain_text("nvidia.com/gpu 4, allocatable 3", timeout=SECONDS)
    for _ in range(3):
        other.press("Step back")
    assert panel.sentence.inner_text() == other.sentence.inner_text()
    assert panel.mode.inner_text() == other.mode.inner_text()
    assert at(panel) == at(other) == last(panel) - 3


def test_the_keyboard_steps_and_names_are_there(opened: Opened) -> None:
    panel, page = opened.panel("play"), opened.lab.page
    panel.root.focus()
    page.keyboard.press("End")
    assert at(panel) == last(panel) > 15
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert at(panel) == last(panel) - 2
    expect(panel.mode).to_contain_text("looking back")
    page.keyboard.press("Home")
    expect(panel.sentence).to_have_text("Nothing has happened yet.")
    page.keyboard.press(" ")
    expect(panel.mode).to_contain_text("playing")
    nameless = "(all) => all.filter((b) => !(b.ariaLabel || b.textContent.trim() || b.title)).length"
    assert panel.root.locator("button, select, input").evaluate_all(nameless) == 0


def test_a_linked_widget_acts_and_follows(opened: Opened) -> None:
    panel, page = opened.panel("play"), opened.lab.page
    panel.root.focus()
    page.keyboard.press("End")
    box = opened.cells.run("linked").locator("input[type=checkbox]")
    box.uncheck()
    panel.root.scroll_into_view_if_needed()  # it waits until it is seen
    expect(panel.status).to_have_text("capacity 4, allocatable 3", timeout=SECONDS)
    panel.root.focus()
    page.keyboard.press("End")
    panel.device("d2").click()
    expect(box).to_be_checked(timeout=SECONDS)


def wait_for_save(lab: LabPage, server: LabServer) -> list[object]:
    """Save until the file holds the newest picture as a recording: the stage hands it over once it is quiet."""
    file = server.folder / "stage.ipynb"
    for _ in range(60):
        lab.page.keyboard.press("Control+s")
        lab.page.wait_for_timeout(500)
        with contextlib.suppress(KeyError, ValueError):
            about = json.loads(file.read_text("utf-8"))["metadata"]["widgets"]
            models = list(about["application/vnd.jupyter.widget-state+json"]["state"].values())
            stages = [model["state"]["whole"] for model in models if "whole" in model["state"]]
            if any(stage.get("saved") and "allocatable 3" in json.dumps(stage) for stage in stages):
                return models
    raise AssertionError("the stage was not saved")


def exported(context: BrowserContext, server: LabServer, folder: Path) -> Locator:
    """The first picture of the notebook as JupyterLab exports it, on a page that reaches no network."""
    address = f"{server.base}/nbconvert/html/stage.ipynb?token={server.token}"
    with urllib.request.urlopen(address) as answer:
        (folder / "exported.html").write_bytes(answer.read())
    page = context.new_page()
    page.route("http*://**", lambda route: route.abort())
    page.goto((folder / "exported.html").as_uri())
    return page.locator("[data-kubedev-frames]").first


def test_s11_a_saved_notebook_shows_its_last_picture_without_a_kernel_and_when_it_is_exported(
    opened: Opened, lab_server: LabServer, tmp_path: Path
) -> None:
    panel, page = opened.panel("play"), opened.lab.page
    panel.press("To the end")
    opened.cells.run("flip")
    panel.press("To the end")
    expect(panel.sentence).to_contain_text("allocatable 3", timeout=SECONDS)
    saved = wait_for_save(opened.lab, lab_server)
    assert max(len(json.dumps(model)) for model in saved) <= 210_000
    html = exported(page.context, lab_server, tmp_path)
    expect(html.locator(".kd-sentence")).to_contain_text("allocatable 3")
    html.get_by_role("button", name="Step back").click()
    expect(html.locator(".kd-sentence")).to_contain_text("d3 Unhealthy")
    expect(html.page.get_by_text("What came later was not saved here")).to_have_count(0)
    lab_server.end_kernels()
    opened.lab.open("stage.ipynb")
    panel = PanelPage(page, opened.views.first)
    expect(panel.mode).to_contain_text("This is a recording")
    expect(panel.sentence).to_contain_text("allocatable 3")
    panel.press("Step back")
    expect(panel.sentence).to_contain_text("d3 Unhealthy")
    panel.press("To the start")
    expect(panel.devices).to_have_count(0)
