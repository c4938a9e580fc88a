"""The course, read from the labs themselves: what each is called, how long it takes and what it needs before it.

Whatever lists the labs (the course page, `kubedev course`, the plan of slides) is made from this, so that a lab that is
added appears by itself.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from kubedev.tools.notebooks import all_labs, read_notebook

__all__ = ["Outline", "Section", "course", "outlined"]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a lab from one heading to the next, with its minutes."""

    title: str
    slug: str
    minutes: float


@dataclass(frozen=True, slots=True)
class Outline:
    """What is to be known of a lab before it is opened; `needs` is the sentence that it begins with."""

    name: str
    title: str
    minutes: int
    needs: str
    sections: tuple[Section, ...]

    @property
    def number(self) -> str:
        """Two digits, as in the file's name."""
        return self.name[:2]


def course(folder: Path) -> list[Outline]:
    """Return the outlines of all labs in a folder, in reading order."""
    return [outlined(path.stem, read_notebook(path)) for path in all_labs(folder)]


def outlined(name: str, notebook: NotebookNode) -> Outline:
    """Return the outline of a notebook; 0 minutes where it does not say how long it takes."""
    text = "\n".join(cell.source for cell in notebook.cells[:1])
    title = re.search(r"^# +(.+)", text, re.M)
    time = re.search(r"^\*(\d+) minutes\. ?([^*]*)\*", text, re.M)
    minutes = int(time[1]) if time else 0
    return Outline(
        name,
        title[1].strip() if title else name,
        minutes,
        time[2].strip() if time else "",
        _sections(notebook, minutes),
    )


def slug(heading: str) -> str:
    """Return a heading as an address has it: `Turn one knob` is `turn-one-knob`."""
    return "-".join(re.findall(r"\w+", heading.lower()))


def _sections(notebook: NotebookNode, minutes: int) -> tuple[Section, ...]:
    """The lab's minutes, shared out among its sections by what there is to read, to run, to predict and to solve."""
    efforts: dict[str, float] = {}
    now = ""
    for cell in notebook.cells:
        heading = re.search(r"^## +(.+)", cell.source, re.M) if cell.cell_type == "markdown" else None
        now = heading[1].strip() if heading else now
        if now:
            efforts[now] = efforts.get(now, 0) + _effort(cell) + (4 if heading and "xercise" in now else 0)
    whole = sum(efforts.values()) or 1
    return tuple(Section(title, slug(title), minutes * effort / whole) for title, effort in efforts.items())


_WORDS_A_MINUTE = 150


def _effort(cell: NotebookNode) -> float:
    """Minutes, roughly: reading, half a minute a cell with code, a whole one where something is predicted."""
    if cell.cell_type == "markdown":
        notes = cell.metadata.get("slideshow", {}).get("slide_type") == "notes"
        return 0 if notes else len(cell.source.split()) / _WORDS_A_MINUTE
    return 1.0 if "predict(" in cell.source else 0.5
