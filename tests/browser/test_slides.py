"""Slides, opened from disk and without a network: nothing is empty, cut off or small, and the pictures step."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from playwright.sync_api import Browser, BrowserContext, Page, expect

from kubedev.tools.slides import make
from tests.browser.looks import CHECK, FINE, PALE
from tests.conftest import ROOT

LABS = sorted((ROOT / "labs").glob("*.ipynb"))
SIZES = [(1280, 720), (1920, 1080)]


@pytest.fixture(scope="module")
def decks(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """The slides of a lab, made once."""
    return cache(lambda lab: make(lab, tmp_path_factory.mktemp("slides")))


@pytest.fixture(scope="module")
def deck(decks: Callable[[Path], Path]) -> Path:
    """The slides of lab 00."""
    return decks(LABS[0])


@pytest.fixture(scope="module", params=LABS, ids=lambda path: path.stem)
def any_deck(request: pytest.FixtureRequest, decks: Callable[[Path], Path]) -> Path:
    """The slides of each lab."""
    return decks(request.param)


class Slides:
    """A deck in a window without a network; `requests` are the addresses it asked for, `errors` what went wrong."""

    def __init__(self, context: BrowserContext, file: Path, query: str = "") -> None:
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page: Page = context.new_page()
        context.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.goto(file.as_uri() + query)
        self.page.locator("nav output:not(:empty)").wait_for()
        self.count = int(self.page.locator("nav output").inner_text().split("/")[1])

    def numbers(self) -> Iterator[int]:
        """Go through all slides with the keyboard, each one with all that comes on it."""
        for number in range(1, self.count + 1):
            assert self.page.locator("nav output").inner_text() == f"{number} / {self.count}"
            while self.page.evaluate(
                "document.querySelector('section.present.page .fragment:not(.visible)') !== null"
            ):
                self.page.keyboard.press("ArrowRight")
            yield number
            self.page.keyboard.press("n")  # also where a picture has more steps

    def to_picture(self) -> None:
        """Go on to the first picture."""
        while not self.page.locator("section.present.page .kd-steps").is_visible():
            self.page.keyboard.press("ArrowRight")

    @property
    def number(self) -> int:
        return int(self.page.locator("nav output").inner_text().split("/")[0])

    @property
    def at(self) -> int:
        """The frame of the picture on show, from 0."""
        return int(self.page.locator("section.present.page .kd-steps input").input_value())

    @property
    def sentence(self) -> str:
        return self.page.locator("section.present.page .kd-sentence").inner_text()


def window(
    chromium: Browser, size: tuple[int, int] = SIZES[0], theme: Literal["light", "dark"] = "light"
) -> BrowserContext:
    width, height = size
    return chromium.new_context(
        viewport={"width": width, "height": height},
        color_scheme=theme,
        offline=True,
        reduced_motion="reduce",
    )


def notebook(*cells: str) -> Any:
    """A notebook of code cells, each on a slide of its own."""
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    slide = {"slideshow": {"slide_type": "slide"}}
    made = [nbformat.v4.new_code_cell(cell, metadata=slide) for cell in cells]
    return nbformat.v4.new_notebook(cells=made, metadata={"kernelspec": kernel})


def small_deck(folder: Path, *cells: str) -> Path:
    path = folder / "small.ipynb"
    nbformat.write(notebook(*cells), path)
    return make(path, folder)


def test_u07_t3_every_slide_is_whole_and_can_be_read_from_the_back_row(
    chromium: Browser, any_deck: Path
) -> None:
    every_slide_is_fine(chromium, any_deck, SIZES[0])


def test_u07_slides_are_enlarged_for_a_larger_screen(chromium: Browser, deck: Path) -> None:
    every_slide_is_fine(chromium, deck, SIZES[1])


def every_slide_is_fine(chromium: Browser, deck: Path, size: tuple[int, int]) -> None:
    slides = Slides(window(chromium, size), deck)
    found = {number: slides.page.evaluate(CHECK) for number in slides.numbers()}
    assert len(found) > 20
    assert {number: wrong for number, wrong in found.items() if wrong != FINE} == {}
    assert slides.requests == [deck.as_uri()]
    assert slides.errors == []
    slides.page.context.close()


def test_the_check_of_a_slide_sees_what_is_wrong(chromium: Browser, deck: Path) -> None:
    slides = Slides(window(chromium), deck)
    slides.page.evaluate("document.querySelector('section.present h1').style.fontSize = '15px'")
    slides.page.evaluate("document.querySelector('section.present img').style.marginTop = '400px'")
    found = slides.page.evaluate(CHECK)
    assert found["small"] == ["15 <H1> 00 One pod, one GPU, the whole way"]
    assert found["out"]
    assert found["clipped"]
    slides.page.evaluate("document.querySelector('section.present h1').style.color = '#999'")
    assert slides.page.evaluate(PALE) == ["2.8: 00 One pod, one GPU, the whole way"]
    slides.page.context.close()


def test_pictures_step_without_a_kernel(chromium: Browser, deck: Path) -> None:
    slides = Slides(window(chromium), deck)
    stepped = 0
    for _ in slides.numbers():
        steps = slides.page.locator("section.present.page .kd-steps")
        if not steps.is_visible():
            continue
        stepped += 1
        slider = steps.get_by_role("slider")
        slider.fill("0")
        seen = {slides.sentence}
        for _ in range(int(slider.get_attribute("max") or 0)):
            steps.get_by_role("button").last.click()
            seen.add(slides.sentence)
            assert slides.page.evaluate(CHECK) == FINE, slides.sentence
        assert len(seen) > 10
    assert stepped >= 5
    slides.page.context.close()


def test_a_picture_opens_at_the_moment_at_which_its_cell_showed_it(chromium: Browser, tmp_path: Path) -> None:
    scene = """from kubedev.lab import Lab
