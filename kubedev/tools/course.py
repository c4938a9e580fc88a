"""The course, read from the labs themselves: what each is called, how long it takes and what it needs before it.

Whatever lists the labs (the course page, `kubedev course`, the plan of slides) is made from this, so that a lab that is
added appears by itself.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from kubedev.tools.notebooks import all_labs, is_note, read_notebook

__all__ = ["Outline", "Section", "course", "outlined"]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a lab from one heading to the next: the id of its first cell, and its minutes."""

    title: str
    cell: str
    minutes: float


@dataclass(frozen=True, slots=True)
class Outline:
    """What is to be known of a lab before it is opened; `needs` is the sentence that it begins with.

    `minutes` are for its pictures and predictions with somebody who leads, `alone` for all of it with its exercises.
    """

    name: str
    title: str
    minutes: int
    alone: int
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
    sections = _sections(notebook)
    whole = sum(section.minutes for section in sections)
    alone = max(minutes, 5 * round(whole / 5))
    return Outline(
        name, title[1].strip() if title else name, minutes, alone, time[2].strip() if time else "", sections
    )


def _sections(notebook: NotebookNode) -> tuple[Section, ...]:
    """The sections, with minutes reckoned from what there is to read, to run, to predict and to solve."""
    efforts: dict[str, float] = {}
    begins: dict[str, str] = {}
    now = ""
    for cell in notebook.cells:
        heading = re.search(r"^## +(.+)", cell.source, re.M) if cell.cell_type == "markdown" else None
        now = heading[1].strip() if heading else now or FIRST
        begins.setdefault(now, cell.id)
        extra = _EXERCISE if heading and now.startswith("Exercise") else 0
        efforts[now] = efforts.get(now, 0) + _effort(cell) + extra
    return tuple(Section(title, begins[title], effort) for title, effort in efforts.items())


FIRST = "The first picture"
_EXERCISE = 5
_WORDS_A_MINUTE = 150


def _effort(cell: NotebookNode) -> float:
    """Minutes, roughly: reading, half a minute a cell with code, a whole one where a reader predicts or turns knobs."""
    if cell.cell_type == "markdown":
        return 0 if is_note(cell) else len(cell.source.split()) / _WORDS_A_MINUTE
    return 1.0 if re.search(r"\b(predict|explore)\(", cell.source) else 0.5
