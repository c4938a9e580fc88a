"""Every lab runs to its end where grpc cannot be imported, and only what is tagged says that something is missing."""

from pathlib import Path

import pytest

from kubedev.views.catalogue import say
from tests.notebooks.kernel import kernel_of
from tests.notebooks.test_notebooks import code, each_lab

MISSING = say("needs-wire", what="|").partition("|")


@pytest.fixture
def without_grpc(tmp_path: Path) -> str:
    """A folder for PYTHONPATH: a Python that finds it has no grpc."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['grpc'] = None\n")
    return str(tmp_path)


@each_lab
@pytest.mark.slow
def test_a_lab_runs_without_grpc_and_only_tagged_cells_say_what_is_missing(
    lab: Path, without_grpc: str
) -> None:
    with kernel_of(lab, PYTHONPATH=without_grpc) as kernel:
        assert kernel.say("from importlib.util import find_spec; import sys; print(sys.modules['grpc'])") == [
            "None"
        ]
        kernel.run(code(kernel.cells))
        for cell in code(kernel.cells):
            said = "".join(output.text for output in cell.outputs if output.output_type == "stream")
            lacks = said.startswith(MISSING[0]) and said.strip().endswith(MISSING[2])
            assert lacks == ("needs-wire" in cell.metadata.get("tags", ())), (cell.id, said)
