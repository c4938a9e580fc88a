"""What the memory manager knows, and the file memory_manager_state that keeps it over a restart of the kubelet.

A broken file, or one of another policy, keeps the kubelet down, as that of the CPU manager does. Unlike that one it
has to have a checksum.

Source: `pkg/kubelet/cm/memorymanager/state/{state,checkpoint,state_checkpoint}.go`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kubedev.api.gojson import (
    JSONError,
    int64,
    int_key,
    list_of,
    map_of,
    pointer_to,
    struct,
    text,
    uint64,
    unmarshal,
)
from kubedev.api.gojson import quote as json_quote
from kubedev.api.gotext import fnv_32a, quote

__all__ = [
    "MEMORY_MANAGER_STATE_PATH",
    "Assignments",
    "Block",
    "MachineState",
    "MemoryManagerError",
    "MemoryTable",
    "NUMANodeState",
    "read_state",
    "write_state",
]

MEMORY_MANAGER_STATE_PATH = "/var/lib/kubelet/memory_manager_state"


class MemoryManagerError(ValueError):
    """The kubelet does not start, or a container gets no memory; the text is Kubernetes' own."""


@dataclass(frozen=True, slots=True)
class MemoryTable:
    """Memory of one type on one NUMA node, in bytes. `free` is what of `allocatable` nobody has."""

    total: int
    system_reserved: int
    allocatable: int
    reserved: int
    free: int


@dataclass(frozen=True, slots=True)
class NUMANodeState:
    """One NUMA node: its memory by type (`memory`, `hugepages-2Mi`), and who shares it.

    `cells` are the nodes over which the containers with memory here spread, this node among them: it alone, or a
    group that must not be cut. Each block of a container counts as one assignment.
    """

    number_of_assignments: int
    memory_map: Mapping[str, MemoryTable]
    cells: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """So many bytes of one type for a container, from these NUMA nodes together."""

    numa_affinity: tuple[int, ...]
    type: str
    size: int


# What a JSON object has.
Document = Mapping[Any, Any]

# By NUMA node.
MachineState = Mapping[int, NUMANodeState]

# By pod uid and container name.
Assignments = Mapping[str, Mapping[str, tuple[Block, ...]]]


# Writing. Both the text and the checksum are made of what JSON has, so that null and empty can be told apart.


def write_state(policy: str, machine: MachineState, assignments: Assignments) -> str:
    """The file's text. Go: MarshalCheckpoint."""
    nodes = {node: _node_document(state) for node, state in machine.items()}
    entries = {
        uid: {name: list(map(_block_document, blocks)) for name, blocks in containers.items()}
        for uid, containers in assignments.items()
    }
    by_name = {str(node): document for node, document in nodes.items()}
    members = [f'"policyName":{json_quote(policy)}', f'"machineState":{_json_map(by_name, _node_json)}']
    if entries:
        members.append(f'"entries":{_json_map(entries, lambda pod: _json_map(pod, _blocks_json))}')
    members.append(f'"checksum":{_checksum(policy, nodes, entries)}')
    return f"{{{','.join(members)}}}"


# The JSON name, Go's name and ours of a table's numbers.
_TABLE = (
    ("total", "TotalMemSize", "total"),
    ("systemReserved", "SystemReserved", "system_reserved"),
    ("allocatable", "Allocatable", "allocatable"),
    ("reserved", "Reserved", "reserved"),
    ("free", "Free", "free"),
)


def _node_document(state: NUMANodeState) -> Document:
    tables = {
        resource: {name: getattr(table, ours) for name, _, ours in _TABLE}
        for resource, table in state.memory_map.items()
    }
    return {
        "numberOfAssignments": state.number_of_assignments,
        "memoryMap": tables,
        "cells": list(state.cells),
    }


def _block_document(block: Block) -> Document:
    return {"numaAffinity": list(block.numa_affinity), "type": block.type, "size": block.size}


def _json_map(values: Mapping[str, Any], member: Callable[[Any], str]) -> str:
    return f"{{{','.join(f'{json_quote(key)}:{member(values[key])}' for key in sorted(values))}}}"


def _node_json(node: Document) -> str:
    return (
        f'{{"numberOfAssignments":{node["numberOfAssignments"]},'
        f'"memoryMap":{_json_map(node["memoryMap"], _table_json)},"cells":{_numbers_json(node["cells"])}}}'
    )


def _table_json(table: Document) -> str:
    return f"{{{','.join(f'{json_quote(name)}:{table[name]}' for name, _, _ in _TABLE)}}}"


def _blocks_json(blocks: list[Document]) -> str:
    members = (
        f'{{"numaAffinity":{_numbers_json(block["numaAffinity"])},"type":{json_quote(block["type"])},'
        f'"size":{block["size"]}}}'
        for block in blocks
    )
    return f"[{','.join(members)}]"


def _numbers_json(numbers: list[int]) -> str:
    return f"[{','.join(map(str, numbers))}]"


