"""A lab on the stage: its history as frames, its controls in the picture, its actions as data."""

import inspect
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from kubedev.api.manifests import ManifestError
from kubedev.cluster.history import History
from kubedev.cluster.state import ClusterState
from kubedev.lab.actions import carry_out, line_of_code
from kubedev.lab.applying import manifests
from kubedev.lab.links import Links
from kubedev.lab.player import Player
from kubedev.lab.scene import path_state, tick
from kubedev.lab.watched import Watched
from kubedev.views.catalogue import say
from kubedev.views.path import path_picture
from kubedev.views.path_state import PathControls
from kubedev.views.picture import Picture
from kubedev.views.stage import Frame, Mode, Stage
from kubedev.views.style import WIDTH

__all__ = ["Draw", "Panel", "draw_path"]

Draw = Callable[[Watched, int], Picture]
"""Draws a step of a lab's history; with a parameter `width` it draws for columns of 1080 and of 700 pixels."""

_BY_ITSELF = {"node-created"}
"""What a lab begins with, though `you` are named as its sender."""

CONTROLS = True
"""Whether what acts is drawn: not on slides, where nobody could press it."""

WIDE, NARROW, BETWEEN = WIDTH, 700, 820


def draw_path(lab: Watched, step: int, width: int = WIDE, node: str = "", status: bool = True) -> Picture:
    """The whole path at a step of the history, with the controls that act on it; `node` is drawn in full.

    Without `status` it leaves out what the node's status says.
    """
    state = lab.history[step].state
    count = len(state.messages)
    samples = sorted(manifests(), key=lambda name: (name != "one-gpu", name))
    controls = PathControls(tuple(samples), samples[0] if samples else "", True) if CONTROLS else None
    title = say("path.title")
    drawn = path_state(
        state,
        title=title,
        step=count,
        total=count,
        mode=lab.shown_mode,
        node=node,
        controls=controls,
        status=status,
    )
    picture = path_picture(drawn, width)
    return replace(picture, sentence=picture.sentence.partition(": ")[2] or picture.sentence)


