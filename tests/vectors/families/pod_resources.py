"""List, Get and GetAllocatableResources over a given state of the managers."""

from dataclasses import replace
from typing import Any

from kubedev.api.messages import HEALTHY, UNHEALTHY, ContainerAllocateResponse, Device, RpcError
from kubedev.api.objects import Node, Pod
from kubedev.api.podresources import (
    ContainerDevices,
    ContainerMemory,
    GetPodResourcesRequest,
    GetPodResourcesResponse,
    ListPodResourcesRequest,
    ListPodResourcesResponse,
    PodResources,
)
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.cpu.cpu_manager import CPUManagerState
from kubedev.kubelet.cpu.cpuset import parse_cpus
from kubedev.kubelet.devices.devices import DeviceAllocateInfo, DeviceManagerState, allocated_by, insert
from kubedev.kubelet.kubelet_state import KubeletState
from kubedev.kubelet.memory.memory_manager import MemoryManagerState
from kubedev.kubelet.memory.memory_state import Block
from kubedev.kubelet.pod_resources import answer as answer_agent
from kubedev.kubelet.pod_resources import get_allocatable_resources
from kubedev.kubelet.pods import PodRecord


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """The answers of the four rounds of calls."""
    state, names = _state(case), case.get("get") or ()
    before = [_get(state, name) for name in names]
    state, listed = answer_agent(state, ListPodResourcesRequest())
    assert isinstance(listed, ListPodResourcesResponse)
    after = [_get(state, name) for name in names]
    # A real memory manager has no blocks of size 0; the recorded one had.
    memory = map(_block, case.get("allocatable_memory") or ())
    there_is = get_allocatable_resources(
        state.devices, parse_cpus(case.get("allocatable_cpus") or ""), memory
    )
    return {
        "get_before_list": before,
        "list": list(map(_pod, listed.pod_resources)),
        "get_after_list": after,
        "allocatable": _resources(there_is),
    }


def _get(state: KubeletState, name: dict[str, Any]) -> dict[str, Any]:
    _, got = answer_agent(state, GetPodResourcesRequest(name["name"], name["namespace"]))
    if isinstance(got, RpcError):
        return {"error": got.message}
    assert isinstance(got, GetPodResourcesResponse)
    return {"error": None, "pod": _pod(got.pod_resources)}


def _pod(pod: PodResources) -> dict[str, Any]:
    containers = [{"name": c.name, **_resources(c)} for c in pod.containers]
    return {"name": pod.name, "namespace": pod.namespace, "containers": containers}


def _resources(of: Any) -> dict[str, Any]:
    return {
        "devices": [_device(d) for d in of.devices],
        "cpu_ids": list(of.cpu_ids),
        "memory": [_memory(m) for m in of.memory],
    }


def _device(device: ContainerDevices) -> dict[str, Any]:
    numa = None if device.numa_nodes is None else list(device.numa_nodes)
    return {"resource": device.resource_name, "ids": list(device.device_ids), "numa": numa}


def _memory(memory: ContainerMemory) -> dict[str, Any]:
    return {"numa": list(memory.numa_nodes), "size": memory.size, "type": memory.memory_type}


# The given state


def device_manager(case: dict[str, Any], switches: frozenset[str] = frozenset()) -> DeviceManagerState:
    """The device manager with the given devices and allocations."""
    devices = {
        resource: {d["id"]: _given(d) for d in listed or ()}
        for resource, listed in (case.get("devices") or {}).items()
    }
    healthy, unhealthy = (
        {r: frozenset(i for i, d in ds.items() if d.health == health) for r, ds in devices.items()}
        for health in (HEALTHY, UNHEALTHY)
    )
    records: Any = {}
    for held in case.get("allocations") or ():
        per_numa = {int(node): tuple(ids or ()) for node, ids in (held["per_numa"] or {}).items()}
        info = DeviceAllocateInfo(per_numa, ContainerAllocateResponse())
        records = insert(records, held["pod"], held["container"], held["resource"], info)
    return DeviceManagerState(
        devices,
        healthy,
        unhealthy,
        allocated_by(records),
        records,
        sources_ready=not case.get("sources_not_ready"),
        switches=switches,
    )


def _given(device: dict[str, Any]) -> Device:
    numa = device.get("numa")
    return Device(
        device["id"], HEALTHY if device["healthy"] else UNHEALTHY, None if numa is None else tuple(numa)
    )


def _state(case: dict[str, Any]) -> KubeletState:
    switches = frozenset({"KubeletPodResourcesGet"} if case.get("get_gate") else ())
    gates = (("SidecarContainers", not case.get("sidecar_gate_off")),)
    pods = {}
    for given in case["pods"]:
        pod = Pod.parse(given)
        pods[pod.uid] = PodRecord(pod, "Failed" if pod.uid in (case.get("inactive") or ()) else "Running")
    state = KubeletState(
        Node("node"),
        "/dir",
        KubeletConfig(feature_gates=gates, switches=switches),
        device_manager(case),
        pods=pods,
    )
    return replace(state, cpus=_cpus(case), memory=_memory_manager(case))


def _cpus(case: dict[str, Any]) -> CPUManagerState:
    own = {
        uid: {name: parse_cpus(text) for name, text in containers.items()}
        for uid, containers in (case.get("cpus") or {}).items()
    }
    return CPUManagerState(assignments=own)


def _memory_manager(case: dict[str, Any]) -> MemoryManagerState:
    blocks = {
        uid: {name: tuple(map(_block, listed)) for name, listed in containers.items()}
        for uid, containers in (case.get("memory") or {}).items()
    }
    return MemoryManagerState(assignments=blocks)


def _block(given: dict[str, Any]) -> Block:
    return Block(tuple(given["numa"]), given["type"], given["size"])
