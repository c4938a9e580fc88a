"""Any ipywidget as a control: its value goes into an action, and an action from anywhere else sets its value."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kubedev.lab.actions import ACTIONS
from kubedev.views.catalogue import say

__all__ = ["Links"]

Action = Mapping[str, Any]


class Links:
    """The widgets that are linked to what can be done; `act` carries an action out."""

    def __init__(self, act: Callable[[Action], Any]) -> None:
        self._act = act
        self._links: list[tuple[Any, Action, str]] = []
        self._setting = False

    def add(self, widget: Any, action: Action, name: str = "") -> None:
        """Link a widget to an action; its value is the argument `name`, by default the one that the action lacks.

        Raises ValueError where no single one is lacking, or the widget has no value.
        """
        if not widget.has_trait("value"):
            raise ValueError(say("link.no-value", kind=type(widget).__name__))
        self._links.append((widget, dict(action), name or _lacking(action)))
        link = self._links[-1]
        widget.observe(lambda change: self._changed(link, change["new"]), "value")

    def follow(self, done: Iterable[Action]) -> None:
        """Set each widget to what the last action like its own says."""
        actions = list(done)
        for widget, action, name in self._links:
            like = (a for a in reversed(actions) if name in a and action.items() <= a.items())
            last = next(like, None)
            if last is not None and widget.value != last[name]:
                self._setting = True
                try:
                    widget.value = last[name]
                finally:
                    self._setting = False

    def _changed(self, link: tuple[Any, Action, str], value: Any) -> None:
        _, action, name = link
        if not self._setting:
            self._act({**action, name: value})


def _lacking(action: Action) -> str:
    """The one argument that the action needs and does not say."""
    signature = ACTIONS.get(str(action.get("do")))
    needed = [
        name
        for name, parameter in list(signature.parameters.items() if signature else ())[1:]
        if parameter.default is parameter.empty and name not in action
    ]
    if len(needed) != 1:
        raise ValueError(say("link.which", action=dict(action), needed=", ".join(needed) or "none"))
    return needed[0]