lab = Lab("moment", nodes=1, transport="memory")
lab.plugin("nvidia.com/gpu", devices=4)
lab.show()"""
    slides = Slides(window(chromium), small_deck(tmp_path, scene, "lab.set_health('d0', False)"))
    slides.to_picture()
    assert slides.sentence == "kubelet to store: nvidia.com/gpu 4, allocatable 4"
    slides.page.keyboard.press("Enter")
    assert slides.sentence == "you to plugin: d0 is Unhealthy"
    slides.page.context.close()


def test_t2_going_on_steps_the_picture_first_and_going_back_steps_it_back(
    chromium: Browser, deck: Path
) -> None:
    slides = Slides(window(chromium), deck)
    slides.to_picture()
    number, start = slides.number, slides.at
    for presses, key in enumerate(("ArrowRight", "Space", "PageDown"), 1):
        slides.page.keyboard.press(key)
        assert (slides.number, slides.at) == (number, start + presses)
    for presses, key in enumerate(("ArrowLeft", "PageUp", "Shift+Space"), 1):
        slides.page.keyboard.press(key)
        assert (slides.number, slides.at) == (number, start + 3 - presses)
    last = slides.page.locator("section.present.page .kd-steps input").get_attribute("max")
    slides.page.keyboard.press("n")
    assert slides.number == number + 1
    slides.page.keyboard.press("ArrowLeft")
    assert (slides.number, slides.at) == (number, int(last or 0)), "from behind, at its last step"
    slides.page.keyboard.press("ArrowRight")
    assert slides.number == number + 1
    slides.page.context.close()


def test_t2_a_picture_higher_than_its_slide_is_seen_where_something_changes(
    chromium: Browser, tmp_path: Path
) -> None:
    cell = """from kubedev.lab import explore
from kubedev.views.picture import Picture, Text
def draw(n):
    lines = tuple(Text(f"t{i}", 20, 40 + 100 * i, str(i)) for i in range(9))
    return Picture("Tall", f"Line {n}.", 900, (*lines, Text("here", 90, 40 + 100 * n, f"line {n}")), (), "")
