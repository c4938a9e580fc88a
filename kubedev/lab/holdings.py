"""Who holds which device, and how a pod's containers came by theirs: pictures, an agent's view, and checks."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kubedev.api.objects import Pod
from kubedev.api.podresources import (
    AllocatableResourcesRequest,
    AllocatableResourcesResponse,
    ContainerDevices,
    ListPodResourcesRequest,
    ListPodResourcesResponse,
    PodResourcesAnswer,
)
from kubedev.api.requests import pod_requests
from kubedev.cluster.state import ClusterState
from kubedev.kubelet.devices.device_manager import AllocationDecision
from kubedev.kubelet.devices.devices import Ids
from kubedev.kubelet.devices.holdings import condition_of
from kubedev.kubelet.kubelet_state import KubeletState
from kubedev.kubelet.pod_resources import answer
from kubedev.lab.check import Checked, Invariant, Row, devices_of, invariant, tried
from kubedev.lab.machine import GPU, Machine
from kubedev.lab.needs_wire import NeedsWireError
from kubedev.lab.watched import Watched
from kubedev.views.catalogue import say
from kubedev.views.graphs import holdings_graph
from kubedev.views.live import LivePicture
from kubedev.views.masks import natural_list
from kubedev.views.picture import Picture
from kubedev.views.tray import Turn, tray_multiples, tray_picture, turns
from kubedev.wire.sockets import have_grpc

if TYPE_CHECKING:
    from networkx import DiGraph

__all__ = [
    "agent",
    "check_at_risk",
    "container_holds",
    "draw",
    "finds_idle",
    "listed",
    "show",
    "side_by_side",
    "told",
    "tray",
]


def told(machine: Machine, pod: Pod) -> tuple[Sequence[Turn], Sequence[str]]:
    """The turns of a pod's containers at a machine's GPUs; what the scheduler counts then, and what records hold."""
    free = machine.kubelet.devices.free(GPU)
    after, admission = machine.admit(pod)
    decisions = [a.decision for a in admission.allocations if isinstance(a.decision, AllocationDecision)]
    shown = turns(pod, decisions, GPU, free, tray(after).get(pod.uid, frozenset()))
    held = natural_list(after.held_by(pod.uid))
    counted = pod_requests(pod)[GPU].value() if GPU in pod_requests(pod) else 0
    sums = [
        say("tray.counted", count=counted),
        say("tray.held", count=len(after.held_by(pod.uid)), devices=held),
    ]
    return shown, sums[: 1 if shown[-1].error else 2]


def tray(machine: Machine) -> dict[str, Ids]:
    """The GPUs that the kubelet keeps for reuse, by the pod: its `devicesToReuse`."""
    kept = machine.kubelet.devices.devices_to_reuse
    return {uid: resources.get(GPU, frozenset()) for uid, resources in kept.items()}


def draw(machine: Machine, pod: Pod, step: int = 99, tray: bool = True) -> Picture:
    """A pod's admission up to a turn, and the tray of reusable devices if it is to be seen."""
    shown, sums = told(machine, pod)
    return tray_picture(pod.name, shown, sums, min(step, len(shown)), tray)


def show(machine: Machine, pod: Pod) -> LivePicture:
    """A pod's whole admission, as a cell shows it."""
    return LivePicture(draw(machine, pod))


def side_by_side(pods: Mapping[str, tuple[Machine, Pod]]) -> LivePicture:
    """Small multiples: pods by their titles, each with the machine that it is admitted to."""
    return LivePicture(tray_multiples({title: told(*case) for title, case in pods.items()}))


def listed(state: ClusterState) -> Iterator[tuple[str, str, str]]:
    """What the kubelets' PodResources List tells an agent, as (pod, container, device)."""
    for kubelet in state.kubelets.values():
        said = answer(kubelet, ListPodResourcesRequest())[1]
        assert isinstance(said, ListPodResourcesResponse)
        for pod in said.pod_resources:
            for c in pod.containers:
                yield from ((pod.name, c.name, device) for held in c.devices for device in held.device_ids)


