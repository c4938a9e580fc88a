"""A picture with knobs: whatever is turned, the picture is drawn anew from the values, and every setting can be
gone back to.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import ipywidgets as widgets
from traitlets import TraitError

from kubedev.lab.controls import FIT, ROW, control
from kubedev.lab.links import Links
from kubedev.lab.pictured import Pictured
from kubedev.views.live import frames_html
from kubedev.views.picture import Picture
from kubedev.views.stage import Frame, Stage

__all__ = ["Explorer", "explore"]

Draw = Callable[..., Picture]
Values = dict[str, Any]


def explore(
    draw: Draw,
    *,
    frames: Sequence[Mapping[str, Any]] = (),
    start: Mapping[str, Any] | None = None,
    **knobs: Any,
) -> "Explorer":
    """Show `draw(**values)` with a knob for each value.

    A knob is a `range` (slider), a bool (check box), a list or tuple of choices, or a mapping of words to choices;
    the first value is where it starts, unless `start` says another one. `frames` are the settings that slides and
    exported pages step through.
    """
    made = {name: _knob(name, offer) for name, offer in knobs.items()}
    for name, value in (start or {}).items():
        made[name].value = value
    return Explorer(draw, made, frames)


class Explorer(Pictured):
    """Knobs and a stage: each setting is a frame. `values` is what is set, `turn` sets it in code."""

    def __init__(
        self, draw: Draw, knobs: dict[str, widgets.Widget], frames: Sequence[Mapping[str, Any]]
    ) -> None:
        self._draw, self._knobs, self._steps = draw, knobs, list(frames)
        self._setting = False
        self.history: list[Values] = [self.values]
        self._at = 0
        self.picture = Stage([Frame(draw(**self.values))], on_action=self._acted, on_seek=self._go)
        self._links = Links(self.act)
        for knob in knobs.values():
            knob.observe(self._turned, "value")
        super().__init__([control(widgets.HBox, list(knobs.values()), layout=ROW), self.picture])
        self.add_class("kubedev-panel")

    @property
    def values(self) -> Values:
        """The knobs as they are set."""
        return {name: knob.value for name, knob in self._knobs.items()}

    def turn(self, **values: Any) -> None:
        """Set knobs in code, all at once. Raises KeyError, and says which there are, for one that is not."""
        for name in values.keys() - self._knobs.keys():
            raise KeyError(f"expected one of the knobs {', '.join(self._knobs)}; got {name}")
        self._set({**self.values, **values})
        self._remember()

    def link(self, widget: Any, action: Mapping[str, Any], name: str = "") -> None:
        """Tie any ipywidget to a knob, both ways: `link(slider, {"do": "turn"}, "needed")`."""
        self._links.add(widget, action, name)

    def seek(self, step: int) -> None:
        """Go to a setting of the history; the ones after it stay until another knob is turned."""
        self._go(min(max(step, 0), len(self.history) - 1))
        self.picture.seek(self._at)

    def start_over(self) -> None:
        """Go back to the first setting, and forget the others."""
        self.history = self.history[:1]
        self._go(0)
        self.picture.put(1, (), at=0)

    def without_kernel(self) -> dict[str, str]:
        """Return the settings that slides step through."""
        settings: Iterable[Mapping[str, Any]] = self._steps or self.history
        pictures = [self._draw(**{**self.history[0], **values}) for values in settings]
        return {**self.picture.still(), "text/html": frames_html(pictures)}

    def _go(self, at: int) -> None:
        self._at = at
        self._set(self.history[at])

    def _set(self, values: Values) -> None:
        self._setting = True
        try:
            for name, value in values.items():
                self._knobs[name].value = value
        finally:
            self._setting = False
        self._links.follow([{"do": "turn", **self.values}])

    def _turned(self, _: Any) -> None:
        if not self._setting:
            self._remember()

    def _remember(self) -> None:
        if self.values == self.history[self._at]:
            return
        self._at += 1
        self.history = [*self.history[: self._at], self.values]
        before = self.history[self._at - 1]
        label = ", ".join(
            name.replace("_", " ") for name, value in self.values.items() if value != before[name]
        )
        self._links.follow([{"do": "turn", **self.values}])
        self.picture.put(self._at, [Frame(self._draw(**self.values), "you", label)], at=self._at, report=None)

    def act(self, action: Mapping[str, Any]) -> None:
        """Carry out an action: `turn` sets the knobs that it names; an older mark's `NAME:VALUE` is the same.

        Raises KeyError for a knob that is not there, TraitError for a value that is no choice.
        """
        name, _, value = str(action.get("do", "")).partition(":")
        self.turn(
            **(
                {key: given for key, given in action.items() if key != "do"}
                if name == "turn"
                else {name: value}
            )
        )

    def _acted(self, action: Mapping[str, Any], at: int, control: str) -> None:
        if at != self._at and at < len(self.history):
            self._go(at)
        if action.get("do") == "open":  # a number: its note is in the picture
            return self.picture.tell(control, at)
        try:
            self.act(action)
        except (KeyError, TraitError) as error:
            self.picture.report(str(error.args[0]), control)


def _knob(name: str, offer: Any) -> widgets.Widget:
    label = name.replace("_", " ")
    style = {"description_width": "initial"}
    if isinstance(offer, bool):
        return control(widgets.Checkbox, offer, description=label, indent=False, layout=FIT)
    if isinstance(offer, range):
        low, high, step = offer.start, offer[-1], offer.step
        return control(widgets.IntSlider, low, low, high, step, description=label, style=style)
    choices = list(offer.items()) if isinstance(offer, Mapping) else list(offer)
    if not choices:
        raise ValueError(f"expected at least one choice for {name}")
    return control(widgets.Dropdown, options=choices, description=label, style=style, layout=FIT)
