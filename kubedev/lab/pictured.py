"""A picture with controls around it: where no kernel is, the picture alone stands for both."""

from typing import Any

import ipywidgets as widgets

from kubedev.views.stage import Stage

__all__ = ["Pictured"]


class Pictured(widgets.VBox):
    """A box with a stage among its children."""

    picture: Stage

    def without_kernel(self) -> dict[str, str]:
        """Return the picture with all its frames as HTML, and as a line of text."""
        return self.picture.without_kernel()

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget's own format, and the picture for a page that has no kernel."""
        return {**super()._repr_mimebundle_(**options), **self.picture.still()}
