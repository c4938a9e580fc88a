"""A picture of a value that the reader changes: what is done makes the next value, and each can be gone back to."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kubedev.lab.links import Links
from kubedev.views.picture import Picture
from kubedev.views.stage import Frame, Stage

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["Turns", "turns"]

V = TypeVar("V")


def turns(value: V, draw: Callable[[V], Picture], **does: Callable[..., V]) -> "Turns[V]":
    """Show `draw(value)`; each action is a function from the value, and from what the action says, to the next value.

    What it raises as ValueError is shown where it was done, and nothing changes.
    """
    return Turns(value, draw, does)


class Turns(Stage, Generic[V]):
    """A stage that keeps a value for each frame; `act` does something in code, `link` ties a widget to an action.

    On the time line an action is called by its name, or by what `names` has for it.
    """

    def __init__(
        self,
        value: V,
        draw: Callable[[V], Picture],
        does: Mapping[str, Callable[..., V]],
        names: Mapping[str, str] | None = None,
    ) -> None:
        self._values, self._draw, self._does, self._names = [value], draw, dict(does), dict(names or {})
        self._followers: list[Callable[[V], object]] = []
        self._dragging = False
        self._links = Links(self.act)
        super().__init__([Frame(draw(value))], on_action=self._acted, on_seek=lambda _: self._tell())

    @property
    def value(self) -> V:
        """The value that is shown."""
        return self._values[self.at]

    def act(self, action: Mapping[str, Any]) -> None:
        """Do something to the value that is shown: `{"do": "move", "point": 1, "y": 5}`. Raises ValueError."""
        about = dict(action)
        do, dragging = about.pop("do"), about.pop("dragging", False)
        if do not in self._does:
            raise ValueError(f"expected one of {', '.join(self._does)}; got {do}")
        at = self.at
        keep = at if self._dragging and at else at + 1  # a drag is one step, however far it goes
        value = self._does[do](self._values[keep - 1], **about)
        self._dragging = dragging
        self._values[keep:] = [value]
        label = " ".join(
            [self._names.get(do, do), *(said for said in about.values() if isinstance(said, str))]
        )
        self.put(keep, [Frame(self._draw(value), "you", label)], at=keep)
        self._links.follow([action])
        if not dragging:
            self._tell()

    def chart(self, draw: Callable[[V], "Figure"]) -> None:
        """Display the plotly figure that this draws of the value on show, and draw it anew in its place.

        JupyterLab keeps a figure as it is for as long as it stands there, so something as high stands there between.
        """
        from IPython.display import display

        def bundle(value: V) -> Any:  # a figure that displays itself could not be replaced
            return draw(value)._repr_mimebundle_()

        shown: Any = display(bundle(self.value), raw=True, display_id=True)  # type: ignore[no-untyped-call]
        if shown is not None:  # there is a page to show it on
            between = {"text/html": f'<div style="height:{draw(self.value).layout.height}px"></div>'}
            self._followers.append(
                lambda value: (shown.update(between, raw=True), shown.update(bundle(value), raw=True))
            )

    def link(self, widget: Any, action: Mapping[str, Any], name: str = "") -> None:
        """Tie any ipywidget to an action, both ways: its value is the argument `name`."""
        self._links.add(widget, action, name)

    def _tell(self) -> None:
        for follower in self._followers:
            follower(self.value)

    def _acted(self, action: Mapping[str, Any], at: int, control: str) -> None:
        try:
            if at != self.at:
                self._at = at
            self.report("")
            self.act(action)
        except ValueError as error:
            self.report(str(error), control)
