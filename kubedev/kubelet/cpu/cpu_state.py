"""The file cpu_manager_state: which CPUs are shared and which belong to a container, over a restart of the kubelet.

Where the device manager shrugs off a broken checkpoint, the CPU manager does not start: with another policy than before
or a corrupt file, the kubelet stays down until an operator deletes it.

Source: `pkg/kubelet/cm/cpumanager/state/{checkpoint,state_checkpoint}.go`.
"""

from collections.abc import Mapping
from typing import Any

from kubedev.api.gojson import JSONError, Reader, map_of, struct, text, uint64, unmarshal
from kubedev.api.gojson import quote as json_quote
from kubedev.api.gotext import fnv_32a, quote
from kubedev.kubelet.cpu.cpuset import CPUSet, CPUSetError, format_cpus, parse_cpus

__all__ = ["CPU_MANAGER_STATE_PATH", "Assignments", "CPUManagerError", "read_state", "write_state"]

CPU_MANAGER_STATE_PATH = "/var/lib/kubelet/cpu_manager_state"

# CPUs that belong to one container, by pod uid and container name.
Assignments = Mapping[str, Mapping[str, CPUSet]]


class CPUManagerError(ValueError):
    """The kubelet does not start; the text is Kubernetes' own."""


# Writing


def write_state(policy: str, default: CPUSet, assignments: Assignments) -> str:
    """The file's text."""
    entries = {
        uid: {container: format_cpus(cpus) for container, cpus in containers.items()}
        for uid, containers in assignments.items()
    }
    members = [f'"policyName":{json_quote(policy)}', f'"defaultCpuSet":{json_quote(format_cpus(default))}']
    if entries:
        members.append(f'"entries":{_json(entries)}')
    members.append(f'"checksum":{_checksum(policy, format_cpus(default), entries, _NOW)}')
    return f"{{{','.join(members)}}}"


def _json(value: Mapping[str, Any] | str) -> str:
    if isinstance(value, str):
        return json_quote(value)
    return f"{{{','.join(f'{json_quote(key)}:{_json(value[key])}' for key in sorted(value))}}}"


# The checksum: over the data as Go's spew prints them, with the Go type of the entries

_NOW = "map[string]map[string]string"
_UNTIL_1_17 = "map[string]string"


def _checksum(policy: str, default: str, entries: Mapping[str, Any] | None, go_type: str) -> int:
    return fnv_32a(
        f"(*state.CPUManagerCheckpoint){{PolicyName:(string){policy} DefaultCPUSet:(string){default} "
        f"Entries:({go_type}){_spew(entries)} Checksum:(checksum.Checksum)0}}"
    )


def _spew(value: Mapping[str, Any] | str | None) -> str:
    if value is None:
        return "<nil>"
    if isinstance(value, str):
        return value
    return f"map[{' '.join(f'{key}:{_spew(value[key])}' for key in sorted(value))}]"


# Reading


def read_state(
    source: str,
    policy: str,
    path: str = CPU_MANAGER_STATE_PATH,
    containers: Mapping[str, tuple[str, str]] | None = None,
) -> tuple[CPUSet, Assignments]:
    """The shared CPUs and the assignments, or CPUManagerError with the reason and what to do.

    `containers` are those that the runtime knows by their id, each with its pod's uid and its name: until 1.17 the
    file had these ids.
    """
    try:
        return _restore(source, policy, containers or {})
    except (CPUManagerError, JSONError) as error:
        raise CPUManagerError(
            f"could not restore state from checkpoint: {error}, please drain this node and delete the CPU "
            f"manager checkpoint file {quote(path)} before restarting Kubelet"
        ) from None


def _restore(source: str, policy: str, known: Mapping[str, tuple[str, str]]) -> tuple[CPUSet, Assignments]:
    """Source: `state_checkpoint.go: restoreState`."""
    try:
        document = _verified(source, map_of(_text_in_map), _UNTIL_1_17)
    except (CPUManagerError, JSONError):
        document = _verified(source, map_of(map_of(_text_in_map)), _NOW)
    entries = document["entries"] or {}
    if any(isinstance(cpus, str) for cpus in entries.values()):
        entries = _migrated(entries, known)
    written = document["policyName"]
    if written != policy:
        raise CPUManagerError(
            f"configured policy {quote(policy)} differs from state checkpoint policy {quote(written)}"
        )
    default = _cpus("default cpu set", document["defaultCpuSet"])
    assignments = {
        uid: {
            name: _cpus("cpuset", cpus, f" for container {quote(name)} in pod {quote(uid)}")
            for name, cpus in (containers or {}).items()
        }
        for uid, containers in entries.items()
    }
    return default, assignments


def _migrated(entries: Mapping[str, str], known: Mapping[str, tuple[str, str]]) -> dict[str, dict[str, str]]:
    """Source: `state_checkpoint.go: migrateV1CheckpointToV2Checkpoint`."""
    pods: dict[str, dict[str, str]] = {}
    for container_id, cpus in sorted(entries.items()):
        if container_id not in known:
            raise CPUManagerError(
                "error migrating v1 checkpoint state to v2 checkpoint state: "
                f"containerID '{container_id}' not found in initial containers list"
            )
        uid, name = known[container_id]
        pods.setdefault(uid, {})[name] = cpus
    return pods


def _verified(source: str, entries: Reader, go_type: str) -> dict[str, Any]:
    """The file's fields, if it is of this form and its checksum is right; none at all is right too."""
    fields = {"policyName": text, "defaultCpuSet": text, "entries": entries, "checksum": uint64}
    empty = {"policyName": "", "defaultCpuSet": "", "entries": {}, "checksum": 0}
    document: dict[str, Any] = unmarshal(source, struct(fields), empty)
    actual = _checksum(document["policyName"], document["defaultCpuSet"], document["entries"], go_type)
    if document["checksum"] not in (0, actual):
        raise CPUManagerError("checkpoint is corrupted")
    return document


def _text_in_map(value: Any, over: Any, where: str) -> Any:
    return text(value, "", where)


def _cpus(what: str, cpus: str, where: str = "") -> CPUSet:
    try:
        return parse_cpus(cpus)
    except CPUSetError as error:
        raise CPUManagerError(f"could not parse {what} {quote(cpus)}{where}: {error}") from None
