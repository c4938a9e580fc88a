"""A whole cluster as one value: what is drawn, stepped, forked and exported."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubedev.api.messages import Device, DevicePluginOptions
from kubedev.api.resource_slices import Device as ClaimedDevice
from kubedev.api.values import replace, with_item
from kubedev.cluster.controllers.daemon import BackOffs
from kubedev.cluster.events import Event, SchedulerTurn
from kubedev.cluster.journal import Journal
from kubedev.cluster.store import Store
from kubedev.cluster.usage import MachineUsage, Usage
from kubedev.kubelet.events import Effect
from kubedev.kubelet.kubelet import KubeletState
from kubedev.kubelet.pods import to_stop
from kubedev.scheduler.cycle import Decision
from kubedev.scheduler.scheduler import SchedulerState

__all__ = [
    "ClusterState",
    "ContainerState",
    "DriverState",
    "Message",
    "PluginState",
    "passable",
    "scheduler_last",
    "then",
    "with_container",
]

KUBELET_SOCKET = "kubelet.sock"


def passable(envs: Mapping[str, str]) -> dict[str, str]:
    """The variables that a process can have, and that Python does not set by itself."""
    return {
        name: value
        for name, value in envs.items()
        if name and name != "LC_CTYPE" and not {"\0", "="} & set(name) and "\0" not in value
    }


@dataclass(frozen=True, slots=True)
class PluginState:
    """A device plugin as seen from outside: is it there, what does it serve, what would it list.

    `name` is the resource; a second plugin of a resource on a node is called `example.com/gpu#2`, for example. `phase`
    is launched, serving, registered, forgotten (by a kubelet that has restarted, where it does not register again),
    refused or dead; `error` is the text that refused it, `register_id` the number of its last Register call. After a
    restart of the kubelet it is as good as launched. `launch` counts how often one was started here before. `heard`
    says whether the kubelet has received the list that the plugin would send now; `left_out` are devices that the list
    leaves out.
    """

    node: str
    resource: str
    devices: tuple[Device, ...]
    options: DevicePluginOptions
    phase: str = "launched"
    socket: str = ""
    pid: int | None = None
    error: str = ""
    launch: int = 0
    heard: bool = False
    name: str = ""
    registers_again: bool = True
    left_out: tuple[Device, ...] = ()
    register_id: int = 0

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.resource)

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.phase in ("launched", "serving", "registered", "forgotten")


@dataclass(frozen=True, slots=True)
class DriverState:
    """A driver of claims: the plugin's resource whose devices it offers, with what is known of each."""

    node: str
    name: str
    resource: str
    devices: tuple[ClaimedDevice, ...]


@dataclass(frozen=True, slots=True)
class ContainerState:
    """A container: `phase` is created, running or ended; `output` is what its process has printed.

    It prints who it is, a line for each variable, and what it does next. `attempt` counts its starts before.
    """

    pod_uid: str
    name: str
    node: str
    envs: tuple[tuple[str, str], ...] = ()
    devices: tuple[tuple[str, str, str], ...] = ()
    phase: str = "created"
    pid: int | None = None
    exit_code: int | None = None
    output: tuple[str, ...] = ()
    attempt: int = 0
    cdi_devices: tuple[str, ...] = ()

    @property
    def all_printed(self) -> bool:
        """Whether its process has printed all that it is to print."""
        return len(self.output) >= len(passable(dict(self.envs))) + 2


@dataclass(frozen=True, slots=True)
class Message:
    """One message on its way, for the log and the picture.

    Parties are `you`, `store`, `scheduler`, `kubelet/NODE`, `plugin/NODE/RESOURCE`, `container/UID/NAME`. `kind` is
    rpc (one request, one answer), stream (ListAndWatch), api (to and from the store) or local (a party does
    something by itself, or you do it to a party). What it says is a key of the catalogue with its values, so
    that it can be said in any language.
    """

    number: int
    at: float
    kind: str
    source: str
    target: str
    key: str
    values: tuple[tuple[str, str], ...] = ()
    node: str = ""


