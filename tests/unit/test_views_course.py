"""Numbers over time: every change is seen, nothing lies over anything, and the scale stays where it is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubedev.views.course import Course, Dotted, Shade, Track
from kubedev.views.grammar import picture
from kubedev.views.picture import Dot, Dots, Line, Picture, Text
from tests.unit.picture_checks import problems


def draw(course: Course, width: float = 800) -> Picture:
    return picture("title", "sentence", course, width)


def course(*values: tuple[float, int | None], until: float = 3600) -> Course:
    return Course([Track("capacity", values)], values[-1][0], until, 4)


@pytest.mark.parametrize("brief", [0.0, 1.0, 5.0])
def test_s5_a_change_that_lasts_a_second_of_an_hour_has_a_mark(brief: float) -> None:
    dip = draw(course((0, 4), (301, 0), (301 + brief, 4), (3600, 4)))
    (mark,) = (m for m in dip.marks if isinstance(m, Dot))
    lowest = max(y for m in dip.marks if isinstance(m, Line) and "capacity" in m.key for _, y in m.points)
    assert mark.y == lowest


def test_a_change_that_lasts_needs_no_mark() -> None:
    assert not [m for m in draw(course((0, 4), (600, 0), (1800, 4), (3600, 4))).marks if isinstance(m, Dot)]


def test_what_is_not_there_is_not_zero() -> None:
    shown = draw(course((0, None), (600, 0), (1200, 0)))
    (line,) = (m for m in shown.marks if isinstance(m, Line) and "capacity" in m.key)
    zero = draw(course((0, 0), (600, 0), (1200, 0)))
    (whole,) = (m for m in zero.marks if isinstance(m, Line) and "capacity" in m.key)
    assert line.points[0][0] > whole.points[0][0]


def test_messages_of_one_moment_stand_on_one_another() -> None:
    dotted = Dotted("lists", (10, 10, 20), "8 devices, 1 Unhealthy")
    shown = draw(Course([Track("a", ((0, 1),))], 30, 60, 4, dotted=dotted))
    (dots,) = (m for m in shown.marks if isinstance(m, Dots))
    assert dots.points[0][0] == dots.points[1][0]
    assert dots.points[0][1] != dots.points[1][1]
    assert "8 devices, 1 Unhealthy" in [m.text for m in shown.marks if isinstance(m, Text)]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 500), st.none() | st.integers(0, 64)), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 500), st.none() | st.integers(0, 64)), max_size=6),
    st.booleans(),
    st.sampled_from([520, 700, 1052]),
)
def test_nothing_is_cut_or_lies_over_anything(
    one: list[tuple[float, int | None]], two: list[tuple[float, int | None]], shaded: bool, width: float
) -> None:
    tracks = [Track("capacity", tuple(sorted(one, key=lambda v: v[0])), "quiet")]
    tracks.append(Track("allocatable", tuple(sorted(two, key=lambda v: v[0]))))
    shades = [Shade(100, 400, "five minutes of grace")] if shaded else []
    dotted = Dotted("ListAndWatch", (0.0, 500.0), "list of devices: 8, 1 Unhealthy (d4 Unhealthy)")
    assert problems(draw(Course(tracks, 500, 600, 64, shades=shades, dotted=dotted), width)) == []
