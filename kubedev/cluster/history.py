"""The history of a cluster: a list of states that can be sought, forked, exported and imported.

A file holds the events alone, since the states follow from them: importing it steps through them again, so a
run sent to a colleague is checked as it is read.
"""

import json
from bisect import bisect_right
from dataclasses import dataclass
from typing import Self

from kubedev import KUBERNETES_VERSION
from kubedev.cluster.events import Event
from kubedev.cluster.serialise import decode, encode
from kubedev.cluster.state import ClusterState
from kubedev.cluster.step import step

__all__ = ["Entry", "History", "HistoryError", "Run"]

FORMAT = "kubedev history 1"


class HistoryError(ValueError):
    """A file that is no history, or one that this version cannot step through."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One step: what happened, and the state after it. The first entry has no event."""

    event: Event | None
    state: ClusterState


ROOM = 4_000_000
"""How much a history holds, counted in pods and containers of its states: 60,000 steps of a small run. What is older
is dropped, a tenth at a time."""
BESIDES = 60
"""What a state without any pod counts."""


class History:
    """The steps of one run, oldest first; the first one is an empty cluster. Of a very long run the oldest are dropped:
    `first` is the oldest that is kept, and the others keep their numbers.
    """

    def __init__(self) -> None:
        self.first = 0
        self._entries: list[Entry] = [Entry(None, ClusterState())]
        self._message_steps: list[int] = []
        self._taken = BESIDES

    def __len__(self) -> int:
        return self.first + len(self._entries)

    def __getitem__(self, index: int) -> Entry:
        step = index + len(self) if index < 0 else index
        if not self.first <= step < len(self):
            raise IndexError(f"expected a step from {self.first} to {len(self) - 1}, got {index}")
        return self._entries[step - self.first]

    @property
    def state(self) -> ClusterState:
        """The newest state."""
        return self._entries[-1].state

    def append(self, event: Event) -> ClusterState:
        """Apply an event to the newest state, and keep the outcome."""
        before = self.state
        state = step(before, event)
        if len(state.messages) > len(before.messages):
            self._message_steps.append(len(self))
        self._entries.append(Entry(event, state))
        self._taken += _weight(state)
        if self._taken > ROOM:
            self._drop(len(self._entries) // 10)
        return state

    def _drop(self, count: int) -> None:
        self._taken -= sum(_weight(entry.state) for entry in self._entries[:count])
        self._entries = self._entries[count:]
        self.first += count
        self._message_steps = self._message_steps[bisect_right(self._message_steps, self.first - 1) :]

    def fork(self, index: int) -> Self:
        """A history of its own that shares the steps up to and including `index`."""
        last = index + len(self) if index < 0 else index
        if not self.first <= last < len(self):
            kept = f"the steps {self.first} to {len(self) - 1}"
            raise IndexError(f"step {index} is not in this history of {len(self)} steps: it has {kept}")
        branch = type(self)()
        branch.first = self.first
        branch._entries = self._entries[: last - self.first + 1]
        branch._taken = sum(_weight(entry.state) for entry in branch._entries)
        branch._message_steps = self._message_steps[: bisect_right(self._message_steps, last)]
        return branch

    def message_steps(self, start: int, end: int) -> list[int]:
        """The steps after `start`, up to `end`, at which a message was on its way."""
        steps = self._message_steps
        return steps[bisect_right(steps, start) : bisect_right(steps, end)]

    def events_after(self, index: int) -> tuple[Event, ...]:
        """What happened after a step, here: a fork takes recorded answers from it."""
        after = max(index + 1 - self.first, 0)
        return tuple(e.event for e in self._entries[after:] if e.event is not None)

    def to_json(self) -> str:
        """The run as text: send it to a colleague, read it with `from_json`.

        Raises HistoryError where something of your own is in it, such as a scheduler's plugin: its code is not.
        """
        try:
            events = [encode(entry.event) for entry in self._entries[1:]]
        except TypeError as error:
            raise HistoryError(
                f"{error}: expected a run of what kubedev itself has; leave out what is of your own"
            ) from None
        start = encode(self._entries[0].state)
        file = {"format": FORMAT, "kubernetes": KUBERNETES_VERSION, "start": start, "events": events}
        return json.dumps({**file, "first": self.first} if self.first else file)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Step through the events of a file again. Raises HistoryError where it is none of ours."""
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise HistoryError(f"expected the JSON text of a history, got something else: {error}") from None
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise HistoryError(f"expected a file of the format {FORMAT!r}: export one with History.to_json")
        try:
            history = cls()
            if data.get("first"):
                history.first = int(data["first"])
                history._entries = [Entry(None, decode(data["start"]))]
            for event in data["events"]:
                history.append(decode(event))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise HistoryError(f"this history cannot be stepped through: {error!r}") from error
        return history


def _weight(state: ClusterState) -> int:
    return BESIDES + len(state.store.pods) + len(state.containers)


@dataclass(frozen=True, slots=True)
class Run:
    """A part of a history that stays as it is: what one picture shows, to be stepped through and played at any time.

    It goes from the step `start` to `end`, both included; the history may go on after it, and the lab that it comes
    from may be closed. `forked_at` is the step at which a fork left the run before it, None if this is no fork.
    """

    history: History
    start: int
    end: int
    forked_at: int | None = None

    def __post_init__(self) -> None:
        first, last = self.history.first, len(self.history) - 1
        if not first <= self.start <= self.end <= last:
            there = f"from {first} to {last}, the first not after the last"
            raise IndexError(f"expected steps {there}, got {self.start} to {self.end}")

    def state(self, step: int) -> ClusterState:
        """The state at a step of the run."""
        if not self.start <= step <= self.end:
            raise IndexError(f"expected a step from {self.start} to {self.end}, got {step}")
        return self.history[step].state

    def message_steps(self) -> list[int]:
        """The steps at which a message was on its way, the first and the last step included."""
        steps = [self.start, *self.history.message_steps(self.start, self.end)]
        return steps if steps[-1] == self.end else [*steps, self.end]

    def before(self, step: int) -> int:
        """The step that shows one message less than this one; the first where there is none."""
        steps = [self.start, *self.history.message_steps(self.start, self.end)]
        return steps[max(bisect_right(steps, step) - 2, 0)]

    def after(self, step: int) -> int:
        """The next step with a message more; the last where there is none."""
        return next((later for later in self.message_steps() if later > step), self.end)
