"""JupyterLab as `kubedev lab` serves it, and Debian's chromium to look at it. Both start once for all browser tests."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.jupyterlab import LabPage, OpenLab, Theme
from tests.conftest import ROOT
from tests.lab_server import LabServer, left_over

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NO_CHROMIUM = "no chromium: `apt install chromium` (Debian) brings it"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Debian's chromium, without a window."""
    path = shutil.which("chromium")
    if path is None:
        if os.environ.get("CI"):
            pytest.fail(NO_CHROMIUM)  # no browser test is skipped there
        pytest.skip(NO_CHROMIUM)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """`kubedev lab` on a copy of the labs, and on `frame.ipynb`, which prints and holds a button."""
    folder = tmp_path_factory.mktemp("labs")
    shutil.copytree(ROOT / "labs", folder, dirs_exist_ok=True)
    frame = folder / "frame.ipynb"
    cells = ["import ipywidgets\nprint('ready')", "ipywidgets.Button(description='press')"]
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    nbformat.write(notebook, frame)
    server = LabServer(frame, tmp_path_factory.mktemp("home"))
    yield server
    server.stop()
    assert left_over(server.mark) == []


@pytest.fixture
def open_lab(chromium: Browser, lab_server: LabServer) -> Iterator[OpenLab]:
    """Opens a notebook in a window; afterwards the test fails on any error of ours on the page's console."""
    opened: list[LabPage] = []

    def open_lab(notebook: str, theme: Theme = "light", width: int = 1280, height: int = 800) -> LabPage:
        page = LabPage(
            chromium.new_context(viewport={"width": width, "height": height}).new_page(), lab_server
        )
        opened.append(page)
        page.open(notebook, theme)
        return page

    yield open_lab
    for lab in opened:
        lab.page.context.close()
    lab_server.end_kernels()
    assert [error for lab in opened for error in lab.errors] == []