explore(draw, n=range(9), frames=[{"n": 0}, {"n": 8}, {"n": 1}])"""
    slides = Slides(window(chromium), small_deck(tmp_path, cell))
    for line in (0, 8, 1):
        slides.page.wait_for_function(SEEN, arg=f"line {line}")
        slides.page.keyboard.press("ArrowRight")
    slides.page.context.close()


def test_t4_on_paper_each_slide_is_one_page_with_its_picture_at_the_last_step(
    chromium: Browser, deck: Path
) -> None:
    for query in ("", "?print-pdf"):
        slides = Slides(window(chromium), deck, query)
        paper = slides.page.pdf(prefer_css_page_size=True, print_background=True)
        assert len(re.findall(rb"/Type\s*/Page\b", paper)) == slides.count
        slides.page.emulate_media(media="print")
        slides.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert slides.page.evaluate(ON_PAPER) == []
        slides.page.context.close()


def test_t5_a_question_has_large_choices_and_its_answer_on_a_slide_of_its_own(
    chromium: Browser, tmp_path: Path
) -> None:
    ask = "from kubedev.lab import predict\nasked = predict('t5', 'How many?', count=[3, 4])\nasked"
    slides = Slides(window(chromium), small_deck(tmp_path, ask, "asked.compare(count=4)"))
    card = slides.page.locator("section.present.page .question")
    assert card.locator(".kd-offer").all_inner_texts() == ["A\n3", "B\n4"]
    assert card.get_by_text("Hands up: A or B?").is_visible()
    assert (
        slides.page.evaluate("parseFloat(getComputedStyle(document.querySelector('.kd-offer')).fontSize)")
        == 36
    )
    places = [card.locator(".kd-offer").nth(n).bounding_box() for n in range(2)]
    offers = "[...document.querySelectorAll('section.present.page .kd-offer')]"
    ticks = f"{offers}.map(offer => getComputedStyle(offer, '::after').content)"
    assert slides.page.evaluate(ticks) == ["none", "none"]
    slides.page.keyboard.press("ArrowRight")
    assert slides.number == 2
    assert slides.page.evaluate(ticks) == ["none", '"✓"']
    assert [card.locator(".kd-offer").nth(n).bounding_box() for n in range(2)] == places, "nothing moves"
    assert slides.page.locator("section.present.page .code").count() == 0
    slides.page.context.close()


def test_enter_steps_forward_and_backspace_back(chromium: Browser, deck: Path) -> None:
    slides = Slides(window(chromium), deck)
    slides.to_picture()
    number = slides.page.locator("nav output").inner_text()
    slides.page.locator("section.present.page .kd-steps input").fill("3")
    slides.page.locator("section.present.page .kd-steps input").blur()
    slides.page.keyboard.press("Enter")
    assert slides.at == 4
    slides.page.keyboard.press("Backspace")
    slides.page.keyboard.press("Backspace")
    assert slides.at == 2
    assert slides.page.locator("nav output").inner_text() == number
    slides.page.context.close()


def test_the_speaker_sees_notes_and_steps_the_picture_of_the_audience(chromium: Browser, deck: Path) -> None:
    slides = Slides(window(chromium), deck)
    with slides.page.context.expect_page() as opening:
        slides.page.keyboard.press("s")
    speaker = opening.value
    notes = speaker.locator(".speaker-controls-notes .value")
    notes.get_by_text("Run the first cell before anyone").wait_for()
    assert "For the speaker" not in notes.inner_text()
    assert notes.locator("details").count() == 0
    while not slides.page.locator("section.present.page .kd-steps").is_visible():
        before = slides.page.evaluate("location.hash + document.querySelectorAll('.fragment.visible').length")
        speaker.keyboard.press("ArrowRight")
        slides.page.wait_for_function(
            "before => location.hash + document.querySelectorAll('.fragment.visible').length !== before",
            arg=before,
        )
    notes.get_by_text("Point at the two directions").wait_for()
    opened = slides.at
    key, then = ("Backspace", opened - 1) if opened else ("Enter", 1)
    speaker.keyboard.press(key)
    expect(slides.page.locator("section.present.page .kd-steps input")).to_have_value(str(then))
    assert {request.split("?")[0] for request in slides.requests} == {deck.as_uri()}
    slides.page.context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_u12_text_stands_out_in_both_themes(
    chromium: Browser, deck: Path, theme: Literal["light", "dark"]
) -> None:
    slides = Slides(window(chromium, SIZES[0], theme), deck)
    for _ in slides.numbers():
        assert slides.page.evaluate(PALE) == []
    slides.page.keyboard.press("t")
    ground = slides.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(18, 22, 27)", "dark": "rgb(255, 255, 255)"}[theme]
    slides.page.context.close()


PANEL = """from kubedev.lab import Lab, predict
with Lab("exported", transport="memory") as lab:
    lab.plugin("nvidia.com/gpu", devices=4)
    panel = lab.show()
