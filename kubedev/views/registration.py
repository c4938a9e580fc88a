"""Lab 02: the life cycle of a registration, drawn from the kubelet's transition table, and its calls.

The boxes have fixed places and the connections come from `PLUGIN_PHASES`; what stands in the table is drawn,
and nothing else. The events that may come next are listed, the one that just came travels.
"""

from dataclasses import dataclass

from kubedev.kubelet.devices.endpoint import PLUGIN_PHASES, Phase
from kubedev.views.catalogue import say
from kubedev.views.picture import Band, Box, Line, Look, Mark, Panel, Picture, Pill, Point, Table, Text, table
from kubedev.views.style import PILL_PADDING, WIDTH, fit, fit_middle, text_width, wrap

__all__ = ["RegistrationState", "SequenceCall", "registration_picture"]

_LEFT = 560.0
_RIGHT = _LEFT + 16
_HEIGHT = 548.0
_BOX = (154.0, 46.0)
_PLACES: dict[Phase, Point] = {
    "absent": (18, 28),
    "dialing": (18, 118),
    "asking options": (18, 208),
    "connected": (18, 298),
    "stopped": (366, 118),
    "dead unnoticed": (366, 208),
    "superseded": (366, 298),
}
_LANE = 216.0  # the trunk between the columns
_BUS = 540.0  # the way back to absent, right of the right column
_BELOW = 388.0  # the panels under the life cycle
_NEXT_WIDTH = 322.0
_FILES = 4
_TAG = 76.0  # the widest tag of a plugin
_CALL = 54.0
_CALLS = 8


@dataclass(frozen=True, slots=True)
class SequenceCall:
    """One arrow of the sequence chart: a call, its answer (`answer`), or an error (`error`)."""

    source: str
    target: str
    text: str
    payload: str = ""
    answer: bool = False
    error: bool = False


@dataclass(frozen=True, slots=True)
class RegistrationState:
    """A moment of one plugin's registration: where it was, what happened (empty: nothing yet), where it is.

    `files` are those of the socket directory, `dead` the ones on which nobody listens any more. `places` says
    where the plugins are, by name, when there are several; `note` is what else is to be said.
    """

    phase: Phase
    before: Phase = "absent"
    event: str = ""
    calls: tuple[SequenceCall, ...] = ()
    parties: tuple[str, ...] = ("plugin", "kubelet")
    files: tuple[str, ...] = ()
    dead: frozenset[str] = frozenset()
    places: tuple[tuple[str, Phase], ...] = ()
    note: str = ""


def registration_picture(state: RegistrationState) -> Picture:
    """Draw the life cycle with the current phase lit, and the calls so far."""
    marks: list[Mark] = [Panel("life", 0, 0, _LEFT, 376)]
    marks += _connections()
    marks += [_phase_box(phase, lit=phase == state.phase) for phase in _PLACES]
    marks += _places(state)
    marks += _moved(state)
    marks += _next(state)
    marks += _files(state)
    marks += _calls(state)
    if state.event:
        sentence = say("registration.sentence", event=state.event, before=state.before, after=state.phase)
    else:
        sentence = say("registration.sentence.start", phase=state.phase)
    sentence = f"{sentence} {state.note}".strip()
    alt = say("registration.alt", sentence=sentence)
    title = say("registration.title")
    tables = (_transitions(), _call_table(state), _file_table(state))
    return Picture(title, sentence, _HEIGHT, tuple(marks), tables, alt)


def _phase_box(phase: Phase, *, lit: bool) -> Box:
    x, y = _PLACES[phase]
    itself = [event for (before, event), after in PLUGIN_PHASES.items() if before == after == phase]
    lines = tuple(fit(say("registration.itself", event=event), _BOX[0] - 22) for event in itself)
    look: Look = "lit" if lit else "plain"
    return Box(f"phase/{phase}", x, y, *_BOX, phase, lines, look)


def _way(before: Phase, after: Phase) -> tuple[Point, ...]:
    """The points from one box to another: straight down, across the lane, or back round the right side."""
    (x0, y0), (x1, y1) = _PLACES[before], _PLACES[after]
    width, height = _BOX
    if x0 == x1 and abs(y0 - y1) < 100:  # neighbours in a column
        down = y1 > y0
        both = (after, before) in _pairs()
        x = x0 + width / 2 + both * (-14 if down else 14)
        return ((x, y0 + height * down), (x, y1 - 4 if down else y1 + height + 4))
    if x0 < x1:  # from the left column to the right one
        out, into = y0 + height / 2, y1 + height / 2 + (8 if before == "absent" else 0)
        if out == into:
            return ((x0 + width, out), (x1 - 4, into))
        lane = _LANE + (70 if before == "absent" else 30)
        out += 8 if before == "absent" else 0
        return ((x0 + width, out), (lane, out), (lane, into), (x1 - 4, into))
    if x0 > x1:  # back to absent
        out, into = y0 + height / 2, y1 + height / 2 - 10
        return ((x0 + width, out), (_BUS, out), (_BUS, into), (x1 + width + 4, into))
    out, into = y0 + height / 2, y1 + height / 2 + 18  # up the left column, past its neighbours
    return ((x0 + width, out), (_LANE - 22, out), (_LANE - 22, into), (x1 + width + 4, into))


