"""Who holds which devices of a node: its kubelet_internal_checkpoint, or what its PodResources API answered."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubedev.tools.why.sources import DumpError

__all__ = ["Holding", "NodeFile", "node_file"]

LARGEST = 8 << 20


@dataclass(frozen=True, slots=True)
class Holding:
    """Devices of a container. `pod` is a uid in a checkpoint, and `namespace/name` otherwise."""

    pod: str
    container: str
    resource: str
    devices: tuple[str, ...]
    numa_nodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeFile:
    """One file of a node; `problem` says why a kubelet would not use it."""

    source: str
    holdings: tuple[Holding, ...]
    registered: tuple[str, ...] = ()
    problem: str = ""


def node_file(data: Any, source: str) -> NodeFile | None:
    """What a file says about devices; None where it is a dump. Raises DumpError."""
    if len(data) > LARGEST or not any(
        mark in bytes(data) for mark in (b"PodDeviceEntries", b"odResources", b"pod_resources", b"numa_nodes")
    ):
        return None
    try:
        values = json.loads(bytes(data))
    except ValueError:
        if b'"PodDeviceEntries"' in data[:200]:
            raise DumpError(f"{source}: is a kubelet_internal_checkpoint that is cut off or broken") from None
        return None
    if not isinstance(values, dict) or "kind" in values:
        return None
    if "Data" in values and "Checksum" in values:
        return checkpoint(bytes(data).decode(), source)
    listed = values.get("podResources", values.get("pod_resources"))
    if isinstance(listed, list):
        return NodeFile(source, tuple(pod_resources(listed)))
    if "numa_nodes" in values and "cpus" in values:
        return NodeFile(source, tuple(of_devices(values["numa_nodes"])))
    return None


def checkpoint(text: str, source: str) -> NodeFile:
    """A kubelet_internal_checkpoint, as a kubelet that starts reads it."""
    from kubedev.kubelet.devices.checkpoint import read_checkpoint  # only for one

    pods, registered, problem = read_checkpoint(text)
    found = tuple(
        Holding(
            uid,
            container,
            resource,
            tuple(sorted({one for ids in info.device_ids.values() for one in ids})),
            tuple(sorted(node for node in info.device_ids if node >= 0)),
        )
        for uid, containers in pods.items()
        for container, resources in containers.items()
        for resource, info in resources.items()
    )
    return NodeFile(source, found, registered, problem or "")


def pod_resources(listed: list[Any]) -> Iterator[Holding]:
    """The answer to List, as grpcurl and others print it: with names in camelCase or as in the proto file."""
    for pod in dicts(listed):
        for container in dicts(get(pod, "containers")):
            for device in dicts(get(container, "devices")):
                nodes = dicts(get(device.get("topology") or {}, "nodes"))
                numa = tuple(sorted(int(node.get("ID", node.get("id", 0))) for node in nodes))
                ids = tuple(map(str, get(device, "deviceIds", "device_ids") or ()))
                resource = str(get(device, "resourceName", "resource_name") or "")
                name = f"{pod.get('namespace', 'default')}/{pod.get('name', '')}"
                yield Holding(name, str(container.get("name", "")), resource, ids, numa)


def of_devices(nodes: list[Any]) -> Iterator[Holding]:
    """What `kubedev devices --json` prints."""
    for node in dicts(nodes):
        numa = () if node.get("id") is None else (int(node["id"]),)
        for device in dicts(node.get("devices")):
            for holder in dicts(device.get("holders")):
                name = f"{holder['namespace']}/{holder['pod']}"
                yield Holding(
                    name, str(holder["container"]), str(device["resource"]), (str(device["id"]),), numa
                )


def dicts(values: Any) -> list[Mapping[str, Any]]:
    """The objects of a list."""
    return [one for one in values or () if isinstance(one, dict)]


def get(values: Mapping[str, Any], *names: str) -> Any:
    """The first of these fields that is there."""
    return next((values[name] for name in names if name in values), None)
