"""The classes of the v1beta1 messages with bytes where the proto says string.

A Go peer neither checks that a text is UTF-8 nor changes it, Python's protobuf refuses it. On the wire the two are the
same. A map becomes a list of its entries, since a map's key cannot be bytes.
"""

from types import SimpleNamespace
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from kubedev.wire import v1beta1_pb2

__all__ = ["pb"]

_FIELD = descriptor_pb2.FieldDescriptorProto


def _with_bytes() -> Any:
    proto = descriptor_pb2.FileDescriptorProto()
    v1beta1_pb2.DESCRIPTOR.CopyToProto(proto)
    del proto.service[:]
    waiting = list(proto.message_type)
    while waiting:
        message = waiting.pop()
        message.options.ClearField("map_entry")
        waiting.extend(message.nested_type)
        for field in message.field:
            if field.type == _FIELD.TYPE_STRING:
                field.type = _FIELD.TYPE_BYTES
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(proto.SerializeToString())
    file = pool.FindFileByName(proto.name)
    return SimpleNamespace(
        **{
            name: message_factory.GetMessageClass(message)
            for name, message in file.message_types_by_name.items()
        }
    )


pb = _with_bytes()
"""The classes by name: `pb.Device(ID=b"d0")`. The entries of a map `envs` are `EnvsEntry` in its message."""