def _pairs() -> list[tuple[Phase, Phase]]:
    return list(
        dict.fromkeys((before, after) for (before, _), after in PLUGIN_PHASES.items() if before != after)
    )


def _connections() -> list[Mark]:
    return [Line(f"way/{a}/{b}", _way(a, b), "quiet", arrow=True) for a, b in _pairs()]


def _moved(state: RegistrationState) -> list[Mark]:
    """The transition that just happened: its way lit, its event as a pill on it."""
    if not state.event:
        return []
    x, y = _PLACES[state.phase]
    tag = fit(state.event, 200, bold=True)
    half = (text_width(tag, bold=True) + PILL_PADDING) / 2
    key = f"moved/{len(state.calls)}/{state.event}"
    if state.before == state.phase:
        return [Pill(key, x + _BOX[0] / 2, y + _BOX[1] + 14, tag)]
    points = _way(state.before, state.phase)
    place = (_PLACES[state.before], _PLACES[state.phase])
    if len(points) == 2 and place[0][0] == place[1][0]:
        centre = (max(points[0][0], half + 8), (points[0][1] + points[1][1]) / 2)
    elif place[0][0] > place[1][0]:
        centre = ((points[2][0] + points[3][0]) / 2 + 20, points[3][1])
    elif place[0][0] == place[1][0]:
        centre = (_LANE - 36 + half, (points[0][1] + points[-1][1]) / 2)
    else:
        centre = (_PLACES["absent"][0] + _BOX[0] + 97, (points[0][1] + points[-1][1]) / 2)
    line = Line("moved/way", points, "lit", arrow=True)
    return [line, Pill(key, *centre, tag, start=points[0])]


def _places(state: RegistrationState) -> list[Mark]:
    """Where each plugin is, as a tag on the upper edge of its phase; several in one phase stand on top."""
    marks: list[Mark] = []
    seen: dict[Phase, int] = {}
    for name, phase in state.places:
        x, y = _PLACES[phase]
        tag = fit(name, _TAG - PILL_PADDING, bold=True)
        half = (text_width(tag, bold=True) + PILL_PADDING) / 2
        row = seen.get(phase, 0)
        seen[phase] = row + 1
        tone = "accent" if phase == state.phase else "muted"
        centre = (x + _BOX[0] - half - 6, y - 2 + 28 * row)
        twin = sum(mark.key.startswith(f"place/{name}/") for mark in marks)  # a plugin may connect twice
        key = f"place/{name}/{twin}"
        marks.append(Pill(key, *centre, tag, tone, tooltip=f"{name}: {phase}"))
    return marks


def _next(state: RegistrationState) -> list[Mark]:
    """What may happen next, under the life cycle."""
    marks: list[Mark] = [
        Panel("next", 0, _BELOW, _NEXT_WIDTH, _HEIGHT - _BELOW, say("registration.next")),
    ]
    coming = [(event, after) for (before, event), after in PLUGIN_PHASES.items() if before == state.phase]
    for index, (event, after) in enumerate(coming[:4]):
        words = say("registration.next.line", event=event, phase=after)
        marks.append(Text(f"next/{index}", 18, _BELOW + 50 + 26 * index, words))
    return marks


def _files(state: RegistrationState) -> list[Mark]:
    """The socket directory as a list of files; those that nobody serves any more are dashed."""
    left = _NEXT_WIDTH + 12
    width = _LEFT - left
    label = say("registration.files.dead" if state.dead & set(state.files) else "registration.files")
    marks: list[Mark] = [Panel("files", left, _BELOW, width, _HEIGHT - _BELOW, label)]
    if not state.files:
        empty = Text("files/none", left + 16, _BELOW + 54, say("registration.files.none"), tone="muted")
        marks.append(empty)
    shown = state.files if len(state.files) <= _FILES else state.files[: _FILES - 1]
    for row, name in enumerate(shown):
        look: Look = "dead" if name in state.dead else "plain"
        place = (left + 14, _BELOW + 36 + 30 * row, width - 28, 26)
        title = fit_middle(name, place[2] - 20, mono=True)
        marks.append(Box(f"file/{name}", *place, title, look=look, mono=True, centred=True, tooltip=name))
    if len(shown) < len(state.files):
        more = say("frame.more", count=len(state.files) - len(shown))
        y = _BELOW + 36 + 30 * len(shown) + 18
        marks.append(Text("files/more", left + 16, y, more, tone="muted"))
    return marks


