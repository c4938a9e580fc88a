"""`kubedev devices`: who holds what on a node, NUMA node by NUMA node, as its kubelet tells any agent.

It asks the PodResources API of any kubelet, a real one's too: on a node of a cluster it needs the right to open
/var/lib/kubelet/pod-resources/kubelet.sock.
"""

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kubedev.api.messages import RpcError
from kubedev.api.podresources import (
    AllocatableResourcesRequest,
    AllocatableResourcesResponse,
    ListPodResourcesRequest,
    ListPodResourcesResponse,
)
from kubedev.console import Parser, json_line, told, visible
from kubedev.kubelet.cpu.cpuset import format_cpus
from kubedev.wire.pod_resources import ask_pod_resources
from kubedev.wire.sockets import SocketDirectoryError, require_unix_sockets

__all__ = ["ask", "by_numa_node", "main", "table"]

DEFAULT_SOCKET = "/var/lib/kubelet/pod-resources/kubelet.sock"

EXPECTED = (
    f"Expected the PodResources socket of a kubelet, which is {DEFAULT_SOCKET} on a node of a cluster, and "
    "DIR/pod-resources/kubelet.sock with `kubedev kubelet --dir DIR`."
)

Row = dict[str, Any]


class AgentError(Exception):
    """A kubelet that cannot be asked; the text says why and what to do."""


def ask(socket: str) -> tuple[ListPodResourcesResponse, AllocatableResourcesResponse | None]:
    """What all pods have, and what there is; None for the latter where the kubelet does not say.

    Raises AgentError, or SocketDirectoryError where the path cannot be a socket's.
    """
    path = socket.removeprefix("unix://")
    try:
        mode = os.stat(path).st_mode
    except PermissionError:
        raise AgentError(f"{path}: permission is missing. Run as a user who may open it.") from None
    except (OSError, ValueError):
        raise AgentError(f"{path or 'an empty path'}: there is no such socket. {EXPECTED}") from None
    if not stat.S_ISSOCK(mode):
        kind = "a directory" if stat.S_ISDIR(mode) else "a file"
        raise AgentError(f"{path}: is {kind}, and no socket. {EXPECTED}")
    listed, there_is = ask_pod_resources(path, ListPodResourcesRequest(), AllocatableResourcesRequest())
    if isinstance(listed, RpcError):
        raise AgentError(
            f"{path}: expected a kubelet that answers List, got: {listed}. Is it running, and may you use it?"
        )
    return listed, None if isinstance(there_is, RpcError) else there_is


def by_numa_node(listed: ListPodResourcesResponse, there_is: AllocatableResourcesResponse | None) -> Row:
    """Everything as JSON: `numa_nodes` with their devices and memory, and the CPUs, each with its holders.

    The id of a NUMA node is null for devices that named none. A device is allocatable if the kubelet lists it as
    healthy; null where it does not say. The API does not say on which NUMA node a CPU is.
    """
    devices: dict[tuple[int | None, str, str], Row] = {}
    memory: dict[tuple[tuple[int, ...], str], Row] = {}
    cpus: list[Row] = []
    known = None if there_is is None else False
    for device in there_is.devices if there_is else ():
        for key in _keys(device):
            devices[key] = {"allocatable": True, "holders": []}
    for block in there_is.memory if there_is else ():
        memory[block.numa_nodes, block.memory_type] = {"allocatable": block.size, "holders": []}
    for pod in listed.pod_resources:
        for container in pod.containers:
            who = {"namespace": pod.namespace, "pod": pod.name, "container": container.name}
            for device in container.devices:
                for key in _keys(device):
                    found = devices.setdefault(key, {"allocatable": known, "holders": []})
                    found["holders"].append(who)
            for block in container.memory:
                key_ = block.numa_nodes, block.memory_type
                found = memory.setdefault(key_, {"allocatable": None, "holders": []})
                found["holders"].append({**who, "size": block.size})
            if container.cpu_ids:
                cpus.append({**who, "cpus": format_cpus(frozenset(container.cpu_ids))})
    nodes = sorted(
        {node for node, _, _ in devices} | {n for group, _ in memory for n in group},
        key=lambda node: (node is None, node),
    )
    return {
        "numa_nodes": [
            {
                "id": node,
                "devices": [
                    {"resource": resource, "id": id_, **row}
                    for (on, resource, id_), row in sorted(devices.items(), key=lambda item: _order(*item[0]))
                    if on == node
                ],
                "memory": [
                    {"type": type_, "numa_nodes": list(group), **row}
                    for (group, type_), row in sorted(memory.items())
                    if node in group
                ],
            }
            for node in nodes
        ],
        "cpus": {
            "allocatable": format_cpus(frozenset(there_is.cpu_ids)) if there_is else None,
            "holders": cpus,
        },
    }


def _keys(device: Any) -> Iterator[tuple[int | None, str, str]]:
    for node in device.numa_nodes or (None,):
        for id_ in device.device_ids:
            yield node, device.resource_name, id_


def _order(node: int | None, resource: str, id_: str) -> tuple[str, int, str]:
    """In the order in which people count: d2 before d10."""
    return resource, len(id_), id_


def table(found: Row) -> str:
    """The same as lines for people."""
    lines = []
    for node in found["numa_nodes"]:
        lines.append("without NUMA node" if node["id"] is None else f"NUMA node {node['id']}")
        rows = [(d["resource"], d["id"], _holders(d["holders"], d["allocatable"])) for d in node["devices"]]
        for block in node["memory"]:
            shared = "" if len(block["numa_nodes"]) == 1 else f" with {_others(block, node['id'])}"
            total = "" if block["allocatable"] is None else f" of {_size(block['allocatable'])}"
            taken = _size(sum(holder["size"] for holder in block["holders"]))
            rows.append((block["type"] + shared, f"{taken}{total}", _holders(block["holders"], True)))
        lines += _aligned(rows)
    cpus = found["cpus"]
    if cpus["allocatable"] or cpus["holders"]:
        lines.append("CPUs")
        lines += _aligned([(holder["cpus"], _name(holder)) for holder in cpus["holders"]])
        if cpus["allocatable"] is not None:
            lines.append(f"  {cpus['allocatable']} can be had, whoever has them now")
    return "\n".join(lines or ["The kubelet has no devices, and no CPUs or memory for single containers."])


def _others(block: Row, node: int) -> str:
    return "NUMA " + ", ".join(str(other) for other in block["numa_nodes"] if other != node)


def _holders(holders: Iterable[Row], allocatable: bool | None) -> str:
    names = ", ".join(map(_name, holders))
    if allocatable is False:
        return f"{names} (not among the healthy ones any more)"
    return names or "free"


def _name(holder: Row) -> str:
    return f"{holder['namespace']}/{holder['pod']}/{holder['container']}"


def _size(size: int) -> str:
    for unit, name in ((1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")):
        if size and size % unit == 0:
            return f"{size // unit}{name}"
    return str(size)


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Ask once and print; the exit code is 1 where nobody answers."""
    parser = Parser(
        "kubedev devices", description="Who holds which devices, CPUs and memory on a node, by NUMA node."
    )
    parser.add_argument(
        "--socket",
        default=DEFAULT_SOCKET,
        metavar="PATH",
        help=f"the kubelet's PodResources socket, by default {DEFAULT_SOCKET}",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)
    try:
        require_unix_sockets()
        found = by_numa_node(*ask(options.socket))
    except (AgentError, SocketDirectoryError) as error:
        return told("kubedev devices", str(error))
    print(json_line(found, indent=2) if options.json else visible(table(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
