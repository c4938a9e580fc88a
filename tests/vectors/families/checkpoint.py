"""The checkpoint file: written byte by byte, read as leniently as Go does, and Allocate's answer in it.

The error texts of Go's encoding/json differ between its versions: there the class is compared.
"""

import base64
from typing import Any

from kubedev.api.messages import ContainerAllocateResponse, DeviceSpec, Mount
from kubedev.api.protowire import encode_container_allocate_response
from kubedev.kubelet.devices.checkpoint import (
    CORRUPTED,
    CheckpointData,
    PodDevicesEntry,
    checksum,
    hash_text,
    marshal_checkpoint,
)
from kubedev.kubelet.devices.device_manager import restart
from kubedev.kubelet.devices.devices import get_devices
from tests.vectors.runner import unequal


def alloc_resp(given: dict[str, Any]) -> ContainerAllocateResponse:
    """A recorded ContainerAllocateResponse as a message."""
    return ContainerAllocateResponse(
        envs=tuple(given["envs"].items()),
        mounts=tuple(Mount(m["container_path"], m["host_path"], m["read_only"]) for m in given["mounts"]),
        devices=tuple(
            DeviceSpec(d["container_path"], d["host_path"], d["permissions"]) for d in given["devices"]
        ),
        annotations=tuple(given["annotations"].items()),
        cdi_devices=tuple(given["cdi_devices"]),
    )


def _lists(given: dict[str, Any] | None, key: type = str) -> Any:
    if given is None:
        return None
    return {key(name): None if ids is None else tuple(ids) for name, ids in given.items()}


def _entry(given: dict[str, Any]) -> PodDevicesEntry:
    resp = given["alloc_resp_base64"]
    return PodDevicesEntry(
        given["pod_uid"],
        given["container_name"],
        given["resource_name"],
        _lists(given["device_ids"], int),
        None if resp is None else base64.b64decode(resp),
    )


def _write(given: dict[str, Any]) -> dict[str, Any]:
    entries = given["entries"]
    data = CheckpointData(
        None if entries is None else tuple(map(_entry, entries)), _lists(given["registered"])
    )
    return {"file": marshal_checkpoint(data), "checksum": checksum(data), "hash_text": hash_text(data)}


def _read(given: dict[str, Any]) -> dict[str, Any]:
    file = given["file_base64"]
    text = None if file is None else base64.b64decode(file).decode(errors="surrogateescape")
    state = restart(text, now=0.0)
    error_class = "json"
    if state.read_error is None or state.read_error == CORRUPTED:
        error_class = "none" if state.read_error is None else "corrupted"
    numa = {
        f"{uid}/{container}/{resource}": {
            id_: None if d.numa_nodes is None else sorted(d.numa_nodes) for id_, d in ids.items()
        }
        for uid, containers in state.pod_devices.items()
        for container in containers
        for resource, ids in get_devices(state, uid, container).items()
    }
    return {
        "error": state.read_error,
        "error_class": error_class,
        "pods": {
            uid: {c: {r: sorted(i.devices) for r, i in rs.items()} for c, rs in cs.items()}
            for uid, cs in state.pod_devices.items()
        },
        "allocated": {resource: sorted(ids) for resource, ids in state.allocated_devices.items()},
        "registered": sorted(state.endpoints),
        "get_devices_numa": numa,
    }


def differences(case: dict[str, Any]) -> list[str]:
    given, expected = case["in"], dict(case["out"])
    match given["kind"]:
        case "write":
            answer = _write(given)
        case "alloc_resp":
            octets = encode_container_allocate_response(alloc_resp(given))
            answer = {"base64": base64.b64encode(octets).decode()}
        case _:
            answer = _read(given)
            if expected["error_class"] == "json":
                del expected["error"]
            for where, ids in expected["get_devices_numa"].items():
                for id_ in [i for i, nodes in ids.items() if nodes == "undetermined"]:
                    answer["get_devices_numa"][where][id_] = "undetermined"
    return list(unequal(expected, answer, "out"))