def _calls(state: RegistrationState) -> list[Mark]:
    """The sequence chart: one lane a party, time runs down, the newest calls stay in sight."""
    width = WIDTH - _RIGHT
    marks: list[Mark] = [Panel("calls", _RIGHT, 0, width, _HEIGHT, say("registration.calls"))]
    lanes = _lanes(state.parties)
    for party, x in lanes.items():
        marks.append(Line(f"lane/{party}", ((x, 74), (x, _HEIGHT - 16)), "rule", dashed=True))
        name = fit_middle(party, 140, bold=True)
        wide = text_width(name, bold=True) + 24
        left = min(max(x - wide / 2, _RIGHT + 8), WIDTH - 8 - wide)
        marks.append(Box(f"party/{party}", left, 42, wide, 28, name, centred=True, tooltip=party))
    if not state.calls:
        marks.append(Text("calls/none", _RIGHT + 16, 106, say("registration.calls.none"), tone="muted"))
    first = max(0, len(state.calls) - _CALLS)
    for index, call in enumerate(state.calls[first:], first):
        lit = index == len(state.calls) - 1
        marks += _call(call, index, 108 + _CALL * (index - first), lanes, lit=lit)
    return marks


def _lanes(parties: tuple[str, ...]) -> dict[str, float]:
    left, right = _RIGHT + 66, WIDTH - 60
    step = (right - left) / max(len(parties) - 1, 1)
    return {party: left + step * index for index, party in enumerate(parties)}


def _call(call: SequenceCall, index: int, y: float, lanes: dict[str, float], *, lit: bool) -> list[Mark]:
    key = f"call/{index}"
    x0, x1 = lanes[call.source], lanes[call.target]
    left, right = _RIGHT + 10, WIDTH - 10
    marks: list[Mark] = []
    if lit:
        marks.append(Band(f"{key}/lit", left - 2, y - 20, right - left + 4, _CALL - 4))
    text, *rest = wrap(call.text, right - left - 12, 2 if call.error else 1, mono=True) or [""]
    below = rest[0] if rest else fit(call.payload, right - left - 12)
    tone = "unhealthy" if call.error else "ink"
    middle = _inside((x0 + x1) / 2, text_width(text, mono=True), left, right)
    ground = "wash" if lit else "panel"
    wide = text_width(text, mono=True) + 8
    marks.append(Band(f"{key}/ground", middle - wide / 2, y - 16, wide, 18, ground, 0))
    marks.append(
        Text(f"{key}/text", middle, y - 3, text, mono=True, tone=tone, anchor="middle", tooltip=call.text)
    )
    end = x1 - 3 if x1 > x0 else x1 + 3
    look = "lit" if lit else "quiet"
    marks.append(Line(f"{key}/arrow", ((x0, y + 5), (end, y + 5)), look, dashed=call.answer, arrow=True))  # type: ignore[arg-type]
    if below:
        wide = text_width(below, mono=bool(rest)) + 8
        at = _inside((x0 + x1) / 2, wide - 8, left, right)
        marks.append(Band(f"{key}/payload/ground", at - wide / 2, y + 11, wide, 17, ground, 0))
        style = tone if rest else "muted"
        tip = call.text if rest else call.payload
        words = Text(
            f"{key}/payload", at, y + 24, below, tone=style, mono=bool(rest), anchor="middle", tooltip=tip
        )
        marks.append(words)
    return marks


def _inside(middle: float, width: float, left: float, right: float) -> float:
    """The middle of a text that stays between left and right."""
    return min(max(middle, left + width / 2 + 4), right - width / 2 - 4)


def _transitions() -> Table:
    rows = tuple((before, event, after) for (before, event), after in PLUGIN_PHASES.items())
    return table("transitions", "phase.before event phase.after", rows)


def _call_table(state: RegistrationState) -> Table:
    rows = tuple((call.source, call.target, call.text, call.payload) for call in state.calls)
    return table("calls", "from to call payload", rows)


def _file_table(state: RegistrationState) -> Table:
    rows = tuple((name, say("table.no" if name in state.dead else "table.yes")) for name in state.files)
    return table("sockets", "file served", rows)
