"""The course page, what a student's copy leaves out, starting at a section, and forgetting what was answered."""

import json
import re
from pathlib import Path

import nbformat
import pytest

from kubedev.lab import predict, record
from kubedev.lab.check import Checked
from kubedev.tools import lab as lab_tool
from kubedev.tools import notebooks, progress, reset
from kubedev.tools.course import course, outlined
from kubedev.tools.course_page import plans, written
from kubedev.tools.notebooks import UnknownLabError, all_labs, find, section_cell
from tests.conftest import ROOT

LABS = ROOT / "labs"
UNTAUGHT = {"11", "12", "14"}
"""Labs that were not there when the guide was written: to be taken out of this list with their part of it."""
PAGE = (LABS / "README.md").read_text("utf-8")


def test_t7_the_course_page_is_made_of_the_labs_that_are_there() -> None:
    assert written(PAGE, course(LABS)) == PAGE, "`kubedev course --write` makes it anew"


def test_t7_each_lab_says_how_long_it_takes_and_what_it_needs() -> None:
    for lab in course(LABS):
        assert lab.minutes >= 20, lab.name
        assert lab.needs.endswith("."), lab.name
        assert lab.alone >= lab.minutes, lab.name


def test_t7_half_a_day_a_day_and_five_weeks_are_planned() -> None:
    made = plans(course(LABS))
    half, day, weeks = (made[name] for name in ("half", "day", "weeks"))
    assert 90 <= sum(lab.minutes for lab in half[0]) <= 150, "three hours with breaks and questions"
    assert sum(lab.minutes for part in day for lab in part) <= 300
    assert [lab.name for part in weeks for lab in part] == [lab.stem for lab in all_labs(LABS)]
    assert len(weeks) == 5


def test_t7_codes_of_our_own_lists_stand_in_the_last_section_only() -> None:
    before, _, last = PAGE.rpartition("\n## ")
    assert not re.findall(r"\b[QEC]\d+\b", before)
    for row in re.findall(r"^\| E\d.*", last, re.M):
        assert len([cell for cell in row.split("|") if cell.strip()]) == 4, (
            f"what is wrong, and what is right: {row}"
        )


def test_the_instructors_guide_has_every_lab() -> None:
    guide = (LABS / "teaching.md").read_text("utf-8")
    for lab in course(LABS):
        if lab.number in UNTAUGHT:
            continue
        part = guide.partition(f"## {lab.title}\n")[2].partition("\n## ")[0]
        assert len(re.findall(r"^[123]\. ", part, re.M)) == 3, lab.title
        assert len(re.findall(r"^- ", part, re.M)) >= 3, lab.title
        assert "Together: " in part
        assert "Where people get stuck: " in part


def test_a_lab_opens_at_a_cell_or_at_a_heading() -> None:
    notebook = find("05", LABS)
    assert section_cell(notebook, "predict") == "predict"
    assert section_cell(notebook, "See it") == section_cell(notebook, "see-it") == "see"
    with pytest.raises(UnknownLabError, match=r"no section 'nowhere' in 05-numa-hints: .* see-it, predict,"):
        section_cell(notebook, "nowhere")


def test_a_students_copy_has_neither_notes_nor_answers(tmp_path: Path) -> None:
    copy = lab_tool.student_labs(tmp_path / "room")
    assert {path.name for path in all_labs(copy)} == {path.name for path in all_labs(LABS)}
    assert not (copy / "answers").exists()
    assert not (copy / "teaching.md").exists()
    assert (copy / "img" / "00.svg").exists()
    for path in all_labs(copy):
        assert "For the speaker" not in path.read_text("utf-8")
    mine = all_labs(copy)[0]
    mine.write_text("what I wrote")
    assert lab_tool.student_labs(copy) == copy
    assert mine.read_text() == "what I wrote"


def test_what_comes_of_predictions_and_checks_is_kept_in_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for right in (8, 7):  # the first time counts
        asked = predict("00-numbers", "How many?", capacity=[7, 8])
        asked.choose(capacity=7)
        asked.compare(capacity=right)
    monkeypatch.setattr(record, "_cell", lambda: "00-exercise-check")
    for broken in ([], ["again"]):  # the best counts
        Checked(broken)
    assert progress.main([str(tmp_path)]) == 0
    assert "0 of 1" in capsys.readouterr().out
    kept = json.loads((tmp_path / record.FILE).read_text())
    assert kept["progress"] == {"00-numbers": False, "00-exercise-check": True}
    assert progress.main([str(tmp_path / "nobody")]) == 1
    assert "no .kubedev-answers.json yet" in capsys.readouterr().out


def test_s17_reset_restores_a_lab_and_forgets_what_was_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    came = nbformat.writes(nbformat.v4.new_notebook())
    for name in ("00-a.ipynb", "01-b.ipynb"):
        (tmp_path / name).write_text("done")
    answers = {"00-x": {"a": 1}, "01-y": {"a": 1}, "progress": {"00-x": True, "01-y": False}}
    (tmp_path / record.FILE).write_text(json.dumps(answers))
    monkeypatch.setattr(reset, "own_labs", lambda: tmp_path)
    monkeypatch.setattr(reset, "original", lambda notebook: came)
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # nobody is there  # noqa: SIM115
    assert reset.main(["00"]) == 1
    assert (tmp_path / "00-a.ipynb").read_text() == "done", "nothing happens without a yes"
    assert reset.main(["00", "--yes"]) == 0
    assert (tmp_path / "00-a.ipynb").read_text() == came
    assert (tmp_path / "01-b.ipynb").read_text() == "done"
    assert json.loads((tmp_path / record.FILE).read_text()) == {"01-y": {"a": 1}, "progress": {"01-y": False}}
    capsys.readouterr()


def test_s17_the_file_with_answers_is_ignored_by_git_and_named_in_readme() -> None:
    assert str(record.FILE) in (ROOT / ".gitignore").read_text().splitlines()
    assert f"`{record.FILE}`" in (ROOT / "README.md").read_text("utf-8")
    assert notebooks.original(LABS / "mine.ipynb") is None


def test_a_reader_alone_takes_a_minute_for_a_prediction_or_a_knob_and_half_of_one_for_other_code() -> None:
    def minutes(source: str) -> float:
        cells = [nbformat.v4.new_markdown_cell("## One"), nbformat.v4.new_code_cell(source)]
        return outlined("one", nbformat.v4.new_notebook(cells=cells)).sections[-1].minutes

    run = minutes("show(1)")
    assert [minutes("predict(1)"), minutes("explore(draw)")] == pytest.approx([run + 0.5] * 2)
