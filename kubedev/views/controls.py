"""Controls that stand inside a picture, beside what they act on, and the actions they stand for: plain data.

An action is a small mapping, such as `{"do": "set_health", "node": "gpu-node-1", "device": "d0"}`: a click on a
mark, a button, a line of code and a recording are the same thing. The stage puts an element of the page where a
`Control` stands, and adds what was chosen or typed to its action as `value`; elsewhere it is drawn as it looks.
"""

import json
from dataclasses import dataclass
from typing import Literal

from kubedev.views.style import SIZE_TEXT, text_width

__all__ = [
    "Action",
    "Button",
    "Choice",
    "Control",
    "Entry",
    "Slider",
    "Value",
    "What",
    "act",
    "as_json",
    "control_size",
]

Value = str | int | float | bool | None
Action = tuple[tuple[str, Value], ...]
"""An action as it is kept in a mark: the pairs of the mapping, so that it can be compared and hashed."""

HEIGHT = 24.0
_PADDING = 16.0
_SLIDER = 130.0
_ENTRY = 150.0


def act(do: str, **about: Value) -> Action:
    """Return the action `do`, about what the names say: a device, a pod, a node."""
    return (("do", do), *about.items())


def as_json(action: Action | str) -> str:
    """Return an action as the JSON that stands in `data-action`; a text stays as it is."""
    return action if isinstance(action, str) else json.dumps(dict(action), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Button:
    """Does its action when pressed; one `primary` button a region is filled."""

    label: str
    action: Action
    primary: bool = False
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several `options`; its label is read aloud and not drawn."""

    label: str
    options: tuple[str, ...]
    value: str
    action: Action


@dataclass(frozen=True, slots=True)
class Slider:
    """A number from `low` to `high` in steps; label and value stand beside it."""

    label: str
    low: float
    high: float
    step: float
    value: float
    action: Action

    @property
    def words(self) -> str:
        """What stands before the slider."""
        return f"{self.label} {self.value:g}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A line to type in; the label stands in it while it is empty."""

    label: str
    value: str
    action: Action


What = Button | Choice | Slider | Entry


@dataclass(frozen=True, slots=True)
class Control:
    """A mark: a control with its place (top left) and size."""

    key: str
    x: float
    y: float
    width: float
    height: float
    what: What
    tooltip: str = ""

    @property
    def kind(self) -> Literal["button", "choice", "slider", "entry"]:
        """Which control it is."""
        match self.what:
            case Button():
                return "button"
            case Choice():
                return "choice"
            case Slider():
                return "slider"
            case Entry():
                return "entry"

    @property
    def data(self) -> dict[str, object]:
        """Everything that the page needs to make it, as JSON: kind, size, and the fields of `what`."""
        fields: dict[str, object] = {name: getattr(self.what, name) for name in self.what.__slots__}
        fields["action"] = dict(self.what.action)
        if isinstance(self.what, Choice):
            fields["options"] = list(self.what.options)
        return {"kind": self.kind, "width": self.width, "height": self.height, **fields}


def control_size(what: What) -> tuple[float, float]:
    """Return the width and height that a control takes."""
    match what:
        case Button():
            return max(34.0, text_width(what.label, SIZE_TEXT, bold=what.primary) + _PADDING), HEIGHT
        case Choice():
            return max((text_width(option) for option in what.options), default=20.0) + _PADDING + 14, HEIGHT
        case Slider():
            ends = (what.low, what.high, what.low + what.step, what.high - what.step)
            return max(text_width(f"{what.label} {end:g}") for end in ends) + 12 + _SLIDER, HEIGHT
        case Entry():
            return max(_ENTRY, text_width(what.label) + _PADDING), HEIGHT
