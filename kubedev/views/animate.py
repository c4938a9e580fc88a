"""Pictures, one after the other, as one SVG file that moves by itself: CSS alone, so that it moves in an `<img>`.

What stays is there once; what comes and goes is switched on and off; a message travels to its place and rests there.
The file has its own ground and edge and follows the colour scheme of whoever looks. Where motion is not wanted it
shows one telling moment.
"""

import re
from collections.abc import Sequence
from html import escape

from kubedev.views.document import document
from kubedev.views.picture import Picture, Pill
from kubedev.views.style import PALETTE
from kubedev.views.svg import place, style_sheet

__all__ = ["SECONDS", "animated"]

SECONDS = 10
_MARGIN = 14
_TRAVEL = 5.0  # per cent of the time that a message is under way
_DIP = 97.0  # from here on the scene fades, before it begins again
_SCALE = 1.4  # so that text is large enough where the picture is scaled down to a narrow column

Mark = tuple[str, str, str]


def animated(frames: Sequence[Picture], still: int, alt: str) -> str:
    """Return the SVG of some pictures of one size; `still` is the one that is shown where nothing may move."""
    drawn = [document(frame).marks for frame in frames]
    starts = {
        (mark.key, place(mark)): mark.start
        for frame in frames
        for mark in frame.marks
        if isinstance(mark, Pill) and mark.start is not None
    }
    shown = {mark: tuple(mark in marks for marks in drawn) for mark in _merged(drawn)}
    classes = {when: f"s{n}" for n, when in enumerate(dict.fromkeys(shown.values())) if not all(when)}
    body = "".join(
        _placed(mark, classes.get(when, ""), starts.get(mark[:2]), when.index(True))
        for mark, when in shown.items()
    )
    width = frames[0].width + 2 * _MARGIN
    height = max(frame.height for frame in frames) + 2 * _MARGIN
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width * _SCALE:g}" height="{height * _SCALE:g}"'
    edge = f'<rect x=".5" y=".5" width="{width - 1:g}" height="{height - 1:g}" rx="14" class="edge"/>'
    return (
        f'<svg class="kd" xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(alt)}">\n'
        f"<title>{escape(alt)}</title>\n<style>{_sheet(body, classes, still, len(frames))}</style>\n"
        f'{edge}<g class="scene" transform="translate({_MARGIN} {_MARGIN})">{body}</g>\n</svg>\n'
    )


def _merged(drawn: Sequence[Sequence[Mark]]) -> list[Mark]:
    """All marks of all frames, each once, every frame's in its own order."""
    out: list[Mark] = []
    for marks in drawn:
        at = 0
        for mark in marks:
            if mark in out:
                at = out.index(mark) + 1
            else:
                out.insert(at, mark)
                at += 1
    return out


def _placed(mark: Mark, name: str, start: tuple[float, float] | None, frame: int) -> str:
    _, where, text = mark
    inner = re.sub(r' data-(k|from|action|control)="[^"]*"', "", re.sub(r"<title>.*?</title>", "", text))
    if start is not None:
        x, y = map(float, where.split())
        away = f"--x:{start[0] - x:g}px;--y:{start[1] - y:g}px"
        inner = f'<g class="m{frame}" style="{away}">{inner}</g>'
    attributes = f' class="{name}"' * bool(name) + f' transform="translate({where})"' * bool(where)
    return f"<g{attributes}>{inner}</g>" if attributes else inner


def _sheet(body: str, classes: dict[tuple[bool, ...], str], still: int, count: int) -> str:
    light = ";".join(f"--kd-{name}:{pair[0]}" for name, pair in sorted(PALETTE.items()))
    dark = ";".join(f"--kd-{name}:{pair[1]}" for name, pair in sorted(PALETTE.items()))
    used = set(re.findall(r"[\w-]+", " ".join(re.findall(r'class="([^"]*)"', body))))
    rules = re.sub(r"\.kd \.([to]-[\w-]+)\{[^}]*\}", lambda m: m[0] if m[1] in used else "", style_sheet())
    moves = "".join(_switch(name, when, when[still]) for when, name in classes.items())
    travels = "".join(_travel(n, count) for n in range(count) if f'class="m{n}"' in body)
    return (
        f"svg.kd{{{light}}}@media(prefers-color-scheme:dark){{svg.kd{{{dark}}}}}{rules}"
        f".kd .edge{{fill:var(--kd-ground);stroke:var(--kd-line)}}"
        f".scene{{animation:dip {SECONDS}s linear infinite}}"
        f"@keyframes dip{{0%,{_DIP:g}%{{opacity:1}}99%,100%{{opacity:.15}}}}{moves}{travels}"
        "@media(prefers-reduced-motion:reduce){.kd *{animation:none!important}}"
    )


def _at(frame: int, count: int) -> str:
    """When a frame begins; the last one is shown a little longer."""
    return f"{100 * frame / (count + 0.6):.4g}%"


def _switch(name: str, when: tuple[bool, ...], still: bool) -> str:
    steps = [f"0%{{opacity:{int(when[0])}}}"]
    steps += [
        f"{_at(n, len(when))}{{opacity:{int(now)}}}" for n, now in enumerate(when) if n and now != when[n - 1]
    ]
    return (
        f".{name}{{opacity:{int(still)};animation:{name} {SECONDS}s step-end infinite}}"
        f"@keyframes {name}{{{''.join(steps)}}}"
    )


def _travel(frame: int, count: int) -> str:
    start = float(_at(frame, count)[:-1])
    return (
        f".m{frame}{{animation:m{frame} {SECONDS}s ease-out infinite}}"
        f"@keyframes m{frame}{{0%,{start:g}%{{transform:translate(var(--x),var(--y))}}"
        f"{start + _TRAVEL:g}%,100%{{transform:none}}}}"
    )
