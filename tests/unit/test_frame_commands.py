"""The command line, and `kubedev run`."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import kubedev
from kubedev import __main__ as command_line
from kubedev.tools import run
from kubedev.tools.notebooks import UnknownLabError, all_labs, copy_missing, find
from tests.lab_server import MARK, left_over, private_environment

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a notebook with code cells, named `cell-0` and on, and returns its path."""

    def write(name: str, *sources: str) -> Path:
        code = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
        cells = [{**code, "id": f"cell-{i}", "source": source} for i, source in enumerate(sources)]
        path = tmp_path / f"{name}.ipynb"
        path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
        return path

    return write


def kubedev_command(*arguments: str | Path, mark: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, MARK: mark, "COLUMNS": "200"}
    command = [sys.executable, "-m", "kubedev", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


def test_version_names_kubernetes_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        command_line.main(["--version"])
    assert end.value.code == 0
    out = capsys.readouterr().out
    assert kubedev.__version__ in out
    assert kubedev.KUBERNETES_VERSION in out


def test_an_unknown_command_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        command_line.main(["nope"])
    assert end.value.code == 2
    assert "'lab', 'run', 'kubelet', 'plugin'" in capsys.readouterr().err


def test_a_command_gets_its_arguments_and_its_answer_is_the_exit_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    got: list[list[str]] = []
    monkeypatch.setattr("kubedev.tools.plugin.main", lambda argv: got.append(argv) or 7)
    assert command_line.main(["plugin", "--resource", "a.com/b", "--help"]) == 7
    assert got == [["--resource", "a.com/b", "--help"]]


def test_u21_without_grpc_a_command_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without_grpc(name: str) -> None:
        raise ModuleNotFoundError("No module named 'grpc'", name="grpc")

    monkeypatch.setattr(command_line.importlib, "import_module", without_grpc)
    assert command_line.main(["kubelet"]) == 2
    error = capsys.readouterr().err
    assert "kubedev kubelet speaks real gRPC, which this Python does not have" in error
    assert "in-memory transport works without it" in error


@pytest.mark.parametrize("given", ["00", "0", "00-one", "one", "00-one.ipynb"])
def test_a_lab_is_found_by_number_name_or_file(write: Write, given: str) -> None:
    lab = write("00-one")
    write("01-two")
    assert find(given, lab.parent) == lab


def test_a_path_means_the_notebook_there(write: Write, tmp_path: Path) -> None:
    elsewhere = write("own")
    assert find(str(elsewhere), tmp_path / "none") == elsewhere


@pytest.mark.parametrize("given", ["02", "three", "no/such/place.ipynb", ""])
def test_an_unknown_lab_is_refused_with_those_there_are(write: Write, given: str) -> None:
    folder = write("00-one").parent
    write("01-two")
    with pytest.raises(UnknownLabError, match=r"expected a number \(00\), a name, .*: 00-one, 01-two$"):
        find(given, folder)


def test_labs_are_read_in_order_and_other_notebooks_are_none(write: Write) -> None:
    labs = [write("10-b"), write("02-a")]
    write("notes")
    assert all_labs(labs[0].parent) == [labs[1], labs[0]]


def test_copying_adds_what_is_missing_and_never_writes_over(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "more").mkdir(parents=True)
    (source / ".checkpoints").mkdir()
    for name in ("a", "b", "more/c", ".hidden", ".checkpoints/a"):
        (source / name).write_text(f"new {name}")
    target.mkdir()
    (target / "a").write_text("mine")
    assert copy_missing(source, target) == 2
    assert copy_missing(source, target) == 0
    there = {str(path.relative_to(target)): path.read_text() for path in target.rglob("*") if path.is_file()}
    assert there == {"a": "mine", "b": "new b", "more/c": "new more/c"}


@pytest.mark.slow
def test_run_says_a_line_a_lab_and_leaves_the_notebooks_as_they_are(write: Write) -> None:
    good = write("00-good", "print(1)", "import os; os.getcwd()")
    bad = write("01-bad", "x = 1", "1 / 0", "print('never')")
    before = good.read_text(), bad.read_text()
    ran = kubedev_command("run", good, bad, mark="run-lines")
    first, second = ran.stdout.splitlines()
    assert re.fullmatch(r"00-good  [0-9.]+ s  ok", first)
    failed = r"01-bad  [0-9.]+ s  failed  cell cell-1: ZeroDivisionError: division by zero"
    assert re.fullmatch(failed, second)
    assert ran.returncode == 1
    assert (good.read_text(), bad.read_text()) == before
    assert sorted(path.name for path in good.parent.iterdir()) == ["00-good.ipynb", "01-bad.ipynb"]
    assert left_over("run-lines") == []


@pytest.mark.slow
def test_run_ends_with_zero_where_all_labs_work(write: Write) -> None:
    assert kubedev_command("run", write("00-good", "print(1)")).returncode == 0


def test_no_command_compiles_a_grammar_before_it_begins() -> None:
    source = "import sys, kubedev.tools.lab, kubedev.tools.slides; print('lark' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert ran.stdout == "False\n", ran.stderr


def test_run_refuses_an_unknown_lab() -> None:
    ran = kubedev_command("run", "77")
    assert ran.returncode == 2
    assert "no lab '77': expected a number" in ran.stderr


@pytest.mark.slow
def test_u20_a_dead_kernel_and_a_cell_that_hangs_are_named(write: Write) -> None:
    dead = run.execute(write("00-dead", "x = 1", "import os; os._exit(1)"))
    assert (dead.cell, dead.error) == ("cell-1", "the kernel died")
    hangs = run.execute(write("01-hangs", "import time; time.sleep(60)"), timeout=1)
    assert (hangs.cell, hangs.error) == ("cell-0", "still running after 1 s")
    assert hangs.seconds < 30


def test_a_file_that_is_no_notebook_is_named(tmp_path: Path) -> None:
    path = tmp_path / "00-text.ipynb"
    path.write_text("not a notebook")
    assert run.execute(path).error.startswith("is not a notebook: no JSON, line 1")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.slow
def test_u23_a_run_that_is_stopped_leaves_no_kernel(write: Write, number: int, tmp_path: Path) -> None:
    started = tmp_path / "started"
    lab = write("00-long", f"open({str(started)!r}, 'w').close()", "import time; time.sleep(60)")
    mark = f"stopped-{number}"
    process = subprocess.Popen(
        [sys.executable, "-m", "kubedev", "run", lab],
        env={**private_environment(tmp_path), MARK: mark},
        stdout=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 60
    while not started.exists() and time.monotonic() < end:
        time.sleep(0.1)
    process.send_signal(number)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == "Stopped by you.\n"
    assert left_over(mark) == []
