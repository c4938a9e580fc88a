"""Lab 00 in JupyterLab: every button of its last picture, its exercise, and wrong input.

It is done in the light theme, and looked at in both.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.jupyterlab import LabPage, Theme
from tests.browser.looks import PALE
from tests.browser.panel import SECONDS, CellPage, PanelPage
from tests.conftest import ROOT
from tests.lab_server import LabServer

LAB = "00-one-pod-one-gpu.ipynb"
SCENE, CHECK = "exercise-scene", "exercise-check"


@pytest.fixture(scope="module")
def lab(chromium: Browser, lab_server: LabServer) -> Iterator[LabPage]:
    """The lab, with all its cells run once; afterwards the page's console shows no error of ours."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    lab = LabPage(context.new_page(), lab_server)
    lab.open(LAB, "light")
    lab.run_all(timeout=180)
    yield lab
    context.close()
    lab_server.end_kernels()
    assert lab.errors == []


@pytest.fixture
def cells(lab: LabPage) -> CellPage:
    return CellPage(lab.page, ROOT / "labs" / LAB)


@pytest.fixture
def panel(cells: CellPage) -> PanelPage:
    """The exercise's picture, where one of the two unhealthy devices is well again: web still waits for two devices."""
    cells.run(SCENE)
    panel = cells.panel(SCENE)
    expect(panel.status).to_have_text("capacity 3, allocatable 1", timeout=SECONDS)
    panel.device("d0").click()
    expect(panel.status).to_have_text("capacity 3, allocatable 2", timeout=SECONDS)
    expect(panel.phase("web")).to_have_text("Pending", timeout=SECONDS)
    expect(panel.slider).to_have_attribute("max", re.compile("^[1-9][0-9]$"), timeout=SECONDS)
    return panel


def test_all_cells_run_and_the_scene_is_as_the_text_says(lab: LabPage, panel: PanelPage) -> None:
    errors = lab.page.locator(".jp-OutputArea-output[data-mime-type*=stderr]").all_inner_texts()
    assert "".join(errors).strip() == ""
    assert lab.page.get_by_text("Traceback").count() == 0
    expect(panel.devices).to_have_count(3)
    expect(panel.status).to_have_text("capacity 3, allocatable 2")
    expect(panel.holds("trainer")).to_contain_text("holds d0")
    expect(panel.sentence).to_have_text("scheduler to store: web: Unschedulable")
    expect(panel.mode).to_contain_text("live")


def test_the_exercise_is_solved_with_the_buttons(cells: CellPage, panel: PanelPage) -> None:
    expect(cells.run(CHECK)).to_contain_text("pod web is Pending, not Running. 0/2 nodes are available")
    panel.device("d1").click()
    expect(panel.holds("web")).to_contain_text("holds d1, d2", timeout=SECONDS)
    expect(panel.status).to_have_text("capacity 3, allocatable 3")
    expect(cells.run(CHECK)).to_contain_text("All invariants hold.")


def test_another_way_and_a_wrong_one(cells: CellPage, panel: PanelPage) -> None:
    """More devices solve it too; a device that turns unhealthy in use breaks another invariant."""
    panel.start_plugin(4)
    expect(panel.holds("web")).to_contain_text("holds d1, d2", timeout=SECONDS)
    expect(cells.run(CHECK)).to_contain_text("All invariants hold.")
    panel.device("d2").click()
    expect(panel.status).to_have_text("capacity 4, allocatable 3", timeout=SECONDS)
    wrong = "device d2 of nvidia.com/gpu on gpu-node-1 is unhealthy, and pod web holds it"
    expect(cells.run(CHECK)).to_contain_text(wrong)


def test_the_picture_starts_over(panel: PanelPage) -> None:
    panel.press("kill")
    expect(panel.status).to_have_text("capacity 3, allocatable 0", timeout=SECONDS)
    panel.press("start over")
    expect(panel.status).to_have_text("capacity 3, allocatable 1", timeout=SECONDS)
    expect(panel.phase("web")).to_have_text("Pending", timeout=SECONDS)


