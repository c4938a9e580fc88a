"""ContainerAllocateResponse as protobuf bytes, as they stand in the kubelet's checkpoint, and back.

Done by hand, since the kubelet's room must work where there is no protobuf. Equal messages make equal bytes:
maps are written in the order they have. As in Kubernetes' generated code, unknown fields are skipped, and a
known field of the wrong kind is an error.

Source: `k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1/api.pb.go: Marshal, Unmarshal`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from kubedev.api.messages import ContainerAllocateResponse, Device, DeviceSpec, Mount, Pairs

__all__ = [
    "ProtobufError",
    "decode_container_allocate_response",
    "encode_container_allocate_response",
    "list_size",
]

VARINT, FIXED64, BYTES, START_GROUP, END_GROUP, FIXED32 = range(6)


class ProtobufError(ValueError):
    """Bytes that are no such message."""


def encode_container_allocate_response(response: ContainerAllocateResponse) -> bytes:
    """The message as bytes."""
    mounts = [(m.container_path, m.host_path, m.read_only) for m in response.mounts]
    devices = [(d.container_path, d.host_path, d.permissions) for d in response.devices]
    return b"".join(
        (
            *(_bytes(1, _map_entry(key, value)) for key, value in response.envs),
            *(_bytes(2, _string(1, path) + _string(2, host) + _flag(3, ro)) for path, host, ro in mounts),
            *(
                _bytes(3, _string(1, path) + _string(2, host) + _string(3, rwm))
                for path, host, rwm in devices
            ),
            *(_bytes(4, _map_entry(key, value)) for key, value in response.annotations),
            *(_bytes(5, _string(1, name)) for name in response.cdi_devices),
        )
    )


def list_size(devices: Iterable[Device]) -> int:
    """How many bytes a ListAndWatchResponse with these devices has. Go: `api.pb.go: ListAndWatchResponse.Size`."""
    return sum(_size(_device_size(device)) for device in devices)


def _device_size(device: Device) -> int:
    octets = [len(text.encode(errors="surrogateescape")) for text in (device.id, device.health) if text]
    if device.numa_nodes is not None:
        nodes = (1 + len(_varint(node % 2**64)) if node else 0 for node in device.numa_nodes)
        octets.append(sum(map(_size, nodes)))
    return sum(map(_size, octets))


def _size(content: int) -> int:
    return 1 + len(_varint(content)) + content


def _varint(number: int) -> bytes:
    octets = bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*octets, number))


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | BYTES) + _varint(len(content)) + content


def _string(field: int, text: str) -> bytes:
    return _bytes(field, text.encode(errors="surrogateescape")) if text else b""


def _flag(field: int, flag: bool) -> bytes:
    return _varint(field << 3 | VARINT) + b"\x01" if flag else b""


def _map_entry(key: str, value: str) -> bytes:
    """An entry of a map: here empty texts are written too."""
    return b"".join(_bytes(i, text.encode(errors="surrogateescape")) for i, text in ((1, key), (2, value)))


def decode_container_allocate_response(data: bytes) -> ContainerAllocateResponse:
    """The message that these bytes are; ProtobufError if they are none."""
    response = _message(data, (BYTES,) * 5)
    return ContainerAllocateResponse(
        envs=_map(response[0]),
        mounts=tuple(map(_mount, response[1])),
        devices=tuple(DeviceSpec(*_strings(device, 3)) for device in response[2]),
        annotations=_map(response[3]),
        cdi_devices=tuple(_strings(name, 1)[0] for name in response[4]),
    )


def _map(entries: list[Any]) -> Pairs:
    pairs: dict[str, str] = {}
    for entry in entries:
        key, value = _strings(entry, 2)
        pairs[key] = value
    return tuple(pairs.items())


def _mount(data: bytes) -> Mount:
    container_path, host_path, read_only = _message(data, (BYTES, BYTES, VARINT))
    return Mount(_last_text(container_path), _last_text(host_path), bool(read_only and read_only[-1]))


def _strings(data: bytes, count: int) -> list[str]:
    return [_last_text(values) for values in _message(data, (BYTES,) * count)]


def _last_text(values: list[Any]) -> str:
    return values[-1].decode(errors="surrogateescape") if values else ""


def _message(data: bytes, kinds: Sequence[int]) -> list[list[Any]]:
    """The values of fields 1, 2, ... of a message, each a list; `kinds` are the wire types they must have."""
    values: list[list[Any]] = [[] for _ in kinds]
    at = 0
    while at < len(data):
        field, kind, at = _read_tag(data, at)
        if kind == END_GROUP:
            raise ProtobufError(f"expected a field, got the end of a group before byte {at}")
        if field <= len(kinds) and kind != kinds[field - 1]:
            raise ProtobufError(f"expected wire type {kinds[field - 1]} for field {field}, got {kind}")
        value, at = _read_value(data, at, kind)
        if field <= len(kinds):
            values[field - 1].append(value)
    return values


def _read_tag(data: bytes, at: int) -> tuple[int, int, int]:
    tag, at = _read_varint(data, at)
    if tag < 8:
        raise ProtobufError(f"expected a field's number above 0, got 0 before byte {at}")
    return tag >> 3, tag & 7, at


def _read_value(data: bytes, at: int, kind: int) -> tuple[int | bytes, int]:
    if kind == VARINT:
        return _read_varint(data, at)
    if kind == START_GROUP:
        return b"", _after_group(data, at)
    if kind == BYTES:
        length, at = _read_varint(data, at)
    elif kind in (FIXED64, FIXED32):
        length = 8 if kind == FIXED64 else 4
    else:
        raise ProtobufError(f"expected a wire type from 0 to 5, got {kind} before byte {at}")
    if at + length > len(data):
        raise ProtobufError(f"expected {length} bytes from byte {at}, got {len(data) - at}")
    return data[at : at + length], at + length


def _after_group(data: bytes, at: int) -> int:
    depth = 1
    while depth:
        _, kind, at = _read_tag(data, at)
        if kind == START_GROUP:
            depth += 1
        elif kind == END_GROUP:
            depth -= 1
        else:
            _, at = _read_value(data, at, kind)
    return at


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for i, octet in enumerate(data[at : at + 10]):
        number |= (octet & 0x7F) << 7 * i
        if octet < 0x80:
            return number & (2**64 - 1), at + i + 1
    raise ProtobufError(f"expected a number of at most 10 bytes at byte {at}")
