"""A lab's cluster: what a notebook drives, in code and with buttons alike.

`Lab` is a run with its history and its fork (`branches`), and all that a reader does to it.
"""

import atexit
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

from kubedev.api.manifests import Manifests
from kubedev.api.messages import HEALTHY, UNHEALTHY, Device, DevicePluginOptions
from kubedev.api.objects import Node, Pod
from kubedev.api.pod_groups import Workload
from kubedev.api.workloads import pod_from_template
from kubedev.cluster import events as e
from kubedev.cluster.cluster import Cluster
from kubedev.cluster.history import History
from kubedev.deviceplugin.plugin import make_devices
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.kubelet import new_kubelet
from kubedev.kubelet.kubelet_configuration import KubeletConfiguration
from kubedev.lab.actions import Action, Done, action, allow, carry_out
from kubedev.lab.applying import (
    MAX_DEVICES,
    admitted,
    asked_resources,
    changed_pods,
    declared,
    is_there,
    manifests,
    new_node,
    new_nodes,
    new_pods,
)
from kubedev.lab.claims import Claims
from kubedev.lab.kubelet_config import kubelet_config, kubelet_readers, restarted
from kubedev.lab.lookup import devices_of, find_pod, node_name, plugin_key, read_devices
from kubedev.lab.scheduler_config import SchedulerConfig, configured, unhandled
from kubedev.scheduler.configuration.loading import Configuration
from kubedev.views.catalogue import say
from kubedev.wire.backends import world
from kubedev.wire.sockets import have_grpc

if TYPE_CHECKING:
    from networkx import DiGraph

    from kubedev.lab.panel import Draw, Panel
    from kubedev.lab.scene import Log
    from kubedev.views.path_state import PathMode

__all__ = ["KubeletConfig", "Lab", "manifests", "new_node"]

MAX_REAL_NODES, MAX_NODES = 4, 5000
"""How many nodes a lab has at most: each one has real sockets over gRPC, none in memory."""

MAX_DONE = 1000
"""How many actions are kept."""

MAX_OPEN = 4
"""How many labs stay open at once: each one has processes of its own, and a Binder has little memory."""

_open: dict[str, "Lab"] = {}


