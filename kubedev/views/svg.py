"""Draw a picture as SVG: the same bytes for the same picture, no ids, no scripts, one small style sheet.

Each mark becomes one fragment, a `<g>` that is placed by a translation and drawn around its own origin: what
moves changes one attribute. `standalone` makes a file for a README, `inline` an element that follows the
theme of its page.
"""

import json
from functools import lru_cache
from html import escape
from typing import assert_never

from kubedev.views.controls import Button, Choice, Entry, Slider, as_json
from kubedev.views.picture import (
    Band,
    Box,
    Cell,
    Control,
    Dot,
    Dots,
    Handle,
    Line,
    Mark,
    Panel,
    Picture,
    Pill,
    Text,
)
from kubedev.views.style import (
    FONT,
    MONO,
    PALETTE,
    PILL_PADDING,
    RADIUS_BOX,
    RADIUS_CELL,
    RADIUS_PANEL,
    SIZE_HEAD,
    SIZE_TEXT,
    SIZE_TITLE,
    DeviceState,
    Theme,
    colour,
    flow,
    text_width,
)

__all__ = ["fragment", "inline", "place", "placed", "standalone", "style_sheet", "theme_sheet"]

_MARGIN = 20
_LABEL_TONES = {
    DeviceState.FREE: "free",
    DeviceState.ALLOCATED: "on-accent",
    DeviceState.UNHEALTHY: "unhealthy",
    DeviceState.UNHEALTHY_IN_USE: "on-accent",
    DeviceState.REUSABLE: "reusable",
    DeviceState.RESERVED: "free",
    DeviceState.WITHHELD: "ink",
}
_CELLS = {DeviceState.RESERVED: "free dash", DeviceState.WITHHELD: "dead t-line"}
_RULES = f"""
.kd text{{font-family:{FONT};font-size:{SIZE_TEXT}px;fill:$ink}}
.kd .b{{font-weight:600}}.kd .m{{font-family:{MONO}}}.kd .h{{font-size:{SIZE_HEAD}px}}.kd .x{{font-size:{SIZE_TITLE}px}}
.kd .panel{{fill:$panel}}
.kd .box{{fill:$card;stroke:$line;stroke-width:1.2}}
.kd .lit{{stroke:$accent;stroke-width:2.5}}
.kd .mask{{stroke:$mask;stroke-width:3}}
.kd .preferred{{stroke:$preferred;stroke-width:2}}
.kd .dead,.kd .impossible{{stroke:$muted;stroke-dasharray:5 4;fill:none}}
.kd .muted{{fill:none}}
.kd .cell{{fill:$card;stroke-width:2}}
.kd .free{{stroke:$free}}.kd .unhealthy,.kd .unhealthy-in-use{{stroke:$unhealthy}}
.kd .allocated{{fill:$allocated;stroke:$allocated}}
.kd .reusable{{stroke:$reusable;stroke-dasharray:4 3}}
.kd .hatch{{stroke:$unhealthy;stroke-width:1.6;opacity:.6;fill:none}}
.kd .ring{{fill:none;stroke:$accent;stroke-width:2.5}}
.kd .star{{fill:$preferred;stroke:$card;stroke-width:1.5;paint-order:stroke}}
.kd .again{{fill:none;stroke:$reusable;stroke-width:1.8}}
.kd .quiet{{fill:none;stroke:$edge;stroke-width:1.4}}
.kd .way{{fill:none;stroke:$accent;stroke-width:2.6}}
.kd .strong{{fill:none;stroke:$accent;stroke-width:2.5}}
.kd .faint,.kd .rule{{fill:none;stroke:$line;stroke-width:1.2}}
.kd .dots{{stroke-linecap:round}}.kd .dash{{stroke-dasharray:5 4}}
.kd .head-quiet{{fill:$edge}}.kd .head-lit,.kd .head-strong{{fill:$accent}}.kd .head-faint{{fill:$line}}
.kd .ctl{{fill:$card;stroke:$control;stroke-width:1.2}}.kd .primary{{fill:$accent;stroke:$accent}}
.kd .off{{opacity:.55}}.kd .chevron{{fill:none;stroke:$muted;stroke-width:1.6}}
.kd [tabindex]{{cursor:pointer}}
.kd [tabindex]:focus-visible{{outline:3px solid $mask;outline-offset:3px}}
"""


def _number(value: float) -> str:
    return f"{round(value, 1):g}"


def _numbers(*values: float) -> str:
    return " ".join(_number(value) for value in values)


