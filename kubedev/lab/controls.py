"""Small help for the controls of a panel."""

from typing import Any

import ipywidgets as widgets

__all__ = ["fit", "offer"]


def fit() -> widgets.Layout:
    """As wide as what is inside."""
    return widgets.Layout(width="auto")


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
