"""`kubedev plugin`: a real device plugin, for any kubelet.

Little is imported before it serves, so that it is there soon.
"""

import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kubedev.console import Ending, Parser, is_terminal, json_line, visible, write
from kubedev.deviceplugin.plugin import Plugin, PluginError, make_devices
from kubedev.wire.lines import read_lines
from kubedev.wire.transport import PluginEvent

if TYPE_CHECKING:
    from kubedev.wire.plugin_runner import PluginRunner

__all__ = ["main"]

KUBELET_SOCKET_PATH = "/var/lib/kubelet/device-plugins/kubelet.sock"
COMMANDS = "commands on standard input: unhealthy ID, healthy ID, set COUNT, stop"
AHEAD = 100
"""So many commands may wait; who sends more has to wait too."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a device plugin until it is stopped; the exit code is 1 where the kubelet refused it.

    Prints what happens: sentences on a terminal, elsewhere one JSON object a line (transport.PluginEvent).
    """
    parser = _parser()
    options = parser.parse_args(argv)
    for flag, value in (("--resource", options.resource), ("--kubelet-socket", options.kubelet_socket)):
        if not (value and value.isprintable()):
            parser.error(f"{flag}: expected a text that can be printed, got {json_line(value)}")
    try:
        devices = make_devices(options.devices, options.numa)
    except PluginError as error:
        parser.error(str(error))
    from kubedev.wire.plugin_runner import PluginRunner

    ending = Ending()
    say = _sentence if is_terminal(1) else _line
    plugin = Plugin(options.resource, devices, numa=options.numa)
    runner = PluginRunner(
        plugin, options.kubelet_socket, lambda event: write(say(event), lambda: ending.asked), ahead=AHEAD
    )
    ending.of(lambda: runner.post("stop"), runner.abandon)
    threading.Thread(target=_read_commands, args=(read_lines(0), runner), daemon=True).start()
    return runner.run()


def _parser() -> Parser:
    parser = Parser("kubedev plugin", description=f"A device plugin for any kubelet; {COMMANDS}.")
    parser.add_argument("--resource", default="example.com/gpu", help="what it serves (default: %(default)s)")
    parser.add_argument("--devices", type=int, default=1, help="how many devices, d0 and on (default: 1)")
    parser.add_argument("--numa", type=int, default=0, help="NUMA nodes they are spread over (default: none)")
    parser.add_argument("--kubelet-socket", default=KUBELET_SOCKET_PATH, help="default: %(default)s")
    return parser


def _read_commands(lines: Iterator[str], runner: "PluginRunner") -> None:
    for line in lines:
        if line.strip():
            runner.post(line, wait=True)


def _line(event: PluginEvent) -> str:
    return json_line(event.fields())


def _sentence(event: PluginEvent) -> str:
    match event.event:
        case "changed":
            text = f"lists {event.devices} devices, {event.healthy} of them healthy"
        case "away":
            text = f"waits for a kubelet ({event.error})"
        case _:
            text = " ".join(part for part in (event.event, event.socket, event.error) if part)
    return visible(text)


if __name__ == "__main__":
    sys.exit(main())
