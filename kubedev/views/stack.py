"""Pictures below one another as one: the machine above, what was decided on it beneath."""

from dataclasses import replace
from typing import assert_never

from kubedev.views.picture import (
    Band,
    Box,
    Cell,
    Control,
    Dot,
    Dots,
    Line,
    Mark,
    Panel,
    Picture,
    Pill,
    Point,
    Text,
)
from kubedev.views.style import SIZE_HEAD, WIDTH, fit

__all__ = ["stack"]

_GAP = 18.0
_HEAD = 34.0


def stack(title: str, sentence: str, *pictures: Picture, heads: bool = True) -> Picture:
    """Put pictures below one another; each but the first gets its title as a heading, if `heads`."""
    marks: list[Mark] = []
    top = 0.0
    for number, picture in enumerate(pictures):
        if number:
            top += _GAP
        if number and heads:
            words = fit(picture.title, WIDTH, SIZE_HEAD, bold=True)
            marks.append(Text(f"{number}/title", 0, top + 16, words, SIZE_HEAD, bold=True))
            top += _HEAD
        marks += [_lowered(mark, f"{number}/", top) for mark in picture.marks]
        top += picture.height
    tables = tuple(table for picture in pictures for table in picture.tables)
    alt = " ".join(picture.alt for picture in pictures)
    return Picture(title, sentence, top, tuple(marks), tables, alt)


def _lowered(mark: Mark, prefix: str, by: float) -> Mark:
    key = prefix + mark.key

    def down(point: Point) -> Point:
        return point[0], point[1] + by

    match mark:
        case Line() | Dots():
            return replace(mark, key=key, points=tuple(map(down, mark.points)))
        case Pill():
            return replace(mark, key=key, y=mark.y + by, start=mark.start and down(mark.start))
        case Panel() | Box() | Cell() | Text() | Band() | Dot() | Control():
            return replace(mark, key=key, y=mark.y + by)
    assert_never(mark)
