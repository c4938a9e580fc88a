"""Where the labs are, and which one `00`, a name or a path means."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat

from kubedev.console import read_file, reason

__all__ = [
    "PARTS",
    "BadNotebookError",
    "UnknownLabError",
    "all_labs",
    "copy_missing",
    "find",
    "is_installed",
    "is_note",
    "original",
    "parsed",
    "read_notebook",
    "regular",
    "section_cell",
    "shipped",
    "slug",
    "whole",
]

PARTS: set[Path] = set()
"""Files that are being written: to be removed where the process ends before its time."""
_PACKAGE = Path(__file__).resolve().parents[1]


class BadNotebookError(ValueError):
    """A file that is not a notebook, or cannot be read; the text says why."""


class UnknownLabError(ValueError):
    """No notebook is meant by what was given; the text says what could have been given."""


def is_installed() -> bool:
    """Whether kubedev runs from an installed wheel (which holds the labs) rather than from its source tree."""
    return (_PACKAGE / "labs").is_dir()


def shipped() -> Path:
    """Return the folder with the labs as they came: inside the installed package, or beside it in the source."""
    return _PACKAGE / "labs" if is_installed() else _PACKAGE.parent / "labs"


def original(notebook: Path) -> str | None:
    """Return a lab's text as it came, whatever was done in it since; None for a notebook of the user's own.

    An installed package holds it; in the source tree it is what the last commit has, and where that is not known, None.
    """
    if not any(notebook.name == lab.name for lab in all_labs(shipped())):
        return None
    if is_installed():
        return read_file(shipped() / notebook.name)
    if notebook.resolve().parent != shipped():
        return None
    try:
        command = ["git", "-C", str(shipped()), "show", f"HEAD:./{notebook.name}"]
        return subprocess.run(command, capture_output=True, check=True, text=True, encoding="utf-8").stdout
    except (OSError, subprocess.CalledProcessError, UnicodeDecodeError):
        return None


def all_labs(folder: Path) -> list[Path]:
    """Return the labs in a folder (`NN-title.ipynb`), in reading order."""
    return sorted(folder.glob("[0-9][0-9]-*.ipynb"))


def find(lab: str, folder: Path) -> Path:
    """Return the notebook that `lab` means: a path, or a number or name of a lab in `folder`.

    Raises UnknownLabError where there is none.
    """
    path = Path(lab)
    if path.suffix == ".ipynb" and os.path.lexists(path):  # also one that cannot be read: said when it is
        return Path(os.path.realpath(path))
    wanted = f"{int(lab):02d}" if lab.isdecimal() else path.name.removesuffix(".ipynb")
    for notebook in all_labs(folder):
        number, _, title = notebook.stem.partition("-")
        if wanted in (number, title, notebook.stem):
            return notebook
    raise _unknown(lab, folder)


def regular(notebook: Path, lab: str, folder: Path) -> Path:
    """Return a notebook that was found, if it is a file. Raises UnknownLabError."""
    if not notebook.is_file():
        raise _unknown(lab, folder)
    return notebook


def _unknown(lab: str, folder: Path) -> UnknownLabError:
    there = ", ".join(notebook.stem for notebook in all_labs(folder)) or "none"
    return UnknownLabError(
        f"no lab {lab!r}: expected a number (00), a name, or the path of a notebook. Labs in {folder}: {there}"
    )


def section_cell(notebook: Path, where: str) -> str:
    """Return the id of the cell that `where` means: a cell's id, or a heading as an address has it.

    Raises UnknownLabError, which says the sections there are.
    """
    cells = read_notebook(notebook).cells
    texts = [cell for cell in cells if cell.cell_type == "markdown"]
    headings = {
        slug(title): cell.id for cell in texts for title in re.findall(r"^##+ +(.+)", cell.source, re.M)
    }
    for found in [cell.id for cell in cells if cell.id == where] + [headings.get(slug(where), "")]:
        if found:
            return str(found)
    raise UnknownLabError(
        f"no section {where!r} in {notebook.stem}: expected a cell's id or a heading, as in {', '.join(headings)}"
    )


def slug(heading: str) -> str:
    """Return a heading as an address has it: `Turn one knob` is `turn-one-knob`."""
    return "-".join(re.findall(r"\w+", heading.lower()))


def read_notebook(path: Path) -> nbformat.NotebookNode:
    """Read a notebook, in version 4. Raises BadNotebookError."""
    try:
        return parsed(read_file(path))
    except OSError as error:
        raise BadNotebookError(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadNotebookError(f"is not a notebook: {reason(error)}") from error


def parsed(text: str) -> nbformat.NotebookNode:
    """Read a notebook from its text, in version 4. Raises BadNotebookError."""
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or not {"nbformat", "cells", "worksheets"} & document.keys():
            raise ValueError("expected a JSON object with cells")
        read: nbformat.NotebookNode = nbformat.reads(json.dumps(document), as_version=4)
        if not all("cell_type" in cell and "source" in cell for cell in read.cells):
            raise ValueError("expected cells with a type and a source")
    except json.JSONDecodeError as error:
        raise BadNotebookError(f"is not a notebook: no JSON, line {error.lineno}: {error.msg}") from error
    except Exception as error:  # of all that nbformat raises where it does not understand
        text = str(error).partition("\n")[0] if isinstance(error, ValueError) else "not understood"
        raise BadNotebookError(f"is not a notebook: {text}") from error
    return read


def is_note(cell: nbformat.NotebookNode) -> bool:
    """Whether a cell is for the speaker."""
    return bool(cell.metadata.get("slideshow", {}).get("slide_type") == "notes")


@contextmanager
def whole(file: Path) -> Iterator[Path]:
    """Yield a path to write to; it becomes `file` at the end, so that no half of it is ever seen."""
    part = file.with_name(f".{file.name}.part")
    PARTS.add(part)
    try:
        yield part
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
        PARTS.discard(part)


def copy_missing(source: Path, target: Path) -> int:
    """Copy the files of `source` that `target` lacks, and return how many; what is there stays as it is.

    A file appears whole or not at all, so that a copy cut short is mended by the next one.
    """
    copied = 0
    for file in sorted(path.relative_to(source) for path in source.rglob("*") if path.is_file()):
        place = target / file
        if place.exists() or any(part.startswith(".") for part in file.parts):
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        with whole(place) as part:
            shutil.copyfile(source / file, part)
        copied += 1
    return copied
