"""Cards side by side: what several policies, containers or sets make of one and the same machine."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kubedev.views.catalogue import say
from kubedev.views.grid import lay_out
from kubedev.views.path_devices import device_cell, device_state, short_names
from kubedev.views.path_state import DeviceView
from kubedev.views.picture import Box, Look, Mark, Picture, Table, Text, table
from kubedev.views.style import SIZE_TEXT, WIDTH, text_width, wrap

__all__ = ["Card", "cards_picture"]

_GAP = 12.0
_PAD = 12.0
_LINE = 20.0
_MOST_LINES = 3
_CELLS = 44.0


@dataclass(frozen=True, slots=True)
class Card:
    """What one of them says; `devices` are drawn as cells under the title, where it is not None."""

    title: str
    lines: tuple[str, ...] = ()
    look: Look = "plain"
    devices: tuple[DeviceView, ...] | None = None


def cards_picture(title: str, sentence: str, cards: Sequence[Card]) -> Picture:
    """Draw cards in one row, all equally high."""
    width = (WIDTH - _GAP * (len(cards) - 1)) / len(cards)
    wrapped = [_lines(card, width - 2 * _PAD) for card in cards]
    cells = _CELLS if any(card.devices is not None for card in cards) else 0.0
    height = 38 + cells + _LINE * max(map(len, wrapped), default=0)
    ids = [device.id for card in cards for device in card.devices or ()]
    names = short_names(ids) if all(len(i) > 3 for i in ids) else {i: i for i in ids}
    marks: list[Mark] = []
    for number, (card, lines) in enumerate(zip(cards, wrapped, strict=True)):
        x = number * (width + _GAP)
        marks.append(Box(f"card/{number}", x, 0, width, height, card.title, look=card.look, top=True))
        marks += _cells(card, names, (x + _PAD, 40), width - 2 * _PAD)
        for row, line in enumerate(lines):
            y = 46 + cells + _LINE * row
            marks.append(Text(f"card/{number}/{row}", x + _PAD, y, line, tone="muted"))
    alt = say("cards.alt", sentence=sentence)
    return Picture(title, sentence, height + 1, tuple(marks), (_table(title, cards),), alt)


def _lines(card: Card, width: float) -> list[str]:
    return [part for line in card.lines for part in wrap(line, width, _MOST_LINES)]


def _cells(card: Card, names: dict[str, str], place: tuple[float, float], width: float) -> list[Mark]:
    devices = card.devices or ()
    grid = lay_out([len(devices)], width, _CELLS)
    labelled = all(text_width(name, SIZE_TEXT, bold=True) <= grid.size - 4 for name in names.values())
    return [
        device_cell(card.title, device, names[device.id] if labelled else "", (place[0] + dx, place[1] + dy), grid.size)
        for device, (dx, dy) in zip(devices, grid.groups[0].places, strict=True)
    ]  # fmt: skip


def _table(title: str, cards: Sequence[Card]) -> Table:
    rows = []
    for card in cards:
        held = ", ".join(f"{d.id} ({device_state(d).word})" for d in card.devices or ())
        rows.append((card.title, "; ".join(part for part in (*card.lines, held) if part)))
    return replace(table("cards", "what why", rows), caption=title)
