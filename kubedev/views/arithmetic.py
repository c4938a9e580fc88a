"""Lab 01: what a pod asks for, as bars over its life; the request is the line that all of them stay under."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kubedev.api.problems import Problem
from kubedev.api.qos import QOSDecision
from kubedev.api.quantity import Quantity
from kubedev.api.requests import PodArithmetic, RequestStep, Role
from kubedev.views.catalogue import say
from kubedev.views.grammar import Card, Words, picture
from kubedev.views.picture import Band, Line, Mark, Panel, Picture, Table, Text, table
from kubedev.views.style import WIDTH, fit, fit_middle, text_width, wrap

__all__ = ["Life", "Moment", "Part", "arithmetic_picture", "lives_picture", "moments", "refused_picture"]

_CHART_WIDTH = 800.0
_HEIGHT = 430.0
_LEFT, _RIGHT = 124.0, _CHART_WIDTH - 30
_TOP, _BASE = 54.0, 350.0
_TONES = {Role.CONTAINER: "accent", Role.SIDECAR: "muted", Role.INIT: "accent"}
_ZERO = Quantity()


@dataclass(frozen=True, slots=True)
class Part:
    """What one container needs in a moment."""

    container: str
    role: Role
    amount: Quantity


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of the pod's life: an init container runs (with the sidecars before it), or all the others."""

    title: str
    parts: tuple[Part, ...]

    @property
    def total(self) -> Quantity:
        """What is needed in this moment."""
        total = _ZERO
        for part in self.parts:
            total = total + part.amount
        return total


@dataclass(frozen=True, slots=True)
class Life:
    """One of several pods side by side: what is said of it, and what it asks for."""

    title: str
    arithmetic: PodArithmetic


def moments(arithmetic: PodArithmetic, resource: str) -> tuple[Moment, ...]:
    """Return the moments of a pod's life in order, the last one being when all its containers run."""
    sidecars: tuple[Part, ...] = ()
    out: list[Moment] = []
    for step in arithmetic.steps:
        if step.role is Role.SIDECAR:
            sidecars += (_part(step, resource),)
        elif step.role is Role.INIT:
            out.append(Moment(step.container, (*sidecars, _part(step, resource))))
    running = tuple(_part(step, resource) for step in arithmetic.steps if step.role is Role.CONTAINER)
    return (*out, Moment(say("arithmetic.running"), (*sidecars, *running)))


def _part(step: RequestStep, resource: str) -> Part:
    return Part(step.container, step.role, step.requests.get(resource, _ZERO))


def arithmetic_picture(arithmetic: PodArithmetic, resource: str, qos: QOSDecision) -> Picture:
    """Draw the moments as stacked bars, the request as their envelope, and the QoS class with its rule."""
    life = moments(arithmetic, resource)
    total = arithmetic.total.get(resource, _ZERO)
    overhead = arithmetic.overhead.get(resource, _ZERO)
    most = max(total.milli_value(), 1)
    marks: list[Mark] = [Panel("chart", 0, 0, _CHART_WIDTH, _HEIGHT)]
    pitch = (_RIGHT - _LEFT) / len(life)
    width = min(pitch * 0.66, 150.0)
    for index, moment in enumerate(life):
        x = _LEFT + pitch * (index + 0.5)
        marks += _bar(moment, f"bar/{index}", (x, width), most)
        marks += _top(moment, f"bar/{index}", (x, width, pitch), overhead, most)
    marks += _envelope(total, most)
    marks += _legend(overhead)
    marks += _qos(qos)
    sentence = _sentence(arithmetic, resource, qos)
    alt = say("arithmetic.alt", sentence=sentence)
    title = say("arithmetic.title", resource=resource)
    return Picture(title, sentence, _HEIGHT, tuple(marks), (_table(life),), alt)


def refused_picture(label: str, problems: Sequence[Problem]) -> Picture:
    """Say why the API server refuses a pod: such a pod is never stored, so there is nothing to draw."""
    title = say("refused.title")
    sentence = say("refused.sentence", text=f"{label} {'; '.join(map(str, problems))}")
    drawn = picture(title, sentence, Card(f"✕ {label}", *(Words(str(problem)) for problem in problems)))
    rows = [(problem.field, problem.message) for problem in problems]
    return replace(drawn, tables=(table("refused", "wrong-field why", rows),))


