"""The file kubelet_internal_checkpoint: what the device manager remembers over a restart of the kubelet.

It says which container holds which devices and what the plugin answered, and which resources were registered.
Plugins' sockets, health and capacity are not in it: plugins register anew. The checksum is FNV-1a of the data
as Go's debugging printer (spew) shows them, so null and an empty list differ. A file that cannot be read
does not stop the kubelet: it goes on and remembers nothing.

Source: `pkg/kubelet/cm/devicemanager/checkpoint/checkpoint.go`, `manager.go: readCheckpoint,
writeCheckpoint`; `pkg/util/hash/hash.go`. Go writes entries and ids in random order, we in sorted order.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubedev.api.gojson import (
    JSONError,
    int_key,
    list_of,
    map_of,
    octets,
    quote,
    struct,
    text,
    uint64,
    unmarshal,
)
from kubedev.api.gotext import fnv_32a
from kubedev.api.protowire import (
    ProtobufError,
    decode_container_allocate_response,
    encode_container_allocate_response,
)
from kubedev.kubelet.devices.devices import (
    DeviceAllocateInfo,
    DeviceManagerState,
    PodDevices,
    Written,
    insert,
)

__all__ = [
    "CORRUPTED",
    "CheckpointData",
    "PodDevicesEntry",
    "checkpoint_text",
    "checksum",
    "data_of",
    "hash_text",
    "marshal_checkpoint",
    "read_checkpoint",
    "unmarshal_checkpoint",
]

# Kubernetes' text where the checksum is not that of the data.
CORRUPTED = "checkpoint is corrupted"

Lists = Mapping[Any, tuple[str, ...] | None]


@dataclass(frozen=True, slots=True)
class PodDevicesEntry:
    """A container's devices of one resource. None is null in the file, which is not the same as empty."""

    pod_uid: str
    container_name: str
    resource_name: str
    device_ids: Lists | None
    alloc_resp: bytes | None


@dataclass(frozen=True, slots=True)
class CheckpointData:
    """The file's content; of `registered`, the healthy devices by resource, only the names are used again."""

    entries: tuple[PodDevicesEntry, ...] | None
    registered: Lists | None


def checkpoint_text(state: DeviceManagerState) -> str | None:
    """The checkpoint file as it is now; None if there is none. The kubelet's driver writes it."""
    if isinstance(state.checkpoint, Written):
        return marshal_checkpoint(data_of(state.checkpoint))
    return state.checkpoint


def data_of(written: Written) -> CheckpointData:
    """What is to be written, in sorted order. No record at all is null, no resource an empty map."""
    entries = tuple(
        PodDevicesEntry(
            uid, container, resource, info.device_ids, encode_container_allocate_response(info.alloc_resp)
        )
        for uid, containers in sorted(written.pod_devices.items())
        for container, resources in sorted(containers.items())
        for resource, info in sorted(resources.items())
    )
    registered = {resource: tuple(sorted(ids)) for resource, ids in written.healthy_devices.items()}
    return CheckpointData(entries or None, registered)


# Writing


def marshal_checkpoint(data: CheckpointData) -> str:
    """The file's text. Go: MarshalCheckpoint."""
    entries = "null" if data.entries is None else f"[{','.join(map(_entry_json, data.entries))}]"
    content = f'{{"PodDeviceEntries":{entries},"RegisteredDevices":{_lists_json(data.registered)}}}'
    return f'{{"Data":{content},"Checksum":{checksum(data)}}}'


def _entry_json(entry: PodDevicesEntry) -> str:
    resp = "null" if entry.alloc_resp is None else f'"{base64.b64encode(entry.alloc_resp).decode()}"'
    return (
        f'{{"PodUID":{quote(entry.pod_uid)},"ContainerName":{quote(entry.container_name)},'
        f'"ResourceName":{quote(entry.resource_name)},"DeviceIDs":{_lists_json(entry.device_ids)},'
        f'"AllocResp":{resp}}}'
    )


def _lists_json(lists: Lists | None) -> str:
    if lists is None:
        return "null"
    members = sorted((str(key), ids) for key, ids in lists.items())
    return f"{{{','.join(f'{quote(key)}:{_list_json(ids)}' for key, ids in members)}}}"


def _list_json(ids: tuple[str, ...] | None) -> str:
    return "null" if ids is None else f"[{','.join(map(quote, ids))}]"


