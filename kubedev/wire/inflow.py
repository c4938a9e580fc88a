"""Between a plugin that sends lists and a loop that applies them: nothing piles up.

A plugin's lists are told one at a time; the next one when the loop has handled the one before. Up to `AHEAD` wait
here, then the thread that reads the stream waits too, and HTTP/2 holds the plugin back. A plugin that comes so far
ahead sends faster than anybody can follow: then only its last list counts, since each list replaces the one before it.
So a normal plugin's lists are all applied, and a flood is not.
"""

import threading
from collections import deque
from collections.abc import Callable

from kubedev.api.messages import Device

__all__ = ["AHEAD", "Inflow"]

AHEAD = 100
"""So many lists may wait: more than come at once where devices merely flap."""

Devices = tuple[Device, ...]


class Inflow:
    """The lists of one stream. `put` and `end` are called by its reader, `handled` by the loop, `close` by anybody."""

    def __init__(self, tell: Callable[[Devices], None], tell_end: Callable[[str], None]) -> None:
        self._tell, self._tell_end = tell, tell_end
        self._changed = threading.Condition()
        self._waiting: deque[Devices] = deque()
        self._told = False
        self._closed = False
        self._end: str | None = None

    def put(self, devices: Devices) -> None:
        """Hand in a list; returns when there is room for one more."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._waiting) < AHEAD or self._closed)
            if self._closed:
                return
            self._waiting.append(devices)
        self._next()

    def end(self, error: str) -> None:
        """The stream has ended; told after the lists that wait."""
        with self._changed:
            self._end = error
        self._next()

    def handled(self) -> None:
        """The list that was told is applied."""
        with self._changed:
            self._told = False
        self._next()

    def close(self) -> None:
        """Nobody wants the lists that wait any more; the end is told at once."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._told = False
            self._changed.notify_all()
        self._next()

    def _next(self) -> None:
        with self._changed:
            if self._told or not self._waiting:
                end, self._end = (None, self._end) if self._told else (self._end, None)
                if end is not None:
                    self._tell_end(end)
                return
            if len(self._waiting) >= AHEAD:
                devices = self._waiting[-1]
                self._waiting.clear()
            else:
                devices = self._waiting.popleft()
            self._told = True
            self._changed.notify_all()
            self._tell(devices)
