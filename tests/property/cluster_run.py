"""A cluster in memory that is driven event by event: no thread, so that a walk can be repeated exactly."""

from collections import deque
from collections.abc import Sequence

from kubedev.api.objects import Node
from kubedev.api.quantity import Quantity
from kubedev.cluster.events import Event, NodeCreated
from kubedev.cluster.history import History
from kubedev.cluster.state import ClusterState
from kubedev.kubelet.config import KubeletConfig
from kubedev.wire.backends import MemoryBackend
from kubedev.wire.runtime import MemoryRuntime
from kubedev.wire.world import World

TOO_MANY = 3000  # steps without an end: something goes round in circles


class Backend(MemoryBackend):
    """Keeps the runtime at hand, so that a container's process can be ended from outside."""

    def __init__(self) -> None:
        self.containers = MemoryRuntime()

    def runtime(self) -> MemoryRuntime:
        return self.containers


class Run:
    """What `Cluster` does, on the caller's thread and as far as the caller wants."""

    def __init__(
        self,
        history: History | None = None,
        recorded: Sequence[Event] = (),
        changes: Sequence[Event] = (),
    ) -> None:
        self.history = history or History()
        self.inbox: deque[Event] = deque()
        self.backend = Backend()
        self.world = World(self.backend)
        self.world.open(self.inbox.append, self.state)
        for change in changes:
            self.post(change)
            while self.inbox:
                self._apply(self.inbox.popleft())
        self.world.go_on(self.state, recorded)

    @property
    def state(self) -> ClusterState:
        return self.history.state

    def post(self, event: Event) -> None:
        self.inbox.append(event)

    def step(self) -> bool:
        """Apply the next event; False where there is none."""
        if not (self.state.pending or self.inbox):
            return False
        event = self.state.pending[0] if self.state.pending else self.inbox.popleft()
        self._apply(event)
        return True

    def _apply(self, event: Event) -> None:
        state = self.history.append(event)
        self.world.carry_out(event, state)

    def settle(self) -> None:
        for _ in range(TOO_MANY):
            if not self.step():
                return
        raise AssertionError(f"no end after {TOO_MANY} steps: {self.history[-1].event}")

    def fork(self, index: int, *changes: Event) -> "Run":
        return Run(self.history.fork(index), self.history.events_after(index), changes)

    def running(self) -> set[tuple[str, str]]:
        """The containers whose processes run, by pod uid and name."""
        return self.backend.containers.running()

    def end_container(self, key: tuple[str, str], code: int) -> None:
        """End a container's process from outside."""
        self.backend.containers.end(key, code)


def a_run(nodes: int, config: KubeletConfig) -> Run:
    run = Run()
    amounts = {n: Quantity.parse(t) for n, t in {"cpu": "8", "memory": "16Gi", "pods": "5"}.items()}
    for name in [f"n{i}" for i in range(1, nodes + 1)]:
        node = Node(name, {"kubernetes.io/hostname": name}, capacity=amounts, allocatable=amounts)
        run.post(NodeCreated(node, config))
    run.settle()
    return run
