"""What every picture must keep: nothing overlaps, nothing is cut, no text is too small."""

from collections.abc import Iterator

from kubedev.views.picture import Box, Cell, Dot, Line, Picture, Pill, Text
from kubedev.views.style import PILL_PADDING, SIZE_TEXT, text_width

Rect = tuple[float, float, float, float]


def problems(picture: Picture) -> list[str]:
    """What is wrong with a picture, in words; an empty list if nothing is."""
    texts = [pair for mark in picture.marks for pair in text_rects(mark)]
    pills = [(mark.text, pill_rect(mark)) for mark in picture.marks if isinstance(mark, Pill)]
    cells = [
        (mark.key, (mark.x, mark.y, mark.x + mark.size, mark.y + mark.size))
        for mark in picture.marks
        if isinstance(mark, Cell)
    ]
    found = [f"cut: {name}" for name, rect in [*texts, *pills, *cells] if not inside(picture, rect)]
    found += [f"overlap: {a} | {b}" for a, b in overlapping(texts, 1.5)]
    found += [f"pill over text: {a} | {b}" for a, ra in pills for b, rb in texts if overlap(ra, rb)]
    found += [f"pill over cell: {a} | {b}" for a, ra in pills for b, rb in cells if overlap(ra, rb)]
    found += [f"cells overlap: {a} | {b}" for a, b in overlapping(cells, 0)]
    found += [f"too small: {m.text}" for m in picture.marks if isinstance(m, Text) and m.size < SIZE_TEXT]
    found += [
        f"wider than its box: {line}" for m in picture.marks if isinstance(m, Box) for line in too_wide(m)
    ]
    found += [
        f"not a number: {m.key}" for m in picture.marks if isinstance(m, Line | Dot) and "nan" in repr(m)
    ]
    return found


def text_rects(mark: object) -> list[tuple[str, Rect]]:
    if isinstance(mark, Text):
        width = text_width(mark.text, mark.size, bold=mark.bold, mono=mark.mono)
        left = mark.x - {"start": 0.0, "middle": width / 2, "end": width}[mark.anchor]
        return [(mark.text, (left, mark.y - mark.size * 0.75, left + width, mark.y + mark.size * 0.2))]
    return []


def pill_rect(mark: Pill) -> Rect:
    half = (text_width(mark.text, bold=True) + PILL_PADDING) / 2
    return (mark.x - half, mark.y - 13, mark.x + half, mark.y + 13)


def too_wide(box: Box) -> list[str]:
    lines = [
        (box.title, not box.mono and box.look not in ("muted", "dead", "impossible"), box.mono),
        *((line, False, False) for line in box.lines),
    ]
    return [
        text for text, bold, mono in lines if text and text_width(text, bold=bold, mono=mono) > box.width - 12
    ]


def overlapping(named: list[tuple[str, Rect]], slack: float) -> Iterator[tuple[str, str]]:
    """Pairs that overlap, from left to right: only what begins before the other ends is compared."""
    ordered = sorted(named, key=lambda pair: pair[1][0])
    for index, (a, rect) in enumerate(ordered):
        for b, other in ordered[index + 1 :]:
            if other[0] > rect[2]:
                break
            if overlap(rect, other, slack):
                yield a, b


def overlap(a: Rect, b: Rect, slack: float = 1.5) -> bool:
    across = min(a[2], b[2]) - max(a[0], b[0])
    down = min(a[3], b[3]) - max(a[1], b[1])
    return across > slack and down > slack


def inside(picture: Picture, rect: Rect) -> bool:
    return rect[0] >= -1 and rect[1] >= -1 and rect[2] <= picture.width + 1 and rect[3] <= picture.height + 1
