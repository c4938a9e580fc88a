"""Pictures in a page, and frames for where no kernel is."""

import json
import re
from dataclasses import replace

from kubedev.views.live import LivePicture, frames_html, unpacked
from kubedev.views.path import path_picture
from kubedev.views.picture import Picture
from kubedev.views.samples import sample_path


def step(number: int) -> Picture:
    return path_picture(replace(sample_path(), step=number))


def test_frames_are_whole_in_themselves() -> None:
    html = frames_html([step(1), step(2), step(3)])
    found = re.search(r'<script type="application/json">(.*?)</script>', unpacked(html), re.DOTALL)
    assert found is not None
    data = json.loads(found[1].replace("<\\/", "</"))
    assert len(data["steps"]) == 2
    assert not re.search(r"""(src|href)\s*=\s*["']?http""", html)
    assert "Step 1 of 18" in html


def test_the_bundle_has_html_for_pages_without_a_kernel() -> None:
    live = LivePicture(step(1))
    bundle = live._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "data-kubedev-frames" in data["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in data


def test_a_page_gets_the_whole_picture() -> None:
    whole = LivePicture(step(2)).get_state()["whole"]
    assert whole["document"]["head"][1].startswith("Step 2 of 18")
