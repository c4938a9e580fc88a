"""The pace at which a widget sends to the page, whatever comes from whatever thread."""

import threading
import time
from collections.abc import Callable

__all__ = ["UPDATES_A_SECOND", "Pace"]

UPDATES_A_SECOND = 20
BURST = 4
"""How many messages may follow one another at once after a quiet time: what one event sets off waits for nothing."""


class Pace:
    """Calls `send` at most `UPDATES_A_SECOND` times a second, and a few times more after a quiet time.

    `send` says whether it sent anything; it is called with `lock` held, which its owner holds to change what is sent.
    """

    def __init__(self, send: Callable[[], bool], clock: Callable[[], float] = time.monotonic) -> None:
        self.lock = threading.RLock()
        self._send, self._clock = send, clock
        self._due = float("-inf")  # when all that was sent would have been sent at an even pace
        self._timer: threading.Timer | None = None

    def soon(self) -> None:
        """Send at once, or as soon as the pace allows."""
        wait = self._due - (BURST - 1) / UPDATES_A_SECOND - self._clock()
        if wait <= 0:
            self.now()
        elif self._timer is None:
            self._timer = threading.Timer(wait, self.now)
            self._timer.daemon = True
            self._timer.start()

    def now(self) -> None:
        """Send what is waiting for its turn."""
        with self.lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._send():
                self._due = max(self._due, self._clock()) + 1 / UPDATES_A_SECOND
