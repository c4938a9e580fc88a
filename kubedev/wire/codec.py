"""The v1beta1 messages as bytes and back: the only module that knows the generated protobuf classes.

Maps come back sorted by key, since protobuf promises no order. Bytes that are no message raise DecodeError.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError

from kubedev.api import messages as m
from kubedev.wire import v1beta1_pb2 as pb

__all__ = ["METHODS", "REGISTER", "DecodeError", "Method"]


@dataclass(frozen=True, slots=True)
class Method:
    """One RPC: the service it belongs to and how its two messages become bytes and come back."""

    service: str
    name: str
    encode_request: Callable[[Any], bytes]
    decode_request: Callable[[bytes], Any]
    encode_response: Callable[[Any], bytes]
    decode_response: Callable[[bytes], Any]

    @property
    def path(self) -> str:
        """The name of the RPC in HTTP/2, for example `/v1beta1.Registration/Register`."""
        return f"/{self.service}/{self.name}"


def _encode_empty(_: m.Empty) -> bytes:
    return b""


def _decode_empty(data: bytes) -> m.Empty:
    pb.Empty.FromString(data)
    return m.Empty()


def _options_to_pb(options: m.DevicePluginOptions) -> pb.DevicePluginOptions:
    return pb.DevicePluginOptions(
        pre_start_required=options.pre_start_required,
        get_preferred_allocation_available=options.get_preferred_allocation_available,
    )


def _options_from_pb(options: pb.DevicePluginOptions) -> m.DevicePluginOptions:
    return m.DevicePluginOptions(options.pre_start_required, options.get_preferred_allocation_available)


def _encode_options(options: m.DevicePluginOptions) -> bytes:
    return _options_to_pb(options).SerializeToString()


def _decode_options(data: bytes) -> m.DevicePluginOptions:
    return _options_from_pb(pb.DevicePluginOptions.FromString(data))


def _encode_register(request: m.RegisterRequest) -> bytes:
    return pb.RegisterRequest(
        version=request.version,
        endpoint=request.endpoint,
        resource_name=request.resource_name,
        options=None if request.options is None else _options_to_pb(request.options),
    ).SerializeToString()


def _decode_register(data: bytes) -> m.RegisterRequest:
    got = pb.RegisterRequest.FromString(data)
    options = _options_from_pb(got.options) if got.HasField("options") else None
    return m.RegisterRequest(got.version, got.endpoint, got.resource_name, options)


def _device_to_pb(device: m.Device) -> pb.Device:
    topology = None
    if device.numa_nodes is not None:
        topology = pb.TopologyInfo(nodes=[pb.NUMANode(ID=node) for node in device.numa_nodes])
    return pb.Device(ID=device.id, health=device.health, topology=topology)


def _device_from_pb(device: pb.Device) -> m.Device:
    nodes = tuple(node.ID for node in device.topology.nodes) if device.HasField("topology") else None
    return m.Device(device.ID, device.health, nodes)


def _encode_list(response: m.ListAndWatchResponse) -> bytes:
    return pb.ListAndWatchResponse(devices=map(_device_to_pb, response.devices)).SerializeToString()


def _decode_list(data: bytes) -> m.ListAndWatchResponse:
    got = pb.ListAndWatchResponse.FromString(data)
    return m.ListAndWatchResponse(tuple(map(_device_from_pb, got.devices)))


def _encode_preferred_request(request: m.PreferredAllocationRequest) -> bytes:
    containers = [
        pb.ContainerPreferredAllocationRequest(
            available_deviceIDs=container.available_device_ids,
            must_include_deviceIDs=container.must_include_device_ids,
            allocation_size=container.allocation_size,
        )
        for container in request.container_requests
    ]
    return pb.PreferredAllocationRequest(container_requests=containers).SerializeToString()


def _decode_preferred_request(data: bytes) -> m.PreferredAllocationRequest:
    got = pb.PreferredAllocationRequest.FromString(data)
    return m.PreferredAllocationRequest(
        tuple(
            m.ContainerPreferredAllocationRequest(
                tuple(container.available_deviceIDs),
                tuple(container.must_include_deviceIDs),
                container.allocation_size,
            )
            for container in got.container_requests
        )
    )


def _encode_preferred_response(response: m.PreferredAllocationResponse) -> bytes:
    containers = [
        pb.ContainerPreferredAllocationResponse(deviceIDs=ids) for ids in response.container_responses
    ]
    return pb.PreferredAllocationResponse(container_responses=containers).SerializeToString()


def _decode_preferred_response(data: bytes) -> m.PreferredAllocationResponse:
    got = pb.PreferredAllocationResponse.FromString(data)
    return m.PreferredAllocationResponse(tuple(tuple(c.deviceIDs) for c in got.container_responses))


def _encode_allocate_request(request: m.AllocateRequest) -> bytes:
    containers = [pb.ContainerAllocateRequest(devices_ids=ids) for ids in request.container_requests]
    return pb.AllocateRequest(container_requests=containers).SerializeToString()


def _decode_allocate_request(data: bytes) -> m.AllocateRequest:
    got = pb.AllocateRequest.FromString(data)
    return m.AllocateRequest(tuple(tuple(c.devices_ids) for c in got.container_requests))


def _container_to_pb(container: m.ContainerAllocateResponse) -> pb.ContainerAllocateResponse:
    mounts = [
        pb.Mount(container_path=x.container_path, host_path=x.host_path, read_only=x.read_only)
        for x in container.mounts
    ]
    devices = [
        pb.DeviceSpec(container_path=x.container_path, host_path=x.host_path, permissions=x.permissions)
        for x in container.devices
    ]
    return pb.ContainerAllocateResponse(
        envs=dict(container.envs),
        mounts=mounts,
        devices=devices,
        annotations=dict(container.annotations),
        cdi_devices=[pb.CDIDevice(name=name) for name in container.cdi_devices],
    )


def _container_from_pb(container: pb.ContainerAllocateResponse) -> m.ContainerAllocateResponse:
    return m.ContainerAllocateResponse(
        envs=_pairs(container.envs.items()),
        mounts=tuple(m.Mount(x.container_path, x.host_path, x.read_only) for x in container.mounts),
        devices=tuple(m.DeviceSpec(x.container_path, x.host_path, x.permissions) for x in container.devices),
        annotations=_pairs(container.annotations.items()),
        cdi_devices=tuple(device.name for device in container.cdi_devices),
    )


def _pairs(items: Iterable[tuple[str, str]]) -> m.Pairs:
    return tuple(sorted(items))


def _encode_allocate_response(response: m.AllocateResponse) -> bytes:
    containers = map(_container_to_pb, response.container_responses)
    return pb.AllocateResponse(container_responses=containers).SerializeToString(deterministic=True)


def _decode_allocate_response(data: bytes) -> m.AllocateResponse:
    got = pb.AllocateResponse.FromString(data)
    return m.AllocateResponse(tuple(map(_container_from_pb, got.container_responses)))


def _encode_pre_start(request: m.PreStartContainerRequest) -> bytes:
    return pb.PreStartContainerRequest(devices_ids=request.devices_ids).SerializeToString()


def _decode_pre_start(data: bytes) -> m.PreStartContainerRequest:
    return m.PreStartContainerRequest(tuple(pb.PreStartContainerRequest.FromString(data).devices_ids))


REGISTER = Method(
    "v1beta1.Registration", "Register", _encode_register, _decode_register, _encode_empty, _decode_empty
)

_PLUGIN = "v1beta1.DevicePlugin"

# The plugin's service. ListAndWatch answers with a stream, the others with one message.
METHODS = {
    method.name: method
    for method in (
        Method(
            _PLUGIN, "GetDevicePluginOptions", _encode_empty, _decode_empty, _encode_options, _decode_options
        ),
        Method(_PLUGIN, "ListAndWatch", _encode_empty, _decode_empty, _encode_list, _decode_list),
        Method(
            _PLUGIN,
            "GetPreferredAllocation",
            _encode_preferred_request,
            _decode_preferred_request,
            _encode_preferred_response,
            _decode_preferred_response,
        ),
        Method(
            _PLUGIN,
            "Allocate",
            _encode_allocate_request,
            _decode_allocate_request,
            _encode_allocate_response,
            _decode_allocate_response,
        ),
        Method(
            _PLUGIN, "PreStartContainer", _encode_pre_start, _decode_pre_start, _encode_empty, _decode_empty
        ),
    )
}
