"""The life cycle of a registration, drawn from the kubelet's transition table, its calls, and the socket directory."""

from collections.abc import Sequence
from dataclasses import dataclass

from kubedev.kubelet.devices.endpoint import PLUGIN_PHASES, Phase
from kubedev.views.calls import Calls, Said, StateDiagram, Transition
from kubedev.views.catalogue import say
from kubedev.views.controls import Button, act
from kubedev.views.grammar import Card, Column, Facts, Grid, Knob, Part, Row, Words, picture
from kubedev.views.picture import Picture, table
from kubedev.views.style import WIDTH

__all__ = ["Attempt", "RegistrationState", "SequenceCall", "attempts_picture", "registration_picture"]

_CALLS = 5
_LIFE = [Transition(before, event, after) for (before, event), after in PLUGIN_PHASES.items()]


@dataclass(frozen=True, slots=True)
class SequenceCall:
    """One arrow of the sequence chart: a call, its answer (`answer`), or an error (`error`)."""

    source: str
    target: str
    text: str
    payload: str = ""
    answer: bool = False
    error: bool = False

    def said(self, *, lit: bool = False, payload: bool = True) -> Said:
        """The same for the part that draws it."""
        text = f"{self.text} {self.payload}".strip() if payload else self.text
        return Said(self.source, self.target, text, answer=self.answer, lit=lit, error=self.error)


@dataclass(frozen=True, slots=True)
class RegistrationState:
    """A moment of one plugin's registration: where it was, what happened (empty: nothing yet), where it is.

    `files` are those of the socket directory, `dead` the ones on which nobody listens any more. `places` says
    where the plugins are, by name, when there are several; `note` is what else is to be said. Where a `node` is named
    a plugin can be started there; `plugin` is the resource of the one that can be killed.
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
    node: str = ""
    plugin: str = ""


def registration_picture(state: RegistrationState, width: float = WIDTH) -> Picture:
    """Draw the life cycle with the current phase lit, and the files and the newest calls below it."""
    if state.event:
        sentence = say("registration.sentence", event=state.event, before=state.before, after=state.phase)
    else:
        sentence = say("registration.sentence.start", phase=state.phase)
    caption = say("table.transitions")
    life = StateDiagram(_LIFE, state.phase, before=state.before, event=state.event, caption=caption)
    calls = [(call.source, call.target, call.text, call.payload) for call in state.calls]
    files = [(name, say("table.no" if name in state.dead else "table.yes")) for name in state.files]
    facts = (
        Facts(table("calls", "from to call payload", calls)),
        Facts(table("sockets", "file served", files)),
    )
    left = Column(*_places(state), Card(say("registration.files"), *_files(state), corner=_knobs(state)))
    below = Row(left, _calls(state), shares=(1, 2.6))
    body = Column(*facts, Card("", life), below)
    return picture(say("registration.title"), f"{sentence} {state.note}".strip(), body, width)


def _knobs(state: RegistrationState) -> list[Knob]:
    """What acts on the directory: a plugin is started, or killed."""
    if not state.node:
        return []
    if state.plugin:
        kill = act("kill_plugin", resource=state.plugin, node=state.node)
        return [Knob(Button(say("path.kill"), kill), "control/kill")]
    return [
        Knob(Button(say("path.start-plugin"), act("start_plugin", node=state.node)), "control/start_plugin")
    ]


def _places(state: RegistrationState) -> list[Part]:
    """Where each plugin is, if there are several."""
    said = [Words(say("registration.place", name=name, phase=phase)) for name, phase in state.places]
    return [Card(say("registration.places"), *said)] if said else []


def _files(state: RegistrationState) -> list[Part]:
    """The socket directory; a file that nobody serves any more says so."""
    if not state.files:
        return [Words(say("registration.files.none"), "muted")]
    dead = say("registration.files.dead")
    return [
        Words(
            f"{name} ({dead})" if name in state.dead else name,
            "muted" if name in state.dead else "ink",
            mono=True,
        )
        for name in state.files
    ]


def _calls(state: RegistrationState) -> Card:
    """The newest calls, the last one lit; how many came before."""
    last = len(state.calls) - 1
    shown = [call.said(lit=n == last) for n, call in enumerate(state.calls)][-_CALLS:]
    before = len(state.calls) - len(shown)
    corner = [Words(say("registration.calls.before", count=before), "muted")] if before else []
    none = [] if state.calls else [Words(say("registration.calls.none"), "muted")]
    return Card(say("registration.calls"), Calls(state.parties, shown), *none, corner=corner)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One plugin: what is special about it, its calls, what Register answered (empty: it was let in), and a note."""

    title: str
    calls: tuple[SequenceCall, ...]
    error: str
    note: str = ""


def attempts_picture(attempts: Sequence[Attempt], width: float = WIDTH) -> Picture:
    """Draw a card for each attempt to register: its calls, and the answer that came back."""
    good = sum(1 for attempt in attempts if not attempt.error)
    rows = [(each.title, each.error or say("attempts.good"), each.note) for each in attempts]
    facts = Facts(table("attempts", "plugin answer note", rows))
    sentence = say("attempts.sentence", good=good, count=len(attempts))
    body = Column(facts, Grid(*map(_attempt, attempts), across=3))
    return picture(say("attempts.title", count=len(attempts)), sentence, body, width)


def _attempt(attempt: Attempt) -> Card:
    tone, verdict = ("unhealthy", "✕ {}") if attempt.error else ("free", "✓ {}")
    words = verdict.format(say("attempts.bad" if attempt.error else "attempts.good"))
    return Card(
        attempt.title,
        Calls(("plugin", "kubelet"), [call.said(payload=False) for call in attempt.calls]),
        Words(attempt.error, tone, mono=True),
        Words(attempt.note, "muted"),
        corner=[Words(words, tone, bold=True)],
    )