def test_labels_over_the_slider_stand_apart(panel: PanelPage) -> None:
    for _ in range(3):
        panel.press("kill")
        expect(panel.status).to_have_text("capacity 3, allocatable 0", timeout=SECONDS)
        panel.start_plugin(3)
        expect(panel.status).to_have_text("capacity 3, allocatable 3", timeout=SECONDS)
    boxes = panel.root.locator(".kd-rail em").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect()).map(({left, right}) => [left, right])"
    )
    assert len(boxes) > 1
    assert all(first[1] < second[0] for first, second in pairwise(boxes))


def test_pods_come_and_go(panel: PanelPage) -> None:
    panel.svg.locator("[data-k='control/delete/trainer'] button").click()
    expect(panel.holds("web")).to_contain_text("holds d0, d2", timeout=SECONDS)
    expect(panel.pods).to_have_count(1)
    panel.choose("Which pod", "one-gpu")
    panel.press("+ pod")
    expect(panel.phase("trainer")).to_have_text("Pending", timeout=SECONDS)
    expect(panel.svg).to_contain_text("Insufficient nvidia.com/gpu")


def test_a_killed_plugin_and_a_new_one(panel: PanelPage) -> None:
    panel.press("kill")
    expect(panel.status).to_have_text("capacity 3, allocatable 0", timeout=SECONDS)
    expect(panel.svg.get_by_text("stopped").first).to_be_visible()
    panel.press("+301 s")
    expect(panel.status).to_have_text("capacity 0, allocatable 0", timeout=SECONDS)
    panel.start_plugin(8, numa=2)
    expect(panel.devices).to_have_count(8, timeout=SECONDS)
    expect(panel.status).to_have_text("capacity 8, allocatable 8")


def test_a_kubelet_that_restarts_finds_its_plugin_again(panel: PanelPage) -> None:
    before = panel.log.count()
    panel.press("restart")
    expect(panel.log.filter(has_text="restart the kubelet")).to_have_count(1, timeout=SECONDS)
    expect(panel.log.filter(has_text="Register nvidia.com/gpu")).to_have_count(2, timeout=SECONDS)
    expect(panel.status).to_have_text("capacity 3, allocatable 2", timeout=SECONDS)
    expect(panel.holds("trainer")).to_contain_text("holds d0")
    assert panel.log.count() > before


def test_a_device_is_turned_by_a_click_and_by_the_keyboard(panel: PanelPage) -> None:
    panel.device("d1").click()
    expect(panel.holds("web")).to_contain_text("holds d1, d2", timeout=SECONDS)
    panel.device("d0").press("Enter")
    expect(panel.device("d0").locator(".hatch")).to_have_count(1, timeout=SECONDS)
    expect(panel.status).to_have_text("capacity 3, allocatable 2")


def test_u01_the_picture_on_show_moves_with_the_slider(panel: PanelPage) -> None:
    """It is the picture itself that is shown, no copy: one drawing that changes in place."""
    panel.svg.evaluate("svg => { svg.ours = true }")
    assert float(panel.slider.get_attribute("max") or 0) > 20
    panel.slider.press("Home")
    expect(panel.sentence).to_have_text("Nothing has happened yet.")
    expect(panel.devices).to_have_count(0)
    expect(panel.log).to_have_count(0)
    expect(panel.mode).to_contain_text("looking back")
    panel.slider.press("ArrowRight")
    panel.slider.press("ArrowRight")
    expect(panel.log).to_have_count(2)
    panel.slider.press("End")
    expect(panel.phase("web")).to_have_text("Pending", timeout=SECONDS)
    expect(panel.mode).to_contain_text("live")
    assert panel.svg.evaluate("svg => svg.ours")


def test_history_forks_and_goes_live(panel: PanelPage) -> None:
    before = panel.log.count()
    panel.press("Step back")
    expect(panel.log).to_have_count(before - 1)
    panel.press("Step forward")
    expect(panel.log).to_have_count(before)
    panel.press("Step back")
    panel.device("d1").click()
    expect(panel.mode).to_contain_text("fork, in memory", timeout=SECONDS)
    expect(panel.notice).to_contain_text("A fork begins at message", timeout=SECONDS)
    expect(panel.holds("web")).to_contain_text("holds d1, d2", timeout=SECONDS)
    panel.root.locator(".kd-ghost").click()
    expect(panel.phase("web")).to_have_text("Pending", timeout=SECONDS)
    expect(panel.mode).to_contain_text("real processes, real gRPC")
    panel.press("Step back")
    panel.device("d1").click()
    expect(panel.holds("web")).to_contain_text("holds d1, d2", timeout=SECONDS)
    panel.press("go live from here")
    expect(panel.mode).to_contain_text("real processes, real gRPC", timeout=SECONDS)
    expect(panel.holds("web")).to_contain_text("holds d1, d2")


