"""The visual language: readable on every ground, and never by colour alone."""

from itertools import combinations

import pytest

from kubedev.views.picture import Cell
from kubedev.views.style import DeviceState, Theme, colour, fit, text_width, wrap
from kubedev.views.svg import fragment

THEMES: tuple[Theme, ...] = ("light", "dark")
GROUNDS = ("ground", "panel", "card")
# Which text stands on which ground; the states' colours are those of labels in cells, and of pills.
TEXT_ON_GROUND = [
    *((text, ground) for text in ("ink", "muted") for ground in GROUNDS),
    *(
        (text, ground)
        for text in ("free", "unhealthy", "reusable", "preferred")
        for ground in ("card", "panel")
    ),
    ("ink", "wash"),
    ("muted", "wash"),
    ("unhealthy", "wash"),
    ("free", "wash"),
    *(
        ("on-accent", ground)
        for ground in ("accent", "allocated", "reusable", "free", "preferred", "unhealthy")
    ),
]


def linear(channel: int) -> float:
    value = channel / 255
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def rgb(text: str) -> tuple[float, float, float]:
    red, green, blue = (linear(int(text[i : i + 2], 16)) for i in (1, 3, 5))
    return red, green, blue


def luminance(channels: tuple[float, float, float]) -> float:
    return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]


def contrast(a: str, b: str) -> float:
    """The ratio that WCAG 2 defines."""
    light, dark = sorted((luminance(rgb(a)), luminance(rgb(b))), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_of_black_and_white_is_21() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("text", "ground"), TEXT_ON_GROUND)
def test_text_is_readable(text: str, ground: str, theme: Theme) -> None:
    ratio = contrast(colour(text, theme), colour(ground, theme))
    assert ratio >= 4.5, f"{text} on {ground}, {theme}: {ratio:.2f}"


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(
    "mark", ["free", "allocated", "unhealthy", "reusable", "preferred", "mask", "accent"]
)
def test_marks_stand_out_from_their_ground(mark: str, theme: Theme) -> None:
    for ground in GROUNDS:
        assert contrast(colour(mark, theme), colour(ground, theme)) >= 3


def deuteranopia(text: str) -> tuple[float, float, float]:
    """How the colour looks without green cones (Machado, Oliveira and Fernandes 2009, severity 1)."""
    red, green, blue = rgb(text)
    return (
        0.367322 * red + 0.860646 * green - 0.227968 * blue,
        0.280085 * red + 0.672501 * green + 0.047413 * blue,
        -0.011820 * red + 0.042940 * green + 0.968881 * blue,
    )


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("a", "b"), list(combinations(["free", "allocated", "unhealthy"], 2)))
def test_the_commonest_states_differ_for_the_colour_blind(a: str, b: str, theme: Theme) -> None:
    seen_a, seen_b = deuteranopia(colour(a, theme)), deuteranopia(colour(b, theme))
    distance = sum((x - y) ** 2 for x, y in zip(seen_a, seen_b, strict=True)) ** 0.5
    assert distance > 0.12, f"{a} and {b} look alike in {theme}: {distance:.2f}"


def test_each_state_has_a_shape_of_its_own() -> None:
    shapes = set()
    for state in DeviceState:
        drawn = fragment(Cell("k", 0, 0, 44, "1", state))
        shapes.add((drawn.count("<path"), drawn.count("<rect"), _filled(state), _dashed(state)))
    assert len(shapes) == len(DeviceState)


def _filled(state: DeviceState) -> bool:
    drawn = fragment(Cell("k", 0, 0, 44, "1", state))
    return "t-on-accent" in drawn or "t-line" in drawn


def _dashed(state: DeviceState) -> bool:
    return state in (DeviceState.REUSABLE, DeviceState.RESERVED, DeviceState.WITHHELD)


def test_each_state_has_a_word_of_its_own() -> None:
    assert len({state.word for state in DeviceState}) == len(DeviceState)


def test_fit_keeps_what_fits_and_cuts_the_end() -> None:
    assert fit("short", 200) == "short"
    cut = fit("a sentence that is much too long for its place", 100)
    assert cut.endswith("…")
    assert text_width(cut) <= 100


def test_wrap_keeps_every_word_where_there_is_room() -> None:
    text = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    lines = wrap(text, 180, 9)
    assert " ".join(lines) == text
    assert all(text_width(line) <= 180 for line in lines)


def test_wrap_ends_with_an_ellipsis_where_there_is_none() -> None:
    lines = wrap("one two three four five six seven eight nine ten", 80, 2)
    assert len(lines) == 2
    assert lines[-1].endswith("…")
