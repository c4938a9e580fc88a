"""A machine with NUMA nodes as a value: change it, and ask its kubelet where a pod could go.

The kubelet in it is the whole one of `kubedev.kubelet`; only the time before is left out: plugins are connected,
and devices that are taken were taken somehow. Every change returns a new machine.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from kubedev.api.messages import (
    UNHEALTHY,
    AllocateRequest,
    AllocateResponse,
    Answer,
    Call,
    ContainerAllocateResponse,
    Device,
    converse,
)
from kubedev.api.names import CPU, MEMORY
from kubedev.api.objects import Container, Node, Pod
from kubedev.api.quantity import Quantity
from kubedev.deviceplugin.plugin import make_devices
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.cpu.cpu_topology import CPUTopology
from kubedev.kubelet.devices import device_manager
from kubedev.kubelet.devices.capacity import list_and_watch, with_plugin
from kubedev.kubelet.devices.checkpoint import checkpoint_text
from kubedev.kubelet.devices.devices import (
    DeviceAllocateInfo,
    allocated_by,
    by_numa_node,
    container_devices,
    insert,
)
from kubedev.kubelet.devices.holdings import who_holds
from kubedev.kubelet.kubelet_state import KubeletState, new_kubelet
from kubedev.kubelet.pods import Phase, PodRecord
from kubedev.kubelet.topology.hints import ResourceHints
from kubedev.kubelet.topology.merge import NUMAInfo
from kubedev.kubelet.topology.providers import PROVIDERS
from kubedev.kubelet.topology.topology import (
    BEST_EFFORT,
    NONE,
    RESTRICTED,
    SINGLE_NUMA_NODE,
    PolicyDecision,
    TopologyAdmission,
    TopologyManager,
    admit,
    align,
)
from kubedev.views.catalogue import say

if TYPE_CHECKING:
    from networkx import DiGraph

    from kubedev.lab.session import Lab

__all__ = ["GPU", "POLICIES", "Machine", "full_name", "on", "pod_asking"]

POLICIES = (NONE, BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE)

GPU = "example.com/gpu"

Nodes = int | tuple[int, ...] | None


def on(nodes: Nodes, ids: str) -> tuple[Device, ...]:
    """Devices by their names, all at one place: `on(0, "a0 a1")`, `on((0, 1), "x")`; None: without topology."""
    return tuple(Device(id_, numa_nodes=(nodes,) if isinstance(nodes, int) else nodes) for id_ in ids.split())


def full_name(short: str) -> str:
    """A resource by its short name: `gpu` is example.com/gpu."""
    return short if short in (CPU, MEMORY) else f"example.com/{short}"


def pod_asking(name: str, *containers: Mapping[str, int]) -> Pod:
    """A pod with a container (c1, c2, ...) for each mapping of short names to numbers; of memory it is GiB.

    One that asks for CPUs asks for memory as well, so that it is Guaranteed and its CPUs are its own.
    """
    return Pod(
        name, uid=name, containers=tuple(_container(i, asked) for i, asked in enumerate(containers, 1))
    )


def _container(number: int, asked: Mapping[str, int]) -> Container:
    amounts = {full_name(short): Quantity.of(count) for short, count in asked.items() if count}
    if CPU in amounts:
        amounts[MEMORY] = Quantity.parse(f"{asked.get(MEMORY, 1)}Gi")
    return Container(f"c{number}", requests=amounts, limits=amounts)


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine, and the kubelet on it."""

    kubelet: KubeletState

    @classmethod
    def of(cls, nodes: int = 2, cpus: int = 0, **devices: Sequence[Device] | int) -> Self:
        """A machine with so many NUMA nodes, `cpus` on each, and devices by the short name of their resource; a number
        of them is spread evenly.

        With CPUs the kubelet's CPU manager has the static policy, and CPU 0 is reserved for the system.
        """
        config = KubeletConfig(
            NUMAInfo(tuple(range(nodes))),
            cpu_manager_policy="static" if cpus else "none",
            cpu_topology=CPUTopology.regular(sockets=nodes, cores=cpus, threads=1) if cpus else None,
            system_reserved=(("cpu", "1"),),
        )
        machine = cls.set_up(config)
        for short, listed in devices.items():
            machine = machine.listed(
                short, make_devices(listed, nodes) if isinstance(listed, int) else listed
            )
        return machine

    @classmethod
    def set_up(cls, config: KubeletConfig) -> Self:
        """A machine whose kubelet starts with these settings; ValueError with Kubernetes' text where it does not."""
        return cls(new_kubelet(Node("numa-node"), "", config))

    @classmethod
    def known_to(cls, lab: "Lab") -> Self:
        """The machine that a lab's first kubelet knows, by what its plugins have sent."""
        return cls(next(iter(lab.state.kubelets.values())))

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Show itself: what is on which NUMA node, and what is free."""
        from kubedev.lab.machine_scene import machine_board
        from kubedev.views.live import LivePicture
        from kubedev.views.numa import numa_picture

        return LivePicture(numa_picture(machine_board(self.kubelet)))._repr_mimebundle_(**options)

    def __repr__(self) -> str:
        """Where each device is: `a0 NUMA 0, x0 no topology`."""
        return ", ".join(f"{id_} {_place(device.numa_nodes)}" for id_, device in self.devices.items())

    # What can be changed

    def listed(self, short: str, devices: Sequence[Device]) -> Self:
        """The machine after a resource's plugin has sent this list."""
        name = full_name(short)
        state = with_plugin(self.kubelet.devices, name, devices)
        return replace(self, kubelet=replace(self.kubelet, devices=state))

    def moved(self, id_: str, nodes: Nodes) -> Self:
        """The machine after the plugin has said that a device is on these NUMA nodes."""
        (there,) = on(nodes, id_)
        return self._with(id_, lambda device: replace(device, numa_nodes=there.numa_nodes))

    def unhealthy(self, id_: str) -> Self:
        """The machine after a device has turned unhealthy."""
        return self._with(id_, lambda device: replace(device, health=UNHEALTHY))

    def without(self, id_: str) -> Self:
        """The machine after the plugin has left a device out of its list."""
        return self._with(id_, lambda device: None)

    def restarted(self, *, runs: bool = True, sources_ready: bool = False) -> Self:
        """The machine after a restart of its kubelet, which finds its checkpoint file, no plugin, and no pod yet.

        Containers that are no init containers run on; unless `runs`: the machine itself has started again.
        """
        pods = [record.pod for record in self.kubelet.pods.values() if record.phase == "Running"]
        running = {pod.uid: frozenset(c.name for c in pod.containers) for pod in pods} if runs else {}
        state = device_manager.restart(checkpoint_text(self.kubelet.devices), 0.0, running)
        state = device_manager.sources_ready(state) if sources_ready else state
        return replace(self, kubelet=replace(self.kubelet, devices=state, pods={}))

    def taken(self, ids: str, by: str = "web") -> Self:
        """The machine on which a running pod holds these devices too."""
        state = self.kubelet.devices
        for id_ in ids.split():
            name, _ = self._find(id_)
            held = container_devices(state.pod_devices, by, by, name) or frozenset()
            nodes = by_numa_node(state.all_devices[name], held | {id_})
            info = DeviceAllocateInfo(nodes, ContainerAllocateResponse())
            state = replace(state, pod_devices=insert(state.pod_devices, by, by, name, info))
        state = replace(state, allocated_devices=allocated_by(state.pod_devices))
        return replace(self, kubelet=_with_pod(replace(self.kubelet, devices=state), _holder(by), "Running"))

    def cpus_taken(self, cpus: Sequence[int], by: str = "web") -> Self:
        """The machine on which a running pod has these CPUs for itself."""
        old, own = self.kubelet.cpus, frozenset(cpus)
        assigned = {**old.assignments, by: {by: own}}
        state = replace(old, default=old.default - own, assignments=assigned)
        return replace(self, kubelet=_with_pod(replace(self.kubelet, cpus=state), _holder(by), "Running"))

    # What it answers

    @property
    def state(self) -> Self:
        """Itself: what a check looks at."""
        return self

    @property
    def devices(self) -> dict[str, Device]:
        """All devices by id, of every resource."""
        return {id_: d for listed in self.kubelet.devices.all_devices.values() for id_, d in listed.items()}

    @property
    def owners(self) -> dict[str, str]:
        """The pods that hold devices, by the device's id."""
        return {holding.device: holding.pod_uid for holding in who_holds(self.kubelet.devices)}

    def held_by(self, pod: str) -> tuple[str, ...]:
        """The devices that a pod holds."""
        return tuple(sorted(id_ for id_, owner in self.owners.items() if owner == pod))

    def graph(self) -> "DiGraph":
        """The machine as a networkx graph: sockets, NUMA nodes, CPUs and devices; see `kubedev.views.graphs`."""
        from kubedev.views.graphs import machine_graph

        return machine_graph(self.kubelet.config, self.kubelet.devices)

    def hints(self, **asked: int) -> tuple[ResourceHints, ...]:
        """What each resource answers to a container that asks for so many: `machine.hints(gpu=2, cpu=4)`."""
        pod = pod_asking("new", asked)
        state, found = _with_pod(self.kubelet, pod, "Admitting"), list[ResourceHints]()
        for provider in PROVIDERS:
            state, answer = provider.get_topology_hints(state, pod, pod.containers[0])
            found += answer.values()
        return tuple(found)

    def manager(self, policy: str, scope: str = "container", **options: str) -> TopologyManager:
        """A topology manager for this machine; ValueError where a kubelet would not start with it."""
        return TopologyManager.new(policy, scope, self.kubelet.config.numa, options)

    def decide(self, policy: str, **asked: int) -> PolicyDecision:
        """What a policy makes of the hints for one container."""
        pod = pod_asking("new", asked)
        state = _with_pod(self.kubelet, pod, "Admitting")
        return align(self.manager(policy), state, pod, pod.containers[0], PROVIDERS)[1].decision

    def admit(
        self, pod: Pod, policy: str = NONE, scope: str = "container"
    ) -> tuple["Machine", TopologyAdmission]:
        """The machine after the topology manager's admission of a pod, with all that was decided."""
        state = _with_pod(self.kubelet, pod, "Admitting")
        state, admission = converse(admit(self.manager(policy, scope), state, pod, PROVIDERS), _answer)
        return Machine(_with_pod(state, pod, "Failed" if admission.refusal else "Running")), admission

    # Inside

    def _find(self, id_: str) -> tuple[str, Device]:
        for name, listed in self.kubelet.devices.all_devices.items():
            if id_ in listed:
                return name, listed[id_]
        raise ValueError(f"expected one of the devices {', '.join(self.devices)}, got {id_!r}")

    def _with(self, id_: str, change: Callable[[Device], Device | None]) -> Self:
        name, device = self._find(id_)
        listed = {**self.kubelet.devices.all_devices[name], id_: change(device)}
        state = list_and_watch(self.kubelet.devices, name, [d for d in listed.values() if d is not None])
        return replace(self, kubelet=replace(self.kubelet, devices=state))


def _place(nodes: tuple[int, ...] | None) -> str:
    """A device's place in words."""
    if not nodes:
        return say("turn.no topology" if nodes is None else "turn.topology without nodes")
    return "NUMA " + ",".join(map(str, nodes))


def _holder(name: str) -> Pod:
    return Pod(name, uid=name, containers=(Container(name),))


def _with_pod(state: KubeletState, pod: Pod, phase: Phase) -> KubeletState:
    return replace(state, pods={**state.pods, pod.uid: PodRecord(pod, phase)})


def _answer(call: Call) -> Answer:
    """A plugin that says yes to everything; these plugins are asked nothing but Allocate."""
    assert isinstance(call.request, AllocateRequest)
    return AllocateResponse(tuple(ContainerAllocateResponse() for _ in call.request.container_requests))
