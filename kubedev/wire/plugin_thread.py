"""A real plugin in a thread of this process: the same as in a process of its own, but for a real kill."""

import os
import threading

from kubedev.api.messages import VERSION
from kubedev.deviceplugin.plugin import Plugin, PluginError, obey
from kubedev.wire.plugin_runner import PluginRunner
from kubedev.wire.sockets import KUBELET_SOCKET
from kubedev.wire.transport import OnPluginEvent

__all__ = ["PluginThread"]


class PluginThread:
    """A plugin in a socket directory; `on_event` is called on its thread."""

    pid = None

    def __init__(
        self, plugin: Plugin, directory: str, on_event: OnPluginEvent = lambda _: None, version: str = VERSION
    ) -> None:
        self._plugin = plugin
        self._runner = PluginRunner(plugin, os.path.join(directory, KUBELET_SOCKET), on_event, version)
        self._thread = threading.Thread(
            target=self._runner.run, name=f"plugin {plugin.resource}", daemon=True
        )

    def start(self) -> None:
        """Serve and register, and again with each new kubelet."""
        self._thread.start()

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
        """A thread cannot be stopped. Raises PluginError."""
        raise PluginError(
            f"{self._plugin.resource} is a thread here: only a process of its own can be frozen"
        )

    thaw = freeze

    def kill(self) -> None:
        """End it so that connections break and the socket's file stays behind."""
        self._end("kill")

    def stop(self) -> None:
        """End it properly."""
        self._end("stop")

    def _command(self, command: str) -> None:
        self._plugin = obey(self._plugin, command)
        self._runner.post(command)

    def _end(self, command: str) -> None:
        self._runner.post(command)
        if self._thread is not threading.current_thread():
            self._thread.join()
