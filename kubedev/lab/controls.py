"""The controls around a picture, as few messages to the page."""

from collections.abc import Mapping
from typing import Any, TypeVar, cast

import ipywidgets as widgets

__all__ = ["FIT", "ROW", "control"]

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