def lives_picture(lives: Sequence[Life], resource: str) -> Picture:
    """Draw several pods on one scale, each with its own request."""
    totals = [life.arithmetic.total.get(resource, _ZERO) for life in lives]
    most = max(*(total.milli_value() for total in totals), 1)
    gap = 14.0
    width = (WIDTH - gap * (len(lives) - 1)) / len(lives)
    marks: list[Mark] = []
    for index, (life, total) in enumerate(zip(lives, totals, strict=True)):
        left, key = index * (width + gap), f"life/{index}"
        title = fit(life.title, width - 32, bold=True)
        marks.append(Panel(key, left, 0, width, _BASE + 44, title, tooltip=life.title))
        marks += _small(life.arithmetic, resource, key, (left, width), most)
        y = _y(total.milli_value(), most)
        marks.append(Line(f"{key}/request", ((left + 10, y), (left + width - 10, y)), "strong"))
    marks += _legend(_ZERO)
    said = ", ".join(
        say("lives.total", title=life.title, total=total) for life, total in zip(lives, totals, strict=True)
    )
    sentence = say("lives.sentence", totals=said, resource=resource)
    rows = tuple((life.title, str(total)) for life, total in zip(lives, totals, strict=True))
    tables = (table("lives", "pod request", rows),)
    alt = say("lives.alt", sentence=sentence)
    return Picture(say("lives.title", resource=resource), sentence, _HEIGHT, tuple(marks), tables, alt)


def _small(
    arithmetic: PodArithmetic, resource: str, key: str, place: tuple[float, float], most: int
) -> list[Mark]:
    left, width = place
    life = moments(arithmetic, resource)
    pitch = (width - 20) / len(life)
    marks: list[Mark] = []
    for number, moment in enumerate(life):
        at = (left + 10 + pitch * (number + 0.5), pitch * 0.8)
        marks += _bar(moment, f"{key}/{number}", at, most)
        overhead = arithmetic.overhead.get(resource, _ZERO)
        marks += _top(moment, f"{key}/{number}", (*at, pitch), overhead, most)
    return marks


def _y(milli: int, most: int) -> float:
    return _BASE - (_BASE - _TOP) * milli / most


def _bar(moment: Moment, key: str, place: tuple[float, float], most: int) -> list[Mark]:
    """The parts of a moment, one on top of the other, each with its name where there is room."""
    x, width = place
    marks: list[Mark] = []
    below = 0
    for number, part in enumerate(moment.parts):
        milli = part.amount.milli_value()
        top, height = _y(below + milli, most), _y(below, most) - _y(below + milli, most) - 2
        below += milli
        if height <= 0:
            continue
        tip = f"{part.container} ({part.role}): {part.amount}"
        marks.append(_block(f"{key}/{number}", part.role, (x - width / 2, top, width, height), tip))
        words = f"{part.container} {part.amount}"
        if text_width(words, bold=True) > width - 10:
            words = fit(str(part.amount), width - 10, bold=True)
        if height > 20:
            tone = "ink" if part.role is Role.INIT else "on-accent"
            at = (x, top + height / 2 + 5)
            label = Text(
                f"{key}/{number}/label", *at, words, tone=tone, bold=True, anchor="middle", tooltip=tip
            )
            marks.append(label)
    return marks


def _block(key: str, role: Role, place: tuple[float, float, float, float], tip: str = "") -> Band:
    """Containers and sidecars are filled; init containers, which are gone when those run, are outlined."""
    x, y, width, height = place
    if role is not Role.INIT or height < 5:
        return Band(key, x, y, width, height, _TONES[role], min(6, height / 2), tooltip=tip)
    inner = (x + 1.5, y + 1.5, width - 3, height - 3)
    return Band(key, *inner, _TONES[role], min(6, height / 2), outlined=True, tooltip=tip)