def theme_sheet() -> str:
    """Return the colours as CSS variables that follow JupyterLab's theme, VS Code's, else the system's."""
    light = ";".join(f"--kd-{name}:{pair[0]}" for name, pair in sorted(PALETTE.items()))
    dark = ";".join(f"--kd-{name}:{pair[1]}" for name, pair in sorted(PALETTE.items()))
    return (
        f".kd{{{light}}}@media(prefers-color-scheme:dark){{.kd{{{dark}}}}}"
        f"[data-jp-theme-light=true] .kd{{{light}}}"
        f"[data-jp-theme-light=false] .kd,.vscode-dark .kd{{{dark}}}"
    )


def style_sheet(theme: Theme | None = None) -> str:
    """Return the rules of all marks, with the colours of a theme or the variables of `theme_sheet`."""
    names = sorted(PALETTE, reverse=True)
    rules = _RULES + "".join(
        f".kd .t-{name}{{fill:${name}}}.kd .o-{name}{{stroke:${name}}}" for name in names
    )
    for name in names:
        value = f"var(--kd-{name})" if theme is None else colour(name, theme)
        rules = rules.replace(f"${name}", value)
    return rules.replace("\n", "")


def place(mark: Mark) -> str:
    """Return where a mark is drawn, as the two numbers of a translation; empty for what is not moved."""
    if isinstance(mark, Line | Dots):
        return ""
    return _numbers(mark.x, mark.y)


@lru_cache(4096)  # from step to step most marks stay as they are
def fragment(mark: Mark) -> str:
    """Return the SVG of one mark around its own origin."""
    match mark:
        case Panel():
            content = _panel(mark)
        case Box():
            content = _box(mark)
        case Cell():
            content = _cell(mark)
        case Text():
            content = _text(mark.text, 0, 0, _text_class(mark), mark.anchor)
        case Line():
            content = _line(mark)
        case Pill():
            content = _pill(mark)
        case Band():
            content = _band(mark)
        case Dot():
            content = f'<circle r="{_number(mark.radius)}" class="t-{mark.tone}"/>'
        case Dots():
            content = _dots(mark)
        case Handle():
            content = (
                '<circle r="14" fill="transparent"/><circle r="8" class="t-card o-accent" stroke-width="3"/>'
            )
        case Control():
            content = _control(mark)
        case _:
            assert_never(mark)
    return _group(mark, content)


def placed(mark: Mark) -> str:
    """Return the SVG of one mark at its place."""
    where = place(mark)
    drawn = fragment(mark)
    return drawn.replace("<g", f'<g transform="translate({where})"', 1) if where else drawn


def inline(picture: Picture, *, controls: bool = True) -> str:
    """Return the `<svg>` element of a picture for a page that has `theme_sheet` and `style_sheet`.

    Without `controls` their places stay empty.
    """
    size = f'viewBox="0 0 {_numbers(picture.width, picture.height)}"'
    marks = "".join(placed(mark) for mark in _drawn(picture, controls=controls))
    return (
        f'<svg class="kd" xmlns="http://www.w3.org/2000/svg" {size} role="img" '
        f'aria-label="{escape(picture.alt)}">{marks}</svg>'
    )


def standalone(picture: Picture, theme: Theme, *, controls: bool = False) -> str:
    """Return a whole SVG file of one theme, with title, sentence and description; nothing in it can be pressed,
    so `controls` are left out unless they are asked for.
    """
    inner = picture.width
    lines = flow(picture.sentence, inner, SIZE_TEXT + 1)
    top = 46 + 22 * len(lines)
    width, height = inner + 2 * _MARGIN, picture.height + top + 2 * _MARGIN
    heading = (
        f'<text y="{SIZE_TITLE}" class="b" style="font-size:{SIZE_TITLE}px">{escape(picture.title)}</text>'
    )
    for row, line in enumerate(lines):
        heading += f'<text y="{48 + 22 * row}" class="t-muted" style="font-size:15px">{escape(line)}</text>'
    marks = "\n".join(placed(mark) for mark in _drawn(picture, controls=controls))
    return (
        f'<svg class="kd" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_numbers(width, height)}" '
        f'width="{_number(width)}" height="{_number(height)}" role="img" '
        f'aria-label="{escape(picture.alt)}">\n'
        f"<title>{escape(picture.title)}</title><desc>{escape(picture.alt)}</desc>\n"
        f"<style>{style_sheet(theme)}</style>\n"
        f'<rect width="100%" height="100%" fill="{colour("ground", theme)}"/>\n'
        f'<g transform="translate({_MARGIN} {_MARGIN})">{heading}</g>\n'
        f'<g transform="translate({_MARGIN} {_MARGIN + top})">\n{marks}\n</g>\n</svg>\n'
    )


