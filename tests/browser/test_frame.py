"""The layout that `kubedev lab` opens in."""

import pytest

from tests.browser.jupyterlab import OpenLab, Theme


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_lab_opens_in_a_clean_layout_and_runs(open_lab: OpenLab, theme: Theme) -> None:
    lab = open_lab("frame.ipynb", theme)
    lab.run_all()
    assert lab.output(0).inner_text().strip() == "ready"
    lab.output(1).get_by_role("button", name="press").wait_for()
    assert not lab.page.locator(".jp-FileBrowser").is_visible()
    assert lab.page.locator(".jp-toast-button, .Toastify__toast").count() == 0
    assert lab.page.locator("body").get_attribute("data-jp-theme-light") == str(theme == "light").lower()