@dataclass(frozen=True, slots=True)
class ClusterState:
    """Everything at one moment.

    `pending` are the events that follow from those already applied, in order. `sockets` are the files in each
    node's socket directory. `usage` is what containers use, by pod and name, as far as anybody said; `machine_usage`
    what machines use besides. `provisioning` says when a volume will be made for a claim. `evictions` are pods that
    are to be evicted at a time, `missing` nodes that pods name and that are not there, `silent` kubelets that the API
    server does not hear, all with a time; `unsent` is what such a kubelet would say, the latest of each kind.
    `daemon_back_offs` say when a DaemonSet's pod that failed is made anew.
    `decision` is the scheduler's latest. `now` is in simulated seconds since the start.
    """

    now: float = 0.0
    store: Store = field(default_factory=Store)
    scheduler: SchedulerState = field(default_factory=SchedulerState)
    decision: Decision | None = None
    kubelets: Mapping[str, KubeletState] = field(default_factory=dict)
    plugins: Mapping[tuple[str, str], PluginState] = field(default_factory=dict)
    drivers: Mapping[tuple[str, str], DriverState] = field(default_factory=dict)
    containers: Mapping[tuple[str, str], ContainerState] = field(default_factory=dict)
    sockets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    usage: Mapping[tuple[str, str], Usage] = field(default_factory=dict)
    machine_usage: Mapping[str, MachineUsage] = field(default_factory=dict)
    provisioning: Mapping[str, float] = field(default_factory=dict)
    evictions: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, float] = field(default_factory=dict)
    daemon_back_offs: BackOffs = field(default_factory=dict)
    silent: Mapping[str, float] = field(default_factory=dict)
    unsent: Mapping[str, Mapping[tuple[str, str], Effect]] = field(default_factory=dict)
    messages: Journal[Message] = field(default_factory=Journal)
    pending: tuple[Event, ...] = ()

    @property
    def idle(self) -> bool:
        """Whether nothing is under way: no message, no answer of a plugin, no start or stop of a process."""
        return not self.pending and not self.under_way()

    def under_way(self) -> tuple[str, ...]:
        """What is being waited for, in words."""
        names = {uid: pod.name for uid, pod in self.store.pods.items()}
        waits = [
            f"{talk.call.method} of {talk.call.resource} on {node}"
            for node, agent in self.kubelets.items()
            for talk in agent.talks.values()
        ]
        waits += [
            f"plugin {p.name} on {p.node} ({p.phase})"
            for p in self.plugins.values()
            if p.phase in ("launched", "serving")
            or (p.phase == "registered" and not p.heard and self._streams(p))
        ]
        waits += [
            f"the end of the stream of {p.name} on {p.node}"
            for p in self.plugins.values()
            if p.phase == "dead" and self._streams(p)
        ]
        waits += [
            f"container {c.name} of pod {names.get(c.pod_uid, c.pod_uid)} ({c.phase})"
            for c in self.containers.values()
            if c.phase == "created" or (c.phase == "running" and (not c.all_printed or self.ends(c)))
        ]
        return tuple(waits)

    def ends(self, container: ContainerState) -> bool:
        """Whether a container is about to end: an ordinary init container, or one that has to stop."""
        record = self.kubelets[container.node].pods.get(container.pod_uid)
        if record is None:
            return False
        inits = [c.name for c in record.pod.init_containers if not c.restartable]
        return container.name in (*inits, *to_stop(record))

    def _streams(self, plugin: PluginState) -> bool:
        """Whether the kubelet takes a plugin for connected."""
        devices = self.kubelets[plugin.node].devices
        return any(
            endpoint.phase in ("connected", "superseded")
            and endpoint.resource == plugin.resource
            and endpoint.socket.endswith(f"/{plugin.socket}")
            for endpoint in devices.connections.values()
        )


def then(state: ClusterState, events: Iterable[Event]) -> ClusterState:
    """The state with events that follow from the one being applied, after all that is pending already."""
    return replace(state, pending=(*state.pending, *events))


def scheduler_last(state: ClusterState) -> ClusterState:
    """The state where the scheduler's turn comes after all that is pending: it hears of what was changed first."""
    turn = SchedulerTurn()
    if turn not in state.pending or state.pending[-1] == turn:
        return state
    return replace(state, pending=(*(event for event in state.pending if event != turn), turn))


def with_container(state: ClusterState, uid: str, name: str, **changes: Any) -> ClusterState:
    """The state with a container changed."""
    changed = replace(state.containers[uid, name], **changes)
    return replace(state, containers=with_item(state.containers, (uid, name), changed))
