"""The stage of a lab with its controls, as a reader works them in the browser."""

import json
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.browser.jupyterlab import SHOWN

__all__ = ["CellPage", "PanelPage"]

SECONDS = 60_000  # milliseconds: real plugins and containers are started


class PanelPage:
    """A stage in a page."""

    def __init__(self, page: Page, root: Locator) -> None:
        self.page = page
        self.root = root

    def press(self, name: str) -> None:
        """Press the button of this name once it can be pressed."""
        button = self.root.get_by_role("button", name=name, exact=True)
        expect(button).to_be_enabled(timeout=SECONDS)
        button.click()

    def choose(self, name: str, option: str) -> None:
        """Choose an option of the list with this name, once it is there."""
        box = self.root.get_by_role("combobox", name=name)
        expect(box.locator("option", has_text=option).first).to_be_attached(timeout=SECONDS)
        box.select_option(option)

    def start_plugin(self, devices: int, resource: str = "nvidia.com/gpu", numa: int = 1) -> None:
        """Start a plugin of a resource with so many devices."""
        self.press("+ plugin")
        for name, value in (
            ("Resource name", resource),
            ("Devices", str(devices)),
            ("NUMA nodes", str(numa)),
        ):
            self.root.locator(".kd-form").get_by_label(name).fill(value)
        self.press("Start plugin")

    def paste(self, text: str) -> None:
        """Paste a manifest and apply it."""
        area = self.root.locator("textarea")
        if not area.is_visible():
            self.press("YAML")
        area.fill(text)
        self.press("Apply")

    @property
    def svg(self) -> Locator:
        """The picture."""
        return self.root.locator(".kd-scroll > svg").first

    @property
    def sentence(self) -> Locator:
        """The sentence above the picture."""
        return self.root.locator(".kd-sentence").first

    @property
    def notice(self) -> Locator:
        """What the stage says of an action that failed."""
        return self.root.locator(".kd-callout[role]")

    @property
    def devices(self) -> Locator:
        """The marks of the devices."""
        return self.svg.locator("g[data-k^='device/']:has(> .cell)")

    def device(self, name: str) -> Locator:
        """The mark of a device."""
        return self.svg.locator(f"g[data-k^='device/'][data-k$='/{name}']")

    @property
    def pods(self) -> Locator:
        """The names of the pods."""
        return self.svg.locator("g[data-k^='pod/'][data-k$='/name']")

    def phase(self, pod: str) -> Locator:
        """The phase beside a pod's name."""
        return self.svg.locator(f"g[data-k='pod/{pod}/phase'] text")

    def holds(self, pod: str) -> Locator:
        """Where a pod is and what it holds, below its name."""
        return self.svg.locator(f"g[data-k='pod/{pod}/holds']")

    @property
    def status(self) -> Locator:
        """What the node's status says of the resource."""
        return self.svg.locator("g[data-k^='status/'] text")

    @property
    def mode(self) -> Locator:
        """The mode line: live, looking back, or a fork."""
        return self.root.locator(".kd-mode")

    @property
    def slider(self) -> Locator:
        """The slider of the transport."""
        return self.root.get_by_role("slider", name="History")

    @property
    def log(self) -> Locator:
        """The messages in the table below the picture."""
        return self.root.locator("details table").nth(2).locator("tbody tr")


# JupyterLab itself is asked, as its menu does: on a busy page a click beside a cell that moves is lost.
_FOUND = """const { content } = window.jupyterapp.shell.currentWidget;
  const place = content.widgets.findIndex((cell) => cell.model.id === id);"""
_RUN = f"""async (id) => {{
  {_FOUND}
  content.activeCellIndex = place;
  content.deselectAll();
  await window.jupyterapp.commands.execute("notebook:run-cell");
}}"""
_WRITE = f"""([id, source]) => {{
  {_FOUND}
  content.widgets[place].model.sharedModel.setSource(source);
}}"""

# A widget's place in a cell's output, while its code has not drawn anything there.
_NOT_DRAWN_YET = "[data-mime-type*=widget-view]:not(:has(.jupyter-widgets *))"


class CellPage:
    """The code cells of a notebook in a page, by their ids in the file."""

    def __init__(self, page: Page, notebook: Path) -> None:
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        self.sources = {cell["id"]: "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"}
        self.page = page

    def cell(self, cell_id: str) -> Locator:
        """A cell."""
        return self.page.locator(f"{SHOWN} .jp-CodeCell").nth(list(self.sources).index(cell_id))

    def output(self, cell_id: str) -> Locator:
        """What a cell shows."""
        return self.cell(cell_id).locator(".jp-Cell-outputWrapper")

    def run(self, cell_id: str) -> Locator:
        """Run a cell and wait for its end, and until its widgets are drawn; its output."""
        self.cell(cell_id).scroll_into_view_if_needed()
        self.page.evaluate(_RUN, cell_id)
        output = self.output(cell_id)
        expect(output.locator(_NOT_DRAWN_YET)).to_have_count(0, timeout=SECONDS)
        return output

    def write(self, cell_id: str, source: str) -> None:
        """Write a cell anew."""
        self.page.evaluate(_WRITE, [cell_id, source])

    def panel(self, cell_id: str) -> PanelPage:
        """The stage that a cell shows."""
        return PanelPage(self.page, self.cell(cell_id).locator(".kd-theatre").first)
