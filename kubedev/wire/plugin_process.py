"""A real plugin as a process: `kubedev plugin`, and the handle of a parent that starts one.

Little is imported before the plugin serves, so that it is there soon.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from kubedev.api.messages import VERSION, Device, DevicePluginOptions
from kubedev.deviceplugin.plugin import Plugin, PluginError, make_devices, obey
from kubedev.wire.lines import at_end_signals, read_lines
from kubedev.wire.transport import OnPluginEvent, PluginEvent

__all__ = ["PluginProcess", "main"]

KUBELET_SOCKET_PATH = "/var/lib/kubelet/device-plugins/kubelet.sock"
COMMANDS = "commands on standard input: unhealthy ID, healthy ID, set COUNT, stop"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a device plugin until it is stopped; the exit code is 1 where the kubelet refused it.

    Prints what happens: sentences on a terminal, elsewhere one JSON object a line (transport.PluginEvent).
    """
    commands: list[str] = []
    post = commands.append  # until the plugin runs
    at_end_signals(lambda: post("stop"))
    parser = _parser()
    options = parser.parse_args(argv)
    lines = read_lines(sys.stdin.fileno())
    try:
        plugin, version = _plugin(options, lines)
    except PluginError as error:
        parser.error(str(error))
    from kubedev.wire.plugin_runner import PluginRunner

    tell = _print_sentence if sys.stdout.isatty() else _print_json
    runner = PluginRunner(plugin, options.kubelet_socket, tell, version)
    post = runner.post
    for command in commands:
        post(command)
    threading.Thread(target=_read_commands, args=(lines, runner, options.child), daemon=True).start()
    return runner.run()


def _parser() -> argparse.ArgumentParser:
    description = f"A device plugin for any kubelet; {COMMANDS}."
    parser = argparse.ArgumentParser("kubedev plugin", description=description)
    parser.add_argument("--resource", default="example.com/gpu", help="what it serves (default: %(default)s)")
    parser.add_argument("--devices", type=int, default=1, help="how many devices, d0 and on (default: 1)")
    parser.add_argument("--numa", type=int, default=0, help="NUMA nodes they are spread over (default: none)")
    parser.add_argument("--kubelet-socket", default=KUBELET_SOCKET_PATH, help="default: %(default)s")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser


def _plugin(options: argparse.Namespace, lines: Iterator[str]) -> tuple[Plugin, str]:
    """The plugin of the options; a parent of ours sends it as the first line instead, any devices in it."""
    if not options.child:
        return Plugin(options.resource, make_devices(options.devices, options.numa)), VERSION
    sent = json.loads(next(lines))
    devices = tuple(Device(i, health, nodes and tuple(nodes)) for i, health, nodes in sent["devices"])
    return Plugin(sent["resource"], devices, DevicePluginOptions(*sent["options"])), sent["version"]


def _read_commands(lines: Iterator[str], runner: Any, stop_at_end: bool) -> None:
    for line in lines:
        if line.strip():
            runner.post(line)
    if stop_at_end:  # the parent is gone
        runner.post("stop")


def _print_json(event: PluginEvent) -> None:
    with suppress(BrokenPipeError):  # nobody reads any more
        print(json.dumps(event.fields()), flush=True)


def _print_sentence(event: PluginEvent) -> None:
    match event.event:
        case "changed":
            text = f"lists {event.devices} devices, {event.healthy} of them healthy"
        case "away":
            text = f"waits for a kubelet ({event.error})"
        case _:
            text = " ".join(part for part in (event.event, event.socket, event.error) if part)
    print(text, flush=True)


class PluginProcess:
    """A plugin in a process of its own, in a socket directory; `on_event` is called on a thread.

    The process ends with its parent.
    """

    def __init__(
        self,
        plugin: Plugin,
        directory: str,
        on_event: OnPluginEvent = lambda _: None,
        version: str = VERSION,
    ) -> None:
        self._plugin = plugin
        self._kubelet_socket = os.path.join(directory, "kubelet.sock")
        self._on_event = on_event
        self._version = version
        self._process: subprocess.Popen[str] | None = None
        self._reader = threading.Thread(target=self._read, name=f"plugin {plugin.resource}", daemon=True)

    @property
    def pid(self) -> int | None:
        """The process id, from `start` on."""
        return self._process.pid if self._process else None

    @property
    def killed(self) -> bool:
        """Whether a signal ended the process, so that it could not remove its socket."""
        return self._process is not None and (self._process.returncode or 0) < 0

    def start(self) -> None:
        """Start the process, which serves and registers, and again with each new kubelet."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, "--child", "--kubelet-socket", self._kubelet_socket],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # Ctrl-C is for the parent, which ends its plugins in order
        )
        self._reader.start()
        self._write(
            json.dumps(
                {
                    "resource": self._plugin.resource,
                    "devices": [(d.id, d.health, d.numa_nodes) for d in self._plugin.devices],
                    "options": (
                        self._plugin.options.pre_start_required,
                        self._plugin.options.get_preferred_allocation_available,
                    ),
                    "version": self._version,
                }
            )
        )

    def set_health(self, device_id: str, healthy: bool) -> None:
        """Turn a device healthy or unhealthy. Raises PluginError."""
        self._command(f"{'healthy' if healthy else 'unhealthy'} {device_id}")

    def set_count(self, count: int) -> None:
        """Have `count` devices from now on. Raises PluginError."""
        self._command(f"set {count}")

    def kill(self) -> None:
        """Send SIGKILL, and wait."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Send SIGTERM, and wait; SIGKILL follows where that is not heard for 5 s."""
        self._end(signal.SIGTERM)

    def _command(self, command: str) -> None:
        self._plugin = obey(self._plugin, command)
        self._write(command)

    def _write(self, line: str) -> None:
        assert self._process
        assert self._process.stdin
        with suppress(BrokenPipeError, ValueError):  # it has ended; the reader tells
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def _end(self, signal_number: int) -> None:
        if self._process is None:
            return
        self._process.send_signal(signal_number)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
        if self._reader is not threading.current_thread():
            self._reader.join()

    def _read(self) -> None:
        """Hand on what the process prints; what is no event is a complaint of Python's."""
        assert self._process
        assert self._process.stdout
        assert self._process.stdin
        for line in self._process.stdout:
            try:
                event = PluginEvent(**json.loads(line))
            except (ValueError, TypeError):
                event = PluginEvent("error", error=line.rstrip("\n"))
            if event.event != "stopped":
                self._on_event(event)
        self._process.wait()
        self._process.stdout.close()
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._on_event(PluginEvent("stopped"))


if __name__ == "__main__":
    sys.exit(main())
