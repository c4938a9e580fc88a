"""What a lab shows of itself, and what was done to it: all that its pictures, its stage and its tables look at."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from kubedev.api.objects import Node, Pod
from kubedev.cluster import events as e
from kubedev.cluster.cluster import Cluster
from kubedev.cluster.history import History
from kubedev.lab.actions import Action, Done, carry_out
from kubedev.lab.applying import asked_resources
from kubedev.lab.claims import Claims
from kubedev.lab.lookup import devices_of, find_pod
from kubedev.lab.needs_wire import NeedsWireError
from kubedev.views.catalogue import say
from kubedev.wire.world import World

if TYPE_CHECKING:
    from networkx import DiGraph

    from kubedev.lab.scene import Log
    from kubedev.views.path_state import PathMode

__all__ = ["Watched"]

MAX_DONE = 1000
"""How many actions are kept."""


class Watched(Claims):
    """A run with its name, its objects and its actions; `real` if it has sockets and processes."""

    def __init__(
        self, name: str, make_world: Callable[[], World], beginning: Sequence[e.Event], real: bool
    ) -> None:
        self.name, self._real, self._closed = name, real, False
        self._done: WeakKeyDictionary[Cluster, tuple[Done, ...]] = WeakKeyDictionary()
        super().__init__(make_world, beginning)

    # What there is

    @property
    def real(self) -> bool:
        """Whether the live run has sockets and processes: not in memory, nor where there is no gRPC."""
        return self._real

    def pids(self) -> dict[str, int]:
        """The processes of plugins and containers, by name. NeedsWireError where they are in memory."""
        if not self.real:
            raise NeedsWireError(say("lab.processes"))
        plugins = {each.name: each.pid for each in self.state.plugins.values()}
        found = plugins | {each.name: each.pid for each in self.state.containers.values()}
        return {name: pid for name, pid in found.items() if pid is not None}

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Meanwhile pictures are for a page without a kernel, where no lab can be closed."""
        closed, self._closed = self._closed, False
        try:
            yield
        finally:
            self._closed = closed

    @property
    def shown_mode(self) -> "PathMode":
        """The mode as a picture tells it: a lab in memory, or one that is closed, says so."""
        if self._closed:
            return "closed"
        return "memory" if self.mode == "live" and not self.real else self.mode

    def node(self, name: str = "") -> Node:
        """A node's object as the store has it, the first one by default."""
        nodes = self.state.store.nodes
        return nodes[name or next(iter(nodes))]

    def pod(self, name: str) -> Pod:
        """A pod by its name. KeyError says which there are."""
        return find_pod(self.state, name)

    def devices_of(self, name: str) -> tuple[str, ...]:
        """The ids of the devices that a pod holds."""
        return devices_of(self.state, self.pod(name))

    def graph(self) -> "DiGraph":
        """Who holds what, as a networkx graph: pod, container, device, NUMA node; see `kubedev.views.graphs`."""
        from kubedev.views.graphs import holdings_graph

        return holdings_graph(self.state)

    def log(self, last: int | None = None) -> "Log":
        """The messages up to the step that is shown, or the last ones of them."""
        from kubedev.lab.scene import Log

        return Log(self.state, last)

    def output(self, pod: str) -> str:
        """What the processes of a pod's containers have printed."""
        uid = self.pod(pod).uid
        containers = [c for c in self.state.containers.values() if c.pod_uid == uid]
        return "\n".join(line for container in containers for line in container.output)

    # What was done

    def act(self, action: Action) -> Any:
        """Carry out an action that is given as data, as in `{"do": "set_health", "device": "d0", "healthy": False}`.

        Everything that buttons and clicks do comes through here; each of the methods below is one. Raises ValueError.
        """
        return carry_out(self, action)

    @property
    def actions(self) -> tuple[Done, ...]:
        """What was done in the run that is shown, in order; of a very long one the newest actions."""
        return self._done.get(self.cluster, ())

    def began(self) -> tuple[Cluster, int]:
        """The run, and the step at which something is done to it."""
        return self.cluster, self.position

    def done(self, action: Action, before: tuple[Cluster, int]) -> None:
        """Take down an action; a fork begins with what was done before it left the run."""
        cluster, step = before
        earlier = self._done.get(cluster, ())
        if self.cluster is not cluster:
            earlier = tuple(done for done in earlier if done.step <= step)
        self._done[self.cluster] = (*earlier, Done(step, action))[-MAX_DONE:]
        self._changed()  # whoever follows may have looked before the action was over

    def go_live(self) -> None:
        """Start real plugins and containers in the state that is shown, and go on with them."""
        before, earlier = self.began(), self.actions
        super().go_live()
        self._done[self.cluster] = (*earlier, Done(before[1], {"do": "go_live"}))

    @property
    def left(self) -> History:
        """The history of the live run, also while a fork is shown."""
        return self._live.history

    @property
    def left_behind(self) -> int | None:
        """How many messages the live run has had since a fork left it; None without a fork."""
        if self.forked_at is None or self.forked_at >= len(self._live.history):
            return None
        history = self._live.history
        return len(history.state.messages) - len(history[self.forked_at].state.messages)

    def missing_resources(self, pods: Iterable[Pod]) -> list[str]:
        """The extended resources that pods ask for and no node has any of."""
        nodes = self.state.store.nodes.values()
        return [
            name
            for name in sorted(asked_resources(pods))
            if not any(name in node.allocatable and node.allocatable[name].value() > 0 for node in nodes)
        ]
