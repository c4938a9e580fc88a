"""The stage: what the page is told, and what actions are."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from threading import Thread, current_thread
from typing import Any

import ipywidgets as widgets
import jedi
import pytest

from kubedev.lab import Lab, check, explore, predict
from kubedev.lab.actions import line_of_code
from kubedev.views.picture import Picture, Text
from kubedev.views.stage import Frame, Stage

GPU = "nvidia.com/gpu"


def frame(number: int) -> Frame:
    words = Text("words", 0, 20, f"picture {number}")
    return Frame(Picture(f"title {number}", "A sentence.", 40, (words,), (), f"picture {number}"))


def quick() -> Callable[[], float]:
    """A clock on which every message has all the time it needs."""
    return count(0, 10).__next__


def updates_of(stage: Stage) -> list[dict[str, Any]]:
    updates: list[dict[str, Any]] = []
    stage.observe(lambda change: updates.append(change["new"]), names="update")
    return updates


def shown(whole: dict[str, Any], updates: list[dict[str, Any]]) -> list[str]:
    """The titles of the page's frames, as its script makes them out of what it was told."""
    titles = [whole["first"]["head"][0]]

    def add(steps: list[Any]) -> None:
        titles.extend(step["head"][0] if "head" in step else titles[-1] for step in steps)

    add(whole["steps"])
    for update in updates:
        if "keep" in update:
            del titles[update["keep"] :]
            if "first" in update:
                titles.append(update["first"]["head"][0])
            add(update["steps"])
    return titles


def test_the_page_has_every_frame_though_each_is_sent_once() -> None:
    stage = Stage([frame(0)], clock=quick())
    whole, updates = stage.get_state()["whole"], updates_of(stage)
    stage.put(1, [frame(1), frame(2)])
    stage.put(3, [frame(3)])
    assert shown(whole, updates) == [f"title {n}" for n in range(4)]
    assert [update["keep"] for update in updates] == [1, 3]
    assert [update["number"] for update in updates] == [1, 2]


def test_a_fork_takes_back_what_it_replaces() -> None:
    stage = Stage([frame(n) for n in range(5)], clock=quick())
    whole, updates = stage.get_state()["whole"], updates_of(stage)
    stage.put(2, [frame(7), frame(8)])
    stage.put(2, [])
    assert shown(whole, updates[:1]) == ["title 0", "title 1", "title 7", "title 8"]
    assert shown(whole, updates) == ["title 0", "title 1"]


def test_what_comes_too_fast_is_sent_together_and_nothing_is_lost() -> None:
    stage = Stage([frame(0)], clock=lambda: 0.0)
    whole, updates = stage.get_state()["whole"], updates_of(stage)
    for number in range(1, 30):
        stage.put(number, [frame(number)])
    assert len(updates) < 6
    stage.flush()
    assert shown(whole, updates) == [f"title {n}" for n in range(30)]


def test_n03_a_view_that_comes_late_gets_what_the_others_show() -> None:
    stage = Stage([frame(0)], clock=quick())
    stage.put(1, [frame(1), frame(2)], mode="live")
    stage._handle_custom_msg({"at": 1, "move": 4}, [])
    whole = stage.get_state()["whole"]
    assert shown(whole, []) == ["title 0", "title 1", "title 2"]
    assert (whole["at"], whole["mode"], whole["move"]) == (1, "live", 4)


def test_an_error_stands_at_the_control_that_caused_it() -> None:
    stage = Stage([frame(0)], clock=quick())
    updates = updates_of(stage)
    stage.report("line 9: no image", "you/yaml")
    assert updates[-1]["report"] == {"text": "line 9: no image", "control": "you/yaml", "error": True}
    stage.report("")
    assert updates[-1]["report"] is None


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab("stage", nodes=1, transport="memory") as lab:
        lab.plugin(GPU, 4, numa=2)
        yield lab


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + 10
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    assert true()


def test_an_action_a_method_and_a_message_of_the_page_are_the_same(lab: Lab) -> None:
    stage = lab.show()
    lab.set_health("d0", healthy=False)
    lab.act({"do": "set_health", "device": "d1", "healthy": False})
    until(lambda: stage._states and stage._states[-1] is lab.state)
    with stage._writing:
        last = len(stage.frames) - 1
    action = {"do": "set_health", "device": "d2", "healthy": False}
    stage._handle_custom_msg({"act": action, "at": last, "control": "device/d2", "move": 1}, [])
    until(lambda: lab.node().allocatable[GPU].value() == 1)
    until(lambda: len(lab.actions) > 3)  # an action is noted when it is over
    assert [done.action["device"] for done in lab.actions[1:]] == ["d0", "d1", "d2"]
    assert line_of_code(lab.actions[-1].action) == 'lab.set_health("d2", healthy=False)'


