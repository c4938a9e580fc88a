"""A kubelet as a value: what it knows, and the conversations that it is in the middle of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from kubedev.api.messages import Answer, Call
from kubedev.api.objects import Node, Pod
from kubedev.api.values import Same, replace
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.cpu.cpu_manager import CPUManagerState
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.kubelet.events import Effect, PluginRegistering, PodBound, PodDeleted, PodRemoved, SourcesReady
from kubedev.kubelet.memory.memory_manager import MemoryManagerState
from kubedev.kubelet.pods import PodRecord
from kubedev.kubelet.pressure.eviction import EvictionRound
from kubedev.kubelet.topology.hints import TopologyHint
from kubedev.kubelet.topology.topology import AffinityStore, TopologyManager

__all__ = ["Effects", "KubeletState", "Stepped", "Talk", "new_kubelet"]

Effects = tuple[Effect, ...]
Stepped = tuple["KubeletState", Effects]


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation in flight: what it is about, the state it began in, and the answers so far, each with
    the state at that moment. `call_id` is the call whose answer it waits for.
    """

    about: PluginRegistering | PodBound | tuple[str, str]
    call_id: int
    call: Call
    begun: "KubeletState" = field(compare=False, repr=False)
    answers: tuple[tuple["KubeletState", Answer], ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class KubeletState:
    """A kubelet as a value.

    `pods` are in the order of their arrival, by uid; `waiting` is what the sync loop has still to take, one
    after another; `talks` are by call id. `found` are pods of before a restart, as the runtime has them,
    until they are bound again. `node` is the kubelet's view of its own node object, `drivers` those of claims that
    have registered. `making_room` is the critical pod whose admission waits for pods to end, `look` the eviction
    manager's latest look, with the state it left.
    """

    node: Node
    socket_dir: str
    config: KubeletConfig = KubeletConfig()
    devices: DeviceManagerState = DeviceManagerState()
    cpus: CPUManagerState = CPUManagerState()
    memory: MemoryManagerState = MemoryManagerState()
    topology: TopologyManager = TopologyManager()
    affinities: AffinityStore = AffinityStore()
    drivers: tuple[str, ...] = ()
    pods: Mapping[str, PodRecord] = field(default_factory=dict)
    found: Mapping[str, PodRecord] = field(default_factory=dict)
    waiting: tuple[PodBound | PodDeleted | PodRemoved | SourcesReady, ...] = ()
    making_room: str = ""
    look: EvictionRound | None = None
    talks: Mapping[int, Talk] = field(default_factory=dict)
    next_call: int = 1
    next_client: int = 1

    def active_pods(self) -> tuple[Pod, ...]:
        """The pods that may hold devices, the one being admitted among them."""
        return _active(Same(self.pods))

    def with_affinity(self, pod_uid: str, container: str, hint: TopologyHint) -> "KubeletState":
        """The state with this affinity in its store."""
        return replace(self, affinities=self.affinities.set_affinity(pod_uid, container, hint))


@lru_cache(maxsize=16)  # in one admission every manager asks
def _active(of_records: Same[Mapping[str, PodRecord]]) -> tuple[Pod, ...]:
    return tuple([record.pod for record in of_records.value.values() if record.active])


def new_kubelet(node: Node, socket_dir: str, config: KubeletConfig | None = None) -> KubeletState:
    """A kubelet that has just started for the first time, with no plugin and no pod.

    Raises ValueError (TopologyManagerError, CPUManagerError, MemoryManagerError, PolicyOptionError, SettingsError)
    with Kubernetes' text where a real one would not start with this configuration.
    """
    config = config or KubeletConfig()
    devices = DeviceManagerState(switches=config.all_switches)
    config.eviction()
    config.check_reservations(node)
    node = config.with_reservations(node)
    return KubeletState(node, socket_dir, config, devices, config.cpus(), config.memory(), config.topology())
