"""The CPU manager as a hint provider: on which NUMA nodes could a container have CPUs of its own?

Source: `pkg/kubelet/cm/cpumanager/policy_static.go: GetTopologyHints, GetPodTopologyHints`.
"""

from collections.abc import Mapping
from dataclasses import replace

from kubedev.api.names import CPU
from kubedev.api.objects import Container, Pod
from kubedev.kubelet.cpu.cpu_manager import CPUManagerState, guaranteed_cpus
from kubedev.kubelet.cpu.cpu_policy import NO_CPUS, StaticPolicy
from kubedev.kubelet.cpu.cpuset import CPUSet
from kubedev.kubelet.devices.device_hints import pod_request
from kubedev.kubelet.topology.bitmask import mask_of, nodes_of
from kubedev.kubelet.topology.hints import MaskVerdict, ResourceHints, TopologyHint, generate_topology_hints
from kubedev.kubelet.topology.wide import WideHints

__all__ = ["get_pod_topology_hints", "get_topology_hints"]


def get_topology_hints(state: CPUManagerState, pod: Pod, container: Container) -> Mapping[str, ResourceHints]:
    """The hints for a container's CPUs; empty where it gets none of its own."""
    requested = guaranteed_cpus(pod, container)
    if requested == 0 or state.policy is None:
        return {}
    held = state.assigned(pod.uid, container.name)
    if held is None:
        reusable = state.cpus_to_reuse.get(pod.uid, NO_CPUS)
        return {CPU: _hints(state.policy, requested, state.available, reusable)}
    return {CPU: _again(state.policy, requested, held) if len(held) == requested else _another(requested)}


def get_pod_topology_hints(state: CPUManagerState, pod: Pod) -> Mapping[str, ResourceHints]:
    """The hints for all of a pod's CPUs; what its containers have already counts as reusable."""
    requested = pod_request(pod, lambda container: guaranteed_cpus(pod, container))
    if requested == 0 or state.policy is None:
        return {}
    assigned = NO_CPUS
    for container in (*pod.init_containers, *pod.containers):
        held = state.assigned(pod.uid, container.name)
        if held is not None:
            if len(held) != guaranteed_cpus(pod, container):
                return {CPU: _another(requested)}
            assigned |= held
    if len(assigned) == requested:
        return {CPU: _again(state.policy, requested, assigned)}
    reusable = state.cpus_to_reuse.get(pod.uid, NO_CPUS) | assigned
    return {CPU: _hints(state.policy, requested, state.available, reusable)}


def _another(requested: int) -> ResourceHints:
    return ResourceHints(CPU, requested, (), "allocated in another number")


def _again(policy: StaticPolicy, requested: int, held: CPUSet) -> ResourceHints:
    return replace(_hints(policy, requested, held, NO_CPUS), reason="already allocated")


def _hints(policy: StaticPolicy, requested: int, available: CPUSet, reusable: CPUSet) -> ResourceHints:
    details = policy.topology.details
    places = {cpu: (info.numa_node,) for cpu, info in details.infos.items()}
    numa_nodes = sorted(details.ids("numa_node"))
    hints = generate_topology_hints(CPU, requested, places, available, reusable, numa_nodes)
    return _prefer_whole_sockets(policy, hints) if policy.options.align_by_socket else hints


def _with_sockets(policy: StaticPolicy, hints: WideHints) -> WideHints:
    details, per_socket = (
        policy.topology.details,
        policy.topology.num_numa_nodes // policy.topology.num_sockets,
    )
    sockets = tuple(
        mask_of(details.ids_in("numa_node", "socket", socket)) for socket in sorted(details.ids("socket"))
    )
    return replace(hints, sockets=sockets, wanted_sockets=-(-hints.min_affinity_size // per_socket))


def _prefer_whole_sockets(policy: StaticPolicy, hints: ResourceHints) -> ResourceHints:
    """With align-by-socket, a hint is good as well if its nodes are on as few sockets as the request could need.

    Source: `policy_static.go: isHintSocketAligned`.
    """
    if isinstance(hints.hints, WideHints):
        return replace(hints, hints=_with_sockets(policy, hints.hints))
    per_socket = policy.topology.num_numa_nodes // policy.topology.num_sockets
    sockets = -(-(hints.min_affinity_size or 0) // per_socket)

    def judged(mask: MaskVerdict) -> MaskVerdict:
        on = policy.topology.details.ids_in("socket", "numa_node", *nodes_of(mask.counts.mask))
        aligned = mask.verdict == "not preferred" and len(on) == sockets
        return replace(mask, verdict="preferred") if aligned else mask

    masks = tuple(map(judged, hints.masks))
    chosen: tuple[TopologyHint, ...] = tuple(mask.hint for mask in masks if mask.hint is not None)
    return replace(hints, hints=chosen, masks=masks)
