"""Follows a lab on a thread of its own: every message of its history becomes a frame of the stage."""

import threading
import time
from collections.abc import Callable

from kubedev.lab.watched import Watched

__all__ = ["Player"]

SETTLE = 0.05
"""How long at most the picture waits for the end of an event when it shows only what comes of it, in seconds."""


class Player:
    """Calls `show` whenever there is something new; `paced`: at once, since the page plays message after message."""

    def __init__(self, lab: Watched, show: Callable[[], None], paced: bool) -> None:
        self.lab = lab
        self._show, self._paced = show, paced
        self._stopped, self._news = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._follow, name="kubedev player", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._unlisten = self.lab.listen(self._news.set)
        self._news.set()
        self._thread.start()

    @property
    def stopped(self) -> bool:
        """Whether it follows no more."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Follow no more, after what there is now was shown."""
        self._stopped.set()
        self._news.set()
        self._unlisten()
        if threading.current_thread() is not self._thread:
            self._thread.join(2)
        self._show()

    def _follow(self) -> None:
        while not self.stopped:
            self._news.wait()
            self._news.clear()
            self._settle()
            if not self.stopped:
                self._show()

    def _settle(self) -> None:
        """Wait a moment for what else comes of the event: one message to the page, not one a message of the log."""
        end = time.monotonic() + SETTLE
        while not (self.lab.state.idle or self.stopped):
            left = end - time.monotonic()
            if left <= 0:
                return
            self._news.wait(left)
            self._news.clear()
