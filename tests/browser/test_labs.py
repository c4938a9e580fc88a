"""Labs 01 to 10 in JupyterLab: every prediction, knob, button and exercise, right and wrong.

A lab is done in one theme, those with odd numbers in the light one, and then looked at in the other, too.
"""

import contextlib
import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, TimeoutError, expect

from tests.browser.jupyterlab import LabPage, Theme
from tests.browser.looks import CUT, PALE
from tests.browser.panel import SECONDS, CellPage
from tests.conftest import ROOT
from tests.lab_server import LabServer
from tests.notebooks.exercises import answers

OURS = "svg, .kd-question, .kubedev-check"


class Reader(CellPage):
    """A lab on the page, and what a reader does in it."""

    def __init__(self, lab: LabPage, name: str, theme: Theme) -> None:
        super().__init__(lab.page, ROOT / "labs" / f"{name}.ipynb")
        self.lab, self.name, self.theme = lab, name, theme

    def idle(self) -> None:
        """Wait until what was pressed has reached the kernel, and its answer the page."""
        self.page.wait_for_timeout(150)
        self.lab.settle()

    def pale(self, cell_id: str) -> list[str]:
        """The texts of what a cell shows that do not stand out."""
        output = self.output(cell_id)
        if not output.locator(OURS).count():
            return []
        output.scroll_into_view_if_needed()
        parts = output.locator(".jp-OutputArea-output").all()
        return [text for part in parts for text in part.evaluate(PALE)]

    def panels(self, live: bool) -> list[Locator]:
        """The stages: those of a lab that is `live`, or those with knobs around them."""
        kind = ".kd-theatre:not(.kubedev-panel *)" if live else ".kubedev-panel"
        return [p for cell_id in self.sources for p in self.output(cell_id).locator(kind).all()]


@pytest.fixture(scope="class")
def reader(request: pytest.FixtureRequest, chromium: Browser, lab_server: LabServer) -> Iterator[Reader]:
    """The lab as a reader has it; afterwards the page's console shows no error of ours."""
    name = request.cls.lab
    theme: Theme = "light" if int(name[:2]) % 2 else "dark"
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    lab = LabPage(context.new_page(), lab_server)
    lab.open(f"{name}.ipynb", theme)
    yield Reader(lab, name, theme)
    context.close()
    lab_server.end_kernels()
    assert lab.errors == []


def _press_all(row: Locator) -> str:
    """Choose every option of a row, the last one with the mouse; the last one."""
    for option in row.get_by_role("radio").all():
        option.evaluate("(option) => option.click()")
    last = row.get_by_role("radio").last
    for _ in range(3):  # what was chosen before may be drawn anew between press and release
        last.click()
        with contextlib.suppress(AssertionError):
            expect(last).to_have_attribute("aria-checked", "true", timeout=2000)
            break
    return last.locator(".kd-text").inner_text()


def _compared(card: Locator, said: list[str]) -> list[str]:
    """Check what was said beside what is; the right answers."""
    rows = card.locator(".kd-choices")
    expect(card).to_have_attribute("data-state", "seen", timeout=SECONDS)
    right = []
    for chosen, row, name in zip(said, rows.all(), card.locator(".kd-name").all(), strict=True):
        before = row.locator("[aria-checked=true] .kd-text").inner_text()
        seen = row.locator(".kd-choice.is .kd-text").all_inner_texts()
        assert before == chosen
        expect(name.locator("b")).to_have_text("as you said" if chosen in seen else "not as you said")
        right.append(seen[0])
    return right


NAMELESS = ":is(select, input, [role=slider]):not([aria-label], label *)"

# The sentence and the marks of a panel's picture, in whatever order they were drawn.
_PICTURE = """panel => panel.querySelector('.kd-sentence').textContent
  + [...panel.querySelectorAll('svg > g')].map((mark) => mark.outerHTML).sort().join()"""


def _still(reader: Reader, panel: Locator) -> str:
    """The picture once it has stopped changing."""
    before, now = "", str(panel.evaluate(_PICTURE))
    while now != before:
        reader.idle()
        before, now = now, str(panel.evaluate(_PICTURE))
    return now


def _becomes(reader: Reader, panel: Locator, same: str, picture: str, milliseconds: int = SECONDS) -> None:
    """Wait until the picture is (`===`) or is no more (`!==`) the one given."""
    reader.page.wait_for_function(
        f"([panel, picture]) => ({_PICTURE})(panel) {same} picture",
        arg=[panel.element_handle(), picture],
        timeout=milliseconds,
        polling=50,
    )