# The checksum: over the data as Go's spew prints them


def _checksum(policy: str, nodes: Document | None, entries: Document | None) -> int:
    return fnv_32a(
        f"(*state.MemoryManagerCheckpoint){{PolicyName:(string){policy} "
        f"MachineState:(state.NUMANodeMap){_map_text(nodes, _node_text)} "
        f"Entries:(state.ContainerMemoryAssignments){_map_text(entries, _pod_text)} "
        "Checksum:(checksum.Checksum)0}"
    )


def _map_text(values: Mapping[Any, Any] | None, member: Callable[[Any], str]) -> str:
    if values is None:
        return "<nil>"
    return f"map[{' '.join(f'{key}:{member(values[key])}' for key in sorted(values))}]"


def _node_text(node: Document | None) -> str:
    if node is None:
        return "<nil>"
    return (
        f"<*>{{NumberOfAssignments:(int){node['numberOfAssignments']} "
        f"MemoryMap:(map[v1.ResourceName]*state.MemoryTable){_map_text(node['memoryMap'], _table_text)} "
        f"Cells:([]int){_list_text(node['cells'], str)}}}"
    )


def _table_text(table: Document | None) -> str:
    if table is None:
        return "<nil>"
    return f"<*>{{{' '.join(f'{go}:(uint64){table[name]}' for name, go, _ in _TABLE)}}}"


def _pod_text(containers: Document | None) -> str:
    return _map_text(containers, lambda blocks: _list_text(blocks, _block_text))


def _block_text(block: Document) -> str:
    return (
        f"{{NUMAAffinity:([]int){_list_text(block['numaAffinity'], str)} "
        f"Type:(v1.ResourceName){block['type']} Size:(uint64){block['size']}}}"
    )


def _list_text(values: list[Any] | None, member: Callable[[Any], str]) -> str:
    return "<nil>" if values is None else f"[{' '.join(map(member, values))}]"


# Reading


def read_state(
    source: str, policy: str, path: str = MEMORY_MANAGER_STATE_PATH
) -> tuple[MachineState, Assignments]:
    """The machine and the assignments of a file, or MemoryManagerError with the reason and what to do."""
    try:
        return _restore(source, policy)
    except (MemoryManagerError, JSONError) as error:
        raise MemoryManagerError(
            f"could not restore state from checkpoint: {error}, please drain this node and delete the memory "
            f"manager checkpoint file {quote(path)} before restarting Kubelet"
        ) from None


_TABLE_FIELDS = {name: uint64 for name, _, _ in _TABLE}
_NO_TABLE = dict.fromkeys(_TABLE_FIELDS, 0)
_TABLES = map_of(pointer_to(struct(_TABLE_FIELDS), _NO_TABLE))
_INTS = list_of(int64, 0)
_NODE = struct({"numberOfAssignments": int64, "memoryMap": _TABLES, "cells": _INTS})
_NO_NODE: Document = {"numberOfAssignments": 0, "memoryMap": None, "cells": None}
_BLOCK = struct({"numaAffinity": _INTS, "type": text, "size": uint64})
_NO_BLOCK = {"numaAffinity": None, "type": "", "size": 0}
_FILE = struct(
    {
        "policyName": text,
        "machineState": map_of(pointer_to(_NODE, _NO_NODE), int_key),
        "entries": map_of(map_of(list_of(_BLOCK, _NO_BLOCK))),
        "checksum": uint64,
    }
)
_NO_FILE: Document = {"policyName": "", "machineState": {}, "entries": {}, "checksum": 0}


def _restore(source: str, policy: str) -> tuple[MachineState, Assignments]:
    """Source: `state_checkpoint.go: restoreState`."""
    read = unmarshal(source, _FILE, _NO_FILE)
    written = read["policyName"]
    if read["checksum"] != _checksum(written, read["machineState"], read["entries"]):
        raise MemoryManagerError("checkpoint is corrupted")
    if written != policy:
        raise MemoryManagerError(
            f"[memorymanager] configured policy {quote(policy)} differs from state checkpoint policy "
            f"{quote(written)}"
        )
    machine = {node: _node(document) for node, document in (read["machineState"] or {}).items()}
    assignments = {
        uid: {name: tuple(map(_block, blocks or ())) for name, blocks in (containers or {}).items()}
        for uid, containers in (read["entries"] or {}).items()
    }
    return machine, assignments


def _node(document: Document | None) -> NUMANodeState:
    """A node of the file. One that is null counts as one without memory, where Go would stop with a panic."""
    document = document or _NO_NODE
    tables = {
        resource: MemoryTable(*(table[name] for name, _, _ in _TABLE))
        for resource, table in (document["memoryMap"] or {}).items()
        if table is not None
    }
    return NUMANodeState(document["numberOfAssignments"], tables, tuple(document["cells"] or ()))


def _block(document: Document) -> Block:
    return Block(tuple(document["numaAffinity"] or ()), document["type"], document["size"])
