"""Who leads a picture through a lab's history: message by message in slow motion, or straight to what came of it."""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubedev.lab.session import Lab

__all__ = ["Player"]

PACE = 0.8
"""How long each message is shown when the picture follows what happens, in seconds."""

SETTLE = 0.05
"""How long at most the picture waits for the end of an event when it shows only what comes of it, in seconds."""


class Player:
    """Follows a lab on a thread of its own; `show` is called at each step on the way, and `step` is the one to show."""

    def __init__(self, lab: "Lab", show: Callable[[], None], step: int, paced: bool) -> None:
        self.lab, self.step = lab, step
        self._show, self._paced = show, paced
        self._stopped, self._hurry, self._news = threading.Event(), threading.Event(), threading.Event()
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
        """Follow no more: what is shown is the latest state."""
        for event in (self._stopped, self._hurry, self._news):
            event.set()
        self._unlisten()
        if threading.current_thread() is not self._thread:
            self._thread.join(2)
        self.step = self.lab.position

    def pace(self, paced: bool) -> None:
        """Slow motion or not; what is still to be shown when it ends is shown at once."""
        self._paced = paced
        (self._hurry.clear if paced else self._hurry.set)()

    def jump(self) -> None:
        """Go to where the lab is, without what lies between."""
        self.step = self.lab.position
        self._news.set()

    def _follow(self) -> None:
        while not self.stopped:
            self._news.wait()
            self._news.clear()
            self._settle()
            while not self.stopped:
                target = self.lab.position
                if self.step == target:
                    self._show()
                    break
                self.step = self._next(target)
                self._show()
                if self._paced and self.step != target:
                    self._hurry.wait(PACE)

    def _settle(self) -> None:
        """Without slow motion, and on the way to now, wait a moment for what else comes of the event."""
        end = time.monotonic() + SETTLE
        while not (self._paced or self.lab.mode == "replay" or self.lab.state.idle or self.stopped):
            left = end - time.monotonic()
            if left <= 0:
                return
            self._news.wait(left)
            self._news.clear()

    def _next(self, target: int) -> int:
        """The step to show next on the way to `target`: the next message forwards, at once anywhere else."""
        if not self._paced or target < self.step or self.lab.mode == "replay":
            return target
        return next((step for step in self.lab.message_steps() if self.step < step < target), target)
