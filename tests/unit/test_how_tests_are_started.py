"""Tests pass however they are started, or are skipped with the true reason."""

import os
import signal
import subprocess
import sys
from pathlib import Path

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
