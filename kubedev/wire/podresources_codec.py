"""The PodResources messages as bytes and back: the only module that knows their generated classes.

What containers have through resource claims is left out: there are none here.
"""

from collections.abc import Iterable
from typing import Any

from kubedev.api import podresources as m
from kubedev.wire import podresources_v1_pb2 as pb
from kubedev.wire.codec import Method

__all__ = ["METHODS", "method_of"]


def _topology(nodes: tuple[int, ...] | None) -> pb.TopologyInfo | None:
    return None if nodes is None else pb.TopologyInfo(nodes=[pb.NUMANode(ID=node) for node in nodes])


def _devices_to_pb(devices: Iterable[m.ContainerDevices]) -> list[pb.ContainerDevices]:
    return [
        pb.ContainerDevices(
            resource_name=d.resource_name, device_ids=d.device_ids, topology=_topology(d.numa_nodes)
        )
        for d in devices
    ]


def _devices_from_pb(devices: Iterable[pb.ContainerDevices]) -> tuple[m.ContainerDevices, ...]:
    return tuple(
        m.ContainerDevices(
            d.resource_name,
            tuple(d.device_ids),
            tuple(node.ID for node in d.topology.nodes) if d.HasField("topology") else None,
        )
        for d in devices
    )


def _memory_to_pb(memory: Iterable[m.ContainerMemory]) -> list[pb.ContainerMemory]:
    return [
        pb.ContainerMemory(memory_type=x.memory_type, size=x.size, topology=_topology(x.numa_nodes))
        for x in memory
    ]


def _memory_from_pb(memory: Iterable[pb.ContainerMemory]) -> tuple[m.ContainerMemory, ...]:
    return tuple(
        m.ContainerMemory(x.memory_type, x.size, tuple(node.ID for node in x.topology.nodes)) for x in memory
    )


def _pod_to_pb(pod: m.PodResources) -> pb.PodResources:
    containers = [
        pb.ContainerResources(
            name=c.name,
            devices=_devices_to_pb(c.devices),
            cpu_ids=c.cpu_ids,
            memory=_memory_to_pb(c.memory),
        )
        for c in pod.containers
    ]
    return pb.PodResources(name=pod.name, namespace=pod.namespace, containers=containers)


def _pod_from_pb(pod: pb.PodResources) -> m.PodResources:
    containers = tuple(
        m.ContainerResources(c.name, _devices_from_pb(c.devices), tuple(c.cpu_ids), _memory_from_pb(c.memory))
        for c in pod.containers
    )
    return m.PodResources(pod.name, pod.namespace, containers)


def _decode_list_request(data: bytes) -> m.ListPodResourcesRequest:
    pb.ListPodResourcesRequest.FromString(data)
    return m.ListPodResourcesRequest()


def _encode_list(response: m.ListPodResourcesResponse) -> bytes:
    pods = map(_pod_to_pb, response.pod_resources)
    return pb.ListPodResourcesResponse(pod_resources=pods).SerializeToString()


def _decode_list(data: bytes) -> m.ListPodResourcesResponse:
    pods = pb.ListPodResourcesResponse.FromString(data).pod_resources
    return m.ListPodResourcesResponse(tuple(map(_pod_from_pb, pods)))


def _encode_get_request(request: m.GetPodResourcesRequest) -> bytes:
    return pb.GetPodResourcesRequest(
        pod_name=request.pod_name, pod_namespace=request.pod_namespace
    ).SerializeToString()


def _decode_get_request(data: bytes) -> m.GetPodResourcesRequest:
    request = pb.GetPodResourcesRequest.FromString(data)
    return m.GetPodResourcesRequest(request.pod_name, request.pod_namespace)


def _encode_get(response: m.GetPodResourcesResponse) -> bytes:
    return pb.GetPodResourcesResponse(pod_resources=_pod_to_pb(response.pod_resources)).SerializeToString()


def _decode_get(data: bytes) -> m.GetPodResourcesResponse:
    return m.GetPodResourcesResponse(_pod_from_pb(pb.GetPodResourcesResponse.FromString(data).pod_resources))


def _decode_allocatable_request(data: bytes) -> m.AllocatableResourcesRequest:
    pb.AllocatableResourcesRequest.FromString(data)
    return m.AllocatableResourcesRequest()


def _encode_allocatable(response: m.AllocatableResourcesResponse) -> bytes:
    return pb.AllocatableResourcesResponse(
        devices=_devices_to_pb(response.devices),
        cpu_ids=response.cpu_ids,
        memory=_memory_to_pb(response.memory),
    ).SerializeToString()


def _decode_allocatable(data: bytes) -> m.AllocatableResourcesResponse:
    got = pb.AllocatableResourcesResponse.FromString(data)
    return m.AllocatableResourcesResponse(
        _devices_from_pb(got.devices), tuple(got.cpu_ids), _memory_from_pb(got.memory)
    )


def _encode_nothing(_: Any) -> bytes:
    return b""


_SERVICE = "v1.PodResourcesLister"

# By the type of their request.
METHODS: dict[type, Method] = {
    m.ListPodResourcesRequest: Method(
        _SERVICE, "List", _encode_nothing, _decode_list_request, _encode_list, _decode_list
    ),
    m.GetPodResourcesRequest: Method(
        _SERVICE, "Get", _encode_get_request, _decode_get_request, _encode_get, _decode_get
    ),
    m.AllocatableResourcesRequest: Method(
        _SERVICE,
        "GetAllocatableResources",
        _encode_nothing,
        _decode_allocatable_request,
        _encode_allocatable,
        _decode_allocatable,
    ),
}


def method_of(request: m.PodResourcesRequest) -> Method:
    """The RPC that carries a request."""
    return METHODS[type(request)]