class Lab(Claims):
    """A cluster to experiment with. A lab of the same name that is still open is closed first, and the oldest one
    where too many are.

    `nodes` is how many there are at the start: over gRPC at most four, in memory at most 5,000. `transport`
    is `grpc` (real sockets, real processes; in memory where there is no gRPC, and every picture says so) or
    `memory`; with `plugins="thread"` the plugins run in this process. `config` is every kubelet's: its
    policies, its machine, and switches such as `KubeletConfig(switches=frozenset({"121994"}))`, or a
    KubeletConfiguration, a path or YAML text, of which `notes` say what counts for nothing. `scheduler` is
    the scheduler's configuration, a path or YAML text; `scheduler_plugins` are classes that it can name
    (`kubedev.scheduler.configuration.own_plugins` says what they look like).
    """

    def __init__(
        self,
        name: str = "lab",
        nodes: int = 2,
        transport: Literal["grpc", "memory"] = "grpc",
        plugins: Literal["process", "thread"] = "process",
        config: KubeletConfig | str | Path | None = None,
        scheduler: str | Path | None = None,
        scheduler_plugins: Sequence[type] = (),
    ) -> None:
        most = MAX_REAL_NODES if transport == "grpc" else MAX_NODES
        if not 1 <= nodes <= most:
            more = say("lab.more-nodes", most=MAX_NODES) if transport == "grpc" else ""
            raise ValueError(f"expected 1 to {most} nodes, got {nodes}{more}")
        configuration = kubelet_config(config)
        self._config = configuration.config
        self._scheduler = SchedulerConfig(scheduler_plugins, self._config.all_switches)
        beginning = self._scheduler.beginning(scheduler)
        for older in [name] if name in _open else list(_open)[: len(_open) + 1 - MAX_OPEN]:
            _open.pop(older).close()
        self.name = name
        self._transport = transport
        self.notes = (*configuration.notes, *filter(None, [self._config.topology().remark]))
        self._panel: Panel | None = None
        self._done: WeakKeyDictionary[Cluster, tuple[Done, ...]] = WeakKeyDictionary()
        self._closed = False
        machines = [new_node(f"gpu-node-{number}") for number in range(1, nodes + 1)]
        new_kubelet(machines[0], "", self._config)  # says what is wrong before anything is started
        beginning += [e.NodeCreated(node, self._config) for node in machines]
        super().__init__(lambda: world(transport, plugins), beginning)
        _open[name] = self
        atexit.register(self.close)

    # What there is

    @property
    def real(self) -> bool:
        """Whether the live run has sockets and processes: not in memory, nor where there is no gRPC."""
        return self._transport == "grpc" and have_grpc()

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

    # What you do

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

    @action
    def plugin(
        self,
        resource: str,
        devices: int | Iterable[Device] = 8,
        numa: int = 2,
        node: str = "",
        preferred_allocation: bool = True,
        name: str = "",
        registers_again: bool = True,
    ) -> None:
        """Start a device plugin with so many devices, spread over `numa` NUMA nodes, and wait till it is known.

        A plugin of the same resource on the node is replaced; with a `name` it runs beside it, on a socket of its own,
        and is called `example.com/gpu#name` from then on. Without `registers_again` a kubelet that restarts does not
        hear of it any more. Raises ValueError for a node that is not there.
        """
        where = node_name(self.state, node)
        made = make_devices(devices, numa) if isinstance(devices, int) else read_devices(devices)
        options = DevicePluginOptions(get_preferred_allocation_available=preferred_allocation)
        called = f"{resource}#{name}" if name else resource
        self.do(e.PluginLaunched(where, called, made, options, registers_again))

    @action
    def kill_plugin(self, resource: str, node: str = "") -> None:
        """SIGKILL the plugin."""
        self.do(e.PluginKilled(*plugin_key(self.state, resource, node)))

    @action
    def set_health(self, device: str, healthy: bool, resource: str = "", node: str = "") -> None:
        """Turn a device healthy or unhealthy."""
        key = plugin_key(self.state, resource, node)
        known = [d.id for d in self.state.plugins[key].devices]
        if device not in known:
            raise ValueError(f"expected a device of {key[1]} ({', '.join(known)}), got {device!r}")
        self.do(e.HealthSet(*key, device, HEALTHY if healthy else UNHEALTHY))

    @action
    def apply(self, manifest: str | Path, source: str = "", rename: bool = False) -> Manifests:
        """Create what a manifest says: the name of one of the labs', a path, or YAML text.

        What is there already stays as it is, but for a pod's tolerations, to which more may come, and its scheduling
        gates, which may go. All is checked before any is created. Raises ManifestError, or
        ClusterError where another object has the name; with `rename` pods get a free name then. For a node that
        says how many devices it has, a plugin with so many is started, since no kubelet can hand out what no
        plugin offers; above 10,000 of them they are only counted. A KubeSchedulerConfiguration starts the scheduler
        anew, a KubeletConfiguration all kubelets (ValueError with the kubelet's text where one would not start, and
        nothing is created). `notes` of the result say what counts for nothing, and which pods no scheduler looks at.
        """
        readers = {**self._scheduler.readers, **kubelet_readers(self._config)}
        loaded = admitted(manifest, source, self.state, rename, readers, self._config.all_switches)
        store = self.state.store
        kubelets = [c for c in loaded.configurations if isinstance(c, KubeletConfiguration)]
        first: list[e.Event] = [event for each in kubelets for event in restarted(self.state, each.config)]
        first += [configured(c) for c in loaded.configurations if isinstance(c, Configuration)]
        config, nodes = kubelets[-1].config if kubelets else self._config, new_nodes(loaded, store)
        for node in nodes:
            new_kubelet(node, "", config)  # says what is wrong before anything is created
        self._config = config
        first += [e.NodeCreated(node, self._config) for node in nodes]
        first += [
            e.ObjectApplied(obj)
            for obj in loaded.objects
            if not (isinstance(obj, Pod | Node | Workload) or is_there(obj, store))
        ]
        daemons = [w for w in loaded.objects if isinstance(w, Workload) and w.kind == "DaemonSet"]
        wanted = [*loaded.pods, *(pod_from_template(daemon, 0) for daemon in daemons)]
        for node, resource, count in declared(nodes, wanted):
            if count <= MAX_DEVICES:
                first.append(e.PluginLaunched(node.name, resource, make_devices(max(count, 0), 2)))
        if first:
            self.do(*first)
        created = [replace(pod, creation_timestamp=self.state.now) for pod in new_pods(loaded, store)]
        new = [daemon for daemon in daemons if daemon not in store.workloads.values()]
        changed = changed_pods(loaded, store)
        self.do(*map(e.ObjectApplied, new), *map(e.ObjectApplied, changed), *map(e.PodCreated, created))
        profiles = [profile.scheduler_name for profile in self.state.scheduler.queue.profiles]
        notes = (note for each in kubelets for note in each.notes)
        return replace(loaded, notes=(*loaded.notes, *notes, *unhandled(loaded.pods, profiles)))

    def missing_resources(self, pods: Iterable[Pod]) -> list[str]:
        """The extended resources that pods ask for and no node has any of."""
        nodes = self.state.store.nodes.values()
        return [
            name
            for name in sorted(asked_resources(pods))
            if not any(name in node.allocatable and node.allocatable[name].value() > 0 for node in nodes)
        ]

    @action
    def advance(self, seconds: float) -> None:
        """Move the simulated clock on. It stops on the way wherever time alone makes something happen."""
        super().advance(seconds)

    @action
    def restart_kubelet(self, node: str = "", reboot: bool = False) -> None:
        """Restart a node's kubelet, or the whole machine."""
        self.do(e.KubeletStopped(node_name(self.state, node), reboot))

    def show(
        self,
        draw: "Draw | None" = None,
        paced: bool = True,
        since: int | None = None,
        status: bool = True,
        title: str = "",
    ) -> "Panel":
        """The live picture with its buttons; `draw(lab, step)` draws another one than the path.

        `paced`: messages are shown one after another. `since` is the step of the history to begin with.
        Without `status` the picture leaves out what the node's status says: it may be what is asked. `title` stands
        above it.
        """
        from kubedev.lab.panel import Panel, draw_path

        if self._panel is not None:
            self._panel.sleep()
        drawn = draw or (None if status else partial(draw_path, status=False))
        self._panel = Panel(self, drawn, paced, since, title)
        return self._panel

    def play(
        self, draw: "Draw | None" = None, since: int = 0, status: bool = True, title: str = ""
    ) -> "Panel":
        """The live picture, which first plays what has happened since a step, message by message."""
        return self.show(draw, since=since, status=status, title=title)

    def close(self) -> None:
        """End everything. May be called twice."""
        atexit.unregister(self.close)
        self._closed = True
        if _open.get(self.name) is self:
            del _open[self.name]
        if self._panel is not None:
            self._panel.sleep()
        self.end()

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


for _method in (Lab.go_live, Lab.back_to_live, Lab.reset, Lab.seek, Lab.back, Lab.forward):
    allow(_method)
