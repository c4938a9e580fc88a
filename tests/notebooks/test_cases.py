"""Reported problems of labs in a kernel: loops that run already, and cells that are interrupted."""

import asyncio
import subprocess
import sys
import threading
import time
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from tests.notebooks.kernel import kernel_of

SCRIPT = """\
from kubedev.lab import Lab
lab = Lab("u15")
lab.plugin("nvidia.com/gpu", devices=2)
lab.apply("one-gpu")
print(lab.pod("trainer").phase)
lab.close()
"""


def notebook(folder: Path, *sources: str) -> Path:
    path = folder / "case.ipynb"
    nbformat.write(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources]), path
    )
    return path


def test_u15_a_lab_runs_in_a_script() -> None:
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60)
    assert ran.stdout == "Running\n", ran.stderr


def test_u15_a_lab_runs_where_a_loop_runs_already(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        exec(SCRIPT, {})

    asyncio.run(main())
    assert capsys.readouterr().out == "Running\n"


def test_u15_a_lab_runs_in_a_notebook(tmp_path: Path) -> None:
    with kernel_of(notebook(tmp_path)) as kernel:
        assert kernel.say(SCRIPT) == ["Running"]


def test_u23_an_interrupt_leaves_the_lab_usable(tmp_path: Path) -> None:
    start = 'from kubedev.lab import Lab\nlab = Lab("u23")\nlab.plugin("nvidia.com/gpu", devices=2)'
    with kernel_of(notebook(tmp_path, start, "import time; time.sleep(60)")) as kernel:
        kernel.run(kernel.cells[:1])
        before = kernel.census()
        threading.Timer(2, kernel.interrupt).start()
        began = time.monotonic()
        with pytest.raises(CellExecutionError) as interrupted:
            kernel.run(kernel.cells[1:])
        assert interrupted.value.ename == "KeyboardInterrupt"
        assert time.monotonic() - began < 30
        assert kernel.census()["processes"] == before["processes"]  # the plugin did not get the interrupt
        assert kernel.say('lab.apply("one-gpu"); print(lab.pod("trainer").phase)') == ["Running"]
        kernel.run(kernel.cells[:1])  # started again, not beside the first
        assert kernel.settle(before)["sockets"] == before["sockets"]
