"""Tests pass however they are started, or are skipped with the true reason."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from tests.conftest import place_in_order, scope_of

ROOT = Path(__file__).parents[2]
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
PROBE = """
import signal
def test_probe():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


def test_r14_a_shell_that_ignores_sigint_for_its_background_changes_nothing(tmp_path: Path) -> None:
    probe = tmp_path / "test_probe.py"
    probe.write_text(PROBE)
    ran = subprocess.run(
        [*PYTEST, "-p", "tests.conftest", str(probe)],
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr


def test_r14_vectors_that_an_archive_of_the_sources_lacks_are_skipped_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "absent.py").write_text(
        "from tests.vectors import runner\nrunner.is_built = lambda family: False\n"
    )
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    ran = subprocess.run(
        [*PYTEST, "-rs", "-p", "absent", "tests/unit/test_vectors.py"],
        env={**os.environ, "PYTHONPATH": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "too large for the archive of its sources" in ran.stdout
    assert "1 skipped" in ran.stdout


def test_what_shares_a_kernel_or_a_browser_goes_to_one_worker() -> None:
    alone = "tests/notebooks/test_notebooks.py::TestLab"
    assert scope_of(f"{alone}::test_runs[00-one]") == scope_of(f"{alone}::test_twice[00-one]")
    assert scope_of(f"{alone}::test_runs[00-one]") != scope_of(f"{alone}::test_runs[01-two]")
    assert scope_of("tests/browser/test_x.py::test_a[light]") == scope_of("tests/browser/test_x.py::test_b")
    assert scope_of("tests/browser/test_labs.py::Test01::test_a") == "tests/browser/test_labs.py::Test01"
    assert scope_of("tests/unit/test_x.py::test_a[a::b]") == "tests/unit/test_x.py"


def test_two_workers_begin_with_the_browser_and_end_with_what_is_short(tmp_path: Path) -> None:
    folders = ("unit", "notebooks", "browser")
    for folder in folders:
        (tmp_path / "tests" / folder).mkdir(parents=True)
        for name in "ab":
            (tmp_path / "tests" / folder / f"test_{folder}_{name}.py").write_text("def test_it(): pass\n")
    ran = subprocess.run(
        [
            *PYTEST,
            "-p",
            "tests.conftest",
            "-vv",
            "-n",
            "2",
            "--dist",
            "loadscope",
            "--rootdir",
            tmp_path,
            tmp_path,
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert "6 passed" in ran.stdout, ran.stdout + ran.stderr
    for worker in ("gw0", "gw1"):
        places = [place_in_order(path) for path in re.findall(rf"\[{worker}\].* PASSED (\S+)", ran.stdout)]
        assert places == sorted(places) != []


def test_readme_contributing_and_ci_start_them_alike() -> None:
    line = "pytest -n 2 --dist loadscope"
    assert all(line in (ROOT / name).read_text("utf-8") for name in ("README.md", "CONTRIBUTING.md"))
    assert "README.md" in (ROOT / ".ci" / "run").read_text("utf-8")
