"""The stage: one widget with a picture, its transport directly below, and the controls that act on it.

The page holds every picture of a run as patches and plays them by itself: while it is seen, and no faster than a
reader can follow. The kernel adds pictures, takes back those that a fork replaced, and hears what the reader does as
actions, which are data. What a page holds is also what it saves: a stage that is opened again without a kernel still
shows its last picture, and steps.

`Stage.put` may be called from any thread and as often as one likes: the browser gets at most
`UPDATES_A_SECOND` messages, and a few more after a quiet time (`paced`).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

import anywidget
import traitlets

from kubedev.views.catalogue import say, templates
from kubedev.views.document import Document, JsonPatch, document, patch, to_json
from kubedev.views.live import frames_html, page_sheet, with_frames
from kubedev.views.paced import Pace
from kubedev.views.picture import Box, Picture

__all__ = ["SAVED_BYTES", "Frame", "Kind", "Mode", "Stage", "recording"]

SAVED_BYTES = 200_000
"""How much a saved notebook may hold of one stage; older frames are dropped first."""

Kind = Literal["message", "you", "health"]
"""How a frame is marked on the slider: a dot, a wedge (the reader did something), a square (a device's health)."""

Mode = Literal["live", "memory", "fork", "closed", "plain"]
"""What acting at the end of the run means; a `plain` stage has no run behind it."""

if TYPE_CHECKING:
    ShownMode = Mode  # jedi fails where it finds a Literal behind a property, and then completes nothing

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture of a run, and how the slider marks it; `label` stands over a wedge or a square, `clock` in the
    bar."""

    picture: Picture
    kind: Kind = "message"
    label: str = ""
    clock: str = ""


class Stage(anywidget.AnyWidget):
    """A picture that can be stepped, played and acted on.

    `on_action(action, at, control)` is called with an action, the index of the frame that was on show, and the key of
    the control that sent it; `on_seek(at)` when the reader goes to a frame; `on_width(width)` when the page measured
    the column; `graph(at)` draws the graph behind a frame, when somebody looks at it. `since` is the frame to begin
    with. `forms` are the fields that are asked for first, by the name of an action; `bar` are buttons beside the
    clock: a label and an action.
    """

    _esm = (_HERE / "picture.js").read_text("utf-8") + (_HERE / "stage.js").read_text("utf-8")
    _css = page_sheet() + (_HERE / "stage.css").read_text("utf-8")
    whole = traitlets.Dict().tag(sync=True, to_json=lambda _value, widget: widget._whole())
    update = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        frames: Sequence[Frame],
        *,
        since: int | None = None,
        mode: Mode = "plain",
        play: bool = False,
        forms: Mapping[str, Any] | None = None,
        bar: Sequence[tuple[str, Mapping[str, Any]]] = (),
        on_action: Callable[[Mapping[str, Any], int, str], None] | None = None,
        on_seek: Callable[[int], None] | None = None,
        on_width: Callable[[int], None] | None = None,
        graph: Callable[[int], Picture] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not frames:
            raise ValueError("expected at least one frame to show")
        self._pace = Pace(self._transmit, clock)
        self._writing = self._pace.lock
        self._id = uuid4().hex  # the page tells stages apart by it
        self._number = 0
        self._frames = list(frames)
        self._at = len(frames) - 1 if since is None else since
        self._fields: dict[str, Any] = {"mode": mode, "play": play, "move": 0, "code": "", "ghost": None}
        self._fields |= {"since": self._at, "report": None, "forms": dict(forms or {}), "bar": list(bar)}
        self._once: dict[str, Any] = {}  # what the next message says, and the state of the page does not keep
        self._kept = self._page = len(frames)  # of the page's frames: how many still hold, how many it has
        self._news: set[str] = set()
        self._sent: tuple[int, Document] | None = None  # the last frame that was sent, drawn
        self._on_action, self._on_seek, self._on_width = on_action, on_seek, on_width
        self._graph = graph
        super().__init__()
        self.on_msg(self._message)

    @property
    def frames(self) -> tuple[Frame, ...]:
        """All frames of the run that is shown."""
        return tuple(self._frames)

    @property
    def at(self) -> int:
        """The frame that is on show, as far as the kernel knows: the page plays by itself."""
        return self._at

    @property
    def mode(self) -> "ShownMode":
        """What acting at the end of the run means."""
        mode: Mode = self._fields["mode"]
        return mode

    @property
    def picture(self) -> Picture:
        """The picture of that frame."""
        return self._frames[min(self._at, len(self._frames) - 1)].picture

    def put(self, keep: int, frames: Sequence[Frame], **fields: Any) -> None:
        """Keep the first `keep` frames, and let these follow.

        `fields` are what else changed: `mode`, `code`, `ghost`; for this time only `at` (go to this frame), `begin`
        (play from this frame to the last one, where what happens is played) and `resume` (go on from the frame on
        show).
        """
        with self._writing:
            self._kept = min(self._kept, keep)
            was_last = self._at >= min(keep, len(self._frames) - 1)
            self._frames[keep:] = frames
            for name, value in fields.items():
                if name in _ONCE:
                    self._once[name] = value
                elif self._fields[name] != value:
                    self._fields[name] = value
                    self._news.add(name)
            if "at" in fields or was_last:
                self._at = min(fields.get("at", len(self._frames)), len(self._frames) - 1)
            if self._kept < max(len(self._frames), self._page) or self._news or self._once:
                self._pace.soon()

    def seek(self, at: int) -> None:
        """Show a frame."""
        with self._writing:  # no frame may come between the count and the call
            self.put(len(self._frames), (), at=at)

    def report(self, text: str, control: str = "", *, error: bool = True) -> None:
        """Say something beside the control with this key; nothing takes it away."""
        said = {"text": text, "control": control, "error": error} if text else None
        with self._writing:
            self.put(len(self._frames), (), report=said)

    def tell(self, control: str, at: int) -> None:
        """Say the note of the box with this key in a frame, also where it was said before and closed."""
        notes = {m.key: m.tooltip for m in self._frames[at].picture.marks if isinstance(m, Box)}
        self.report("")
        self.report(notes.get(control, ""), control, error=False)

    def flush(self) -> None:
        """Send now what is still waiting for its turn."""
        self._pace.now()

    def _transmit(self) -> bool:
        changes: dict[str, Any] = {name: self._fields[name] for name in self._news} | self._once
        if self._kept < max(len(self._frames), self._page):
            changes |= self._new_frames()
        if changes:
            self._number += 1
            self._kept = self._page = len(self._frames)
            self._news, self._once = set(), {}
            self.update = {"number": self._number, "move": self._fields["move"], **changes}
        return bool(changes)

    def _new_frames(self) -> dict[str, Any]:
        """The frames that the page does not have, as patches to the last one that it keeps."""
        keep, frames = self._kept, self._frames[self._kept :]
        out: dict[str, Any] = {"keep": keep, "ticks": _ticks(frames)}
        if keep and self._sent is not None and self._sent[0] == keep - 1:
            last = self._sent[1]
        else:
            last = document(self._frames[max(keep - 1, 0)].picture)
        if keep == 0:
            out["first"] = to_json(last)
            frames = frames[1:]
        steps: list[JsonPatch] = []
        for frame in frames:
            new = document(frame.picture)
            steps.append(patch(last, new))
            last = new
        self._sent = len(self._frames) - 1, last
        return out | {"steps": steps}

    def _whole(self) -> dict[str, Any]:
        with self._writing:
            documents = [document(frame.picture) for frame in self._frames]
            self._sent = len(documents) - 1, documents[-1]
            return {
                "id": self._id,
                "number": self._number,
                "first": to_json(documents[0]),
                "steps": [patch(a, b) for a, b in pairwise(documents)],
                "ticks": _ticks(self._frames),
                "acts": self._on_action is not None,
                "graphs": self._graph is not None,
                "limit": SAVED_BYTES,
                "words": templates("stage"),
                **self._fields,
                "at": self._at,
            }

    def _message(self, _widget: object, content: Mapping[str, Any], _buffers: object) -> None:
        if content.get("want") == "whole":
            with self._writing:
                self._number += 1
                self.update = {"number": self._number, "whole": self._whole()}
        if "move" in content:
            self._fields["move"] = int(content["move"])
        if "width" in content and self._on_width is not None:
            self._on_width(int(content["width"]))
        if "graph" in content and self._graph is not None:
            drawn = to_json(document(self._graph(self._where({"at": content["graph"]}))))
            with self._writing:
                self.put(len(self._frames), (), graph=drawn)
        if "act" in content and self._on_action is not None:
            with self._writing:  # no frame may come between the place and what is done there
                self._on_action(content["act"], self._where(content), str(content.get("control", "")))
        elif "at" in content:
            self._at = self._where(content)
            if self._on_seek is not None:
                self._on_seek(self._at)

    def _where(self, content: Mapping[str, Any]) -> int:
        """The frame that the page is at; at its `end` it is at the newest, also while frames are under way to it."""
        last = len(self._frames) - 1
        return last if content.get("end") else min(max(int(content["at"]), 0), last)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget's own formats, and what stands for them where neither kernel nor saved state is."""
        bundle = super()._repr_mimebundle_(**options)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data.update(self.still())
        return bundle

    def still(self) -> dict[str, str]:
        """Return the frames there are as HTML, with a line that says where the rest is, and as a line of text."""
        made = Stage.without_kernel(self)
        return {**made, "text/html": made["text/html"] + _still_line()}

    def without_kernel(self, start: int | None = None) -> dict[str, str]:
        """Return the run for slides: HTML that opens at frame `start` and steps through all, and a line of text."""
        pictures = [frame.picture for frame in self._frames]
        text = f"{self.picture.title}. {self.picture.sentence}"
        at = self._at if start is None else start
        html = frames_html(pictures, min(at, len(pictures) - 1))  # it may be on its way to that frame
        return {"text/html": html, "text/plain": text}


def recording(html: str, whole: Mapping[str, Any]) -> str:
    """Return a stage's HTML with the frames that a saved notebook has of it (`whole`), at the one it showed last."""
    return with_frames(html.removesuffix(_still_line()), whole["first"], whole["steps"], whole["at"])


def _still_line() -> str:
    return f'<p class="kd kubedev">{escape(say("stage.still"))}</p>'


_ONCE = {"at", "begin", "graph", "resume"}


def _ticks(frames: Sequence[Frame]) -> list[list[str]]:
    return [[frame.kind, frame.label, frame.clock] for frame in frames]
