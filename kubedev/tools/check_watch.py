"""What `kubedev check-plugin` has before it: one plugin, its process and its kubelet, and what is seen of them.

Everything that happens comes into one inbox: the kubelet's events, the plugin's process, answers. One loop takes it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any

from kubedev.api.messages import HEALTHY, Device, DevicePluginOptions
from kubedev.deviceplugin.duties.seen import (
    LIMITS,
    Ended,
    Limits,
    Listed,
    Registered,
    Seen,
    StreamEnd,
    Waited,
)
from kubedev.tools.check_kubelet import CheckKubelet, LetIn, ListCame, StreamEnded
from kubedev.tools.keeper import Keeper
from kubedev.wire.client import PluginClient

__all__ = ["CannotRunError", "StoppedError", "WatchedPlugin"]

MOST_LISTS = 1000  # so many are remembered of a plugin that floods
STARTS = 5  # so often a plugin is started again at one stage, a second apart


class CannotRunError(Exception):
    """The check cannot be made; the text says why."""


class StoppedError(Exception):
    """Somebody wants it to end."""


class WatchedPlugin:
    """One plugin in a socket directory. `done` is told each stage that is over, `says` what goes on.

    With `command` it is started here and ends with us, as does `folder`; otherwise it runs already.
    """

    def __init__(
        self,
        resource: str,
        directory: str,
        command: Sequence[str] = (),
        folder: str = "",
        limits: Limits = LIMITS,
        done: Callable[[str, Seen], None] = lambda *_: None,
        says: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.seen = Seen(resource, directory, limits, started=bool(command))
        self._limits, self._done, self._says = limits, done, says
        self._inbox: SimpleQueue[Any] = SimpleQueue()
        self._kubelet = CheckKubelet(directory, self._inbox.put, limits.call)
        self._command = command
        self._keeper = Keeper(command, folder, lambda *event: self._inbox.put(event)) if command else None
        self._stage, self._came = "start", 0.0
        self._deadline = time.monotonic() + limits.total
        self._client: PluginClient | None = None
        self._options = DevicePluginOptions()
        self._socket = ""
        self._streams, self._followed, self._followed_at = 0, 0, 0.0
        self._followed_process = 0
        self._processes = 0
        self._running = self._ending = False

    def stop(self) -> None:
        """Ask the run to end. From any thread, and from a signal's handler."""
        self._inbox.put(None)

    def abandon(self) -> None:
        """Leave nothing behind, from any thread: the process is about to end."""
        self._kubelet.abandon()
        if self._keeper:
            self._keeper.close()

    def words(self) -> tuple[str, ...]:
        """The last lines that the plugin printed."""
        return self._keeper.words() if self._keeper else ()

    def _start_plugin(self) -> None:
        if self._keeper:
            self._running = True  # until the keeper says otherwise
            self._processes += 1
            self._keeper.start()

    def _gone(self) -> bool:
        """Whether the plugin was started here and has ended."""
        return self._keeper is not None and not self._running

    def _healthy(self) -> tuple[Device, ...]:
        devices = self.seen.listed[-1].devices if self.seen.listed and self._listed_now() else ()
        return tuple(device for device in devices if device.health == HEALTHY)

    def _listed_now(self) -> bool:
        """Whether a list came in the stream that is open."""
        return bool(self.seen.listed) and self.seen.listed[-1].stream == self._streams

    # The inbox

    def _enter(self, stage: str) -> None:
        self._stage, self._came = stage, time.monotonic()

    def _saw(self, *pairs: tuple[str, Any], **named: Any) -> None:
        """Add to what was seen: a value at the end of each tuple of this name."""
        for name, value in (*pairs, *named.items()):
            more: dict[str, Any] = {name: (*getattr(self.seen, name), value)}
            self.seen = replace(self.seen, **more)

    def _wait(
        self, until: Callable[[], bool], seconds: float, revive: bool = False, look: float = 1.0
    ) -> Waited:
        """Take events until something is so; with `revive` a plugin that ended is started again, as by a DaemonSet."""
        began = time.monotonic()
        allowed = min(seconds, max(0.0, self._deadline - began))
        starts = 0
        while not until():
            left = began + allowed - time.monotonic()
            if left <= 0:
                return Waited("", time.monotonic() - began, False, cut=allowed < seconds)
            if revive and self._gone() and starts < STARTS and time.monotonic() >= began + starts:
                starts += 1
                self._start_plugin()
            self._take(min(left, look))
        return Waited("", time.monotonic() - began, True)

    def _pump(self, seconds: float) -> None:
        """Take what comes for some seconds, or only what is there."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._take(left)
        for _ in range(self._inbox.qsize()):
            self._take(0)

    def _take(self, seconds: float) -> None:
        try:
            event = self._inbox.get(timeout=seconds) if seconds > 0 else self._inbox.get_nowait()
        except Empty:
            return
        match event:
            case None:
                raise StoppedError
            case LetIn():
                self._let_in(event)
            case ListCame(stream, devices, at, inflow):
                if stream == self._streams and not self._ending:
                    self.seen = replace(self.seen, listed=self.seen.listed[: MOST_LISTS - 1])
                    since = at - self._followed_at
                    self._saw(listed=Listed(devices, stream, since, self._stage, self._processes))
                inflow.handled()
            case StreamEnded(stream, error):
                lives = not self._gone() and self._processes == self._followed_process
                if stream == self._followed and lives and not self._ending:
                    self._saw(stream_ends=StreamEnd(error, self._stage, stream))
            case ("failed", why):
                raise CannotRunError(f"{self._command[0]}: {why}")
            case ("ended", code):
                self._ended(code)

    def _let_in(self, event: LetIn) -> None:
        self._saw(
            registered=Registered(
                event.request,
                event.error,
                event.serving,
                event.options,
                event.answered,
                self._stage,
                self._processes,
                event.time - self._came,
            )
        )
        if event.client is None:
            return
        if event.request.resource_name != self.seen.resource:
            self._kubelet.follow(event.client, 0)
            return
        ends = (replace(end, again=end.again or self._answers_to(end.stage)) for end in self.seen.stream_ends)
        self.seen = replace(self.seen, stream_ends=tuple(ends))
        self._client, self._options = event.client, event.options or DevicePluginOptions()
        self._socket = self._kubelet.socket_of(event.request)
        self._streams += 1
        self._followed, self._followed_at = self._streams, time.monotonic()
        self._followed_process = self._processes
        self._kubelet.follow(event.client, self._streams)

    def _answers_to(self, stage: str) -> bool:
        """Whether a registration now can come of what was at that stage, and not of what was done to it since."""
        undisturbed = ("start", "calls", "unknown", "empty")
        return stage == self._stage or (stage in undisturbed and self._stage in undisturbed)

    def _ended(self, code: int) -> None:
        self._running = False
        if self._ending:
            return
        time.sleep(0.05)  # for its last words
        self._saw(ended=Ended(self._stage, code, " / ".join(_telling(self.words()))))
        ends = self.seen.stream_ends  # the stream ended with it
        kept = tuple(end for end in ends if end.again or end.stage != self._stage)
        self.seen = replace(self.seen, stream_ends=kept)


def _telling(words: Sequence[str]) -> list[str]:
    """The lines that say why a program ended: a panic's first, where it is one, else the last."""
    said = [word.strip()[:200] for word in words if word.strip()]
    panics = [word for word in said if word.startswith(("panic:", "fatal error:"))]
    return panics[-1:] or said[-2:]
