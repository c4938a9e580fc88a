"""The controls around a picture: what panels and pictures with knobs have in common."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import ipywidgets as widgets

from kubedev.views.catalogue import say

__all__ = ["FIT", "ROW", "button", "control", "history_slider", "offer", "row"]

FIT = {"width": "auto"}
"""As wide as what is inside."""
ROW = {"flex_flow": "row wrap", "align_items": "center"}

W = TypeVar("W", bound=widgets.DOMWidget)
_looks: dict[tuple[type, frozenset[tuple[str, str]]], widgets.Widget] = {}


def control(
    kind: type[W],
    *args: Any,
    layout: Mapping[str, str] | None = None,
    style: Mapping[str, str] | None = None,
    **traits: Any,
) -> W:
    """Return a control that shares its layout and its style with all that look the same.

    Each of them is a widget of its own, so a message to the browser of a kilobyte: a panel has fifty controls.
    """
    looks = {"layout": _look(widgets.Layout, layout or {})}
    if "style" in kind.class_trait_names():
        looks["style"] = _look(kind.style.klass, style or {})
    return cast(W, kind(*args, **looks, **traits))


def _look(kind: type[widgets.Widget], rules: Mapping[str, str]) -> widgets.Widget:
    key = kind, frozenset(rules.items())
    if key not in _looks or _looks[key].comm is None:  # the first one, or closed with all other widgets
        _looks[key] = kind(**rules)
    return _looks[key]


def button(key: str, press: Callable[[], object], primary: bool = False) -> widgets.Button:
    """Return a button with its word and its tooltip from the catalogue."""
    made = control(
        widgets.Button,
        description=say(key),
        tooltip=say(f"{key}.tip"),
        button_style="primary" if primary else "",
        layout=FIT,
    )
    made.on_click(lambda _: press())
    return made


def row(key: str, *parts: widgets.Widget) -> widgets.HBox:
    """Return controls in a row, after a word from the catalogue."""
    name = control(widgets.Label, say(key), layout={"width": "74px"})
    return control(widgets.HBox, [name, *parts], layout=ROW)


def history_slider() -> widgets.IntSlider:
    """Return the slider that goes through a history."""
    layout = {"flex": "1 1 auto", "min_width": "160px"}
    return control(widgets.IntSlider, 0, 0, 1, readout=False, tooltip=say("frame.history"), layout=layout)


def offer(choice: widgets.Dropdown, options: list[Any], jump: bool = True) -> None:
    """Change what can be chosen, and keep the choice where it is still there.

    Where it is gone, the first one is chosen instead, or none without `jump`: the next click must not hit another.
    """
    if list(choice.options) == options:
        return
    kept, values = choice.value, [o[1] if isinstance(o, tuple) else o for o in options]
    first = not choice.options
    with choice.hold_sync():  # one message
        choice.options = options
        if values:
            choice.value = kept if kept in values else values[0] if jump or first else None
