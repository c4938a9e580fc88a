"""Live pictures: one message an event, a pace, and frames for where no kernel is."""

import json
import re
from dataclasses import replace

from kubedev.views.live import LivePicture, frames_html, unpacked
from kubedev.views.path import path_picture
from kubedev.views.picture import Picture
from kubedev.views.samples import sample_path


def step(number: int) -> Picture:
    return path_picture(replace(sample_path(), step=number))


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_one_event_is_one_message() -> None:
    clock = Clock()
    live = LivePicture(step(1), clock=clock)
    updates: list[dict[str, object]] = []
    live.observe(lambda change: updates.append(change["new"]), names="update")
    for number in (2, 3, 4):
        clock.now += 1
        live.show(step(number))
    assert [update["number"] for update in updates] == [1, 2, 3]
    assert all(len(json.dumps(update)) < 2000 for update in updates)


def test_what_comes_too_fast_is_skipped_but_the_last_is_shown() -> None:
    clock = Clock()
    live = LivePicture(step(1), clock=clock)
    updates: list[dict[str, object]] = []
    live.observe(lambda change: updates.append(change["new"]), names="update")
    for number in range(2, 12):
        live.show(step(number))
    assert [update["number"] for update in updates] == [
        1,
        2,
        3,
        4,
    ]  # what one event sets off is not held back
    live.flush()
    assert len(updates) == 5
    assert live.picture.sentence.startswith("Step 11 of 18")


def test_a_stream_is_paced() -> None:
    clock = Clock()
    live = LivePicture(step(1), clock=clock)
    updates: list[dict[str, object]] = []
    live.observe(lambda change: updates.append(change["new"]), names="update")
    for tick in range(100):  # a hundred a second
        clock.now += 0.01
        live.show(step(2 + tick % 10))
        if live._pace._timer is not None and live._pace._due - 3 / 20 <= clock.now:
            live.flush()
    assert 20 <= len(updates) <= 24


def test_the_same_picture_again_sends_nothing() -> None:
    clock = Clock()
    live = LivePicture(step(1), clock=clock)
    clock.now += 1
    live.show(step(1))
    assert live.update == {}


def test_a_page_that_comes_late_gets_the_whole_picture() -> None:
    clock = Clock()
    live = LivePicture(step(1), clock=clock)
    live.show(step(2))
    state = live.get_state()
    assert state["whole"]["document"]["head"][1].startswith("Step 2 of 18")
    assert state["whole"]["number"] == state["update"]["number"] == 1


def test_an_action_reaches_its_handler() -> None:
    actions: list[str] = []
    live = LivePicture(step(1), on_action=actions.append)
    live._handle_custom_msg({"action": "device:example.com/gpu:3"}, [])
    assert actions == ["device:example.com/gpu:3"]


def test_frames_are_whole_in_themselves() -> None:
    html = frames_html([step(1), step(2), step(3)])
    found = re.search(r'<script type="application/json">(.*?)</script>', unpacked(html), re.DOTALL)
    assert found is not None
    data = json.loads(found[1].replace("<\\/", "</"))
    assert len(data["steps"]) == 2
    assert not re.search(r"""(src|href)\s*=\s*["']?http""", html)
    assert "Step 1 of 18" in html


def test_the_bundle_has_html_for_pages_without_a_kernel() -> None:
    live = LivePicture(step(1), frames=lambda: [step(1), step(2)])
    bundle = live._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "data-kubedev-frames" in data["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in data
