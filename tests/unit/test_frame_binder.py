"""What Binder builds from, and README's badge that points at it."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import quote

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import kubedev
from kubedev.tools.badge import NOBODY, with_address
from tests.conftest import ROOT
from tests.lab_server import private_environment

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PINS = (ROOT / "binder" / "requirements.txt").read_text("utf-8").splitlines()
FIRST = ROOT / "labs" / "00-one-pod-one-gpu.ipynb"


def test_u14_every_package_is_pinned_and_none_is_local() -> None:
    assert [line for line in PINS if not re.fullmatch(r"[a-z0-9.-]+==[0-9][0-9a-z.]*", line)] == []


def test_u14_pins_are_what_kubedev_asks_for() -> None:
    pinned = dict(line.split("==") for line in PINS)
    for dependency in map(Requirement, PROJECT["dependencies"]):
        version = pinned[canonicalize_name(dependency.name)]
        assert dependency.specifier.contains(version), f"{dependency} is pinned to {version}"


def test_u14_python_is_pinned_too_and_supported() -> None:
    runtime = (ROOT / "binder" / "runtime.txt").read_text().strip()
    version = re.fullmatch(r"python-(3\.\d+)", runtime)
    assert version
    assert Requirement(f"python{PROJECT['requires-python']}").specifier.contains(version[1])


def test_u14_postbuild_builds_nothing_in_the_browser() -> None:
    script = ROOT / "binder" / "postBuild"
    assert os.access(script, os.X_OK)
    text = script.read_text()
    assert "pip install --no-deps ." in text
    assert "labextension" not in text
    assert "lab build" not in text


def test_the_badge_is_of_the_repository_that_pyproject_names() -> None:
    """Until there is an address, README says how the badge comes to be; none leads nowhere."""
    address, readme = PROJECT["urls"]["Repository"], (ROOT / "README.md").read_text("utf-8")
    nobody = address.split("/")[3] == NOBODY
    assert ("python -m\nkubedev.tools.badge ADDRESS" in readme) == nobody
    assert binder_links(readme) == ([] if nobody else [link_to(address)])


def test_one_command_writes_the_badge_and_its_sentence() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    for address in ("https://github.com/ada/labs", "https://github.com/bob/other"):
        readme = with_address(readme, address)
        assert binder_links(readme) == [link_to(address)]
        assert "press the Binder badge above" in readme
        assert "kubedev.tools.badge" not in readme


def binder_links(readme: str) -> list[str]:
    return re.findall(r"https://mybinder\.org/v2/[^)\s]*", readme)


def link_to(address: str) -> str:
    page = quote(f"lab/tree/labs/{FIRST.name}", safe="")
    where = address.removeprefix("https://github.com/")
    return f"https://mybinder.org/v2/gh/{where}/v{kubedev.__version__}?urlpath={page}"


needs_git = pytest.mark.skipif(
    not (ROOT / ".git").exists(),
    reason="this is an unpacked archive: git knows what belongs to the repository",
)


@needs_git
def test_the_repositorys_address_stands_nowhere_else() -> None:
    address = re.compile(r"github\.com/[^/\s]+/kubedev\b")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    texts = {name: (ROOT / name).read_text("utf-8", "replace") for name in listed if (ROOT / name).is_file()}
    assert [name for name, text in texts.items() if address.search(text)] == ["pyproject.toml"]


@needs_git
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_u14_a_fresh_environment_built_as_binder_does_runs_lab_00(tmp_path: Path) -> None:
    source = tmp_path / "repo"
    subprocess.run(["git", "clone", "-q", ROOT, source], check=True)
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    path = f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"
    home = {**private_environment(tmp_path / "home"), "PATH": path}

    def run(*command: str | Path) -> str:
        ran = subprocess.run(command, cwd=source, env=home, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    pip = environment / "bin" / "pip"
    run(pip, "install", "-q", "-r", "binder/requirements.txt")
    run("binder/postBuild")
    run(pip, "check")
    settings = environment / "share" / "jupyter" / "lab" / "settings" / "overrides.json"
    assert settings.read_text() == (ROOT / "kubedev" / "tools" / "overrides.json").read_text()
    assert '"collapsed"' in run(environment / "bin" / "jupyter", "lab", "workspaces", "export")
    said = run(environment / "bin" / "kubedev", "run", f"labs/{FIRST.name}")
    assert re.fullmatch(rf"{FIRST.stem}  [0-9.]+ s  ok\n", said)
