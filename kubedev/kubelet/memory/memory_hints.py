"""The memory manager as a hint provider: on which NUMA nodes could a container have its memory?

With no place at all the manager says nothing, so that the merge goes on as if it did not care, and the allocation
fails.

Source: `pkg/kubelet/cm/memorymanager/policy_static.go: GetTopologyHints, GetPodTopologyHints`.
"""

from collections.abc import Mapping

from kubedev.api.objects import Container, Pod
from kubedev.api.qos import GUARANTEED, get_pod_qos
from kubedev.kubelet.memory.memory_manager import MemoryManagerState
from kubedev.kubelet.memory.memory_masks import (
    calculate_hints,
    pod_requested_resources,
    regenerate_hints,
    requested_resources,
)
from kubedev.kubelet.memory.memory_state import MemoryManagerError
from kubedev.kubelet.topology.hints import ResourceHints

__all__ = ["get_pod_topology_hints", "get_topology_hints"]

Answer = Mapping[str, ResourceHints] | None


def get_topology_hints(state: MemoryManagerState, pod: Pod, container: Container) -> Answer:
    """The hints for a container's memory by type. Empty: no place; None: there is nothing to be said."""
    if state.policy is None or get_pod_qos(pod).qos_class != GUARANTEED:
        return None
    try:
        requested = requested_resources(container)
        return _hints(state, pod, requested, (container,))
    except MemoryManagerError:
        return None


def get_pod_topology_hints(state: MemoryManagerState, pod: Pod) -> Answer:
    """The hints for all of a pod's memory; a container that has some already decides for the whole pod."""
    if state.policy is None or get_pod_qos(pod).qos_class != GUARANTEED:
        return None
    try:
        requested = pod_requested_resources(pod)
        return _hints(state, pod, requested, (*pod.init_containers, *pod.containers))
    except MemoryManagerError:
        return None


def _hints(
    state: MemoryManagerState, pod: Pod, requested: Mapping[str, int], containers: tuple[Container, ...]
) -> Answer:
    for container in containers:
        held = state.blocks(pod.uid, container.name)
        if held is not None:
            again = regenerate_hints(held, requested)
            if again is None:
                return None
            return {
                resource: ResourceHints(resource, size, again[resource], "already allocated")
                for resource, size in requested.items()
            }
    hints = calculate_hints(state.machine, requested, state.reusable.get(pod.uid, {}))
    if not hints:
        return {}
    return {resource: ResourceHints(resource, size, hints, "counted") for resource, size in requested.items()}