def agent(state: ClusterState, directory: str = "") -> str:
    """What an agent is told: each pod with its devices (List), and what may be given out (GetAllocatableResources).

    With the real `directory` of the node it is asked on the kubelet's socket there, as by an agent of anybody's.
    """
    told = []
    for kubelet in state.kubelets.values():
        pods, there = _asked(kubelet, directory)
        assert isinstance(pods, ListPodResourcesResponse)
        assert isinstance(there, AllocatableResourcesResponse)
        for pod in pods.pod_resources:
            held = [device for c in pod.containers for device in c.devices]
            told.append(say("agent.pod", name=pod.name, devices=_told(held)))
        told.append(say("agent.allocatable", devices=_told(there.devices)))
    return " | ".join(told)


def _asked(kubelet: KubeletState, directory: str) -> list[PodResourcesAnswer]:
    requests = (ListPodResourcesRequest(), AllocatableResourcesRequest())
    if not directory:
        return [answer(kubelet, request)[1] for request in requests]
    if not have_grpc():
        raise NeedsWireError(say("agent.socket"))
    from kubedev.wire.pod_resources import ask_pod_resources, pod_resources_path  # grpc is waited for

    return ask_pod_resources(pod_resources_path(directory), *requests)


def _told(devices: Iterable[ContainerDevices]) -> str:
    """Ids with their NUMA nodes, if they have any."""
    told = (
        (d, say("agent.numa", nodes=", ".join(map(str, d.numa_nodes))) if d.numa_nodes else "")
        for d in devices
    )
    return ", ".join(f"{id_}{on}" for device, on in told for id_ in device.device_ids) or say("set.none")


def container_holds(pod: str, container: str, resource: str, count: int, role: str = "") -> Invariant:
    """A pod's container is there, as init, sidecar or app if it is said, and its record holds just so many devices."""

    def rows(state: ClusterState) -> Iterator[Row]:
        graph, name = holdings_graph(state), f"container {pod} {container}"
        held = (
            sum(of == resource for _, _, of in graph.out_edges(name, data="resource")) if name in graph else 0
        )
        is_ = graph.nodes[name]["role"] if name in graph else role
        if held != count:
            yield {"pod": pod, "container": container, "held": held, "count": count, "resource": resource}
        if role and is_ != role:
            yield {"key": "container-role", "pod": pod, "container": container, "is_": is_, "role": role}

    return invariant("container-holds", rows)


def check_at_risk(function: "Callable[[DiGraph], Collection[str]]", lab: Watched) -> Checked:
    """Whether a function of the graph of who holds what names the pods with an unhealthy device, at every message."""
    cases = {}
    for step in lab.message_steps():
        state = lab.history[step].state
        right = {pod for pod, node, of, id_ in devices_of(state)
                 if condition_of(state.kubelets[node].devices, of, id_) != "healthy"}  # fmt: skip
        cases[say("check.at-message", number=len(state.messages))] = holdings_graph(state), right
    return tried(lambda graph: set(function(graph)), cases)


def finds_idle(function: "Callable[[DiGraph], Collection[str]]") -> Invariant:
    """A function of the graph of who holds what names the ids of the idle devices, all of them and no others.

    Idle are those that ordinary init containers alone hold: the pod's later containers run, and do not have them.
    """

    def rows(state: ClusterState) -> Iterator[Row]:
        graph, idle = holdings_graph(state), dict[str, str]()
        for device, facts in graph.nodes(data=True):
            holders = (
                [graph.nodes[c] for c in graph.predecessors(device)] if facts["kind"] == "device" else []
            )
            if holders and all(holder["role"] == "init" for holder in holders):
                idle[facts["id"]] = ", ".join(holder["name"] for holder in holders)
        try:
            said = set(map(str, function(graph)))
        except Exception as error:  # whatever a reader's function does
            yield {"key": "error", "what": "idle", "error": repr(error)}
            return
        yield from ({"device": i, "container": by} for i, by in sorted(idle.items()) if i not in said)
        yield from ({"key": "not-idle", "device": device} for device in sorted(said - idle.keys()))

    return invariant("idle", rows)
