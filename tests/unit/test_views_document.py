"""Patches: small, and enough to make the new picture of the old one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedev.views.document import JsonDocument, JsonPatch, document, patch, to_json
from kubedev.views.picture import Dot, Mark, Picture, Table, Text


def picture(marks: list[tuple[str, int, str]], rows: list[str]) -> Picture:
    texts: tuple[Mark, ...] = tuple(Text(key, x, 20, text) for key, x, text in marks)
    return Picture("title", "sentence", 100, texts, (Table("t", ("c",), tuple((r,) for r in rows)),), "alt")


def apply(doc: JsonDocument, change: JsonPatch) -> JsonDocument:
    """What picture.js does with a patch."""
    if "whole" in change:
        return change["whole"]
    gone = set(change.get("gone", ()))
    marks = [list(mark) for mark in doc["marks"] if mark[0] not in gone]
    for key, *rest in change.get("set", ()):
        keys = [mark[0] for mark in marks]
        if len(rest) == 3:
            at = keys.index(rest[2]) + 1 if rest[2] else 0
            marks.insert(at, [key, rest[0], rest[1]])
        else:
            marks[keys.index(key)][1 : 1 + len(rest)] = rest
    tables = json.loads(json.dumps(doc["tables"]))
    for index, start, count, come in json.loads(json.dumps(change.get("rows", []))):
        tables[index][2][start : start + count] = come
    return {"head": change.get("head", doc["head"]), "marks": marks, "tables": tables}


marks = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 3), st.sampled_from(["x", "y"])),
    unique_by=lambda mark: mark[0],
)
rows = st.lists(st.sampled_from(["1", "2", "3"]))


@given(marks, rows, marks, rows)
def test_a_patch_makes_the_new_of_the_old(
    old: list[tuple[str, int, str]], old_rows: list[str], new: list[tuple[str, int, str]], new_rows: list[str]
) -> None:
    before, after = document(picture(old, old_rows)), document(picture(new, new_rows))
    assert apply(to_json(before), patch(before, after)) == to_json(after)


def test_nothing_changed_is_nothing_to_send() -> None:
    doc = document(picture([("a", 1, "x")], ["1"]))
    assert patch(doc, doc) == {}


def test_what_only_moved_is_sent_without_its_drawing() -> None:
    old, new = document(picture([("a", 1, "x")], [])), document(picture([("a", 2, "x")], []))
    assert patch(old, new) == {"set": [["a", "2 20"]]}


def test_a_row_that_is_appended_is_sent_alone() -> None:
    old, new = document(picture([], ["1", "2"])), document(picture([], ["1", "2", "3"]))
    assert patch(old, new) == {"rows": [[0, 2, 0, [["3"]]]]}


def test_two_marks_with_one_key_are_an_error() -> None:
    twice = Picture("t", "s", 10, (Dot("a", 1, 1, 1), Dot("a", 2, 2, 1)), (), "alt")
    with pytest.raises(ValueError, match="stand twice: a"):
        document(twice)
