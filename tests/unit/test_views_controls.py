"""Controls inside a picture: what the page is told of them, how they are drawn, and actions as data."""

import json
from html import unescape
from xml.etree import ElementTree

import pytest

from kubedev.views.controls import Button, Choice, Control, Entry, Slider, act, control_size
from kubedev.views.document import document, patch
from kubedev.views.picture import Cell, Picture
from kubedev.views.style import DeviceState, text_width
from kubedev.views.svg import fragment, inline, standalone

KILL = act("kill", plugin="example.com/gpu")
CONTROLS = {
    "button": Button("kill", KILL),
    "choice": Choice("which pod", ("one-gpu", "two-gpus"), "one-gpu", act("choose")),
    "slider": Slider("devices", 0, 8, 1, 4, act("devices")),
    "entry": Entry("a name", "", act("name")),
}


def picture(button: Button) -> Picture:
    return Picture("t", "s", 40, (Control("kill", 4, 4, *control_size(button), button),), (), "alt")


@pytest.mark.parametrize("kind", CONTROLS)
def test_the_page_learns_everything_of_a_control_from_its_mark(kind: str) -> None:
    what = CONTROLS[kind]
    mark = Control("c", 10, 20, *control_size(what), what)
    told = json.loads(ElementTree.fromstring(fragment(mark)).attrib["data-control"])
    assert told["kind"] == mark.kind == kind
    assert told["label"] == what.label
    assert told["action"] == dict(what.action)
    assert (told["width"], told["height"]) == (mark.width, mark.height)
    assert mark.height >= 24


def test_a_control_has_room_for_its_words() -> None:
    assert control_size(Button("delete everything", KILL))[0] > text_width("delete everything")
    assert control_size(CONTROLS["choice"])[0] > text_width("two-gpus")
    assert control_size(Slider("devices", 0, 1000, 1, 4, KILL))[0] > text_width("devices 1000") + 100


def test_an_action_is_data_in_a_mark() -> None:
    action = act("set_health", node="gpu-node-1", resource="example.com/gpu", device='d"0')
    drawn = fragment(Cell("d0", 0, 0, 20, "0", DeviceState.FREE, action=action))
    assert json.loads(ElementTree.fromstring(drawn).attrib["data-action"]) == dict(action)
    assert hash(action)


def test_a_text_is_still_an_action() -> None:
    drawn = fragment(Cell("d0", 0, 0, 20, "0", DeviceState.FREE, action="device:gpu:d0"))
    assert ElementTree.fromstring(drawn).attrib["data-action"] == "device:gpu:d0"


def test_a_control_that_changes_is_a_patch_of_one_mark() -> None:
    old, new = (document(picture(Button("kill", KILL, disabled=off))) for off in (False, True))
    change = patch(old, new)
    assert [entry[0] for entry in change["set"]] == ["kill"]
    assert '"disabled": true' in unescape(change["set"][0][2])


def test_a_file_has_no_controls_unless_they_are_asked_for() -> None:
    shown = picture(Button("kill", KILL, primary=True))
    assert "data-control" not in standalone(shown, "light")
    assert "data-control" in standalone(shown, "light", controls=True)
    assert "data-control" in inline(shown)
    assert "data-control" not in inline(shown, controls=False)
