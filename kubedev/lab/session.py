"""A lab's cluster: what a notebook drives, in code and with buttons alike.

`Lab` holds the run and where in its history you look. Looking back and doing something else forks: the fork
goes on in memory from the recorded answers, since no real process can be rewound, until `go_live`.
"""

import atexit
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kubedev.api.manifests import Manifests
from kubedev.api.messages import HEALTHY, UNHEALTHY, Device, DevicePluginOptions
from kubedev.api.objects import Node, Pod, Workload
from kubedev.cluster import events as e
from kubedev.cluster.cluster import Cluster
from kubedev.cluster.history import History
from kubedev.cluster.state import ClusterState
from kubedev.deviceplugin.plugin import make_devices
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.kubelet import new_kubelet
from kubedev.lab.applying import admitted, asked_resources, is_there, manifests, new_node
from kubedev.lab.lookup import devices_of, find_pod, node_name, plugin_key
from kubedev.wire.backends import world
from kubedev.wire.sockets import have_unix_sockets

if TYPE_CHECKING:
    from kubedev.lab.panel import Draw, Panel
    from kubedev.lab.scene import Log
    from kubedev.views.path_state import PathMode

__all__ = ["KubeletConfig", "Lab", "manifests", "new_node"]

Mode = Literal["live", "replay", "fork"]
NODES = ("gpu-node-1", "gpu-node-2", "gpu-node-3", "gpu-node-4")

MAX_OPEN = 4
"""How many labs stay open at once: each one has processes of its own, and a Binder has little memory."""

_open: dict[str, "Lab"] = {}


