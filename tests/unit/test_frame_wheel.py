"""The wheel: what is in it, and what an installed kubedev does."""

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", out, ROOT]
    ran = subprocess.run(build, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, which sees the packages that the tests run with but not this source."""
    environment = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    where = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip())
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", wheel], check=True)
    (site / "packages.pth").write_text(
        sysconfig.get_path("purelib")
    )  # its .pth files, so an editable kubedev, are not read
    return environment


def test_labs_and_package_data_are_in_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    files = [
        path.relative_to(ROOT) for folder in ("kubedev", "labs") for path in (ROOT / folder).rglob("*.*")
    ]
    shipped = [
        file.as_posix() for file in files if not any(part.startswith((".", "__py")) for part in file.parts)
    ]
    missing = {f"kubedev/{name}" if name.startswith("labs/") else name for name in shipped} - names
    assert missing == set()
    assert {"kubedev/views/live.js", "kubedev/tools/overrides.json", "kubedev/tools/workspace.json"} <= names
    licences = {name.rpartition("/")[2] for name in names if "/licenses/" in name}
    assert licences == {"LICENSE", "LICENSE-labs", "LICENSE-reveal.js"}
    assert not [name for name in names if name.startswith("tests/")]


def test_an_installed_kubedev_copies_the_labs_and_keeps_what_is_there(
    installed: Path, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    (here / "kubedev-labs").mkdir(parents=True)
    first = sorted((ROOT / "labs").glob("00-*.ipynb"))[0]
    mine = here / "kubedev-labs" / first.name
    mine.write_text(first.read_text("utf-8").replace("Lab", "Own lab", 1), "utf-8")
    kept = mine.read_text("utf-8")
    server = LabServer(None, tmp_path / "home", command=(str(installed / "bin" / "kubedev"),), cwd=here)
    assert server.page == first.name
    there = {file["name"] for file in server.api("/api/contents")["content"]}
    assert server.stop() == 0
    assert there >= {path.name for path in (ROOT / "labs").glob("*.ipynb")}
    assert mine.read_text("utf-8") == kept
