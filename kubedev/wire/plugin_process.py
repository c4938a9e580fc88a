"""A real plugin as a process of its own: the handle of a parent that starts one, and what the process runs.

Little is imported before the plugin serves, so that it is there soon.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from kubedev.api.messages import VERSION, Device, DevicePluginOptions
from kubedev.deviceplugin.plugin import Plugin, obey
from kubedev.wire.lines import at_end_signals, read_lines
from kubedev.wire.transport import OnPluginEvent, PluginEvent

__all__ = ["PluginProcess"]


def _main(kubelet_socket: str) -> int:
    """Run the plugin that the parent sends as the first line; it stops when the parent is gone."""
    commands: list[str] = []
    post = commands.append  # until the plugin runs
    at_end_signals(lambda: post("stop"))
    lines = read_lines(sys.stdin.fileno())
    first = next(lines, None)
    if first is None:
        return 0
    from kubedev.wire.plugin_runner import PluginRunner

    plugin, version = _received(json.loads(first))
    runner = PluginRunner(plugin, kubelet_socket, _print_json, version)
    post = runner.post
    for command in commands:
        post(command)
    threading.Thread(target=_read_commands, args=(lines, runner), daemon=True).start()
    return runner.run()


def _sent(plugin: Plugin, version: str) -> str:
    """A plugin as a line for the process that is to be it."""
    options = plugin.options.pre_start_required, plugin.options.get_preferred_allocation_available
    devices = [(d.id, d.health, d.numa_nodes) for d in plugin.devices]
    more = plugin.numa, plugin.endpoint, plugin.registers_again
    return json.dumps([plugin.resource, devices, options, *more, version])


def _received(sent: list[Any]) -> tuple[Plugin, str]:
    resource, devices, options, *more, version = sent
    made = tuple(Device(id_, health, nodes and tuple(nodes)) for id_, health, nodes in devices)
    return Plugin(resource, made, DevicePluginOptions(*options), *more), version


def _read_commands(lines: Iterator[str], runner: Any) -> None:
    for line in lines:
        if line.strip():
            runner.post(line)
    runner.post("stop")


def _print_json(event: PluginEvent) -> None:
    with suppress(BrokenPipeError):  # nobody reads any more
        print(json.dumps(event.fields()), flush=True)


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
            [sys.executable, "-m", __name__, self._kubelet_socket],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # Ctrl-C is for the parent, which ends its plugins in order
        )
        self._reader.start()
        self._write(_sent(self._plugin, self._version))

    def set_health(self, device_id: str, healthy: bool) -> None:
        """Turn a device healthy or unhealthy. Raises PluginError."""
        self._command(f"{'healthy' if healthy else 'unhealthy'} {device_id}")

    def set_count(self, count: int) -> None:
        """Have `count` devices from now on. Raises PluginError."""
        self._command(f"set {count}")

    def set_listed(self, device_id: str, listed: bool) -> None:
        """Leave a device out of the list, or list it again. Raises PluginError."""
        self._command(f"{'list' if listed else 'leave-out'} {device_id}")

    def freeze(self) -> None:
        """Stop the process where it is (SIGSTOP)."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process:
            self._process.send_signal(number)

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
    sys.exit(_main(sys.argv[1]))