@pytest.mark.parametrize(
    ("action", "says"),
    [
        ({"do": "explode"}, "expected an action that can be done here .*advance.*set_health.*got 'explode'"),
        ({}, "got None"),
        ({"do": "delete"}, "expected delete with some of pod"),
        ({"do": "delete", "pod": "web", "when": "now"}, "when"),
    ],
)
def test_what_is_no_action_changes_nothing(lab: Lab, action: dict[str, Any], says: str) -> None:
    before = len(lab.history)
    with pytest.raises(ValueError, match=says):
        lab.act(action)
    assert len(lab.history) == before
    assert len(lab.actions) == 1


def test_an_action_in_an_older_frame_happens_there_and_forks(lab: Lab) -> None:
    stage = lab.show()
    until(lambda: len(stage.frames) > 5)
    before = len(stage.frames)
    middle = before - 3
    action = {"do": "set_health", "device": "d0", "healthy": False}
    stage._handle_custom_msg({"act": action, "at": middle, "control": "", "move": 1}, [])
    until(lambda: lab.mode == "fork" and lab.state.idle and stage.mode == "fork")
    until(lambda: [f.label for f in stage.frames if f.kind == "health"] == ["d0 unhealthy"])
    lab.act({"do": "back_to_live"})
    until(lambda: stage.mode == "memory" and len(stage.frames) == before)


def test_a_fork_that_begins_by_acting_is_told(lab: Lab) -> None:
    stage = lab.show()
    until(lambda: len(stage.frames) > 5 and stage._states[-1] is lab.state)
    action = {"do": "set_health", "device": "d0", "healthy": False}
    at = len(stage.frames) - 3
    stage._handle_custom_msg({"act": action, "at": at, "control": "d0", "move": 1}, [])
    until(lambda: stage._fields["report"])
    report = stage._fields["report"]
    assert report["text"].startswith(f"A fork begins at message {at}:")
    assert (report["control"], report["error"]) == ("d0", False)
    stage._handle_custom_msg({"act": {**action, "device": "d1"}, "at": 99, "end": True, "control": ""}, [])
    until(lambda: len(lab.actions) == 3 and not stage._fields["report"])  # one that is there begins no other


def test_the_picture_starts_over_with_what_was_done_before_it_stood_there(lab: Lab) -> None:
    lab.set_health("d0", healthy=False)
    stage = lab.show(title="The scene")
    assert stage.picture.title == "The scene"
    lab.kill_plugin(GPU)
    lab.apply("one-gpu")
    stage._handle_custom_msg({"act": {"do": "start_over"}, "at": 0, "control": ""}, [])
    until(lambda: len(lab.actions) == 2 and lab.state.idle)
    assert lab.node().allocatable[GPU].value() == 3
    assert not lab.state.store.pods


def test_a_run_that_is_left_while_it_is_drawn_ends_no_picture(lab: Lab) -> None:
    def draw(lab: Lab, step: int) -> Picture:
        if current_thread().name == "kubedev player" and not left:
            left.append(step)
            lab.reset()
        return frame(len(lab.history[step].state.messages)).picture

    left: list[int] = []
    stage = lab.show(draw)
    until(lambda: left and len(stage.frames) == len(stage._steps()) < 5)
    lab.plugin(GPU, 2)
    until(lambda: len(stage.frames) == len(stage._steps()) > 5)
    assert not stage._player.stopped


def test_s8_a_closed_lab_keeps_its_history_and_each_cell_its_own_end(lab: Lab) -> None:
    first = lab.show()
    lab.apply("one-gpu")
    second = lab.show()
    kept = len(first.frames)
    assert "trainer" in str(first.frames[-1].picture.tables)
    lab.set_health("d3", healthy=False)
    lab.close()
    assert len(first.frames) == kept < len(second.frames)
    assert first.mode == second.mode == "closed"
    assert shown(second.get_state()["whole"], []) == [f.picture.title for f in second.frames]


def test_s7_what_a_lab_begins_with_has_no_mark_of_the_reader(lab: Lab) -> None:
    stage = lab.show()
    until(lambda: len(stage.frames) > 5)
    assert [frame.label for frame in stage.frames if frame.kind == "you"] == ["plugin"]


