"""The file cpu_manager_state: which CPUs are shared and which belong to a container, over a restart of the kubelet.

Where the device manager shrugs off a broken checkpoint, the CPU manager does not start: a kubelet with
another policy or a corrupt file stays down until an operator deletes it.

Source: `pkg/kubelet/cm/cpumanager/state/{checkpoint,state_checkpoint}.go`.
"""

import json
from collections.abc import Mapping
from typing import Any

from kubedev.api.gotext import quote
from kubedev.kubelet.cpuset import CPUSet, CPUSetError, format_cpus, parse_cpus

__all__ = ["CPU_MANAGER_STATE_PATH", "Assignments", "CPUManagerError", "read_state", "write_state"]

CPU_MANAGER_STATE_PATH = "/var/lib/kubelet/cpu_manager_state"

# CPUs that belong to one container, by pod uid and container name.
Assignments = Mapping[str, Mapping[str, CPUSet]]


class CPUManagerError(ValueError):
    """The kubelet does not start; the text is Kubernetes' own."""


def write_state(policy: str, default: CPUSet, assignments: Assignments) -> str:
    """The file's text."""
    entries = {
        uid: {container: format_cpus(cpus) for container, cpus in sorted(containers.items())}
        for uid, containers in sorted(assignments.items())
    }
    document: dict[str, Any] = {"policyName": policy, "defaultCpuSet": format_cpus(default)}
    if entries:
        document["entries"] = entries
    document["checksum"] = _checksum(policy, document["defaultCpuSet"], entries)
    return json.dumps(document, separators=(",", ":"))


def read_state(text: str, policy: str, path: str = CPU_MANAGER_STATE_PATH) -> tuple[CPUSet, Assignments]:
    """The shared CPUs and the assignments, or CPUManagerError with the reason and what to do."""
    try:
        return _read(text, policy)
    except CPUManagerError as error:
        raise CPUManagerError(
            f"could not restore state from checkpoint: {error}, please drain this node and delete the CPU manager "
            f"checkpoint file {quote(path)} before restarting Kubelet"
        ) from None


def _read(text: str, policy: str) -> tuple[CPUSet, Assignments]:
    document = _document(text)
    entries = document["entries"]
    if any(isinstance(value, str) for value in entries.values()):
        # The first format, up to 1.17, named containers by their ids, which only the runtime can resolve.
        unknown = next(iter(entries))
        raise CPUManagerError(
            "error migrating v1 checkpoint state to v2 checkpoint state: "
            f"containerID '{unknown}' not found in initial containers list"
        )
    written = document["policyName"]
    if written != policy:
        raise CPUManagerError(
            f"configured policy {quote(policy)} differs from state checkpoint policy {quote(written)}"
        )
    try:
        default = parse_cpus(document["defaultCpuSet"])
    except CPUSetError as error:
        raise CPUManagerError(
            f"could not parse default cpu set {quote(document['defaultCpuSet'])}: {error}"
        ) from None
    assignments = {
        uid: {name: _container_cpus(uid, name, cpus) for name, cpus in containers.items()}
        for uid, containers in entries.items()
    }
    return default, assignments


def _document(text: str) -> dict[str, Any]:
    """The file's fields, each of its type, with the right checksum; a checksum of 0 or none at all passes."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise CPUManagerError(f"the file is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise CPUManagerError("the file is not JSON: expected an object")
    fields: dict[str, Any] = {"policyName": "", "defaultCpuSet": "", "entries": {}, "checksum": 0}
    for name, default in fields.items():
        value = document.get(name)
        if value is not None and type(value) is not type(default):
            raise CPUManagerError(f"the file is not JSON of the right form: {name} is {value!r}")
        fields[name] = default if value is None else value
    for uid, containers in fields["entries"].items():
        texts = containers.values() if isinstance(containers, dict) else (containers,)
        if not all(isinstance(text, str) for text in texts):
            raise CPUManagerError(f"the file is not JSON of the right form: entries[{uid}] is {containers!r}")
    actual = _checksum(fields["policyName"], fields["defaultCpuSet"], fields["entries"])
    if fields["checksum"] not in (0, actual):
        raise CPUManagerError("checkpoint is corrupted")
    return fields


def _container_cpus(uid: str, container: str, cpus: str) -> CPUSet:
    try:
        return parse_cpus(cpus)
    except CPUSetError as error:
        raise CPUManagerError(
            f"could not parse cpuset {quote(cpus)} for container {quote(container)} in pod {quote(uid)}: {error}"
        ) from None


def _checksum(policy: str, default: str, entries: Mapping[str, Mapping[str, str] | str]) -> int:
    """FNV-1a, 32 bits, over the data as Go's spew prints it, with a checksum of 0."""
    first_format = any(isinstance(value, str) for value in entries.values())
    kind = "map[string]string" if first_format else "map[string]map[string]string"
    printed = (
        f"(*state.CPUManagerCheckpoint){{PolicyName:(string){policy} DefaultCPUSet:(string){default} "
        f"Entries:({kind}){_go_map(entries)} Checksum:(checksum.Checksum)0}}"
    )
    checksum = 0x811C9DC5
    for byte in printed.encode():
        checksum = (checksum ^ byte) * 0x01000193 & 0xFFFFFFFF
    return checksum


def _go_map(value: Mapping[str, Any] | str) -> str:
    if isinstance(value, str):
        return value
    return "map[" + " ".join(f"{key}:{_go_map(value[key])}" for key in sorted(value)) + "]"
