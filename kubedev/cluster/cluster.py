"""A running cluster: one inbox, one loop that applies what is in it, and the history of all of it.

Threads of gRPC, processes and widgets only post events. The loop runs on a thread of its own, so everything
here can be called from a script, a test, a notebook cell or a widget's callback alike.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from kubedev.cluster.events import Event
from kubedev.cluster.history import History
from kubedev.cluster.state import ClusterState

__all__ = ["Cluster", "ClusterError", "World"]

PATIENCE = 4
"""How many times the timeout is waited at most where something goes on happening."""

Predicate = Callable[[ClusterState], bool]
Listener = Callable[[int], None]


class ClusterError(RuntimeError):
    """The cluster cannot do what was asked; the text says why and what to do."""


class World(Protocol):
    """Where the effects happen: real plugins and processes, or their stand-ins in memory."""

    def open(self, post: Callable[[Event], None], state: ClusterState) -> None:
        """Take over what stands in a state, without a word."""

    def go_on(self, state: ClusterState, recorded: Sequence[Event] = ()) -> None:
        """Carry on what was under way there and still is in `state`, from `recorded` answers if there are."""

    def carry_out(self, event: Event, state: ClusterState) -> None:
        """Do what an event asks of the world; `state` is the one after it. Must not block."""

    def close(self) -> None:
        """End everything that was started, and wait for it."""


class Cluster:
    """Applies events to a history, one at a time, and has the world carry out what they ask for.

    `changes` happen at the end of `history`, before all that is on its way there; `recorded` is what happened
    after it in the run that it was taken from.
    """

    def __init__(
        self,
        world: World,
        history: History | None = None,
        recorded: Sequence[Event] = (),
        changes: Sequence[Event] = (),
    ) -> None:
        self.history = history or History()
        self._world = world
        self._inbox: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._busy = 0
        self._predicates = 0  # how many wait for something of their own
        self._error: BaseException | None = None
        self._listeners: list[Listener] = []
        self._closed = False
        self._given_up: frozenset[str] = frozenset()
        world.open(self.post, self.state)
        for change in changes:
            self._cut_in(change)
        world.go_on(self.state, recorded)
        self._thread = threading.Thread(target=self._loop, name="kubedev cluster", daemon=True)
        self._thread.start()

    @property
    def state(self) -> ClusterState:
        """The newest state."""
        return self.history.state

    @property
    def closed(self) -> bool:
        """Whether it has ended; its history stays."""
        return self._closed

    def post(self, event: Event) -> None:
        """Put an event into the inbox. Any thread may."""
        with self._changed:
            self._busy += 1
        self._inbox.put(event)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(index)` on the loop's thread after each step; the result stops that again."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def wait(self, until: Predicate | None = None, timeout: float = 30.0) -> ClusterState:
        """Wait until the state satisfies `until` (by default: until nothing is under way).

        Raises ClusterError where nothing has happened for `timeout` seconds of real time, and whatever made the loop
        fail. What was waited for in vain is not waited for again.
        """
        last = time.monotonic() + PATIENCE * timeout

        def done() -> bool:
            return self._error is not None or (until or self._idle)(self.state)

        with self._changed:
            self._predicates += until is not None
            try:
                seen = -1
                while not done():
                    if seen == len(self.history) or time.monotonic() > last:
                        raise ClusterError(self._in_vain(timeout, until))
                    seen = len(self.history)
                    self._changed.wait_for(done, timeout)
            finally:
                self._predicates -= until is not None
        if self._error is not None:
            raise self._error
        return self.state

    def _in_vain(self, timeout: float, until: Predicate | None) -> str:
        self._given_up = frozenset(self.state.under_way())
        waits = ", ".join(sorted(self._given_up)) or ("events of the inbox" if self._busy else "nothing")
        what = "" if until is None else " for what was asked"
        return f"waited {timeout:g} s in vain{what}; still under way: {waits}. It is not waited for again"

    def close(self) -> None:
        """End the loop and everything in the world that was started. May be called twice."""
        if self._closed:
            return
        self._closed = True
        self._inbox.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()
        self._world.close()

    def _idle(self, state: ClusterState) -> bool:
        if self._busy or state.pending:
            return False
        under_way = frozenset(state.under_way())
        self._given_up &= under_way
        return under_way == self._given_up

    def _notify(self) -> None:
        """Wake those who wait, if what they wait for may have come."""
        if self._predicates or not (self._busy or self.state.pending):
            self._changed.notify_all()

    def _loop(self) -> None:
        try:
            while True:
                self._drain()
                event = self._inbox.get()
                if event is None:
                    return
                self._apply(event)
                with self._changed:
                    self._busy -= 1
                    self._notify()
        except BaseException as error:  # told to whoever waits
            self._error = error
            with self._changed:
                self._changed.notify_all()

    def _cut_in(self, change: Event) -> None:
        """Apply an event, and what the world says to it at once, before what is pending."""
        self.post(change)
        while not self._inbox.empty():
            event = self._inbox.get()
            assert event is not None
            self._apply(event)
            self._busy -= 1

    def _drain(self) -> None:
        while self.state.pending:
            self._apply(self.state.pending[0])

    def _apply(self, event: Event) -> None:
        with self._changed:
            self._busy += 1  # a step is over when the world knows of it
        state = self.history.append(event)
        self._world.carry_out(event, state)
        with self._changed:
            self._busy -= 1
            self._notify()
        for listener in list(self._listeners):
            listener(len(self.history) - 1)
