"""Every lab is clean, and runs however a reader may run it."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.conftest import ROOT
from tests.notebooks.kernel import Kernel, kernel_of

LABS = sorted((ROOT / "labs").rglob("*.ipynb"))
each_lab = pytest.mark.parametrize("lab", LABS, ids=lambda path: path.stem)

SHORTER = "from kubedev.kubelet.devices import registration; registration.DIAL_TIMEOUT = 4.0"
"""A kubelet dials a plugin for ten seconds: a lab waits for that once, in its first run."""

Cells = list[Any]


def code(cells: Cells) -> Cells:
    return [cell for cell in cells if cell.cell_type == "code"]


def sections(cells: Cells) -> Iterator[tuple[str, Cells]]:
    """The headings of level 2, each with the code cells up to the next; before the first one come the imports."""
    title, section = "", []
    for cell in cells:
        heading = re.match(r"## (.*)", cell.source) if cell.cell_type == "markdown" else None
        if heading:
            yield title, code(section)
            title, section = heading[1], []
        section.append(cell)
    yield title, code(section)


@each_lab
def test_u22_a_lab_is_stored_clean(lab: Path) -> None:
    assert lab.stat().st_size < 200_000
    document = json.loads(lab.read_text("utf-8"))
    assert "widgets" not in document["metadata"]
    assert document["metadata"]["kernelspec"]["name"] == "python3"
    notebook = nbformat.read(lab, as_version=4)
    nbformat.validate(notebook)
    assert [cell.id for cell in code(notebook.cells) if cell.outputs or cell.execution_count] == []
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    made_up = [cell_id for cell_id in ids if re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f-]{27})?", cell_id)]
    assert made_up == []  # a name that says what the cell is for stays when the cell is edited


@each_lab
def test_a_cell_has_at_most_eight_lines_and_a_title(lab: Path) -> None:
    for cell in code(nbformat.read(lab, as_version=4).cells):
        assert len([line for line in cell.source.splitlines() if line.strip()]) <= 8, cell.id
        assert cell.source.startswith("# "), cell.id  # the line that is shown of a hidden cell


@pytest.fixture(scope="class")
def kernel(lab: Path) -> Iterator[Kernel]:
    """A lab's kernel: from the top, and then all again."""
    with kernel_of(lab) as kernel:
        yield kernel


@pytest.fixture(scope="class")
def copy(lab: Path) -> Iterator[Kernel]:
    """A copy of the lab in a kernel of its own: from the top, and then section by section."""
    with kernel_of(lab) as kernel:
        kernel.say(SHORTER)
        yield kernel


def first(kernel: Kernel) -> None:
    """Run a lab from the top, unless that has been done."""
    if code(kernel.cells)[-1].execution_count is None:
        kernel.run(code(kernel.cells))


@pytest.mark.parametrize("lab", LABS, ids=lambda path: path.stem, scope="class")
class TestLab:
    """What a reader may do with a lab, in two kernels that are started once."""

    def test_u20_a_lab_runs_from_the_top_without_a_click(self, kernel: Kernel) -> None:
        start = time.monotonic()
        kernel.run(code(kernel.cells))
        assert time.monotonic() - start < 60

    @pytest.mark.slow
    def test_u20_a_lab_runs_again_beside_a_copy_and_leaves_nothing(
        self, kernel: Kernel, copy: Kernel
    ) -> None:
        first(kernel)
        kernel.say(SHORTER)
        before = kernel.census()
        for mine, yours in zip(code(kernel.cells), code(copy.cells), strict=True):
            kernel.run([mine])
            copy.run([yours])
        after = kernel.settle(before)
        assert {kind: after[kind] - before[kind] for kind in before} == {kind: {} for kind in before}

    @pytest.mark.slow
    def test_u19_each_section_runs_alone_and_each_cell_twice(self, copy: Kernel) -> None:
        (_, imports), *others = sections(copy.cells)
        assert others
        for _, cells in others:
            copy.say("%reset -f")
            copy.run(imports)
            for cell in cells:
                copy.run([cell])
                said = texts(cell)
                copy.run([cell])
                assert texts(cell) == said, cell.id


def texts(cell: Any) -> list[str]:
    """What a cell says in words: what it prints, and its value unless that is a widget."""
    printed = "".join(output.text for output in cell.outputs if output.output_type == "stream")
    values = [output.data for output in cell.outputs if output.output_type == "execute_result"]
    widget = "application/vnd.jupyter.widget-view+json"
    return [printed, *(value["text/plain"] for value in values if widget not in value)]


def test_sections_are_told_by_headings_of_level_two() -> None:
    v4 = nbformat.v4
    cells = [
        v4.new_markdown_cell("# Title"),
        v4.new_code_cell("imports"),
        v4.new_markdown_cell("## One\n\nText"),
        v4.new_code_cell("a"),
        v4.new_markdown_cell("### Not a section"),
        v4.new_code_cell("b"),
        v4.new_markdown_cell("## Two"),
    ]
    told = [(title, [cell.source for cell in part]) for title, part in sections(cells)]
    assert told == [("", ["imports"]), ("One", ["a", "b"]), ("Two", [])]


def test_a_kernel_sees_what_cells_leave_behind(tmp_path: Path) -> None:
    leaving = (
        "import socket, subprocess, sys, tempfile, threading, time\n"
        "folder = tempfile.TemporaryDirectory()\n"
        "listener = socket.socket(socket.AF_UNIX)\n"
        "listener.bind(f'{folder.name}/a.sock')\n"
        "process = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True, name='sleeper').start()"
    )
    notebook = tmp_path / "leaves.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(leaving)]), notebook)
    with kernel_of(notebook) as kernel:
        before = kernel.census()
        kernel.run(kernel.cells)
        left = {kind: count - before[kind] for kind, count in kernel.census().items()}
        assert left["threads"] == {"sleeper": 1}
        assert left["sockets"] == {"a.sock": 1}
        assert [command.split()[-1] for command in left["processes"]] == ["input()"]
        kernel.say("folder.cleanup()")