def test_a_widget_of_the_readers_own_is_linked_both_ways(lab: Lab) -> None:
    stage = lab.show()
    box = widgets.Checkbox(True)
    stage.link(box, {"do": "set_health", "device": "d1"})
    until(lambda: stage._states and stage._states[-1] is lab.state)
    box.value = False
    until(lambda: lab.node().allocatable[GPU].value() == 3)
    until(lambda: len(lab.actions) == 2)  # an action is noted when it is over
    lab.set_health("d1", healthy=True)
    until(lambda: box.value)
    assert [done.action["healthy"] for done in lab.actions[1:]] == [False, True]


def test_a_slider_of_the_readers_own_turns_a_knob() -> None:
    explorer = explore(lambda count: frame(count).picture, count=range(1, 9))
    slider = widgets.IntSlider(1, 1, 8)
    explorer.link(slider, {"do": "turn"}, "count")
    slider.value = 5
    assert explorer.picture.picture.title == "title 5"
    explorer.turn(count=2)
    assert slider.value == 2
    explorer.seek(1)
    assert slider.value == 5
    assert len(explorer.history) == 3


def test_what_cannot_be_linked_is_refused(lab: Lab) -> None:
    stage = lab.show()
    with pytest.raises(ValueError, match="expected a widget with a value, got HBox"):
        stage.link(widgets.HBox(), {"do": "advance"})
    with pytest.raises(ValueError, match="lacks device, healthy"):
        stage.link(widgets.Checkbox(), {"do": "set_health"})


@pytest.mark.parametrize("box", [widgets.VBox, widgets.HBox, widgets.Tab])
def test_a_stage_nests_in_boxes(lab: Lab, box: type[widgets.Box]) -> None:
    stage = lab.show()
    outer = box([widgets.IntSlider(), stage])
    assert f"IPY_MODEL_{stage.model_id}" in outer.get_state()["children"]


def test_s9_jedi_completes_every_object_that_a_lab_hands_out(lab: Lab) -> None:
    lab.apply("one-gpu")
    names = {
        "lab": lab,
        "stage": lab.show(),
        "node": lab.node(),
        "pod": lab.pod("trainer"),
        "log": lab.log(),
        "state": lab.state,
        "history": lab.history,
        "done": lab.actions[0],
        "asked": predict("s9", "?", count=[1, 2]),
        "checked": check(lab),
        "knobs": explore(lambda count: frame(count).picture, count=range(1, 3)),
    }
    for name, value in names.items():
        completions = {c.name for c in jedi.Interpreter(f"{name}.", [names]).complete()}
        public = {each for each in dir(value) if not each.startswith("_")}
        assert public <= completions, (name, public - completions)


def test_nothing_heavy_is_imported_before_the_first_picture_stands() -> None:
    """The wire's grpc is: `lab.plugin` waits until a real plugin is known."""
    source = (
        "import sys; from kubedev.lab import Lab, predict; lab = Lab('first', nodes=1)\n"
        "lab.plugin('nvidia.com/gpu', 2); lab.apply('one-gpu'); lab.play()._repr_mimebundle_(); lab.close()\n"
        "print([name for name in ('networkx', 'plotly', 'numpy') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)
    assert ran.stdout.strip() == "[]", ran.stderr


@pytest.mark.parametrize("say", [lambda stage: stage.report("A note."), lambda stage: stage.seek(0)])
def test_no_frame_is_lost_that_comes_while_something_is_said(say: Callable[[Stage], None]) -> None:
    stage = Stage([frame(0)], clock=quick())
    other = Thread(target=say, args=(stage,))
    with stage._writing:
        other.start()
        time.sleep(0.05)  # it waits for its turn by now
        stage.put(1, [frame(1), frame(2)])
    other.join()
    assert [each.picture.title for each in stage.frames] == ["title 0", "title 1", "title 2"]


def test_who_acts_at_the_end_acts_at_the_newest_frame_though_the_page_lags_behind() -> None:
    acted: list[int] = []
    stage = Stage([frame(0)], clock=quick(), on_action=lambda action, at, control: acted.append(at))
    stage.put(1, [frame(1), frame(2)])
    stage._message(None, {"act": {"do": "x"}, "at": 0, "end": True}, None)
    stage._message(None, {"act": {"do": "x"}, "at": 1, "end": False}, None)
    stage._message(None, {"at": 0, "end": True}, None)
    assert acted == [2, 1]
    assert stage.at == 2
