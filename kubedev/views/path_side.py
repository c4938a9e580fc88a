"""Beside the path: the pods with the reason why one waits, and the messages around the present one."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from kubedev.views.catalogue import say
from kubedev.views.controls import Button, act
from kubedev.views.grammar import Card, Column, Knob, Part, Row, Words
from kubedev.views.part import Around, Block, line_height
from kubedev.views.path_state import ContainerView, MessageView, PathControls, PathState, PodView
from kubedev.views.picture import Band, Dot, Mark, Text
from kubedev.views.style import flow, text_width

__all__ = ["log_card", "pods_card"]

_MOST = 4  # pods with a line of their own
_NUMBER = 30.0
_ROWS = 4  # messages that are seen at least
_TONES = {"Running": "free", "Pending": "reusable", "Failed": "unhealthy", "Succeeded": "muted"}


def pods_card(state: PathState) -> Card:
    """Return the card of pods: one in detail, the others a line each, what has no room by name."""
    if not state.pods:
        return Card(say("path.pods"), Words(say("path.pods.none"), "muted"), high=109)
    focus = next((pod for pod in state.pods if pod.name == state.focus), state.pods[-1])
    containers = tuple(c for node in state.nodes for c in node.containers if c.pod == focus.name)
    return _pods(state.pods, focus, containers, len(state.nodes) > 1, state.controls)


@lru_cache(16)  # most messages change no pod
def _pods(
    pods: tuple[PodView, ...],
    focus: PodView,
    containers: tuple[ContainerView, ...],
    placed: bool,
    controls: PathControls | None,
) -> Card:
    shown, hidden = _choose(pods, focus)
    lines: list[Part] = []
    for pod in shown:
        lines.append(_pod(pod, placed, controls))
        lines += _details(pod, containers) if pod is focus else []
    if hidden:
        names = ", ".join(pod.name for pod in hidden)
        lines.append(Words(say("path.pods.others", count=len(hidden), names=names), "muted"))
    return Card(say("path.pods"), Column(*lines, gap=4), high=109)


def _choose(pods: tuple[PodView, ...], focus: PodView) -> tuple[list[PodView], list[PodView]]:
    """The pod in focus, then those that do not run, then the newest; in the order of the store."""
    ranked = sorted(pods, key=lambda pod: (pod is not focus, pod.phase == "Running", -pods.index(pod)))
    kept = ranked[:_MOST]
    return [pod for pod in pods if pod in kept], [pod for pod in pods if pod not in kept]


def _pod(pod: PodView, placed: bool, controls: PathControls | None) -> Part:
    """Its name and phase, then where it is (if there are several nodes) and what it holds."""
    where = pod.node if placed else ""
    held = say("path.pod.holds", devices=pod.devices) if pod.devices else ""
    key = f"pod/{pod.name}"
    title = Row(
        Words(pod.name, bold=True, key=f"{key}/name"),
        Words(pod.phase, key=f"{key}/phase"),
        shares=(0, 0),
        gap=8,
    )
    name = Column(
        _Dotted(_TONES.get(pod.phase, "muted"), title),
        _Indented(Words(" · ".join(part for part in (where, held) if part), "muted", key=f"{key}/holds")),
        gap=0,
    )
    if controls is None:
        return name
    delete = Button(say("path.delete"), act("delete", pod=pod.name), disabled=not controls.changing)
    return Row(name, Knob(delete, f"control/delete/{pod.name}"), shares=(1, 0), gap=8)


def _details(pod: PodView, containers: tuple[ContainerView, ...]) -> list[Part]:
    """What is to be said of the pod in focus: its reason, or its containers."""
    lines: list[Part] = []
    if pod.reason or pod.message:
        reason = ": ".join(part for part in (pod.reason, pod.message) if part)
        lines.append(_Indented(Words(reason, "muted", key="pods/detail")))
    for container in containers:
        if container.pid is not None:
            pid = say("path.pod.pid", container=container.name, pid=container.pid)
            lines.append(_Indented(Words(pid, "muted")))
        lines += [_Indented(Words(line, "muted", mono=True)) for line in container.lines]
    return lines


class _Indented(Around):
    """A part under a name with a mark before it."""

    by = 18.0

    def lay(self, width: float, key: str) -> Block:
        block = self.part.lay(width - self.by, key)
        return Block(block.height, lambda x, y, height: block.draw(x + self.by, y, height))

    def least(self) -> float:
        return self.part.least() + self.by


class _Dotted(_Indented):
    """A part with a dot before it."""

    def __init__(self, tone: str, part: Part) -> None:
        super().__init__(part)
        self.tone = tone

    def lay(self, width: float, key: str) -> Block:
        block = super().lay(width, key)

        def draw(x: float, y: float, height: float) -> Iterator[Mark]:
            yield Dot(f"{key}/dot", x + 6, y + 9, 5, self.tone)
            yield from block.draw(x, y, height)

        return Block(block.height, draw)


def log_card(state: PathState) -> Card:
    """Return the card of messages: as many around the present one as there is room for."""
    if not state.messages:
        return Card(say("path.messages"), Words(say("path.messages.none"), "muted"))
    now = None if state.quiet else len(state.messages) - 1
    here = state.node or next((node.name for node in state.nodes), "")
    return Card(say("path.messages"), _Log(state.messages, now, here))


@dataclass(frozen=True, slots=True)
class _Log(Part):
    """The newest messages; the one at `now` is lit and told in full. Those of another node than `here` name it."""

    messages: tuple[MessageView, ...]
    now: int | None
    here: str

    def least(self) -> float:
        return _NUMBER + self._route() + 80

    def _route(self) -> float:
        """How wide the longest "from → to" is."""
        routes = {(message.source, message.target, message.stream) for message in self.messages}
        return max(text_width(_between(*route)) for route in routes) + 8

    def lay(self, width: float, key: str) -> Block:
        route = self._route()

        @cache
        def row(n: int) -> Block:
            return self._row(n, width, route)

        needed = sum(row(n).height for n in self._last(_ROWS))

        def draw(x: float, y: float, height: float) -> Iterator[Mark]:
            count = _ROWS
            while count < len(self.messages) and sum(row(n).height for n in self._last(count + 1)) <= height:
                count += 1
            for n in self._last(count):
                yield from row(n).draw(x, y, row(n).height)
                y += row(n).height

        return Block(needed, draw)

    def _last(self, count: int) -> range:
        return range(max(0, len(self.messages) - count), len(self.messages))

    def _row(self, n: int, width: float, route: float) -> Block:
        message, lit = self.messages[n], n == self.now
        route = max(route, text_width(_route(message), bold=lit) + 8)
        key, room = f"log/{message.number}", width - _NUMBER - route
        where = f"{message.node}: " if message.node not in ("", self.here) else ""
        whole = text_width(where + message.text, mono=True) <= room
        text = where + (message.text if whole or lit else message.label)
        below = lit and not whole
        lines = flow(text, width - _NUMBER if below else room, mono=True)
        step = line_height()
        high = step * (len(lines) + below) + 6
        quiet = "ink" if lit else "muted"

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            if lit:
                yield Band("log/lit", x - 8, y, width + 16, high, radius=6)
                yield Band("log/now", x - 8, y, 3, high, "accent", radius=1.5)
            at = y + 17
            yield Text(f"{key}/number", x, at, str(message.number), tone=quiet, bold=True)
            yield Text(f"{key}/route", x + _NUMBER, at, _route(message), tone=quiet, bold=lit)
            left, top = (x + _NUMBER, at + step) if below else (x + _NUMBER + route, at)
            for number, line in enumerate(lines):
                name = f"{key}/text" if number == 0 else f"{key}/text/{number}"
                yield Text(name, left, top + step * number, line, mono=True, tooltip=message.text)

        return Block(high, draw)


def _route(message: MessageView) -> str:
    return _between(message.source, message.target, message.stream)


@cache  # there are only so many parties
def _between(source: str, target: str, stream: bool) -> str:
    first, second = say(f"party.{source}"), say(f"party.{target}")
    if source == target:
        return first
    return say("path.message.stream" if stream else "path.message", source=first, target=second)