panel"""


def test_u04_exported_html_shows_pictures_and_questions(chromium: Browser, tmp_path: Path) -> None:
    """`jupyter nbconvert --execute --to html`, told to save no widget's state: that would need a network."""
    document = notebook(PANEL, "predict('u04', 'How many devices?', count=[3, 4])")
    NotebookClient(document, store_widget_state=False).execute()
    html, _ = HTMLExporter().from_notebook_node(document)  # type: ignore[no-untyped-call]
    file = tmp_path / "exported.html"
    file.write_text(html, "utf-8")
    context = window(chromium)
    page = context.new_page()
    page.goto(file.as_uri())
    history = page.get_by_role("slider", name="History")
    assert page.get_by_role("button", name="Step back").is_enabled()
    history.fill("0")
    assert page.locator(".kd-sentence").inner_text().endswith("Nothing has happened yet.")
    assert page.locator("svg [data-k^='device/']").count() == 0
    history.fill("50")
    assert page.locator("svg").get_by_text("4 healthy, 0 in use").is_visible()
    assert page.get_by_text("How many devices?", exact=True).is_visible()
    assert page.get_by_text("count: 3 · 4").is_visible()
    words = page.locator("body").inner_text()
    assert [bad for bad in ("Error displaying widget", "VBox(", "Output()") if bad in words] == []
    context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_t1_a_chart_can_be_read_on_light_and_on_dark_desktops(
    chromium: Browser, tmp_path: Path, theme: Literal["light", "dark"]
) -> None:
    """It is drawn in ink for a light ground; where the page is dark, a filter turns it round."""
    chart = """import plotly.graph_objects as go
go.Figure(go.Scatter(x=[0, 5], y=[8, 7]), layout={'title': {'text': 'Devices'}})"""
    slides = Slides(window(chromium, SIZES[0], theme), small_deck(tmp_path, chart))
    for chosen in (theme, {"light": "dark", "dark": "light"}[theme]):
        inks = "[...document.querySelectorAll('.main-svg text')].map(text => getComputedStyle(text).fill)"
        assert set(slides.page.evaluate(inks)) == {"rgb(27, 31, 36)"}
        look = slides.page.evaluate("getComputedStyle(document.querySelector('.js-plotly-plot')).filter")
        assert ("invert(1)" in look) == (chosen == "dark")
        slides.page.keyboard.press("t")
    slides.page.context.close()


def test_u05_a_chart_on_a_later_slide_has_its_size_and_needs_no_network(
    chromium: Browser, tmp_path: Path
) -> None:
    chart = "import plotly.graph_objects as go\ngo.Figure(go.Scatter(x=[0, 5, 9], y=[8, 7, 8], name='allocatable'))"
    slides = Slides(window(chromium), small_deck(tmp_path, "1", "2", chart))
    found = [slides.page.evaluate(CHECK) for _ in slides.numbers()]
    assert found == [FINE] * len(found)
    box = slides.page.locator("section.present.page .main-svg").first.bounding_box()
    assert box is not None
    assert box["width"] >= 600
    assert slides.page.locator("section.present.page .scatterlayer .js-line").count() == 1
    look = "getComputedStyle(document.querySelector('section.present.page .js-plotly-plot')).filter"
    assert slides.page.evaluate(look) == "none"
    slides.page.keyboard.press("t")  # dark, and so is the chart
    assert "invert(1)" in slides.page.evaluate(look)
    assert len(slides.requests) == 1
    assert slides.errors == []
    slides.page.context.close()