def test_pasted_yaml_right_and_wrong(panel: PanelPage) -> None:
    pods = panel.pods.count()
    panel.paste(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: half}\nspec:\n  containers:\n"
        "  - {name: c, image: i, resources: {limits: {example.com/vf: 0.5}}}\n"
    )
    expect(panel.notice).to_contain_text("pasted text, document 1", timeout=SECONDS)
    expect(panel.notice).to_contain_text('limits[example.com/vf]: Invalid value: "500m": must be an integer')
    expect(panel.pods).to_have_count(pods)
    panel.paste("not: [yaml")
    expect(panel.notice).to_contain_text("error converting YAML to JSON", timeout=SECONDS)
    expect(panel.root.locator("textarea")).to_have_value("not: [yaml")  # it can be mended
    expect(panel.pods).to_have_count(pods)
    panel.paste(
        "apiVersion: v1\nkind: Service\nmetadata: {name: front}\nspec: {ports: [{port: 80}]}\n---\n"
        "apiVersion: v1\nkind: Pod\nmetadata: {name: pasted}\nspec:\n  containers:\n"
        "  - {name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}\n"
    )
    expect(panel.holds("pasted")).to_contain_text("holds d2", timeout=SECONDS)
    panel.paste(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: other}\nspec:\n  containers:\n"
        "  - {name: c, image: i, resources: {limits: {example.com/vf: 1}}}\n"
    )
    expect(panel.notice).to_contain_text("No plugin offers example.com/vf yet", timeout=SECONDS)


def test_a_wrong_resource_name_is_refused_with_the_kubelets_words(panel: PanelPage) -> None:
    panel.start_plugin(1, resource="gpu")
    expect(panel.notice).to_contain_text("The kubelet refused the plugin", timeout=SECONDS)
    expect(panel.notice).to_contain_text("gpu")


def test_u11_a_cell_run_three_times_makes_one_pod_a_click(cells: CellPage, panel: PanelPage) -> None:
    for _ in range(2):
        cells.run(SCENE)
    expect(panel.slider).to_have_attribute("max", re.compile("^[1-9][0-9]$"), timeout=SECONDS)
    messages = panel.log.count()
    panel.choose("Which pod", "one-gpu")
    panel.press("+ pod")
    expect(panel.phase("trainer-2")).to_contain_text(
        "Pending", timeout=SECONDS
    )  # one healthy device, and trainer
    expect(panel.pods).to_have_count(3)
    created = [row for row in panel.log.all_text_contents()[messages:] if "pod trainer" in row]
    assert len(created) == 1


def test_u12_text_stands_out_in_both_themes(lab: LabPage, panel: PanelPage) -> None:
    themes: tuple[Theme, ...] = ("dark", "light")
    for theme in themes:
        lab.turn(theme)
        panel.root.scroll_into_view_if_needed()
        assert panel.page.evaluate(PALE, ".kd-theatre") == []


def test_u13_a_device_is_told_by_shape_and_word_too(panel: PanelPage) -> None:
    sick, used, free = panel.device("d1"), panel.device("d0"), panel.device("d2")
    expect(sick.locator(".hatch")).to_have_count(1)
    expect(free.locator(".hatch")).to_have_count(0)
    expect(sick.locator("title")).to_contain_text("unhealthy")
    expect(used.locator("title")).to_contain_text("allocated to trainer")
    expect(free.locator("title")).to_contain_text("free")
    for word in ("free", "allocated", "unhealthy", "unhealthy, allocated"):
        expect(panel.svg.get_by_text(word, exact=True).first).to_be_visible()
    panel.root.get_by_text("as a table").click()
    rows = panel.root.locator("details table").first.locator("tbody tr")
    expect(rows.filter(has_text="d1")).to_contain_text("Unhealthy")
    expect(rows.filter(has_text="d0")).to_contain_text("trainer")
