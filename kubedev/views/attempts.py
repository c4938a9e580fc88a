"""Lab 02: several plugins that try to register, each with its calls and the answer that came back."""

from collections.abc import Sequence
from dataclasses import dataclass

from kubedev.views.catalogue import say
from kubedev.views.picture import Band, Line, Mark, Panel, Picture, Point, Table, Text, table
from kubedev.views.registration import SequenceCall
from kubedev.views.style import WIDTH, fit, text_width, wrap

__all__ = ["Attempt", "attempts_picture"]

_COLUMNS = 3
_GAP = 15.0
_CARD = (WIDTH - _GAP * (_COLUMNS - 1)) / _COLUMNS
_CALL = 32.0
_CALLS = 4
_LINES = 6  # of the error's text


@dataclass(frozen=True, slots=True)
class Attempt:
    """One plugin: what is special about it, its calls, what Register answered (empty: it was let in), and a note."""

    title: str
    calls: tuple[SequenceCall, ...]
    error: str
    note: str = ""


def attempts_picture(attempts: Sequence[Attempt]) -> Picture:
    """Draw a card for each attempt; the cards of a row are as high as the fullest of them."""
    marks: list[Mark] = []
    top = 0.0
    for first in range(0, len(attempts), _COLUMNS):
        row = attempts[first : first + _COLUMNS]
        calls = max(len(attempt.calls[:_CALLS]) for attempt in row)
        height = max(_height(attempt, calls) for attempt in row)
        for column, attempt in enumerate(row):
            place = (column * (_CARD + _GAP), top)
            marks += _card(attempt, f"attempt/{first + column}", place, height, calls)
        top += height + _GAP
    good = sum(1 for attempt in attempts if not attempt.error)
    sentence = say("attempts.sentence", good=good, count=len(attempts))
    title = say("attempts.title", count=len(attempts))
    alt = say("attempts.alt", sentence=sentence)
    return Picture(title, sentence, max(top - _GAP, 0), tuple(marks), (_table(attempts),), alt)


def _height(attempt: Attempt, calls: int) -> float:
    return 60 + _CALL * calls + 20 * len(_error_lines(attempt)) + 30 * bool(attempt.note)


def _error_lines(attempt: Attempt) -> Sequence[str]:
    return wrap(attempt.error, _CARD - 32, _LINES, mono=True) if attempt.error else ()


def _card(attempt: Attempt, key: str, place: Point, height: float, calls: int) -> list[Mark]:
    x, y = place
    title = fit(attempt.title, _CARD - 130, bold=True)
    marks: list[Mark] = [
        Panel(key, x, y, _CARD, height),
        Text(f"{key}/title", x + 16, y + 26, title, bold=True, tooltip=attempt.title),
    ]
    tone = "unhealthy" if attempt.error else "free"
    verdict = say("attempts.bad" if attempt.error else "attempts.good")
    sign = "✕ " if attempt.error else "✓ "
    at = (x + _CARD - 16, y + 26)
    marks.append(Text(f"{key}/verdict", *at, sign + verdict, tone=tone, bold=True, anchor="end"))
    for number, call in enumerate(attempt.calls[:_CALLS]):
        marks += _call(call, f"{key}/{number}", (x, y + 58 + _CALL * number))
    top = y + 64 + _CALL * calls
    for number, line in enumerate(_error_lines(attempt)):
        words = Text(f"{key}/error/{number}", x + 16, top + 20 * number, line, tone=tone, mono=True)
        marks.append(words)
    if attempt.note:
        note = fit(attempt.note, _CARD - 32)
        marks.append(Text(f"{key}/note", x + 16, y + height - 16, note, tone="muted", tooltip=attempt.note))
    return marks


def _call(call: SequenceCall, key: str, place: Point) -> list[Mark]:
    """An arrow from the plugin (left) to the kubelet (right) or back, its name on it."""
    x, y = place
    ends = (x + 16, x + _CARD - 16)
    x0, x1 = ends if call.target == "kubelet" else ends[::-1]
    text = fit(call.text, _CARD - 80, mono=True)
    wide = text_width(text, mono=True) + 10
    middle = x + _CARD / 2
    tone = "unhealthy" if call.error else "ink"
    return [
        Line(f"{key}/arrow", ((x0, y), (x1, y)), "quiet", dashed=call.answer, arrow=True),
        Band(f"{key}/ground", middle - wide / 2, y - 10, wide, 20, "panel", 0),
        Text(f"{key}/text", middle, y + 5, text, mono=True, tone=tone, anchor="middle", tooltip=call.text),
    ]


def _table(attempts: Sequence[Attempt]) -> Table:
    rows = tuple((a.title, a.error or say("attempts.good"), a.note) for a in attempts)
    return table("attempts", "plugin answer note", rows)
