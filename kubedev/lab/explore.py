"""A picture with knobs: whatever is turned, the picture is drawn anew from the values, and every setting can be
gone back to.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import ipywidgets as widgets
from traitlets import TraitError

from kubedev.lab.controls import FIT, ROW, button, control, history_slider, row
from kubedev.lab.pictured import Pictured
from kubedev.views.live import LivePicture
from kubedev.views.picture import Picture

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
    """Knobs, picture and history of the settings. `values` is what is set, `turn` sets it in code."""

    def __init__(
        self, draw: Draw, knobs: dict[str, widgets.Widget], frames: Sequence[Mapping[str, Any]]
    ) -> None:
        self._draw, self._knobs, self._steps = draw, knobs, list(frames)
        self._setting = False
        self.history: list[Values] = [self.values]
        self._at = 0
        self.picture = LivePicture(draw(**self.values), on_action=self._clicked, frames=self._frames)
        self.back = button("panel.back", lambda: self.seek(self._at - 1))
        self.forward = button("panel.forward", lambda: self.seek(self._at + 1))
        self.reset = button("panel.reset", self.start_over)
        self.slider = history_slider()
        self.slider.observe(self._slid, "value")
        for knob in knobs.values():
            knob.observe(self._turned, "value")
        super().__init__(
            [
                control(widgets.HBox, list(knobs.values()), layout=ROW),
                self.picture,
                row("panel.history", self.back, self.slider, self.forward, self.reset),
            ]
        )
        self.add_class("kubedev-panel")
        self._refresh()

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

    def seek(self, step: int) -> None:
        """Go to a setting of the history; the ones after it stay until another knob is turned."""
        self._at = min(max(step, 0), len(self.history) - 1)
        self._set(self.history[self._at])
        self._refresh()

    def start_over(self) -> None:
        """Go back to the first setting, and forget the others."""
        self.history = self.history[:1]
        self.seek(0)

    def _set(self, values: Values) -> None:
        self._setting = True
        try:
            for name, value in values.items():
                self._knobs[name].value = value
        finally:
            self._setting = False

    def _turned(self, _: Any) -> None:
        if not self._setting:
            self._remember()

    def _remember(self) -> None:
        if self.values != self.history[self._at]:
            self.history = [*self.history[: self._at + 1], self.values]
            self._at += 1
        self._refresh()

    def _clicked(self, action: str) -> None:
        """A mark with the action `NAME:VALUE` sets the knob of that name, if there is one with such a choice."""
        name, _, value = action.partition(":")
        with suppress(KeyError, TraitError):
            self.turn(**{name: value})

    def _slid(self, change: dict[str, Any]) -> None:
        if not self._setting:
            self.seek(change["new"])

    def _refresh(self) -> None:
        self.picture.show(self._draw(**self.values))
        self._setting = True
        try:
            self.slider.max = max(len(self.history) - 1, 1)
            self.slider.value = self._at
        finally:
            self._setting = False
        self.back.disabled = self.reset.disabled = self._at == 0
        self.forward.disabled = self._at == len(self.history) - 1

    def _frames(self) -> list[Picture]:
        settings: Iterable[Mapping[str, Any]] = self._steps or self.history
        return [self._draw(**{**self.history[0], **values}) for values in settings]


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
