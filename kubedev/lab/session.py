"""A lab's cluster: what a notebook drives, in code and with buttons alike.

`Lab` is a run with its history and its fork (`branches`), and all that a reader does to it.
"""

import atexit
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kubedev.api.manifests import Manifests
from kubedev.api.messages import HEALTHY, UNHEALTHY, Device, DevicePluginOptions
from kubedev.api.objects import Node, Pod
from kubedev.api.pod_groups import Workload
from kubedev.api.workloads import pod_from_template
from kubedev.cluster import events as e
from kubedev.deviceplugin.plugin import make_devices
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.kubelet import new_kubelet
from kubedev.kubelet.kubelet_configuration import KubeletConfiguration
from kubedev.lab.actions import action, allow
from kubedev.lab.applying import (
    MAX_DEVICES,
    admitted,
    changed_pods,
    declared,
    is_there,
    manifests,
    new_node,
    new_nodes,
    new_pods,
)
from kubedev.lab.kubelet_config import kubelet_config, kubelet_readers, restarted
from kubedev.lab.lookup import node_name, plugin_key, read_devices
from kubedev.lab.scheduler_config import SchedulerConfig, configured, unhandled
from kubedev.lab.watched import Watched
from kubedev.scheduler.configuration.loading import Configuration
from kubedev.views.catalogue import say
from kubedev.wire.backends import world
from kubedev.wire.sockets import have_grpc

if TYPE_CHECKING:
    from kubedev.lab.panel import Draw, Panel

__all__ = ["KubeletConfig", "Lab", "manifests", "new_node"]

MAX_REAL_NODES, MAX_NODES = 4, 5000
"""How many nodes a lab has at most: each one has real sockets over gRPC, none in memory."""

MAX_OPEN = 4
"""How many labs stay open at once: each one has processes of its own, and a Binder has little memory."""

_open: dict[str, "Lab"] = {}


class Lab(Watched):
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
        self.notes = (*configuration.notes, *filter(None, [self._config.topology().remark]))
        self._panel: Panel | None = None
        machines = [new_node(f"gpu-node-{number}") for number in range(1, nodes + 1)]
        new_kubelet(machines[0], "", self._config)  # says what is wrong before anything is started
        beginning += [e.NodeCreated(node, self._config) for node in machines]
        real = transport == "grpc" and have_grpc()
        super().__init__(name, lambda: world(transport, plugins), beginning, real)
        _open[name] = self
        atexit.register(self.close)

    # What you do

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
        pre_start: bool = False,
    ) -> None:
        """Start a device plugin with so many devices, spread over `numa` NUMA nodes, and wait till it is known.

        A plugin of the same resource on the node is replaced; with a `name` it runs beside it, on a socket of its own,
        and is called `example.com/gpu#name` from then on. Without `registers_again` a kubelet that restarts does not
        hear of it any more; with `pre_start` it is told of each start of a container. Raises ValueError for a node that
        is not there.
        """
        where = node_name(self.state, node)
        made = make_devices(devices, numa) if isinstance(devices, int) else read_devices(devices)
        options = DevicePluginOptions(pre_start, preferred_allocation)
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

    @action
    def advance(self, seconds: float) -> None:
        """Move the simulated clock on. It stops on the way wherever time alone makes something happen."""
        super().advance(seconds)

    @action
    def restart_kubelet(self, node: str = "", reboot: bool = False, checkpoint: str | None = None) -> None:
        """Restart a node's kubelet, or the whole machine. `checkpoint` is the text that it is to find as its checkpoint
        file, empty where the file is to be gone; None: what it has written.
        """
        self.do(e.KubeletStopped(node_name(self.state, node), reboot, checkpoint=checkpoint))

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
