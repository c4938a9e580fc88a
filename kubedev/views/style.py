"""The one visual language of all pictures: colours, the marks of states, sizes and the width of text.

A state is never told by colour alone: each has its own shape (outlined, filled, hatched, dashed, starred) and
a word beside it. Every colour is given twice, for light and dark grounds, and text colours have a contrast of
at least 4.5:1 on every ground they are drawn on (tests/unit/test_views_style.py computes it).
"""

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import Literal

from kubedev.views.catalogue import say

__all__ = [
    "FONT",
    "MONO",
    "ON_A_NODE",
    "PALETTE",
    "PILL_PADDING",
    "RADIUS_BOX",
    "RADIUS_CELL",
    "RADIUS_PANEL",
    "SIZE_HEAD",
    "SIZE_TEXT",
    "SIZE_TITLE",
    "WIDTH",
    "DeviceState",
    "Theme",
    "colour",
    "fit",
    "flow",
    "text_width",
    "wrap",
]

Theme = Literal["light", "dark"]

PALETTE: dict[str, tuple[str, str]] = {
    "ink": ("#1b1f24", "#e8ebf0"),
    "muted": ("#586472", "#9aa6b5"),
    "line": ("#cfd6de", "#37414d"),
    "edge": ("#8b96a3", "#6b7786"),
    "control": ("#7b8794", "#738092"),
    "panel": ("#f5f7f9", "#1a2027"),
    "card": ("#ffffff", "#20272f"),
    "ground": ("#ffffff", "#12161b"),
    "wash": ("#dcebf4", "#1f3644"),
    "free": ("#007657", "#35c79b"),
    "allocated": ("#0067a5", "#4aa8e0"),
    "unhealthy": ("#b04600", "#ff8a4c"),
    "reusable": ("#8a6200", "#f0b93a"),
    "preferred": ("#a2487f", "#e08fc0"),
    "mask": ("#1f8fd0", "#56b4e9"),
    "accent": ("#0067a5", "#4aa8e0"),
    "on-accent": ("#ffffff", "#10161c"),
}
"""Name -> (light, dark)."""

FONT = "Inter,'Segoe UI','Noto Sans',system-ui,sans-serif"
MONO = "ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace"

WIDTH = 1080
"""Every picture is this wide: the width of an output in JupyterLab in a window of 1280 pixels."""
SIZE_TITLE = 20
SIZE_HEAD = 16
SIZE_TEXT = 14
"""No text is smaller: 14 px in a notebook, and 16 px where a slide enlarges the picture to 1240 pixels."""
RADIUS_CELL = 9
PILL_PADDING = 16
RADIUS_BOX = 12
RADIUS_PANEL = 14


class DeviceState(Enum):
    """What a device is to whoever looks; the value is the name of its mark and of its colour."""

    FREE = "free"
    ALLOCATED = "allocated"
    UNHEALTHY = "unhealthy"
    UNHEALTHY_IN_USE = "unhealthy-in-use"
    REUSABLE = "reusable"
    RESERVED = "reserved"
    WITHHELD = "withheld"

    @property
    def word(self) -> str:
        """The word that stands beside the mark."""
        return say(f"state.{self.value}")


ON_A_NODE = (DeviceState.FREE, DeviceState.ALLOCATED, DeviceState.UNHEALTHY, DeviceState.UNHEALTHY_IN_USE)
"""What the devices of a node can be; the other state is of those that a container may have again."""


def colour(name: str, theme: Theme) -> str:
    """Return the colour called `name` for a theme, as `#rrggbb`."""
    light, dark = PALETTE[name]
    return light if theme == "light" else dark


# Advance widths of the characters 32 to 126 in hundredths of the font size, for DejaVu Sans: the widest of
# the fonts that a browser is likely to take, so what fits here fits everywhere.
_WIDTHS = (
    *(32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64),
    *(64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79),
    *(60, 79, 69, 63, 61, 73, 68, 99, 69, 61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63),
    *(63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84),
)
_OTHER_WIDTH = 90
_MONO_WIDTH = 61
_BOLD_FACTOR = 1.13


@lru_cache(8192)
def text_width(text: str, size: float = SIZE_TEXT, *, bold: bool = False, mono: bool = False) -> float:
    """Return the width of `text` in pixels, on the safe side."""
    if mono:
        hundredths = float(_MONO_WIDTH * len(text))
    else:
        hundredths = float(sum(_WIDTHS[ord(c) - 32] if 32 <= ord(c) < 127 else _OTHER_WIDTH for c in text))
    return hundredths * size / 100 * (_BOLD_FACTOR if bold and not mono else 1)


def fit(text: str, width: float, size: float = SIZE_TEXT, *, bold: bool = False, mono: bool = False) -> str:
    """Return `text`, its end replaced by an ellipsis where it is wider than `width` pixels."""
    if text_width(text, size, bold=bold, mono=mono) <= width:
        return text
    kept = text
    while kept and text_width(kept + "…", size, bold=bold, mono=mono) > width:
        kept = kept[:-1]
    return kept.rstrip() + "…"


def wrap(
    text: str, width: float, lines: int, size: float = SIZE_TEXT, *, bold: bool = False, mono: bool = False
) -> Sequence[str]:
    """Break `text` at spaces into at most `lines` lines of `width` pixels; the last one gets the ellipsis."""
    words = text.split()
    out: list[str] = []
    while words and len(out) < lines:
        taken = 1
        while taken < len(words) and (
            text_width(" ".join(words[: taken + 1]), size, bold=bold, mono=mono) <= width
        ):
            taken += 1
        if len(out) == lines - 1:
            taken = len(words)
        out.append(fit(" ".join(words[:taken]), width, size, bold=bold, mono=mono))
        words = words[taken:]
    return out


def _is_seam(before: str, after: str) -> bool:
    """Whether a word that is too long had better be broken here: after a sign, or before a capital letter."""
    return before in "/-.,:=" or (before.islower() and after.isupper())


@lru_cache(4096)  # most words of a picture stay as they are from step to step
def flow(
    text: str, width: float, size: float = SIZE_TEXT, *, bold: bool = False, mono: bool = False
) -> tuple[str, ...]:
    """Break `text` into lines of at most `width` pixels, at spaces, and within a word where it alone is wider."""

    def fits(line: str) -> bool:
        return text_width(line, size, bold=bold, mono=mono) <= width

    lines: list[str] = []
    for word in text.split():
        if lines and fits(f"{lines[-1]} {word}"):
            lines[-1] += f" {word}"
            continue
        while len(word) > 1 and not fits(word):
            end = next((n for n in range(len(word) - 1, 1, -1) if fits(word[:n])), 1)
            end = next((n for n in range(end, end // 2, -1) if _is_seam(word[n - 1], word[n])), end)
            lines.append(word[:end])
            word = word[end:]
        lines.append(word)
    return tuple(lines)
