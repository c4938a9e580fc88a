"""A lab in JupyterLab, as a test drives it."""

import contextlib
import json
from collections.abc import Callable
from typing import Literal

from playwright.sync_api import ConsoleMessage, Locator, Page, TimeoutError

from tests.conftest import ROOT
from tests.lab_server import LabServer

Theme = Literal["light", "dark"]
THEMES: dict[Theme, str] = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}

# The notebook in front.
SHOWN = ".jp-NotebookPanel:not(.lm-mod-hidden)"

# What `kubedev lab` begins with: no notebook of an earlier test is opened again.
WORKSPACE = json.loads((ROOT / "kubedev/tools/workspace.json").read_text("utf-8"))

# Said by JupyterLab itself, with any notebook; and by anywidget where a busy page takes more than 2 s for a model. It
# is there all the same: what is not there fails the test that looks for it.
NOT_OURS = ("Could not restore the debugger state", "[anywidget] Failed to initialize model.")


class LabPage:
    """A notebook in JupyterLab; `errors` are the errors on the page's console."""

    def __init__(self, page: Page, server: LabServer) -> None:
        self.page = page
        self.server = server
        self.errors: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _console(self, message: ConsoleMessage) -> None:
        where = message.location.get("url", "")
        if message.type == "error" and not any(part in message.text + where for part in NOT_OURS):
            self.errors.append(f"{message.text} ({where})")

    def open(self, notebook: str, theme: Theme = "light") -> None:
        """Open a notebook of the server's folder in a theme, nothing else, and wait for its kernel."""
        self.set_theme(theme)
        self.server.api("/lab/api/workspaces/default", WORKSPACE, "PUT")
        self.page.goto(f"{self.server.base}/lab/tree/{notebook}?token={self.server.token}")
        self.page.locator(f"{SHOWN} .jp-Cell").first.wait_for(timeout=60_000)
        self.page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for(timeout=60_000)

    def set_theme(self, theme: Theme) -> None:
        """Choose a theme, from the next page on."""
        path = "/lab/api/settings/@jupyterlab/apputils-extension:themes"
        self.server.api(path, {"raw": f'{{"theme": "{THEMES[theme]}"}}'}, "PUT")

    def turn(self, theme: Theme) -> None:
        """Choose a theme from the menu, for the page as it is."""
        self.page.get_by_role("menuitem", name="Settings", exact=True).click()
        self.page.locator(".lm-Menu-itemLabel").get_by_text("Theme", exact=True).click()
        self.page.locator(".lm-Menu-itemLabel").get_by_text(THEMES[theme], exact=True).click()
        self.page.locator(f"body[data-jp-theme-name='{THEMES[theme]}']").wait_for(state="attached")

    def run_all(self, timeout: float = 120) -> None:
        """Run all cells from the menu, and wait until each has its number.

        JupyterLab drops the command now and then while it still opens the notebook; then it is given again.
        """
        for _ in range(3):
            self.page.get_by_role("menuitem", name="Run", exact=True).click()
            self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
            with contextlib.suppress(TimeoutError):
                self.page.wait_for_function(_BEGAN, arg=SHOWN, timeout=15_000)
                break
        self.page.wait_for_function(_ALL_RAN, arg=SHOWN, timeout=timeout * 1000)

    def settle(self) -> None:
        """Wait until the kernel has dealt with all that was sent to it, and the page with what came of that."""
        self.page.evaluate(_SETTLED)

    def output(self, cell: int) -> Locator:
        """What the n-th code cell shows, from 0."""
        return self.page.locator(f"{SHOWN} .jp-CodeCell").nth(cell).locator(".jp-Cell-outputWrapper")


_BEGAN = r"""(notebook) => [...document.querySelectorAll(`${notebook} .jp-CodeCell .jp-InputPrompt`)]
  .some(prompt => /\[[*\d]/.test(prompt.textContent))"""
_ALL_RAN = r"""(notebook) => {
  const cells = [...document.querySelectorAll(`${notebook} .jp-CodeCell`)];
  return cells.length && cells.every(cell => /\[\d+\]/.test(cell.querySelector(".jp-InputPrompt").textContent));
}"""
# Kernel and page take messages one after another: when this one's answer is here, all before it have been dealt with.
_SETTLED = """async () => {
  await window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestKernelInfo();
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
}"""
OpenLab = Callable[..., LabPage]
