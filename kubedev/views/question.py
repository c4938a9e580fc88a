"""A prediction on the page: choose, lock, see; right and wrong differ by mark, edge and words."""

from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from kubedev.views.catalogue import templates
from kubedev.views.live import page_sheet

__all__ = ["Question"]

_HERE = Path(__file__).parent


class Question(anywidget.AnyWidget):
    """A question with its choices; `tell(what, value)` is called when the reader chooses, locks or unlocks.

    `card` is all that is shown: question, rows (name, choices), answers (by name), locked, and what was seen.
    """

    _esm = (_HERE / "question.js").read_text("utf-8")
    _css = page_sheet() + (_HERE / "question.css").read_text("utf-8")
    card = traitlets.Dict().tag(sync=True)

    def __init__(self, card: Mapping[str, Any], tell: Callable[[str, Any], None]) -> None:
        self._tell = tell
        words = {name: escape(text, quote=False) for name, text in templates("question").items()}
        super().__init__(card={**card, "words": words})
        self.on_msg(self._message)

    def show(self, card: Mapping[str, Any]) -> None:
        """Show another state of the card."""
        self.card = {**card, "words": self.card["words"]}

    def _message(self, _widget: object, content: Mapping[str, Any], _buffers: object) -> None:
        for what in ("choose", "lock"):
            if what in content:
                self._tell(what, content[what])

    def bundle(self, html: str, text: str, **options: Any) -> Any:
        """Return the widget's own formats with HTML and text for where no kernel is."""
        found = self._repr_mimebundle_(**options)
        data = found[0] if isinstance(found, tuple) else found
        return {**(data or {}), "text/html": html, "text/plain": text}
