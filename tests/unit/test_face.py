"""`import kubedev` has a face: a few names, each imported when it is asked for."""

import re
import subprocess
import sys

import pytest

import kubedev
from tests.conftest import ROOT


@pytest.mark.parametrize("name", kubedev.__all__)
def test_every_name_of_the_face_is_there_and_completes(name: str) -> None:
    assert getattr(kubedev, name) is not None
    assert name in dir(kubedev)


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'Labb'; its names are: Device, Lab,"):
        _ = kubedev.Labb


def test_the_face_loads_a_room_only_when_it_is_asked() -> None:
    script = (
        "import sys, kubedev; kubedev.Quantity; print(*(m for m in sys.modules if m.startswith('kubedev.')))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "kubedev.api.quantity" in run.stdout
    assert "kubedev.lab" not in run.stdout


def test_readmes_three_lines_say_what_stands_below_them() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    block = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert block is not None
    lines = block[1].splitlines()
    code = [line for line in lines if line and not line.startswith("#")]
    expected = "".join(line.removeprefix("# ") + "\n" for line in lines if line.startswith("# "))
    assert len(code) == 4  # an import, and three lines
    run = subprocess.run([sys.executable, "-c", "\n".join(code)], capture_output=True, text=True, check=True)
    assert run.stdout == expected
