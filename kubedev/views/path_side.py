"""The right side of the path's picture: the pods with the reason why one waits, and the messages."""

from collections.abc import Sequence

from kubedev.views.catalogue import say
from kubedev.views.path_state import ContainerView, MessageView, NodeView, PathState, PodView
from kubedev.views.picture import Band, Dot, Mark, Panel, Text
from kubedev.views.style import WIDTH, fit, fit_middle, text_width, wrap

__all__ = ["message_marks", "pod_marks"]

_LEFT = 716.0
_WIDTH = WIDTH - _LEFT
_TEXT_WIDTH = _WIDTH - 32
_PODS_HEIGHT = 218.0
_ROW = 23.0
_LINE = 19.0
_LOG_TOP = 232.0
_LOG_HEIGHT = 268.0
_LOG_ROW = 25.0
_NUMBER_WIDTH = 34.0
_ROUTE_WIDTH = 148.0
_TONES = {"Running": "free", "Pending": "reusable", "Failed": "unhealthy", "Succeeded": "muted"}


def pod_marks(state: PathState) -> list[Mark]:
    """Return the panel of pods: one in detail, the others a line each, what has no room by name."""
    marks: list[Mark] = [Panel("pods", _LEFT, 0, _WIDTH, _PODS_HEIGHT, say("path.pods"))]
    y = 52.0
    if not state.pods:
        return [*marks, Text("pods/none", _LEFT + 16, y, say("path.pods.none"), tone="muted")]
    focus = next((pod for pod in state.pods if pod.name == state.focus), state.pods[-1])
    details = _details(state, focus)
    rows = int((_PODS_HEIGHT - y - 8 - len(details) * _LINE) // _ROW) + 1
    shown, hidden = _choose(state.pods, focus, rows)
    told: list[Mark] = []
    for pod in shown:
        marks += _pod_row(pod, y)
        y += _ROW
        if pod is focus:
            told = [_detail(row, y + row * _LINE, text, mono) for row, (text, mono) in enumerate(details)]
            if len(state.pods) > 1:
                marks.insert(1, Band("pods/lit", _LEFT + 8, y - _ROW - 17, _WIDTH - 16, _ROW + 1))
            y += len(details) * _LINE + 2 * bool(details)
    if hidden:
        names = say("path.pods.others", count=len(hidden), names=", ".join(pod.name for pod in hidden))
        marks.append(Text("pods/others", _LEFT + 16, y, fit(names, _TEXT_WIDTH), tone="muted", tooltip=names))
    return [*marks, *told]


def _choose(pods: tuple[PodView, ...], focus: PodView, rows: int) -> tuple[list[PodView], list[PodView]]:
    """The pod in focus, then those that do not run, then the newest; in the order of the store."""
    if len(pods) <= rows:
        return list(pods), []
    ranked = sorted(pods, key=lambda pod: (pod is not focus, pod.phase == "Running", -pods.index(pod)))
    kept = ranked[: rows - 1]
    return [pod for pod in pods if pod in kept], [pod for pod in pods if pod not in kept]


def _pod_row(pod: PodView, y: float) -> list[Mark]:
    key = f"pod/{pod.name}"
    right = " · ".join(part for part in (pod.phase, pod.devices) if part)
    right = fit(right, 150)
    name = fit_middle(pod.name, _TEXT_WIDTH - 20 - text_width(right) - 10, bold=True)
    tone = _TONES.get(pod.phase, "muted")
    return [
        Dot(f"{key}/dot", _LEFT + 22, y - 5, 5, tone),
        Text(f"{key}/name", _LEFT + 36, y, name, bold=True, tooltip=pod.name),
        Text(f"{key}/phase", _LEFT + _WIDTH - 16, y, right, tone="ink", anchor="end"),
    ]


def _details(state: PathState, pod: PodView) -> list[tuple[str, bool]]:
    """What is to be said of the pod in focus: its reason, or its containers; (text, monospace)."""
    lines: list[tuple[str, bool]] = []
    if pod.reason or pod.message:
        text = ": ".join(part for part in (pod.reason, pod.message) if part)
        lines += [(line, False) for line in wrap(text, _TEXT_WIDTH - 20, 6)]
    for container in _containers(state.nodes, pod):
        if container.pid is not None:
            lines.append((say("path.pod.pid", container=container.name, pid=container.pid), False))
        lines += [(fit(line, _TEXT_WIDTH - 20, mono=True), True) for line in container.lines]
    return lines[:6]


def _containers(nodes: tuple[NodeView, ...], pod: PodView) -> list[ContainerView]:
    return [container for node in nodes for container in node.containers if container.pod == pod.name]


def _detail(row: int, y: float, text: str, mono: bool) -> Text:
    return Text(
        f"pods/detail/{row}", _LEFT + 36, y, fit(text, _TEXT_WIDTH - 20, mono=mono), tone="muted", mono=mono
    )


def message_marks(state: PathState) -> list[Mark]:
    """Return the log: the latest message in full at the end, those before it a line each."""
    marks: list[Mark] = [Panel("log", _LEFT, _LOG_TOP, _WIDTH, _LOG_HEIGHT, say("path.messages"))]
    top = _LOG_TOP + 40
    if not state.messages:
        return [*marks, Text("log/none", _LEFT + 16, top + 14, say("path.messages.none"), tone="muted")]
    last = state.messages[-1]
    text = wrap(last.text, _TEXT_WIDTH - _NUMBER_WIDTH, 3, mono=True)
    height = 22 + _LINE * len(text)
    rows = int((_LOG_TOP + _LOG_HEIGHT - 12 - top - height) // _LOG_ROW)
    y = top + 12
    for message in state.messages[-rows - 1 : -1]:
        marks += _message_row(message, y)
        y += _LOG_ROW
    if not state.quiet:
        marks.insert(1, Band("log/lit", _LEFT + 8, y - 16, _WIDTH - 16, height + 10))
    return [*marks, *_last_message(last, text, y)]


def _route(message: MessageView) -> str:
    source, target = say(f"party.{message.source}"), say(f"party.{message.target}")
    if source == target:
        return source
    return say("path.message.stream" if message.stream else "path.message", source=source, target=target)


def _message_row(message: MessageView, y: float) -> list[Mark]:
    """A message in one line: its text if there is room, else its label."""
    key = f"log/{message.number}"
    x = _LEFT + 16 + _NUMBER_WIDTH
    room = _TEXT_WIDTH - _NUMBER_WIDTH - _ROUTE_WIDTH
    text = (
        message.text if text_width(message.text, mono=True) <= room else fit(message.label, room, mono=True)
    )
    return [
        Text(f"{key}/number", _LEFT + 16, y, str(message.number), tone="muted", bold=True),
        Text(f"{key}/route", x, y, fit(_route(message), _ROUTE_WIDTH - 6), tone="muted"),
        Text(f"{key}/text", x + _ROUTE_WIDTH, y, text, mono=True, tooltip=message.text),
    ]


def _last_message(message: MessageView, text: Sequence[str], y: float) -> list[Mark]:
    key = f"log/{message.number}"
    x = _LEFT + 16 + _NUMBER_WIDTH
    marks: list[Mark] = [
        Text(f"{key}/number", _LEFT + 16, y + 4, str(message.number), bold=True),
        Text(f"{key}/route", x, y + 4, _route(message), bold=True),
    ]
    for row, line in enumerate(text):
        place = f"{key}/text" if row == 0 else f"{key}/text/{row}"
        marks.append(Text(place, x, y + 25 + _LINE * row, line, mono=True, tooltip=message.text))
    return marks
