"""The v1beta1 messages as bytes and back: the only module that knows protobuf's classes.

Maps come back sorted by key, since protobuf promises no order. Bytes that are no message raise DecodeError. A text that
is not UTF-8 passes: its odd bytes are kept as lone surrogates, and are the same bytes when they are sent (`_octets`,
`_text`).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError

from kubedev.api import messages as m
from kubedev.wire.byte_messages import pb

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


def _octets(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _all_octets(texts: Iterable[str]) -> list[bytes]:
    return [text.encode(errors="surrogateescape") for text in texts]


def _text(octets: bytes) -> str:
    return octets.decode(errors="surrogateescape")


def _texts(all_octets: Iterable[bytes]) -> tuple[str, ...]:
    return tuple([octets.decode(errors="surrogateescape") for octets in all_octets])


def _serialized(message: Any) -> bytes:
    data: bytes = message.SerializeToString()
    return data


def _encode_empty(_: m.Empty) -> bytes:
    return b""


def _decode_empty(data: bytes) -> m.Empty:
    pb.Empty.FromString(data)
    return m.Empty()


def _options_to_pb(options: m.DevicePluginOptions) -> Any:
    return pb.DevicePluginOptions(
        pre_start_required=options.pre_start_required,
        get_preferred_allocation_available=options.get_preferred_allocation_available,
    )


def _options_from_pb(options: Any) -> m.DevicePluginOptions:
    return m.DevicePluginOptions(options.pre_start_required, options.get_preferred_allocation_available)


def _encode_options(options: m.DevicePluginOptions) -> bytes:
    return _serialized(_options_to_pb(options))


def _decode_options(data: bytes) -> m.DevicePluginOptions:
    return _options_from_pb(pb.DevicePluginOptions.FromString(data))


def _encode_register(request: m.RegisterRequest) -> bytes:
    return _serialized(
        pb.RegisterRequest(
            version=_octets(request.version),
            endpoint=_octets(request.endpoint),
            resource_name=_octets(request.resource_name),
            options=None if request.options is None else _options_to_pb(request.options),
        )
    )


def _decode_register(data: bytes) -> m.RegisterRequest:
    got = pb.RegisterRequest.FromString(data)
    options = _options_from_pb(got.options) if got.HasField("options") else None
    return m.RegisterRequest(_text(got.version), _text(got.endpoint), _text(got.resource_name), options)


def _device_to_pb(device: m.Device) -> Any:
    topology = None
    if device.numa_nodes is not None:
        topology = pb.TopologyInfo(nodes=[pb.NUMANode(ID=node) for node in device.numa_nodes])
    return pb.Device(ID=_octets(device.id), health=_octets(device.health), topology=topology)


def _device_from_pb(device: Any) -> m.Device:
    nodes = tuple(node.ID for node in device.topology.nodes) if device.HasField("topology") else None
    return m.Device(_text(device.ID), _text(device.health), nodes)


def _encode_list(response: m.ListAndWatchResponse) -> bytes:
    return _serialized(pb.ListAndWatchResponse(devices=map(_device_to_pb, response.devices)))


def _decode_list(data: bytes) -> m.ListAndWatchResponse:
    got = pb.ListAndWatchResponse.FromString(data)
    return m.ListAndWatchResponse(tuple(map(_device_from_pb, got.devices)))


def _encode_preferred_request(request: m.PreferredAllocationRequest) -> bytes:
    containers = [
        pb.ContainerPreferredAllocationRequest(
            available_deviceIDs=_all_octets(container.available_device_ids),
            must_include_deviceIDs=_all_octets(container.must_include_device_ids),
            allocation_size=container.allocation_size,
        )
        for container in request.container_requests
    ]
    return _serialized(pb.PreferredAllocationRequest(container_requests=containers))


def _decode_preferred_request(data: bytes) -> m.PreferredAllocationRequest:
    got = pb.PreferredAllocationRequest.FromString(data)
    return m.PreferredAllocationRequest(
        tuple(
            m.ContainerPreferredAllocationRequest(
                _texts(container.available_deviceIDs),
                _texts(container.must_include_deviceIDs),
                container.allocation_size,
            )
            for container in got.container_requests
        )
    )


def _encode_preferred_response(response: m.PreferredAllocationResponse) -> bytes:
    containers = [
        pb.ContainerPreferredAllocationResponse(deviceIDs=_all_octets(ids))
        for ids in response.container_responses
    ]
    return _serialized(pb.PreferredAllocationResponse(container_responses=containers))


def _decode_preferred_response(data: bytes) -> m.PreferredAllocationResponse:
    got = pb.PreferredAllocationResponse.FromString(data)
    return m.PreferredAllocationResponse(tuple(_texts(c.deviceIDs) for c in got.container_responses))


def _encode_allocate_request(request: m.AllocateRequest) -> bytes:
    containers = [
        pb.ContainerAllocateRequest(devices_ids=_all_octets(ids)) for ids in request.container_requests
    ]
    return _serialized(pb.AllocateRequest(container_requests=containers))


def _decode_allocate_request(data: bytes) -> m.AllocateRequest:
    got = pb.AllocateRequest.FromString(data)
    return m.AllocateRequest(tuple(_texts(c.devices_ids) for c in got.container_requests))


def _container_to_pb(container: m.ContainerAllocateResponse) -> Any:
    allocated = pb.ContainerAllocateResponse
    mounts = [
        pb.Mount(
            container_path=_octets(x.container_path), host_path=_octets(x.host_path), read_only=x.read_only
        )
        for x in container.mounts
    ]
    devices = [
        pb.DeviceSpec(
            container_path=_octets(x.container_path),
            host_path=_octets(x.host_path),
            permissions=_octets(x.permissions),
        )
        for x in container.devices
    ]
    return allocated(
        envs=[allocated.EnvsEntry(key=k, value=v) for k, v in _entries(container.envs)],
        mounts=mounts,
        devices=devices,
        annotations=[allocated.AnnotationsEntry(key=k, value=v) for k, v in _entries(container.annotations)],
        cdi_devices=[pb.CDIDevice(name=_octets(name)) for name in container.cdi_devices],
    )


def _container_from_pb(container: Any) -> m.ContainerAllocateResponse:
    return m.ContainerAllocateResponse(
        envs=_pairs(container.envs),
        mounts=tuple(
            m.Mount(_text(x.container_path), _text(x.host_path), x.read_only) for x in container.mounts
        ),
        devices=tuple(
            m.DeviceSpec(_text(x.container_path), _text(x.host_path), _text(x.permissions))
            for x in container.devices
        ),
        annotations=_pairs(container.annotations),
        cdi_devices=_texts(device.name for device in container.cdi_devices),
    )


def _entries(pairs: m.Pairs) -> list[tuple[bytes, bytes]]:
    """A map's entries, sorted and each key once, so that equal messages are equal bytes."""
    return sorted({_octets(key): _octets(value) for key, value in pairs}.items())


def _pairs(entries: Iterable[Any]) -> m.Pairs:
    """The pairs of a map's entries, sorted; of two with one key the last counts."""
    pairs: Mapping[bytes, bytes] = {entry.key: entry.value for entry in entries}
    return tuple((_text(key), _text(value)) for key, value in sorted(pairs.items()))


def _encode_allocate_response(response: m.AllocateResponse) -> bytes:
    containers = map(_container_to_pb, response.container_responses)
    return _serialized(pb.AllocateResponse(container_responses=containers))


def _decode_allocate_response(data: bytes) -> m.AllocateResponse:
    got = pb.AllocateResponse.FromString(data)
    return m.AllocateResponse(tuple(map(_container_from_pb, got.container_responses)))


def _encode_pre_start(request: m.PreStartContainerRequest) -> bytes:
    return _serialized(pb.PreStartContainerRequest(devices_ids=_all_octets(request.devices_ids)))


def _decode_pre_start(data: bytes) -> m.PreStartContainerRequest:
    return m.PreStartContainerRequest(_texts(pb.PreStartContainerRequest.FromString(data).devices_ids))


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