def _drawn(picture: Picture, *, controls: bool) -> list[Mark]:
    return [mark for mark in picture.marks if controls or not isinstance(mark, Control)]


def _group(mark: Mark, content: str) -> str:
    attributes = f'data-k="{escape(mark.key)}"'
    if isinstance(mark, Pill) and mark.start is not None:
        attributes += f' data-from="{_numbers(*mark.start)}"'
    if isinstance(mark, Box | Cell) and mark.action:
        attributes += f' data-action="{escape(as_json(mark.action))}"'
    if isinstance(mark, Handle):
        data = {name: getattr(mark, name) for name in ("at", "low", "high", "step", "unit")}
        attributes += f' data-handle="{escape(json.dumps({**data, "action": dict(mark.action)}))}"'
    if isinstance(mark, Control):
        attributes += f' data-control="{escape(json.dumps(mark.data, ensure_ascii=False))}"'
    tooltip = "" if isinstance(mark, Line | Dot | Dots) else mark.tooltip
    title = f"<title>{escape(tooltip)}</title>" if tooltip else ""
    return f"<g {attributes}>{title}{content}</g>"


def _rect(x: float, y: float, width: float, height: float, radius: float, style: str) -> str:
    place = f' x="{_number(x)}" y="{_number(y)}"' if x or y else ""
    size = f'width="{_number(width)}" height="{_number(height)}" rx="{_number(radius)}"'
    return f'<rect{place} {size} class="{style}"/>'


def _text(text: str, x: float, y: float, style: str, anchor: str = "start") -> str:
    place = f' x="{_number(x)}"' * bool(x) + f' y="{_number(y)}"' * bool(y)
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text{place}{where} class="{style}">{escape(text, quote=False)}</text>'


def _text_class(mark: Text) -> str:
    names = (
        [f"t-{mark.tone}"]
        + ["b"] * mark.bold
        + ["m"] * mark.mono
        + ["h"] * (mark.size == SIZE_HEAD)
        + ["x"] * (mark.size == SIZE_TITLE)
    )
    return " ".join(names)


def _panel(mark: Panel) -> str:
    ground = _rect(0, 0, mark.width, mark.height, RADIUS_PANEL, "panel")
    return ground + (_text(mark.label, 16, 25, "t-muted b") if mark.label else "")


def _box(mark: Box) -> str:
    out = _rect(0, 0, mark.width, mark.height, RADIUS_BOX if mark.height > 40 else 8, f"box {mark.look}")
    rows = [(mark.title, "m" if mark.mono else "b")] + [(line, "t-muted") for line in mark.lines]
    if mark.look in ("dead", "impossible", "muted"):
        rows[0] = (mark.title, "t-muted" + " m" * mark.mono)
    if mark.look == "preferred":
        rows[0] = (mark.title, "t-preferred b")
    step = 20
    first = 26 if mark.top else (mark.height - step * len(rows)) / 2 + 15
    x, anchor = (mark.width / 2, "middle") if mark.centred else (12, "start")
    for row, (text, style) in enumerate(rows):
        out += _text(text, x, first + step * row, style, anchor) if text else ""
    return out


def _cell(mark: Cell) -> str:
    size, state = mark.size, _CELLS.get(mark.state, mark.state.value)
    radius = min(RADIUS_CELL, size * 0.22)
    out = _rect(0, 0, size, size, radius, f"cell {state}")
    if mark.state in (DeviceState.UNHEALTHY, DeviceState.UNHEALTHY_IN_USE):
        out += f'<path d="{_hatch(size)}" class="hatch"/>'
        inset = size * 0.22 if mark.label or mark.state is DeviceState.UNHEALTHY_IN_USE else 0
        if inset:
            fill = "t-allocated" if mark.state is DeviceState.UNHEALTHY_IN_USE else "t-card"
            out += _rect(inset, inset, size - 2 * inset, size - 2 * inset, radius / 2, fill)
    if mark.lit:
        out += _rect(-4, -4, size + 8, size + 8, radius + 4, "ring")
    if mark.label:
        out += _text(mark.label, size / 2, size / 2 + 5, f"b t-{_LABEL_TONES[mark.state]}", "middle")
    scale = _number(min(1.0, max(0.6, size / 36)))
    if mark.state is DeviceState.REUSABLE:
        turn = "M4-4A5.5 5.5 0 1 0 5.5 0M5-8V-3H0"
        out += (
            f'<path transform="translate({_numbers(size - 1, 2)}) scale({scale})" d="{turn}" class="again"/>'
        )
    if mark.starred:
        star = "M0-8 2-2.6 7.7-2.5 3.2 1 4.7 6.5 0 3.3-4.7 6.5-3.2 1-7.7-2.5-2-2.6Z"
        out += (
            f'<path transform="translate({_numbers(size - 1, 1)}) scale({scale})" d="{star}" class="star"/>'
        )
    return out