def _top(
    moment: Moment, key: str, place: tuple[float, float, float], overhead: Quantity, most: int
) -> list[Mark]:
    """The overhead on top of a bar, the sum above it, the moment's name below."""
    x, width, pitch = place
    total = moment.total + overhead
    y, under = _y(total.milli_value(), most), _y(moment.total.milli_value(), most)
    marks: list[Mark] = []
    if under - y > 2:
        height = under - y - 2
        marks.append(Band(f"{key}/overhead", x - width / 2, y, width, height, "edge", min(6, height / 2)))
    label = fit_middle(moment.title, pitch - 8)
    return [
        *marks,
        Text(f"{key}/total", x, y - 9, fit(str(total), pitch - 6, bold=True), bold=True, anchor="middle"),
        Text(f"{key}/title", x, _BASE + 24, label, anchor="middle", tooltip=moment.title),
    ]


def _envelope(total: Quantity, most: int) -> list[Mark]:
    """The base line, and the request, which no moment exceeds."""
    y = _y(total.milli_value(), most)
    name, amount = say("arithmetic.request"), fit(str(total), _LEFT - 30, bold=True)
    return [
        Line("axis", ((_LEFT - 10, _BASE), (_RIGHT, _BASE)), "rule"),
        Line("request", ((_LEFT - 10, y), (_RIGHT, y)), "strong"),
        Text("request/label", _LEFT - 18, y - 3, name, tone="accent", anchor="end"),
        Text("request/amount", _LEFT - 18, y + 16, amount, tone="accent", bold=True, anchor="end"),
    ]


def _legend(overhead: Quantity) -> list[Mark]:
    marks: list[Mark] = []
    x, y = _LEFT - 10, _HEIGHT - 18
    roles = {"container": Role.CONTAINER, "sidecar": Role.SIDECAR, "init": Role.INIT}
    for name, role in roles.items():
        words = say(f"arithmetic.{name}")
        marks.append(_block(f"legend/{name}", role, (x, y - 13, 16, 16)))
        marks.append(Text(f"legend/{name}/word", x + 23, y, words, tone="muted"))
        x += 23 + text_width(words) + 22
    if overhead.milli_value() > 0:
        marks.append(Band("legend/overhead", x, y - 13, 16, 16, "edge", 4))
        marks.append(Text("legend/overhead/word", x + 23, y, say("arithmetic.overhead"), tone="muted"))
    return marks


def _qos(qos: QOSDecision) -> list[Mark]:
    left = _CHART_WIDTH + 16
    width = WIDTH - left
    marks: list[Mark] = [
        Panel("qos", left, 0, width, _HEIGHT, say("arithmetic.qos")),
        Text("qos/class", left + 16, 62, qos.qos_class, 20, bold=True),
    ]
    lines = wrap(str(qos.rule), width - 32, 5)
    for row, line in enumerate(lines):
        marks.append(Text(f"qos/rule/{row}", left + 16, 94 + 20 * row, line))
    top = 94 + 20 * len(lines) + 12
    for row, line in enumerate(wrap(qos.because, width - 32, 6)):
        marks.append(Text(f"qos/because/{row}", left + 16, top + 20 * row, line, tone="muted"))
    return marks


def _sentence(arithmetic: PodArithmetic, resource: str, qos: QOSDecision) -> str:
    starting = arithmetic.starting.get(resource, _ZERO)
    running = arithmetic.running.get(resource, _ZERO)
    rule = say(f"arithmetic.rule.{'starting' if starting > running else 'running'}")
    overhead = arithmetic.overhead.get(resource, _ZERO)
    if overhead.milli_value() > 0:
        rule = say("arithmetic.rule.overhead", rule=rule, overhead=overhead)
    total = arithmetic.total.get(resource, _ZERO)
    why = qos.because or str(qos.rule)
    return say("arithmetic.sentence", total=total, resource=resource, rule=rule, qos=qos.qos_class, why=why)


def _table(life: tuple[Moment, ...]) -> Table:
    rows = tuple(
        (moment.title, part.container, str(part.role), str(part.amount), str(moment.total))
        for moment in life
        for part in moment.parts
    )
    return table("arithmetic", "moment container role request needed", rows)
