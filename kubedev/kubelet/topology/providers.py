"""The managers that the topology manager asks, each as a hint provider over the whole kubelet's state."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from kubedev.api.messages import Conversation
from kubedev.api.objects import Container, Pod
from kubedev.api.values import replace
from kubedev.kubelet.cpu import cpu_hints, cpu_manager
from kubedev.kubelet.devices import device_hints, device_manager
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.kubelet.kubelet_state import KubeletState
from kubedev.kubelet.memory import memory_hints, memory_manager
from kubedev.kubelet.topology.hints import ResourceHints, TopologyHint
from kubedev.kubelet.topology.topology import Allocated, HintProvider, Refusal

__all__ = ["PROVIDERS", "CPUProvider", "DeviceProvider", "MemoryProvider", "within"]

R = TypeVar("R")


def within(
    state: KubeletState, conversation: Conversation[DeviceManagerState, R]
) -> Conversation[KubeletState, R]:
    """Carry on a conversation of the device manager as one of the whole kubelet."""
    try:
        devices, call = next(conversation)
        while True:
            state, answer = yield replace(state, devices=devices), call
            devices, call = conversation.send((state.devices, answer))
    except StopIteration as done:
        devices, result = done.value
        return replace(state, devices=devices), result


@dataclass(frozen=True, slots=True)
class DeviceProvider:
    """The device manager."""

    name: str = "devices"

    def get_topology_hints(
        self, state: KubeletState, pod: Pod, container: Container
    ) -> tuple[KubeletState, Mapping[str, ResourceHints]]:
        """Where could this container's devices come from?"""
        devices, hints = device_hints.get_topology_hints(
            state.devices, pod, container, state.active_pods(), state.topology.numa.nodes
        )
        return replace(state, devices=devices), hints

    def get_pod_topology_hints(
        self, state: KubeletState, pod: Pod
    ) -> tuple[KubeletState, Mapping[str, ResourceHints]]:
        """Where could the whole pod's devices come from?"""
        devices, hints = device_hints.get_pod_topology_hints(
            state.devices, pod, state.active_pods(), state.topology.numa.nodes
        )
        return replace(state, devices=devices), hints

    def allocate(
        self, state: KubeletState, pod: Pod, container: Container, affinity: TopologyHint
    ) -> Conversation[KubeletState, Allocated]:
        """Choose devices and call Allocate."""
        conversation = device_manager.allocate(
            state.devices, pod, container, state.active_pods(), affinity.numa_node_affinity
        )
        state, decision = yield from within(state, conversation)
        return state, Allocated(decision, Refusal.unexpected(decision.error) if decision.error else None)


@dataclass(frozen=True, slots=True)
class CPUProvider:
    """The CPU manager."""

    name: str = "cpus"

    def get_topology_hints(
        self, state: KubeletState, pod: Pod, container: Container
    ) -> tuple[KubeletState, Mapping[str, ResourceHints]]:
        """Where could this container's own CPUs come from?"""
        state = _without_stale_cpus(state)
        return state, cpu_hints.get_topology_hints(state.cpus, pod, container)

    def get_pod_topology_hints(
        self, state: KubeletState, pod: Pod
    ) -> tuple[KubeletState, Mapping[str, ResourceHints]]:
        """Where could the whole pod's own CPUs come from?"""
        state = _without_stale_cpus(state)
        return state, cpu_hints.get_pod_topology_hints(state.cpus, pod)

    def allocate(
        self, state: KubeletState, pod: Pod, container: Container, affinity: TopologyHint
    ) -> Conversation[KubeletState, Allocated]:
        """Choose CPUs; nobody is asked."""
        yield from ()
        state = _without_stale_cpus(state)
        cpus, decision = cpu_manager.allocate(state.cpus, pod, container, affinity.numa_node_affinity)
        return replace(state, cpus=cpus), Allocated(decision, decision.refusal)


def _without_stale_cpus(state: KubeletState) -> KubeletState:
    if not state.devices.sources_ready:
        return state
    return replace(state, cpus=cpu_manager.remove_stale_state(state.cpus, state.active_pods()))


@dataclass(frozen=True, slots=True)
class MemoryProvider:
    """The memory manager."""

    name: str = "memory"

    def get_topology_hints(
        self, state: KubeletState, pod: Pod, container: Container
    ) -> tuple[KubeletState, Mapping[str, ResourceHints]]:
        """Where could this container's memory come from?"""
        state = _without_stale_memory(state)
        return state, memory_hints.get_topology_hints(state.memory, pod, container) or {}

    def get_pod_topology_hints(
        self, state: KubeletState, pod: Pod
    ) -> tuple[KubeletState, Mapping[str, ResourceHints]]:
        """Where could the whole pod's memory come from?"""
        state = _without_stale_memory(state)
        return state, memory_hints.get_pod_topology_hints(state.memory, pod) or {}

    def allocate(
        self, state: KubeletState, pod: Pod, container: Container, affinity: TopologyHint
    ) -> Conversation[KubeletState, Allocated]:
        """Choose NUMA nodes; nobody is asked."""
        yield from ()
        state = _without_stale_memory(state)
        memory, decision = memory_manager.allocate(state.memory, pod, container, affinity)
        return replace(state, memory=memory), Allocated(decision, decision.refusal)


def _without_stale_memory(state: KubeletState) -> KubeletState:
    if not state.devices.sources_ready:
        return state
    return replace(state, memory=memory_manager.remove_stale_state(state.memory, state.active_pods()))


PROVIDERS: tuple[HintProvider[KubeletState], ...] = (DeviceProvider(), CPUProvider(), MemoryProvider())
"""The managers of resources, in the order in which the topology manager asks them."""
