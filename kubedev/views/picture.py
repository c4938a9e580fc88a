"""A picture as one value: marks with places, a sentence, tables, and the text for those who cannot see it.

Views make it from a state; `svg`, `document` and `live` draw it. A mark's `key` is its identity from step to
step: what keeps its key and changes its place is seen moving. Coordinates are pixels of a picture `WIDTH`
wide; the heading (title and sentence) stands above it and has no marks.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from kubedev.views.catalogue import say
from kubedev.views.controls import Action, Control
from kubedev.views.style import SIZE_TEXT, WIDTH, DeviceState, text_width

__all__ = [
    "Band",
    "Box",
    "Cell",
    "Control",
    "Dot",
    "Dots",
    "Handle",
    "Line",
    "Look",
    "Mark",
    "Panel",
    "Picture",
    "Pill",
    "Point",
    "Table",
    "Text",
    "legend",
    "table",
]

Point = tuple[float, float]
Look = Literal["plain", "lit", "muted", "dead", "mask", "impossible", "preferred"]


@dataclass(frozen=True, slots=True)
class Panel:
    """A quiet ground that holds what belongs together; its label stands inside, top left."""

    key: str
    x: float
    y: float
    width: float
    height: float
    label: str = ""
    tooltip: str = ""


@dataclass(frozen=True, slots=True)
class Box:
    """A party or a thing with a name: title, then lines of text, in the middle or at the `top`.

    `mono` sets the title as a file or message.
    """

    key: str
    x: float
    y: float
    width: float
    height: float
    title: str
    lines: tuple[str, ...] = ()
    look: Look = "plain"
    mono: bool = False
    centred: bool = False
    top: bool = False
    tooltip: str = ""
    action: Action | str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A device (or a CPU): a square whose mark is its state."""

    key: str
    x: float
    y: float
    size: float
    label: str
    state: DeviceState
    starred: bool = False
    lit: bool = False
    tooltip: str = ""
    action: Action | str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """Words; `x` is where they start, are centred or end, `y` their base line."""

    key: str
    x: float
    y: float
    text: str
    size: int = SIZE_TEXT
    tone: str = "ink"
    bold: bool = False
    mono: bool = False
    anchor: Literal["start", "middle", "end"] = "start"
    tooltip: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A connection or a rule through `points`; an arrow head at its end, if wanted."""

    key: str
    points: tuple[Point, ...]
    look: Literal["quiet", "lit", "faint", "rule", "strong"] = "quiet"
    dashed: bool = False
    arrow: bool = False


@dataclass(frozen=True, slots=True)
class Pill:
    """A filled tag, centred on (x, y). With `start` it travels from there: a message under way."""

    key: str
    x: float
    y: float
    text: str
    tone: str = "accent"
    start: Point | None = None
    tooltip: str = ""


@dataclass(frozen=True, slots=True)
class Band:
    """A plain filled or outlined rectangle: the ground of a highlighted row, a bar, a mask laid over."""

    key: str
    x: float
    y: float
    width: float
    height: float
    tone: str = "wash"
    radius: float = 8
    outlined: bool = False
    tooltip: str = ""


@dataclass(frozen=True, slots=True)
class Dot:
    """A point on a time line."""

    key: str
    x: float
    y: float
    radius: float
    tone: str = "accent"


@dataclass(frozen=True, slots=True)
class Dots:
    """Many points of one kind."""

    key: str
    points: tuple[Point, ...]
    radius: float
    tone: str = "accent"


@dataclass(frozen=True, slots=True)
class Handle:
    """A point that can be dragged, and moved with the arrow keys: `action` goes out with its place as `x` and `y`.

    `at` is where it stands in the units of two axes, `low` and `high` how far it may go, in whole `step`s; `unit` is
    how many pixels a unit is, negative where it goes up.
    """

    key: str
    x: float
    y: float
    at: tuple[int, int]
    low: tuple[int, int]
    high: tuple[int, int]
    step: tuple[int, int]
    unit: Point
    action: Action
    tooltip: str = ""


Mark = Panel | Box | Cell | Text | Line | Pill | Band | Dot | Dots | Handle | Control


@dataclass(frozen=True, slots=True)
class Table:
    """The same facts as rows of text."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything that is shown of one state: heading, marks in drawing order, tables and alternative text."""

    title: str
    sentence: str
    height: float
    marks: tuple[Mark, ...]
    tables: tuple[Table, ...]
    alt: str
    width: float = WIDTH


def table(name: str, columns: str, rows: Iterable[tuple[str, ...]]) -> Table:
    """Return a table with caption and columns from the catalogue; `columns` are words of its keys."""
    heads = tuple(say(f"table.{column}") for column in columns.split())
    return Table(say(f"table.{name}"), heads, tuple(rows))


def legend(
    key: str, x: float, y: float, states: tuple[DeviceState, ...], *, preferred: bool = False
) -> list[Mark]:
    """Return the one legend: each state's mark with its word, in a row from (x, y); y is the base line."""
    marks: list[Mark] = []
    for state in states:
        marks.append(Cell(f"{key}/{state.value}", x, y - 13, 16, "", state))
        marks.append(Text(f"{key}/{state.value}/word", x + 23, y, state.word, tone="muted"))
        x += 23 + text_width(state.word) + 20
    if preferred:
        marks.append(Cell(f"{key}/preferred", x, y - 13, 16, "", DeviceState.FREE, starred=True))
        marks.append(Text(f"{key}/preferred/word", x + 27, y, say("state.preferred"), tone="muted"))
    return marks
