"""The live view of `kubedev kubelet` on a terminal: resources, pods, what happened, and the command typed."""

import os
import termios
import threading
import tty
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from kubedev.console import Ending, json_line, visible
from kubedev.kubelet.kubelet import KubeletState
from kubedev.kubelet.kubelet_configuration import KubeletConfiguration
from kubedev.kubelet.pods import api_phase
from kubedev.tools.kubelet_lines import Line, capacity_line, device_lines
from kubedev.tools.kubelet_tool import KubeletTool

__all__ = ["run_on_terminal", "typed", "view"]

LEAVE = b"\x1b[?1049l\x1b[?25h"  # the alternate screen, with the cursor shown again
SHOWN = 64  # devices of a resource; a terminal has no room for thousands


def run_on_terminal(
    directory: str, configuration: KubeletConfiguration, pod_resources: str | None = None
) -> None:
    """Run the tool with a live view until it ends. Raises SocketDirectoryError."""
    log: deque[Line] = deque(maxlen=500)
    log.extend({"event": "note", "note": note} for note in configuration.notes)
    before = termios.tcgetattr(0)
    ending = Ending()
    tool = KubeletTool(directory, 0, log.append, pod_resources, configuration.config)

    def at_last() -> None:
        tool.abandon()
        os.write(1, LEAVE)
        termios.tcsetattr(0, termios.TCSANOW, before)

    ending.of(tool.end, at_last)
    console = Console()
    line = [""]

    def read() -> None:
        for text, complete in typed(keys(0)):
            line[0] = "" if complete else text
            if complete and text.split() == ["quit"]:
                tool.end()
            elif complete:
                tool.post(text)
        tool.end()  # the terminal is gone

    def now() -> RenderableType:
        return view(tool.state, list(log), line[0], console.height)

    with letter_by_letter(0), Live(console=console, screen=True, get_renderable=now):
        threading.Thread(target=read, daemon=True).start()
        tool.run()


def view(state: KubeletState, log: Sequence[Line], command: str, height: int) -> RenderableType:
    """The whole screen, `height` lines of it."""
    tables = [_resources(state), _pods(state)]
    rows = sum(table.row_count for table in tables)
    room = max(height - rows - 12, 3)
    sentences = [sentence for line in log[-room:] for sentence in _sentences(line)]
    events = Text("\n".join(sentences[-room:]), no_wrap=True, overflow="ellipsis")
    prompt = Text(f"> {command}_", style="bold")
    return Group(*tables, Text("What happened", style="bold"), events, Text(), prompt)


def _resources(state: KubeletState) -> Table:
    table = Table(
        "Resource", "Plugin", "Capacity", "Allocatable", "Devices", title="kubedev kubelet", expand=True
    )
    counts = capacity_line(state)
    for line in device_lines(state):
        resource = line["resource"]
        table.add_row(
            Text(visible(resource)),
            line["plugin"],
            str(counts["capacity"].get(resource, "-")),
            str(counts["allocatable"].get(resource, "-")),
            _devices(line["devices"]),
        )
    return table


MARKS = {"Unhealthy": ("✕", "red"), "not listed": ("?", "yellow")}


def _devices(devices: Sequence[Line]) -> Text:
    text = Text()
    for device in devices[:SHOWN]:
        mark, style = MARKS.get(device["health"], ("■" if device["pod"] else "□", ""))
        holder = device["pod"] or ("taken, no record" if "note" in device else "")
        text.append(visible(f"{mark} {device['id'][:20]}{f'({holder})' if holder else ''} "), style)
    if len(devices) > SHOWN:
        text.append(f"and {len(devices) - SHOWN} more")
    return text


def _pods(state: KubeletState) -> Table:
    table = Table("Pod", "Phase", "Message", expand=True)
    for uid, record in state.pods.items():
        message = " ".join(filter(None, (record.reason, record.message)))
        table.add_row(Text(visible(uid)), api_phase(record), Text(visible(message)))
    return table


def _sentences(line: Line) -> Iterator[str]:
    """One sentence, and for `why` one more for each affinity and each step."""
    simple = {name: value for name, value in line.items() if line["event"] != "why" or isinstance(value, str)}
    yield f"{simple.pop('event')}: {', '.join(f'{name}={_short(value)}' for name, value in simple.items())}"
    if line["event"] == "why":
        for affinity in line["affinity"]:
            yield f"  affinity: {', '.join(f'{name}={_short(value)}' for name, value in affinity.items())}"
        for decision in line["devices"]:
            yield f"  {decision['resource']}: {decision['required']} required"
            for step in decision["steps"]:
                yield f"    {step['rule']}: {' '.join(step['taken']) or 'none'} taken. {step['why']}"


def _short(value: object) -> str:
    return visible(value) if isinstance(value, str) else json_line(value)


def keys(descriptor: int) -> Iterator[str]:
    """What is typed, as it comes."""
    while data := os.read(descriptor, 64):
        yield data.decode(errors="ignore")


def typed(parts: Iterator[str]) -> Iterator[tuple[str, bool]]:
    """The command line after each key: its text, and whether it was ended. Backspace and Ctrl-U work.

    Ctrl-D is `quit`.
    """
    line = ""
    for key in (key for part in parts for key in part):
        if key in "\r\n" or (key == "\x04" and not line):  # Ctrl-D
            yield "quit" if key == "\x04" else line, True
            line = ""
            continue
        if key in "\x7f\b":
            line = line[:-1]
        elif key == "\x15":
            line = ""
        elif key.isprintable():
            line += key
        yield line, False


@contextmanager
def letter_by_letter(descriptor: int) -> Iterator[None]:
    """Let the terminal hand on each key at once, and not show it by itself."""
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
