"""What agents ask a kubelet: which container holds which devices, CPUs and memory, and what there is of them.

These are the answers of the PodResources API, version v1. Monitoring agents and topology exporters live on them.

Source: `pkg/kubelet/apis/podresources/server_v1.go`, `pkg/kubelet/cm/container_manager_linux.go`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from kubedev.api.messages import Device, RpcError
from kubedev.api.objects import Container, Pod
from kubedev.api.podresources import (
    AllocatableResourcesRequest,
    AllocatableResourcesResponse,
    ContainerDevices,
    ContainerMemory,
    ContainerResources,
    GetPodResourcesRequest,
    GetPodResourcesResponse,
    ListPodResourcesRequest,
    ListPodResourcesResponse,
    PodResources,
    PodResourcesAnswer,
    PodResourcesRequest,
)
from kubedev.kubelet.devices.device_manager import update_allocated_devices
from kubedev.kubelet.devices.devices import DeviceManagerState, get_allocatable_devices, get_devices
from kubedev.kubelet.memory.memory_state import Block
from kubedev.kubelet.pods import PodRecord

if TYPE_CHECKING:
    from kubedev.kubelet.kubelet_state import KubeletState

__all__ = ["answer", "get_allocatable_resources"]


def answer(state: "KubeletState", request: PodResourcesRequest) -> "tuple[KubeletState, PodResourcesAnswer]":
    """The kubelet's answer to an agent, and the state after it.

    List has the device manager forget the devices of pods that are no longer active; the other calls change nothing.
    Get is refused without the feature gate, here switch, KubeletPodResourcesGet. Go's order of devices and CPUs is
    random, ours is sorted.
    """
    match request:
        case ListPodResourcesRequest():
            devices = update_allocated_devices(state.devices, state.active_pods())
            state = replace(state, devices=devices)
            pods = tuple(_pod_resources(state, record.pod) for record in _known(state))
            return state, ListPodResourcesResponse(pods)
        case GetPodResourcesRequest(name, namespace):
            return state, _get(state, name, namespace)
        case AllocatableResourcesRequest():
            cpus = state.cpus.policy.assignable if state.cpus.policy else ()
            return state, get_allocatable_resources(state.devices, cpus, state.memory.allocatable)


def get_allocatable_resources(
    devices: DeviceManagerState, cpus: Iterable[int], memory: Iterable[Block]
) -> AllocatableResourcesResponse:
    """What the three managers have for containers. (`server_v1.go: GetAllocatableResources`)"""
    return AllocatableResourcesResponse(
        _devices(get_allocatable_devices(devices)), tuple(sorted(cpus)), tuple(map(_memory, memory))
    )


def _known(state: "KubeletState") -> Iterator[PodRecord]:
    """The pods that the API server knows (`pkg/kubelet/pod/pod_manager.go: GetPods`)."""
    return (record for record in state.pods.values() if not record.removed)


def _get(state: "KubeletState", name: str, namespace: str) -> PodResourcesAnswer:
    if "KubeletPodResourcesGet" not in state.config.all_switches:
        return RpcError("Unknown", "PodResources API Get method disabled")
    for record in _known(state):
        if (record.pod.name, record.pod.namespace) == (name, namespace):
            return GetPodResourcesResponse(_pod_resources(state, record.pod))
    return RpcError("Unknown", f"pod {name} in namespace {namespace} not found")


def _pod_resources(state: "KubeletState", pod: Pod) -> PodResources:
    sidecars = [c for c in pod.init_containers if c.restartable]
    if not dict(state.config.feature_gates).get("SidecarContainers", True):
        sidecars = []
    containers = tuple(_container_resources(state, pod, c) for c in (*sidecars, *pod.containers))
    return PodResources(pod.name, pod.namespace, containers)


def _container_resources(state: "KubeletState", pod: Pod, container: Container) -> ContainerResources:
    """Source: `server_v1.go: getContainerResources`."""
    cpus = state.cpus.assigned(pod.uid, container.name) or ()
    return ContainerResources(
        container.name,
        _devices(get_devices(state.devices, pod.uid, container.name)),
        tuple(sorted(cpus)),
        tuple(map(_memory, state.memory.blocks(pod.uid, container.name) or ())),
    )


def _devices(resources: Mapping[str, Mapping[str, Device]]) -> tuple[ContainerDevices, ...]:
    """An entry for each NUMA node of each device; a device whose topology has no nodes is left out, as in Go.

    Source: `container_manager.go: containerDevicesFromResourceDeviceInstances`.
    """
    return tuple(
        ContainerDevices(resource, (id_,), None if node is None else (node,))
        for resource, devices in sorted(resources.items())
        for id_, device in sorted(devices.items())
        for node in ((None,) if device.numa_nodes is None else device.numa_nodes)
    )


def _memory(block: Block) -> ContainerMemory:
    return ContainerMemory(block.type, block.size, block.numa_affinity)
