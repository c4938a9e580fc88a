"""What a pod asks for, as bars over its life; the request is the line that all of them stay under."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubedev.api.problems import Problem
from kubedev.api.qos import QOSDecision
from kubedev.api.quantity import Quantity
from kubedev.api.requests import PodArithmetic, RequestStep, Role
from kubedev.views.catalogue import say
from kubedev.views.grammar import Card, Column, Facts, Grid, Row, Words, picture
from kubedev.views.parts import Legend
from kubedev.views.picture import Picture, table
from kubedev.views.plots import Bar, Bars, Piece
from kubedev.views.style import WIDTH

__all__ = ["Moment", "Need", "arithmetic_picture", "lives_picture", "moments", "refused_picture"]

_TONES = {Role.CONTAINER: ("accent", False), Role.SIDECAR: ("muted", False), Role.INIT: ("accent", True)}
_ZERO = Quantity()


@dataclass(frozen=True, slots=True)
class Need:
    """What one container needs in a moment."""

    container: str
    role: Role
    amount: Quantity


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of the pod's life: an init container runs (with the sidecars before it), or all the others."""

    title: str
    needs: tuple[Need, ...]

    @property
    def total(self) -> Quantity:
        """What is needed in this moment."""
        return sum((need.amount for need in self.needs), _ZERO)


def moments(arithmetic: PodArithmetic, resource: str) -> tuple[Moment, ...]:
    """Return the moments of a pod's life in order, the last one being when all its containers run."""
    sidecars: tuple[Need, ...] = ()
    out: list[Moment] = []
    for step in arithmetic.steps:
        if step.role is Role.SIDECAR:
            sidecars += (_need(step, resource),)
        elif step.role is Role.INIT:
            out.append(Moment(step.container, (*sidecars, _need(step, resource))))
    running = tuple(_need(step, resource) for step in arithmetic.steps if step.role is Role.CONTAINER)
    return (*out, Moment(say("arithmetic.running"), (*sidecars, *running)))


def _need(step: RequestStep, resource: str) -> Need:
    return Need(step.container, step.role, step.requests.get(resource, _ZERO))


def arithmetic_picture(
    arithmetic: PodArithmetic, resource: str, qos: QOSDecision, top: Quantity = _ZERO, width: float = WIDTH
) -> Picture:
    """Draw the moments as stacked bars, the request as their envelope, and the QoS class with its rule.

    The scale goes to `top`, or as far as the pod needs.
    """
    life = moments(arithmetic, resource)
    bars = _bars(arithmetic, resource, _scale(arithmetic.total.get(resource, _ZERO), top), high=250)
    rows = [
        (moment.title, need.container, str(need.role), str(need.amount), str(moment.total))
        for moment in life
        for need in moment.needs
    ]
    chart = Card("", bars, _legend(arithmetic.overhead.get(resource, _ZERO)))
    rule = Card(
        say("arithmetic.qos"),
        Words(qos.qos_class, size=20, bold=True),
        Words(str(qos.rule)),
        Words(qos.because, "muted"),
    )
    facts = Facts(table("arithmetic", "moment container role request needed", rows))
    body = Column(facts, Row(chart, rule, shares=(3, 1)))
    title = say("arithmetic.title", resource=resource)
    return picture(title, _sentence(arithmetic, resource, qos), body, width)


def refused_picture(label: str, problems: Sequence[Problem], width: float = WIDTH) -> Picture:
    """Say why the API server refuses a pod: such a pod is never stored, so there is nothing to draw."""
    sentence = say("refused.sentence", text=f"{label} {'; '.join(map(str, problems))}")
    rows = [(problem.field, problem.message) for problem in problems]
    card = Card(f"✕ {label}", *(Words(str(problem)) for problem in problems))
    body = Column(Facts(table("refused", "wrong-field why", rows)), card)
    return picture(say("refused.title"), sentence, body, width)


def lives_picture(lives: Mapping[str, PodArithmetic], resource: str, width: float = WIDTH) -> Picture:
    """Draw several pods, by their titles, on one scale, each with its own request."""
    totals = {title: life.total.get(resource, _ZERO) for title, life in lives.items()}
    top = _scale(max(totals.values(), default=_ZERO))
    cards = (
        Card(title, _bars(life, resource, top, 210, told=False), corner=[_request(life, resource)])
        for title, life in lives.items()
    )
    said = ", ".join(say("lives.total", title=title, total=total) for title, total in totals.items())
    rows = [(title, str(total)) for title, total in totals.items()]
    facts = Facts(table("lives", "pod request", rows))
    overheads = (life.overhead.get(resource, _ZERO) for life in lives.values())
    body = Column(facts, Grid(*cards, across=3), _legend(max(overheads, default=_ZERO)))
    sentence = say("lives.sentence", totals=said, resource=resource)
    return picture(say("lives.title", resource=resource), sentence, body, width)


def _request(arithmetic: PodArithmetic, resource: str) -> Words:
    total = arithmetic.total.get(resource, _ZERO)
    return Words(f"{say('arithmetic.request')} {total}", "accent", bold=True)


def _bars(arithmetic: PodArithmetic, resource: str, top: Quantity, high: float, *, told: bool = True) -> Bars:
    total, overhead = arithmetic.total.get(resource, _ZERO), arithmetic.overhead.get(resource, _ZERO)
    above = (Piece(_number(overhead), "edge", f"{say('arithmetic.overhead')} {overhead}"),)
    bars = []
    for moment in moments(arithmetic, resource):
        pieces = (
            Piece(_number(n.amount), tone, f"{n.container} {n.amount}", str(n.amount), outlined)
            for n in moment.needs
            for tone, outlined in (_TONES[n.role],)
        )
        bars.append(Bar(moment.title, (*pieces, *above), str(moment.total + overhead)))
    words = _request(arithmetic, resource).text if told else ""
    return Bars(
        bars,
        _number(top),
        ticks=(0.0,),
        limit=_number(total),
        limit_words=words,
        beside=told,
        high=high,
    )


def _number(amount: Quantity) -> float:
    return amount.milli_value() / 1000


def _scale(amount: Quantity, top: Quantity = _ZERO) -> Quantity:
    return max(top, Quantity.of(max(amount.value(), 1)))


def _legend(overhead: Quantity) -> Legend:
    roles = {"container": Role.CONTAINER, "sidecar": Role.SIDECAR, "init": Role.INIT}
    tones = [(say(f"arithmetic.{name}"), *_TONES[role]) for name, role in roles.items()]
    return Legend(
        tones=[*tones, *([(say("arithmetic.overhead"), "edge", False)] if overhead > _ZERO else [])]
    )


def _sentence(arithmetic: PodArithmetic, resource: str, qos: QOSDecision) -> str:
    starting = arithmetic.starting.get(resource, _ZERO)
    running = arithmetic.running.get(resource, _ZERO)
    rule = say(f"arithmetic.rule.{'starting' if starting > running else 'running'}")
    overhead = arithmetic.overhead.get(resource, _ZERO)
    if overhead > _ZERO:
        rule = say("arithmetic.rule.overhead", rule=rule, overhead=overhead)
    total = arithmetic.total.get(resource, _ZERO)
    why = qos.because or str(qos.rule)
    return say("arithmetic.sentence", total=total, resource=resource, rule=rule, qos=qos.qos_class, why=why)