# The checksum


def checksum(data: CheckpointData) -> int:
    """FNV-1a of the hash text, 32 bits."""
    return fnv_32a(hash_text(data))


def hash_text(data: CheckpointData) -> str:
    """The data as spew prints them: types in parentheses, keys sorted, `<nil>` for null."""
    entries = "<nil>" if data.entries is None else f"[{' '.join(map(_entry_text, data.entries))}]"
    return (
        f"(checkpoint.checkpointData){{PodDeviceEntries:([]checkpoint.PodDevicesEntry){entries} "
        f"RegisteredDevices:(map[string][]string){_lists_text(data.registered)}}}"
    )


def _entry_text(entry: PodDevicesEntry) -> str:
    octets = "<nil>" if entry.alloc_resp is None else f"[{' '.join(map(str, entry.alloc_resp))}]"
    return (
        f"{{PodUID:(string){entry.pod_uid} ContainerName:(string){entry.container_name} "
        f"ResourceName:(string){entry.resource_name} "
        f"DeviceIDs:(checkpoint.DevicesPerNUMA){_lists_text(entry.device_ids)} AllocResp:([]uint8){octets}}}"
    )


def _lists_text(lists: Lists | None) -> str:
    if lists is None:
        return "<nil>"
    members = (f"{key}:{_list_text(ids)}" for key, ids in sorted(lists.items()))
    return f"map[{' '.join(members)}]"


def _list_text(ids: tuple[str, ...] | None) -> str:
    return "<nil>" if ids is None else f"[{' '.join(ids)}]"


# Reading


def read_checkpoint(source: str | None) -> tuple[PodDevices, tuple[str, ...], str | None]:
    """What a restarted kubelet knows: records, names of registered resources, and why the file was refused.

    No file is no error. An entry whose Allocate answer cannot be read is left out.
    """
    if source is None:
        return {}, (), None
    try:
        data = unmarshal_checkpoint(source)
    except JSONError as error:
        return {}, (), str(error)
    if data is None:
        return {}, (), CORRUPTED
    pods: PodDevices = {}
    for entry in data.entries or ():
        try:
            answer = decode_container_allocate_response(entry.alloc_resp or b"")
        except ProtobufError:
            continue
        device_ids = {node: ids or () for node, ids in (entry.device_ids or {}).items()}
        info = DeviceAllocateInfo(device_ids, answer)
        pods = insert(pods, entry.pod_uid, entry.container_name, entry.resource_name, info)
    return pods, tuple(data.registered or ()), None


_IDS = list_of(text, "")
_ENTRY = struct(
    {
        "PodUID": text,
        "ContainerName": text,
        "ResourceName": text,
        "DeviceIDs": map_of(_IDS, int_key),
        "AllocResp": octets,
    }
)
_NO_ENTRY = {"PodUID": "", "ContainerName": "", "ResourceName": "", "DeviceIDs": None, "AllocResp": None}
_DATA = struct({"PodDeviceEntries": list_of(_ENTRY, _NO_ENTRY), "RegisteredDevices": map_of(_IDS)})
_FILE = struct({"Data": _DATA, "Checksum": uint64})
_NO_FILE = {"Data": {"PodDeviceEntries": [], "RegisteredDevices": {}}, "Checksum": 0}


def unmarshal_checkpoint(source: str) -> CheckpointData | None:
    """The data of a file, read as leniently as Go does; None if its checksum is wrong.

    What is absent is empty, not null. JSONError if it is no JSON or does not fit.
    """
    read = unmarshal(source, _FILE, _NO_FILE)
    entries, registered = read["Data"]["PodDeviceEntries"], read["Data"]["RegisteredDevices"]
    data = CheckpointData(
        None if entries is None else tuple(map(_entry, entries)),
        None if registered is None else _lists(registered),
    )
    return data if checksum(data) == read["Checksum"] else None


def _entry(read: Mapping[str, Any]) -> PodDevicesEntry:
    device_ids = read["DeviceIDs"]
    return PodDevicesEntry(
        read["PodUID"],
        read["ContainerName"],
        read["ResourceName"],
        None if device_ids is None else _lists(device_ids),
        read["AllocResp"],
    )


def _lists(read: Mapping[Any, list[str] | None]) -> Lists:
    return {key: None if ids is None else tuple(ids) for key, ids in read.items()}
