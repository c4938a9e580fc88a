"""A prediction on the page: choose, lock, see; right and wrong differ by mark, edge and words."""

from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from kubedev.views.catalogue import say, templates
from kubedev.views.live import page_sheet

__all__ = ["Question", "room_html"]

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

    def without_kernel(self) -> dict[str, str]:
        """Return the question for a room, as HTML: its choices with letters, and which of them are right, if known."""
        return {"text/html": room_html(self.card), "text/plain": str(self.card["question"])}


_FEW = 4


def room_html(card: Mapping[str, Any]) -> str:
    """Return a card's question for a room: what is asked and, where its style says *answered*, what is."""
    rows, seen = card["rows"], card["seen"] or [{"is": [], "other": ""}] * len(card["rows"])
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: max(len(choices) for _, _, choices in rows)]
    fields = "".join(
        _room_field(label if len(rows) > 1 else "", choices, row, letters)
        for (_, label, choices), row in zip(rows, seen, strict=True)
    )
    few = len(letters) <= _FEW
    key, first = ("room.hands", ", ".join(letters[:-1])) if few else ("room.hands.many", letters[0])
    hands = say(key, letters=first, last=letters[-1])
    many = say("room.each", hands=hands) if len(rows) > 1 else hands
    return (
        f'<div class="kd-room" data-kubedev-question><div class="kd-kicker">'
        f"<b>{escape(say('room.asked'))}</b><b>{escape(say('room.answered'))}</b></div>"
        f'<h2>{escape(card["question"])}</h2><div class="kd-fields{" many" * (len(rows) > _FEW)}">{fields}</div>'
        f'<p class="kd-hands"><b>{escape(many)}</b><span>{escape(say("room.minute"))}</span></p></div>'
    )


def _room_field(label: str, choices: list[str], row: Mapping[str, Any], letters: str) -> str:
    offered = "".join(
        f'<div class="kd-offer{" is" * (at in row["is"])}"><i>{letters[at]}</i><span>{escape(text)}</span></div>'
        for at, text in enumerate(choices)
    )
    other = f'<p class="kd-else">{escape(row["other"])}</p>' if row["other"] else ""
    name = f'<div class="kd-field">{escape(label)}</div>' if label else ""
    return f'{name}<div class="kd-offers">{offered}{other}</div>'