def test_u06_a_picture_within_boxes_is_on_the_slide(chromium: Browser, tmp_path: Path) -> None:
    explorer = """from kubedev.lab import explore
from kubedev.views.picture import Picture, Text
def draw(count):
    text = Text("t", 20, 40, f"{count} devices")
    return Picture("Devices", f"There are {count}.", 200, (text,), (), "devices")
explore(draw, count=range(1, 5), frames=[{"count": 1}, {"count": 3}])"""
    slides = Slides(window(chromium), small_deck(tmp_path, PANEL, explorer))
    found = [slides.page.evaluate(CHECK) for _ in slides.numbers()]
    assert found == [FINE] * len(found)
    assert slides.sentence == "There are 1."
    assert slides.page.locator("section.present.page .kd-title").is_visible()
    slides.page.keyboard.press("Enter")
    assert slides.sentence == "There are 3."
    assert slides.page.locator("section.present.page svg").text_content() == "3 devices"
    slides.page.context.close()


def test_long_output_goes_on_on_the_next_slide(chromium: Browser, tmp_path: Path) -> None:
    cell = "for i in range(70):\n    print('line', i)"
    slides = Slides(window(chromium), small_deck(tmp_path, cell))
    found = [slides.page.evaluate(CHECK) for _ in slides.numbers()]
    assert found == [FINE] * len(found)
    lines = slides.page.locator(".output pre").all_text_contents()
    assert "\n".join(lines).split("\n") == [f"line {i}" for i in range(70)]
    slides.page.context.close()


def test_a_picture_that_is_too_high_goes_on_on_the_next_slide(chromium: Browser, tmp_path: Path) -> None:
    tall = """from kubedev.views.live import LivePicture
from kubedev.views.picture import Picture, Panel
cards = tuple(Panel(f"c{i}", 0, 220 * i, 720, 200, f"card {i}") for i in range(5))
LivePicture(Picture("Five cards", "Too high for one slide.", 1100, cards, (), "cards"))"""
    slides = Slides(window(chromium), small_deck(tmp_path, tall))
    shown = []
    for _ in slides.numbers():
        assert slides.page.evaluate(CHECK) == FINE
        shown += slides.page.evaluate(CARDS)
    assert shown == [f"card {number}" for number in range(5)]
    assert slides.count == 5
    slides.page.context.close()


# The cards on the slide on show that are inside of its cut.
CARDS = """() => {
  const slide = document.querySelector('section.present.page');
  const scene = slide.querySelector('.kd-scroll')?.getBoundingClientRect();
  return [...slide.querySelectorAll('svg text')].filter((text) => {
    const box = text.getBoundingClientRect();
    return box.top >= scene.top && box.bottom <= scene.bottom;
  }).map((text) => text.textContent);
}"""

# Whether a text is on the slide on show, inside of the window on its picture.
SEEN = """(words) => {
  const slide = document.querySelector('section.present.page');
  const scene = slide.querySelector('.kd-scroll').getBoundingClientRect();
  return [...slide.querySelectorAll('svg text')].some((text) => {
    const box = text.getBoundingClientRect();
    return text.textContent === words && box.top >= scene.top - 1 && box.bottom <= scene.bottom + 1;
  });
}"""

# What is wrong on paper: slides that do not stand one below the other, what reaches over one, pictures at another step.
ON_PAPER = """() => [...document.querySelectorAll('section.page')].flatMap((page, number) => {
  const [box, at] = [page.getBoundingClientRect(), number + 1];
  const slider = page.querySelector('.kd-steps input');
  const over = [...page.querySelectorAll('*')].filter((node) => {
    const own = node.getBoundingClientRect();
    const cut = node.closest(".notes, .kd-scroll[style*='clip']:not([data-room])"); // the rest is on the next page
    return own.height && !cut && (own.bottom > box.bottom + 1 || own.right > box.right + 1);
  });
  return [
    ...(Math.abs(box.top + scrollY - 720 * number) > 1 ? [`${at} at ${box.top}`] : []),
    ...(Math.abs(box.height - 720) > 1 ? [`${at} high ${box.height}`] : []),
    ...(slider && slider.value !== slider.max ? [`${at} at step ${slider.value}`] : []),
    ...over.map((node) => `${at} ${node.tagName} ${node.textContent.slice(0, 30)}`),
  ];
})"""