def _hatch(size: float) -> str:
    """Diagonal strokes in a square: a path, since a pattern needs an id, and ids clash in a page."""
    step = max(4.0, size / 7)
    round_corner = min(RADIUS_CELL, size * 0.22)
    strokes = []
    offset = 2 * step
    while offset <= 2 * size - 2 * step:
        trim = 0.3 * max(0.0, round_corner - abs(offset - size)) + 0.5
        low, high = max(0.0, offset - size) + trim, min(offset, size) - trim
        strokes.append(f"M{_numbers(low, high)}L{_numbers(high, low)}")
        offset += step
    return "".join(strokes)


def _line(mark: Line) -> str:
    style = {"lit": "way"}.get(mark.look, mark.look) + " dash" * mark.dashed
    points = list(mark.points)
    head = ""
    if mark.arrow:
        (x0, y0), (x1, y1) = points[-2:]
        length = max(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5, 0.1)
        size = 12 if mark.look == "lit" else 9
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        base = (x1 - ux * size, y1 - uy * size)
        left = (base[0] - uy * size / 2, base[1] + ux * size / 2)
        right = (base[0] + uy * size / 2, base[1] - ux * size / 2)
        points[-1] = base
        head = (
            f'<path d="M{_numbers(x1, y1)}L{_numbers(*left)} {_numbers(*right)}Z" class="head-{mark.look}"/>'
        )
    path = "L".join(_numbers(*point) for point in points)
    return f'<path d="M{path}" class="{style}"/>{head}'


def _dots(mark: Dots) -> str:
    path = "".join(f"M{_numbers(*point)}h0" for point in mark.points)
    width = f'style="stroke-width:{_number(2 * mark.radius)}px"'
    return f'<path d="{path}" class="dots o-{mark.tone}" {width}/>'


def _pill(mark: Pill) -> str:
    width = text_width(mark.text, bold=True) + PILL_PADDING
    ground = _rect(-width / 2, -13, width, 26, 13, f"t-{mark.tone}")
    return ground + _text(mark.text, 0, 5, "b t-on-accent", "middle")


def _band(mark: Band) -> str:
    style = f"ring o-{mark.tone}" if mark.outlined else f"t-{mark.tone}"
    return _rect(0, 0, mark.width, mark.height, mark.radius, style)


def _control(mark: Control) -> str:
    """The control as it looks in the page; one that is off is paler."""
    middle, base = mark.height / 2, mark.height / 2 + 5
    ground = _rect(0, 0, mark.width, mark.height, 7, "ctl")
    match mark.what:
        case Button(label, _, primary, disabled):
            style = "b t-on-accent" if primary else ""
            ground = _rect(0, 0, mark.width, mark.height, 7, "ctl primary" if primary else "ctl")
            drawn = ground + _text(label, mark.width / 2, base, style, "middle")
            return f'<g class="off">{drawn}</g>' if disabled else drawn
        case Choice(_, _, value, _):
            chevron = f'<path d="M{_numbers(mark.width - 17, middle - 2)}l4 4 4-4" class="chevron"/>'
            return ground + _text(value, 9, base, "") + chevron
        case Entry(label, value, _):
            return ground + _text(value or label, 9, base, "" if value else "t-muted")
        case Slider() as slider:
            left = text_width(slider.words) + 12
            share = (slider.value - slider.low) / ((slider.high - slider.low) or 1)
            at = left + 7 + (mark.width - left - 14) * min(1.0, max(0.0, share))
            return (
                _text(slider.words, 0, base, "")
                + f'<path d="M{_numbers(left, middle)}H{_number(mark.width)}" class="faint"/>'
                + f'<path d="M{_numbers(left, middle)}H{_number(at)}" class="strong"/>'
                + f'<circle cx="{_number(at)}" cy="{_number(middle)}" r="7" class="t-accent"/>'
            )
