"""A picture as what is sent to a browser: keyed fragments and rows, and the small patch between two pictures.

One event becomes one patch: the fragments that changed, the keys that went, the rows that differ. picture.js
applies patches to a document; the same script steps through recorded patches where no kernel is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypedDict

from kubedev.views.picture import Picture, Table
from kubedev.views.svg import fragment, place

__all__ = ["Document", "JsonDocument", "JsonPatch", "document", "patch", "patches", "to_json"]


@dataclass(frozen=True, slots=True)
class Document:
    """A drawn picture: `marks` are (key, place, SVG fragment) in drawing order."""

    title: str
    sentence: str
    alt: str
    width: float
    height: float
    marks: tuple[tuple[str, str, str], ...]
    tables: tuple[Table, ...]


class JsonDocument(TypedDict):
    """A whole document as JSON."""

    head: list[str | float]
    marks: list[list[str]]
    tables: list[list[object]]


class JsonPatch(TypedDict, total=False):
    """What differs; a part that is the same is left out.

    set: [key, place] for what only moved, [key, place, fragment] for what changed, and for a new mark [key,
    place, fragment, key of the mark before it (empty: the first)].
    rows: [table, first row that differs, how many go, rows that come].
    """

    head: list[str | float]
    gone: list[str]
    set: list[list[str]]
    rows: list[list[object]]
    whole: JsonDocument


def document(picture: Picture) -> Document:
    """Draw a picture. Two marks with one key are an error of the view that made it."""
    marks = tuple((mark.key, place(mark), fragment(mark)) for mark in picture.marks)
    keys = [key for key, _, _ in marks]
    if len(set(keys)) != len(keys):
        twice = sorted({key for key in keys if keys.count(key) > 1})
        raise ValueError(f"each mark needs a key of its own, but these stand twice: {', '.join(twice)}")
    return Document(
        picture.title, picture.sentence, picture.alt, picture.width, picture.height, marks, picture.tables
    )


def to_json(doc: Document) -> JsonDocument:
    """Return the whole document."""
    tables: list[list[object]] = [[t.caption, list(t.columns), [list(r) for r in t.rows]] for t in doc.tables]
    return {"head": _head(doc), "marks": [list(mark) for mark in doc.marks], "tables": tables}


def patch(old: Document, new: Document) -> JsonPatch:
    """Return what turns `old` into `new`."""
    if _columns(old) != _columns(new):
        return {"whole": to_json(new)}
    stays = _stays(old, new)
    out: JsonPatch = {}
    if _head(old) != _head(new):
        out["head"] = _head(new)
    if gone := [key for key, _, _ in old.marks if key not in stays]:
        out["gone"] = gone
    if changed := list(_changed(stays, new)):
        out["set"] = changed
    if rows := [
        d for i, (a, b) in enumerate(zip(old.tables, new.tables, strict=True)) if (d := _rows(i, a, b))
    ]:
        out["rows"] = rows
    return out


def patches(pictures: Sequence[Picture]) -> tuple[JsonDocument, list[JsonPatch]]:
    """Return the first of some pictures whole and, for each next one, its patch."""
    documents = [document(picture) for picture in pictures]
    steps = [patch(a, b) for a, b in pairwise(documents)]
    return to_json(documents[0]), steps


def _head(doc: Document) -> list[str | float]:
    return [doc.title, doc.sentence, doc.alt, doc.width, doc.height]


def _columns(doc: Document) -> list[tuple[str, tuple[str, ...]]]:
    return [(table.caption, table.columns) for table in doc.tables]


def _stays(old: Document, new: Document) -> dict[str, tuple[str, str]]:
    """The marks that keep their place in the drawing order, as they were; others go and come again."""
    order = {key: index for index, (key, _, _) in enumerate(old.marks)}
    stays = {}
    last = -1
    for key, _, _ in new.marks:
        if order.get(key, -1) > last:
            last = order[key]
            stays[key] = old.marks[last][1:]
    return stays


def _changed(stays: dict[str, tuple[str, str]], new: Document) -> Iterable[list[str]]:
    previous = ""
    for key, where, drawn in new.marks:
        if key not in stays:
            yield [key, where, drawn, previous]
        elif stays[key][1] != drawn:
            yield [key, where, drawn]
        elif stays[key][0] != where:
            yield [key, where]
        previous = key


def _rows(index: int, old: Table, new: Table) -> list[object] | None:
    if old.rows == new.rows:
        return None
    shorter = min(len(old.rows), len(new.rows))
    head = next((i for i in range(shorter) if old.rows[i] != new.rows[i]), shorter)
    tail = next((i for i in range(shorter - head) if old.rows[-1 - i] != new.rows[-1 - i]), shorter - head)
    come = [list(row) for row in new.rows[head : len(new.rows) - tail]]
    return [index, head, len(old.rows) - tail - head, come]