def _whole(reader: Reader, panel: Locator) -> None:
    """Nothing in the picture is cut off."""
    reader.idle()
    assert panel.locator("svg").first.evaluate(CUT) == []


def _positions(knob: Locator) -> Iterator[None]:
    """Turn a knob to its positions, one after another, the one where it is left out."""
    if (slider := knob.get_by_role("slider")).count():
        low = slider.get_attribute("aria-valuenow") == slider.get_attribute("aria-valuemin")
        for key in ("End", "ArrowLeft") if low else ("Home", "ArrowRight", "End"):
            yield slider.press(key)
    elif (box := knob.locator("select")).count():
        chosen = box.evaluate("box => box.selectedIndex")
        for index in range(box.locator("option").count()):
            if index != chosen:
                box.select_option(index=index)
                yield
    else:
        yield knob.get_by_role("checkbox").click()


def _changes(reader: Reader, panel: Locator, knob: Locator) -> bool:
    """Turn a knob through its positions; whether one of them gives another picture."""
    before, changed = _still(reader, panel), False
    for _ in _positions(knob):
        if not changed:
            with contextlib.suppress(TimeoutError):
                _becomes(reader, panel, "!==", before, 5000)
                changed = True
        _whole(reader, panel)
    return changed


class Lab:
    """What a student does in a lab, one after another; each lab is a class, so that they can run side by side."""

    lab: str

    def test_cell_by_cell_with_predictions_right_and_wrong(self, reader: Reader) -> None:
        """Every option can be chosen; what is compared is what was chosen last; the right answers are found right."""
        forms: dict[str, Locator] = {}
        said: dict[str, list[str]] = {}
        compared = set()
        for cell_id, source in reader.sources.items():
            output = reader.run(cell_id)
            if asked := re.search(r"^(\w+) = predict\(", source, re.M):
                forms[asked[1]] = output.locator(".kd-question")
                said[asked[1]] = [_press_all(row) for row in forms[asked[1]].locator(".kd-choices").all()]
                forms[asked[1]].get_by_role("button", name="Lock my prediction").click()
                expect(forms[asked[1]]).to_have_attribute("data-state", "locked")
            if (gap := re.search(r"^(\w+)\.compare\(", source, re.M)) is not None:
                form = forms[gap[1]]
                right = _compared(output.locator(".kd-question"), said[gap[1]])
                form.get_by_role("button", name="answer again").click()
                expect(form).to_have_attribute("data-state", "choose", timeout=SECONDS)
                for answer, row in zip(right, form.locator(".kd-choices").all(), strict=True):
                    row.get_by_role("radio", name=answer, exact=True).click()
                form.get_by_role("button", name="Lock my prediction").click()
                _compared(form, right)
                expect(form.locator(".kd-gap")).to_have_text("It is as you said.")
                compared.add(gap[1])
            assert (cell_id, reader.pale(cell_id)) == (cell_id, [])
        assert compared == said.keys()
        assert len(compared) >= 3
        assert reader.page.locator(".jp-OutputArea-output[data-mime-type*=stderr]").all_inner_texts() == []
        assert reader.page.get_by_text("Traceback").count() == 0

    def test_every_knob_changes_its_picture_and_is_taken_back(self, reader: Reader) -> None:
        panels = reader.panels(live=False)
        assert panels, "no cell has shown a picture with knobs"
        for panel in panels:
            start = panel.get_by_role("button", name="To the start", include_hidden=True)
            start.evaluate(
                "(button) => button.click()"
            )  # later cells may have turned it; else it is not shown yet
            reader.idle()
            first = _still(reader, panel)
            for knob in panel.locator("> .widget-hbox").first.locator("> .jupyter-widgets").all():
                assert _changes(reader, panel, knob), knob.inner_text()
                panel.get_by_role("button", name="Step back").click()
                panel.get_by_role("button", name="Step forward").click()
                start.click()
                _becomes(reader, panel, "===", first)
            assert panel.locator(NAMELESS).count() == 0

    def test_every_button_of_a_live_picture_can_be_pressed(self, reader: Reader) -> None:
        panels = reader.panels(live=True)
        stages = re.compile(r"\b(show|turns|play|scheduling\.cycle)\(")
        assert bool(panels) == any(stages.search(source) for source in reader.sources.values())
        pressed = set()
        for panel in panels:
            names = panel.locator("button").evaluate_all(
                "(all) => all.filter((b) => b.offsetParent).map((b) => b.ariaLabel ?? b.textContent)"
            )
            for name in names:
                button = panel.get_by_role("button", name=name, exact=True).first
                if button.count() and button.evaluate(
                    "(button) => !button.disabled && (button.click(), true)"
                ):
                    pressed.add(name)
                    _whole(reader, panel)
            expect(panel.locator(".kd-sentence").first).not_to_be_empty()
            assert panel.locator(NAMELESS).count() == 0
        assert not panels or {"To the start", "To the end"} <= pressed

    def test_exercises_right_and_wrong(self, reader: Reader) -> None:
        checks = [cell_id for cell_id in reader.sources if cell_id.endswith("-check")]
        solved = answers(reader.name)
        assert len(checks) == len(solved) >= 3
        for cell_id in reader.sources:
            if cell_id.startswith("imports"):
                reader.run(cell_id)
        for check, answer in zip(checks, solved, strict=True):
            exercise = check.removesuffix("-check")
            before = [i for i in reader.sources if i.startswith(f"{exercise}-") and i != check]
            for cell_id in before:
                reader.run(cell_id)
            expect(reader.run(check).locator(".kubedev-check:not(.kubedev-good) li").first).to_be_visible()
            for cell_id in before:
                if cell_id.endswith("-yours"):
                    reader.write(cell_id, answer)
                reader.run(cell_id)
            expect(reader.run(check).locator(".kubedev-good")).to_be_visible()

    def test_text_stands_out_in_the_other_theme_too(self, reader: Reader) -> None:
        other: Theme = "dark" if reader.theme == "light" else "light"
        reader.lab.turn(other)
        looked = [cell_id for cell_id in reader.sources if reader.output(cell_id).locator(OURS).count()]
        assert len(looked) > 5
        assert {cell_id: pale for cell_id in looked if (pale := reader.pale(cell_id))} == {}