class Lab:
    """A cluster to experiment with. A lab of the same name that is still open is closed first, and the oldest one
    where too many are.

    `nodes` is how many there are at the start (at most four). `transport` is `grpc` (real sockets, real processes)
    or `memory`; with `plugins="thread"` the plugins run in this process. `config` is every kubelet's: its policies,
    its machine, and switches such as `KubeletConfig(switches=frozenset({"121994"}))`.
    """

    def __init__(
        self,
        name: str = "lab",
        nodes: int = 2,
        transport: Literal["grpc", "memory"] = "grpc",
        plugins: Literal["process", "thread"] = "process",
        config: KubeletConfig | None = None,
    ) -> None:
        if not 1 <= nodes <= len(NODES):
            raise ValueError(f"expected 1 to {len(NODES)} nodes, got {nodes}")
        for older in [name] if name in _open else list(_open)[: len(_open) + 1 - MAX_OPEN]:
            _open.pop(older).close()
        self.name = name
        self._settings = (nodes, transport, plugins)
        self._config = config or KubeletConfig()
        new_kubelet(new_node(NODES[0]), "", self._config)  # says what is wrong before anything is started
        self._listeners: list[Callable[[], None]] = []
        self._panel: Panel | None = None
        self._closed = False
        self._looking: int | None = None
        self._fork: Cluster | None = None
        self._forked_at: int | None = None
        self._live = self._start()
        _open[name] = self
        atexit.register(self.close)

    # What there is

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
    def mode(self) -> Mode:
        """`live`, `replay` (you look back) or `fork` (it goes on in memory)."""
        if self._looking is not None:
            return "replay"
        return "live" if self._fork is None else "fork"

    @property
    def real(self) -> bool:
        """Whether the live run has sockets and processes: not in memory, nor where there are no unix sockets."""
        return self._settings[1] == "grpc" and have_unix_sockets()

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

    @property
    def forked_at(self) -> int | None:
        """The step at which the fork left the run, if this is one."""
        return self._forked_at

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

    def log(self, last: int | None = None) -> "Log":
        """The messages up to the step that is shown, or the last ones of them."""
        from kubedev.lab.scene import Log

        return Log(self.state, last)

    def output(self, pod: str) -> str:
        """What the processes of a pod's containers have printed."""
        uid = self.pod(pod).uid
        containers = [c for c in self.state.containers.values() if c.pod_uid == uid]
        return "\n".join(line for container in containers for line in container.output)

    @property
    def directories(self) -> dict[str, str]:
        """The real socket directory of each node of the live run; a name only where it runs in memory."""
        return self._live_world.directories

    # What you do

    def plugin(
        self,
        resource: str,
        devices: int | Iterable[Device] = 8,
        numa: int = 2,
        node: str = "",
        preferred_allocation: bool = True,
    ) -> None:
        """Start a device plugin with so many devices, spread over `numa` NUMA nodes, and wait till it is known.

        A plugin of the same resource on the node is replaced. Raises ValueError for a node that is not there.
        """
        name = node_name(self.state, node)
        made = make_devices(devices, numa) if isinstance(devices, int) else tuple(devices)
        options = DevicePluginOptions(get_preferred_allocation_available=preferred_allocation)
        self.do(e.PluginLaunched(name, resource, made, options))

    def kill_plugin(self, resource: str, node: str = "") -> None:
        """SIGKILL the plugin."""
        self.do(e.PluginKilled(*plugin_key(self.state, resource, node)))

    def set_health(self, device: str, healthy: bool, resource: str = "", node: str = "") -> None:
        """Turn a device healthy or unhealthy."""
        key = plugin_key(self.state, resource, node)
        known = [d.id for d in self.state.plugins[key].devices]
        if device not in known:
            raise ValueError(f"expected a device of {key[1]} ({', '.join(known)}), got {device!r}")
        self.do(e.HealthSet(*key, device, HEALTHY if healthy else UNHEALTHY))

    def apply(self, manifest: str | Path, source: str = "", rename: bool = False) -> Manifests:
        """Create what a manifest says: the name of one of the labs', a path, or YAML text.

        What is there already stays as it is. All is checked before any is created. Raises ManifestError, or
        ClusterError where another object has the name; with `rename` pods get a free name then. For a node that
        says how many devices it has, a plugin with so many is started, since no kubelet can hand out what no
        plugin offers.
        """
        loaded = admitted(manifest, source, self.state.store, rename)
        store = self.state.store
        nodes = [node for node in loaded.nodes if not is_there(node, store)]
        for node in nodes:
            self.post(e.NodeCreated(node, self._config))
        for obj in loaded.objects:
            if not isinstance(obj, Pod | Node | Workload):
                self.post(e.ObjectApplied(obj))
        for node in nodes:
            for resource in sorted(asked_resources(loaded.pods)):
                if resource in node.capacity:
                    count = node.capacity[resource].value()
                    self.post(e.PluginLaunched(node.name, resource, make_devices(count, 2)))
        self.wait()
        for pod in (p for p in loaded.pods if not is_there(p, store)):
            self.post(e.PodCreated(replace(pod, creation_timestamp=self.state.now)))
        self.wait()
        return loaded

    def missing_resources(self, pods: Iterable[Pod]) -> list[str]:
        """The extended resources that pods ask for and no node has any of."""
        nodes = self.state.store.nodes.values()
        return [
            name
            for name in sorted(asked_resources(pods))
            if not any(name in node.allocatable and node.allocatable[name].value() > 0 for node in nodes)
        ]

    def delete(self, pod: str) -> None:
        """Delete a pod."""
        self.do(e.PodDeletionAsked(self.pod(pod).uid))

    def advance(self, seconds: float) -> None:
        """Move the simulated clock on."""
        if seconds < 0:
            raise ValueError(f"expected 0 seconds or more, got {seconds:g}: only history goes back")
        self.do(e.ClockAdvanced(seconds))

    def restart_kubelet(self, node: str = "", reboot: bool = False) -> None:
        """Restart a node's kubelet, or the whole machine."""
        self.do(e.KubeletStopped(node_name(self.state, node), reboot))

    def do(self, event: e.Event) -> None:
        """Let something happen, and wait until nothing is under way."""
        self.post(event)
        self.wait()

    def post(self, event: e.Event) -> None:
        """Let something happen. Forks first if you look back."""
        if self._looking is not None and self._looking < len(self.history) - 1:
            self._start_fork(self._looking)
        self._looking = None
        self.cluster.post(event)

    def wait(self, until: Callable[[ClusterState], bool] | None = None, timeout: float = 30.0) -> None:
        """Wait until nothing is under way, or until `until(state)` holds; interrupting it does no harm.

        A pod in back-off is under way: the simulated clock moves on by the seconds that are left.
        """
        try:
            self.cluster.wait(until, timeout)
            while until is None and (seconds := self._backoff()):
                self.cluster.post(e.ClockAdvanced(seconds))
                self.cluster.wait(timeout=timeout)
        except KeyboardInterrupt:
            print("stopped by you; the lab goes on")

    def _backoff(self) -> float:
        """How long the first pod in back-off has still to wait; 0 without any.

        Only pods that an event brought there count: one that met an error would be tried again for ever.
        """
        state = self.cluster.state
        queue = state.scheduler.queue
        due = [
            queue.backoff_until(queued) for queued in queue.backoff.values() if queued.unschedulable_plugins
        ]
        return max(min(due) - state.now, 1.0) if due else 0.0

    def show(self, draw: "Draw | None" = None, paced: bool = True, since: int | None = None) -> "Panel":
        """The live picture with its buttons; `draw(lab, step)` draws another one than the path.

        `paced`: messages are shown one after another. `since` is the step of the history to begin with.
        """
        from kubedev.lab.panel import Panel

        if self._panel is not None:
            self._panel.sleep()
        self._panel = Panel(self, manifests(), draw, paced, since)
        return self._panel

    def play(self, draw: "Draw | None" = None, since: int = 0) -> "Panel":
        """The live picture, which first plays what has happened since a step, message by message."""
        return self.show(draw, since=since)

    # History

    def seek(self, step: int) -> None:
        """Look at a step of the history; the last one is now."""
        last = len(self.history) - 1
        if not 0 <= step <= last:
            raise IndexError(f"expected a step from 0 to {last}, got {step}")
        self._looking = None if step == last else step
        self._changed()

    def message_steps(self) -> list[int]:
        """The steps of the history at which a message was on its way, the start and the last step included."""
        history = self.history
        count = len(history)
        steps = [0]
        for step in range(1, count):
            if len(history[step].state.messages) > len(history[step - 1].state.messages) or step == count - 1:
                steps.append(step)
        return steps

    def back(self) -> None:
        """Look one message back."""
        count = len(self.state.messages)
        steps = [s for s in self.message_steps() if len(self.history[s].state.messages) < count]
        self.seek(max(steps, default=0))

    def forward(self) -> None:
        """Look one message on."""
        count = len(self.state.messages)
        steps = (s for s in self.message_steps() if len(self.history[s].state.messages) > count)
        self.seek(next(steps, len(self.history) - 1))

    def go_live(self) -> None:
        """Start real plugins and containers in the state that is shown, and go on with them.

        What is under way there is finished in memory first.
        """
        if not self.state.idle:
            self._start_fork(self.position)
            self._looking = None
            self.wait()
        history = self.history.fork(self.position)
        self._close_clusters()
        self._forked_at, self._looking = None, None
        _, transport, plugins = self._settings
        history.append(e.WentLive())
        self._live_world = world(transport, plugins)
        self._live = self._with(Cluster(self._live_world, history))
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
        self._close_clusters()
        self._forked_at = self._looking = None
        self._live = self._start()
        self._changed()

    def export(self, path: str | Path) -> None:
        """Write the run to a file that a colleague can load."""
        Path(path).write_text(self.history.to_json())

    def load(self, path: str | Path) -> None:
        """Show a run from a file: it goes on as a fork. Raises HistoryError."""
        history = History.from_json(Path(path).read_text())
        self.back_to_live()
        self._fork = self._with(Cluster(world("memory"), history))
        self._forked_at = len(history) - 1
        self._changed()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` whenever what is shown may have changed; the result stops that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def close(self) -> None:
        """End everything. May be called twice."""
        atexit.unregister(self.close)
        self._closed = True
        if _open.get(self.name) is self:
            del _open[self.name]
        if self._panel is not None:
            self._panel.sleep()
        self._close_clusters()

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Inside

    def _start(self) -> Cluster:
        nodes, transport, plugins = self._settings
        self._live_world = world(transport, plugins)
        cluster = self._with(Cluster(self._live_world, History()))
        for name in NODES[:nodes]:
            cluster.post(e.NodeCreated(new_node(name), self._config))
        cluster.wait()
        return cluster

    def _with(self, cluster: Cluster) -> Cluster:
        cluster.listen(lambda _: self._changed())
        return cluster

    def _changed(self) -> None:
        for listener in list(self._listeners):
            listener()

    def _start_fork(self, step: int) -> None:
        source = self.cluster
        recorded = source.history.events_after(step)
        fork = Cluster(world("memory"), source.history.fork(step), recorded)
        if self._fork is not None:
            self._fork.close()
        self._fork, self._forked_at = self._with(fork), step

    def _close_clusters(self) -> None:
        if self._fork is not None:
            self._fork.close()
            self._fork = None
        self._live.close()