class Panel(Stage):
    """A lab's stage. It follows the lab until `sleep`, and keeps the history that there was."""

    def __init__(
        self,
        lab: Watched,
        draw: Draw | None = None,
        paced: bool = True,
        since: int | None = None,
        title: str = "",
    ) -> None:
        self.lab, self._title = lab, title
        self._setting = [done.action for done in lab.actions]  # what was done before there was a picture
        self._drawing = draw or draw_path
        self._takes = inspect.signature(self._drawing).parameters.keys() & {"width", "node"}
        self._width, self._node = WIDE, ""
        self._states: list[ClusterState] = []  # of each frame
        self._shown: list[int] = []  # the step of each frame
        self._links = Links(lambda action: self._work.submit(self._carry_out, action, None, ""))
        self._looking: int | None = None  # the frame that the lab looks back to
        self._began = False  # whether the page has the whole run
        self._work = ThreadPoolExecutor(1, thread_name_prefix="kubedev panel")
        step = lab.position if since is None else since
        self._first = step
        super().__init__(
            [self._frame(step)],
            mode=self._mode(),
            play=paced,
            forms=forms(),
            bar=[
                *((say("panel.clock", seconds=s), {"do": "advance", "seconds": s}) for s in (10, 301)),
                (say("frame.start-over"), {"do": "start_over"}),
            ],
            on_action=self._acted,
            on_seek=self._went,
            on_width=self._measured,
            graph=self._graph_of,
        )
        self._player = Player(lab, self._follow, paced)
        self._player.start()

    def sleep(self) -> None:
        """Follow no more: the stage keeps its history, and its controls say why they do nothing."""
        if self._player.stopped:
            return
        self._player.stop()
        self._work.shutdown(wait=False, cancel_futures=True)
        with self._writing:
            self.put(len(self.frames), (), mode="closed")

    def without_kernel(self, start: int | None = None) -> dict[str, str]:
        """Return the run as HTML; it opens at the step at which it was shown first."""
        steps = self._steps()
        if not self._player.stopped:
            self._follow()
        return super().without_kernel(
            max(sum(s <= self._first for s in steps) - 1, 0) if start is None else start
        )

    def link(self, widget: Any, action: Mapping[str, Any], name: str = "") -> None:
        """Tie any ipywidget to an action, both ways: `link(checkbox, {"do": "set_health", "device": "d0"})`.

        The widget's value is the argument `name`, by default the one that the action lacks. Raises ValueError.
        """
        self._links.add(widget, action, name)

    # From the lab to the page

    def _steps(self) -> list[int]:
        """A step for each message, and the newest one instead of its last message: what is so now is shown with it."""
        steps, history = self.lab.message_steps(), self.lab.history
        if len(steps) > 1 and len(history[steps[-1]].state.messages) == len(
            history[steps[-2]].state.messages
        ):
            del steps[-2]
        return steps

    def _frame(self, step: int) -> Frame:
        history = self.lab.history
        state = history[step].state
        before = history[step - 1].state.messages if step else ()
        new = state.messages[len(before) :]
        how: dict[str, Any] = {"width": self._width, "node": self._node}
        picture = self._drawing(self.lab, step, **{name: how[name] for name in self._takes})
        picture = replace(picture, title=self._title or picture.title)
        clock = say("frame.clock", now=f"{state.now:g}")
        if not new or new[-1].source != "you" or new[-1].key in _BY_ITSELF:
            return Frame(picture, clock=clock)
        return Frame(picture, "health" if new[-1].key == "health-set" else "you", tick(new[-1]), clock)

    def _mode(self) -> Mode:
        mode = self.lab.shown_mode
        return ("fork" if self.lab.forked_at is not None else "live") if mode == "replay" else mode

    def _follow(self) -> None:
        """Add the frames that are new; go where the lab looks, unless the page went there itself."""
        with self._writing:
            while not self._followed():
                pass  # the lab shows another run by now
        self._links.follow(done.action for done in self.lab.actions)

    def _followed(self) -> bool:
        """Whether all frames that were added are of the run that the lab still shows; otherwise none is added."""
        lab, history = self.lab, self.lab.history
        try:
            steps = self._steps()
            states = [history[step].state for step in steps]
            pairs = zip(states, self._states, strict=False)
            keep = next(
                (i for i, (a, b) in enumerate(pairs) if a is not b), min(len(states), len(self._states))
            )
            frames = [self._frame(step) for step in steps[keep:]]
        except IndexError:
            if lab.history is history:
                raise
            return False
        if lab.history is not history:
            return False
        self._states, self._shown = states, steps
        fields: dict[str, Any] = {"mode": self._mode(), "code": self._code(), "ghost": self._ghost(steps)}
        looking = sum(s <= lab.position for s in steps) - 1 if lab.mode == "replay" else None
        if keep == 0:
            first = max(sum(s <= self._first for s in steps) - 1, 0)
            fields |= {"since": first} if self._began else {"since": first, "begin": first}
            self._began = True
        if looking is not None and looking != self._looking:
            fields["at"] = looking
        elif looking is None and self._looking is not None:
            fields |= {"resume": True} if keep < len(states) else {"at": len(states) - 1}
        self._looking = looking
        self.put(keep, frames, **fields)
        return True

    def _code(self) -> str:
        return "\n".join(line_of_code(done.action) for done in self.lab.actions)

    def _ghost(self, steps: list[int]) -> dict[str, int] | None:
        """Where the run that a fork left went on, and for how many messages."""
        if self.lab.forked_at is None or (beyond := self.lab.left_behind) is None:
            return None
        return {"from": sum(s <= self.lab.forked_at for s in steps) - 1, "count": beyond}

    def _graph_of(self, at: int) -> Picture:
        """Who holds what, at a frame."""
        from kubedev.views.graph_picture import graph_picture
        from kubedev.views.graphs import holdings_graph

        with self._writing:
            state = self._states[min(at, len(self._states) - 1)] if self._states else self.lab.state
        return graph_picture(holdings_graph(state), self._width)

    # From the page to the lab

    def _acted(self, action: Mapping[str, Any], at: int, control: str) -> None:
        if self._player.stopped:
            self.report(say("panel.asleep"), control)
            return
        # At the end the reader is at the newest state, whatever comes before the action is done.
        state = self._states[at] if at < len(self._states) - 1 else None
        self._work.submit(self._carry_out, action, state, control)

    def _carry_out(self, action: Mapping[str, Any], state: ClusterState | None, control: str) -> None:
        """Do it where the reader looked, off the kernel's thread; what goes wrong is shown, not lost."""
        try:
            self.report("")
            if action.get("do") == "show_node":
                self._node = str(action["node"])
                return self._redraw()
            if action.get("do") == "start_over":
                return self.start_over()
            if action.get("do") not in ("back_to_live", "go_live", "reset"):
                self._look_at(state)
            before = self.lab.forked_at, self.lab.history
            note = self._note(carry_out(self.lab, self._meant(action)))
            note = f"{self._forked(*before)} {note}".strip()
            self.report(note or self._refused(action), control, error=not note)
        except Exception as error:
            said = str(error.args[0]) if isinstance(error, KeyError) else str(error) or repr(error)
            mend = f" {say('frame.mend')}" if isinstance(error, ManifestError) else ""
            self.report(said + mend, control)

    def start_over(self) -> None:
        """Begin the lab anew, and do again what had been done before the picture stood there."""
        self.lab.reset()
        for action in self._setting:
            carry_out(self.lab, action)

    def _forked(self, forked_at: int | None, history: History) -> str:
        """What is to be said where acting has begun a fork."""
        lab = self.lab
        if lab.forked_at is None or (lab.forked_at == forked_at and lab.history is history):
            return ""
        return say("frame.forked", at=sum(step <= lab.forked_at for step in self._steps()) - 1)

    def _look_at(self, state: ClusterState | None) -> None:
        history = self.lab.history
        step = next((i for i in range(history.first, len(history)) if history[i].state is state), None)
        if step is not None and step != self.lab.position:
            self._looking = next(i for i, known in enumerate(self._states) if known is state)
            self.lab.seek(step)

    def _meant(self, action: Mapping[str, Any]) -> Mapping[str, Any]:
        """A device that is clicked in an older picture (`device:RESOURCE:ID`) turns unhealthy, or well again."""
        kind, _, what = str(action.get("do", "")).partition(":")
        if kind != "device":
            return action
        resource, _, device = what.partition(":")
        for plugin in self.lab.state.plugins.values():
            for found in plugin.devices if plugin.alive and plugin.resource == resource else ():
                if found.id == device:
                    healthy = found.health != "Healthy"
                    about = {"device": device, "healthy": healthy, "resource": resource, "node": plugin.node}
                    return {"do": "set_health", **about}
        raise ValueError(say("panel.no-plugin", resource=resource))

    def _note(self, loaded: Any) -> str:
        """What was skipped of a manifest, and what its pods lack."""
        if not hasattr(loaded, "skipped"):
            return ""
        skipped = [say("panel.skipped", kind=s.kind, name=s.name) for s in loaded.skipped]
        missing = self.lab.missing_resources(loaded.pods)
        if missing:
            skipped.append(say("panel.offer", resources=", ".join(missing)))
        return " ".join([*skipped, *loaded.notes])

    def _refused(self, action: Mapping[str, Any]) -> str:
        """A plugin that was started may be refused by the kubelet."""
        plugins = self.lab.state.plugins.values() if action.get("do") == "plugin" else ()
        refused = (p.error for p in plugins if p.phase == "refused" and p.resource == action.get("resource"))
        return next((say("panel.refused", error=error) for error in refused), "")

    def _went(self, at: int) -> None:
        if not self._player.stopped and at < len(self._states):
            self._work.submit(self._go, self._states[at], at)

    def _go(self, state: ClusterState, at: int) -> None:
        history = self.lab.history
        step = next((i for i in range(history.first, len(history)) if history[i].state is state), None)
        if step is not None:
            self._looking = None if step == len(history) - 1 else at
            self.lab.seek(step)

    def _measured(self, width: int) -> None:
        wanted = WIDE if width >= BETWEEN else NARROW
        if wanted == self._width or "width" not in self._takes:
            return
        self._width = wanted
        if self._player.stopped:
            self._redraw()
        else:
            self._work.submit(self._redraw)

    def _redraw(self) -> None:
        """Draw every frame anew: the column is another one, or another node is drawn in full."""
        with self._writing:
            self.put(0, [self._frame(step) for step in self._shown])


def forms() -> dict[str, Any]:
    """What is asked before an action that needs more than a press, by the name of the form."""

    def field(name: str, kind: str, value: Any, options: tuple[str, ...] = ()) -> dict[str, Any]:
        return {"name": name, "label": say(f"form.{name}"), "kind": kind, "value": value, "options": options}

    resources = ("nvidia.com/gpu", "example.com/dongle")
    return {
        "start_plugin": {
            "action": {"do": "plugin"},
            "press": say("form.start_plugin.press"),
            "fields": [
                field("resource", "text", resources[0], resources),
                field("devices", "number", 8),
                field("numa", "number", 2),
            ],
        },
        "paste": {
            "action": {"do": "apply", "source": say("panel.yaml.source")},
            "press": say("form.paste.press"),
            "fields": [field("manifest", "area", "")],
        },
    }