class Test01(Lab):
    lab = "01-what-a-pod-asks-for"


class Test02(Lab):
    lab = "02-registration"


class Test03(Lab):
    lab = "03-list-and-watch"


class Test04(Lab):
    lab = "04-allocate"


class Test05(Lab):
    lab = "05-numa-hints"


class Test06(Lab):
    lab = "06-numa-merge"


class Test07(Lab):
    lab = "07-init-and-sidecars"


class Test08(Lab):
    lab = "08-restart"


class Test09(Lab):
    lab = "09-fits"


class Test10(Lab):
    lab = "10-cycle"

    def test_a_point_that_is_dragged_moves_the_curve_and_the_figure(self, reader: Reader) -> None:
        for cell_id in ("imports", "curve-scene", "curve-drag", "curve-figure"):
            reader.run(cell_id)
        stage, figure = (reader.output(cell_id) for cell_id in ("curve-drag", "curve-figure"))
        handle = stage.locator("[data-handle]").nth(1)
        handle.scroll_into_view_if_needed()
        box = handle.bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        reader.page.mouse.move(x, y)
        reader.page.mouse.down()
        reader.page.mouse.move(x + 60, y - 40, steps=4)
        reader.page.mouse.up()
        expect(stage.locator(".kd-where")).to_have_text("1 of 1", timeout=SECONDS)
        across, up = json.loads(str(handle.get_attribute("data-handle")))["at"]
        assert (across > 50, up > 5) == (True, True)
        reader.page.wait_for_function(
            "(output) => output.querySelector('.js-plotly-plot')?.data?.[2].y[50] > 50",
            arg=figure.element_handle(),
            timeout=SECONDS,
        )
        handle.focus()
        reader.page.keyboard.press("ArrowDown")
        expect(stage.locator(".kd-where")).to_have_text("2 of 2", timeout=SECONDS)

    def test_a_node_is_pressed_wherever_its_card_is_and_says_why_it_refuses(self, reader: Reader) -> None:
        for cell_id in ("imports", "play-scene", "play-game"):
            reader.run(cell_id)
        stage = reader.output("play-game")
        for node, where in (("n6", "1 of 1"), ("n1", "2 of 2")):
            stage.locator(f"[data-k='{node}']").click(force=True)  # in its middle, where a bar is
            expect(stage.locator(".kd-where")).to_have_text(where, timeout=SECONDS)
        stage.locator("[data-k='n6']").click(force=True)
        expect(stage.locator(".kd-callout.error")).to_contain_text("n6 refuses p3-4", timeout=SECONDS)


class Test13(Lab):
    lab = "13-cpus-are-not-devices"


def test_every_lab_is_here() -> None:
    labs = {path.stem for path in (ROOT / "labs").glob("*.ipynb")}
    assert {one.lab for one in Lab.__subclasses__()} == labs - {"00-one-pod-one-gpu"}
