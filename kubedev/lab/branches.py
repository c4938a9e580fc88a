"""A run and its fork: where in their history you look, and what happens if you do something there.

Looking back and doing something else forks: the fork goes on in memory from the recorded answers, since no real
process can be rewound, until `go_live`. The live run goes on beside it.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kubedev.cluster import events as e
from kubedev.cluster.clock import next_due
from kubedev.cluster.cluster import Cluster, ClusterError
from kubedev.cluster.history import History, HistoryError, Run
from kubedev.cluster.state import ClusterState
from kubedev.console import read_file, reason
from kubedev.views.catalogue import say
from kubedev.wire.backends import world
from kubedev.wire.world import World

__all__ = ["Branches", "Mode"]

Mode = Literal["live", "replay", "fork"]
if TYPE_CHECKING:
    Shown = Mode  # jedi fails where it finds a Literal behind a property, and then completes nothing


class Branches:
    """The live run of a cluster, a fork of it where there is one, and the step that is shown.

    `make_world` makes the world of a live run, `beginning` are the events with which every run begins.
    """

    def __init__(self, make_world: Callable[[], World], beginning: Sequence[e.Event]) -> None:
        self._make_world, self._beginning = make_world, beginning
        self._listeners: list[Callable[[], None]] = []
        self._looking: int | None = None
        self._fork: Cluster | None = None
        self._forked_at: int | None = None
        self._live = self._start()

    @property
    def cluster(self) -> Cluster:
        """The cluster that is driven: the fork where there is one, the live one else."""
        return self._fork or self._live

    @property
    def history(self) -> History:
        """All steps of the run that is shown."""
        return self.cluster.history

    @property
    def position(self) -> int:
        """The step that is shown."""
        return len(self.history) - 1 if self._looking is None else self._looking

    @property
    def state(self) -> ClusterState:
        """The state that is shown."""
        return self.history[self.position].state

    @property
    def mode(self) -> "Shown":
        """`live`, `replay` (you look back) or `fork` (it goes on in memory)."""
        if self._looking is not None:
            return "replay"
        return "live" if self._fork is None else "fork"

    @property
    def forked_at(self) -> int | None:
        """The step at which the fork left the run, if this is one."""
        return self._forked_at

    @property
    def directories(self) -> dict[str, str]:
        """The real socket directory of each node of the live run; a name only where it runs in memory."""
        return self._world.directories

    @property
    def world(self) -> World:
        """The world of the live run, for what is done by hand. ClusterError where something else is shown."""
        if self.mode != "live":
            raise ClusterError("that is done to a real plugin, and you look back: lab.back_to_live() first")
        return self._world

    # Doing

    def do(self, *events: e.Event) -> None:
        """Let something happen, and wait until nothing is under way."""
        self.post(*events)
        self.wait()

    def post(self, *events: e.Event) -> None:
        """Let something happen. If you look back, it happens there and then, in a fork: what was on its way at that
        moment follows after it. ClusterError where the lab is closed.
        """
        if self.closed:
            raise ClusterError(say("lab.closed"))
        looking, self._looking = self._looking, None
        if looking is not None and looking < len(self.history) - 1:
            self._start_fork(looking, events)
        else:
            for event in events:
                self.cluster.post(event)

    def wait(self, until: Callable[[ClusterState], bool] | None = None, timeout: float = 30.0) -> None:
        """Wait until nothing is under way, or until `until(state)` holds; interrupting it does no harm.

        A pod in back-off is under way, and so is a volume that is being made: the simulated clock moves on by the
        seconds that are left.
        """
        try:
            self.cluster.wait(until, timeout)
            while until is None and (seconds := self._backoff()):
                self.cluster.post(e.ClockAdvanced(seconds, asked=0))
                self.cluster.wait(timeout=timeout)
        except KeyboardInterrupt:
            print("stopped by you; the lab goes on")

    def advance(self, seconds: float) -> None:
        """Move the simulated clock on. It stops on the way wherever time alone makes something happen."""
        if seconds < 0:
            raise ValueError(f"expected 0 seconds or more, got {seconds:g}: only history goes back")
        until, asked = self.state.now + seconds, seconds
        while (due := next_due(self.state)) is not None and due < until:
            self.do(e.ClockAdvanced(due - self.state.now, asked))
            asked = 0
        left = max(until - self.state.now, 0.0)
        self.do(e.ClockAdvanced(left, None if asked else 0))

    def _backoff(self) -> float:
        """How long the first pod in back-off has still to wait, or a claim for its volume; 0 without any.

        Only pods that an event brought there count: one that met an error would be tried again for ever.
        """
        state = self.cluster.state
        queue = state.scheduler.queue
        due = [
            queue.backoff_until(queued) for queued in queue.backoff.values() if queued.unschedulable_plugins
        ]
        due += state.provisioning.values()
        return max(min(due) - state.now, 1.0) if due else 0.0

    # Looking

    def seek(self, step: int) -> None:
        """Look at a step of the history; the last one is now."""
        first, last = self.history.first, len(self.history) - 1
        if not first <= step <= last:
            raise IndexError(f"expected a step from {first} to {last}, got {step}")
        self._looking = None if step == last else step
        self._changed()

    def run(self, since: int = 0) -> Run:
        """What has happened from a step up to now: it stays as it is, whatever the lab does next."""
        return Run(self.history, max(since, self.history.first), len(self.history) - 1, self.forked_at)

    def message_steps(self) -> list[int]:
        """The steps of the history at which a message was on its way, the start and the last step included."""
        return self.run().message_steps()

    def back(self) -> None:
        """Look one message back."""
        self.seek(self.run().before(self.position))

    def forward(self) -> None:
        """Look one message on."""
        self.seek(self.run().after(self.position))

    def go_live(self) -> None:
        """Start real plugins and containers in the state that is shown, and go on with them.

        What is under way there is finished in memory first.
        """
        if self.closed:
            raise ClusterError(say("lab.closed"))
        if not self.state.idle:
            self._start_fork(self.position)
            self._looking = None
            self.wait()
        history = self.history.fork(self.position)
        self.end()
        self._fork = self._forked_at = self._looking = None
        history.append(e.WentLive())
        self._world = self._make_world()
        self._live = self._with(Cluster(self._world, history))
        self.wait()
        self._changed()

    def back_to_live(self) -> None:
        """Return to the live run, as it is now; a fork is given up."""
        if self._fork is not None:
            self._fork.close()
        self._fork = self._forked_at = self._looking = None
        self._changed()

    def reset(self) -> None:
        """Begin anew: everything is ended, and nothing has happened."""
        self.end()
        self._fork = self._forked_at = self._looking = None
        self._live = self._start()
        self._changed()

    def export(self, path: str | Path) -> None:
        """Write the run to a file that a colleague can load."""
        Path(path).write_text(self.history.to_json())

    def load(self, path: str | Path) -> None:
        """Show a run from a file: it goes on as a fork. Raises HistoryError, also where it cannot be read."""
        try:
            text = read_file(path)
        except (OSError, UnicodeDecodeError) as error:
            raise HistoryError(f"expected the path of a history: {reason(error)}") from None
        history = History.from_json(text)
        self.back_to_live()
        self._fork = self._with(Cluster(world("memory"), history))
        self._forked_at = len(history) - 1
        self._changed()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` whenever what is shown may have changed; the result stops that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def end(self) -> None:
        """End both branches with all that they started. What has happened can still be looked at."""
        if self._fork is not None:
            self._fork.close()
        self._live.close()

    @property
    def closed(self) -> bool:
        """Whether it has ended: nothing more can happen."""
        return self._live.closed

    # Inside

    def _start(self) -> Cluster:
        self._world = self._make_world()
        cluster = self._with(Cluster(self._world, History()))
        for event in self._beginning:
            cluster.post(event)
        cluster.wait()
        return cluster

    def _with(self, cluster: Cluster) -> Cluster:
        cluster.listen(lambda _: self._changed())
        return cluster

    def _changed(self) -> None:
        for listener in list(self._listeners):
            listener()

    def _start_fork(self, step: int, changes: Sequence[e.Event] = ()) -> None:
        history = self.history
        fork = Cluster(world("memory"), history.fork(step), history.events_after(step), changes)
        if self._fork is not None:
            self._fork.close()
        self._fork, self._forked_at = self._with(fork), step
        self._changed()
