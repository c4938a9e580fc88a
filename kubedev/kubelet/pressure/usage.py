"""What containers and the node use, as the kubelet's summary says it, and what can be observed of that.

Go source: `k8s.io/kubelet/pkg/apis/stats/v1alpha1`, `pkg/kubelet/eviction/helpers.go: makeSignalObservations`,
`pkg/api/v1/resource: GetResourceRequestQuantity`. None is a figure that nobody reported; amounts are bytes or counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kubedev.api.fields import Fields
from kubedev.api.objects import Pod
from kubedev.api.quantity import Format, Quantity
from kubedev.kubelet.pressure.thresholds import INODES, Observation, Observations

__all__ = [
    "ContainerStats",
    "FsStats",
    "FsUsage",
    "MemoryStats",
    "PidStats",
    "PodStats",
    "Summary",
    "disk_usage",
    "local_volumes",
    "observe",
    "request_quantity",
]

ROOT, LOGS, LOCAL_VOLUMES, IMAGES = "root", "logs", "localVolumeSource", "images"


@dataclass(frozen=True, slots=True)
class FsUsage:
    """What one writable layer, log or volume takes of its file system."""

    used_bytes: int | None = None
    inodes_used: int | None = None


@dataclass(frozen=True, slots=True)
class ContainerStats:
    """A container's memory (working set), writable layer and logs."""

    name: str
    memory: int | None = None
    rootfs: FsUsage | None = None
    logs: FsUsage | None = None


@dataclass(frozen=True, slots=True)
class PodStats:
    """A pod's figures; `volumes` by name, `ephemeral_storage` is all that it keeps locally."""

    uid: str
    memory: int | None = None
    process_count: int | None = None
    containers: tuple[ContainerStats, ...] = ()
    volumes: tuple[tuple[str, FsUsage], ...] = ()
    ephemeral_storage: int | None = None


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """Memory that is left, and the working set; together they are the capacity."""

    available: int | None = None
    working_set: int | None = None


@dataclass(frozen=True, slots=True)
class FsStats:
    """A file system: bytes and inodes, left and in all."""

    available: int | None = None
    capacity: int | None = None
    inodes_free: int | None = None
    inodes: int | None = None


@dataclass(frozen=True, slots=True)
class PidStats:
    """How many process ids there are, and how many processes run."""

    max_pid: int | None = None
    running: int | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """Everything the kubelet knows at one look; `time` (seconds) is when the figures were taken.

    `pods_memory` is the memory that all pods may use together, the cgroup kubepods.
    """

    time: float | None = None
    memory: MemoryStats | None = None
    pods_memory: MemoryStats | None = None
    nodefs: FsStats | None = None
    imagefs: FsStats | None = None
    containerfs: FsStats | None = None
    pid: PidStats | None = None
    pods: tuple[PodStats, ...] = ()


def observe(summary: Summary) -> Observations:
    """The signals that the figures allow to see (`makeSignalObservations`)."""
    return dict(_observations(summary))


def _observations(summary: Summary) -> Iterator[tuple[str, Observation]]:
    at = summary.time
    for signal, memory in (
        ("memory.available", summary.memory),
        ("allocatableMemory.available", summary.pods_memory),
    ):
        if memory is not None and memory.available is not None and memory.working_set is not None:
            total = memory.available + memory.working_set
            yield signal, Observation(_bytes(total), _bytes(memory.available), at)
    for name, fs in (
        ("nodefs", summary.nodefs),
        ("imagefs", summary.imagefs),
        ("containerfs", summary.containerfs),
    ):
        if fs is not None and fs.available is not None and fs.capacity is not None:
            yield f"{name}.available", Observation(_bytes(fs.capacity), _bytes(fs.available), at)
        if fs is not None and fs.inodes_free is not None and fs.inodes is not None:
            yield f"{name}.inodesFree", Observation(Quantity.of(fs.inodes), Quantity.of(fs.inodes_free), at)
    pid = summary.pid
    if pid is not None and pid.max_pid is not None and pid.running is not None:
        left = Quantity.of(pid.max_pid - pid.running)
        yield "pid.available", Observation(Quantity.of(pid.max_pid), left, at)


def _bytes(number: int) -> Quantity:
    return Quantity(number, format=Format.BINARY_SI)


def disk_usage(stats: PodStats, pod: Pod, measured: tuple[str, ...], resource: str) -> int:
    """What a pod takes of disk or inodes, over the kinds of data that are measured (`podDiskUsage`)."""
    parts: list[FsUsage | None] = []
    for container in stats.containers:
        parts += [container.rootfs] if ROOT in measured else []
        parts += [container.logs] if LOGS in measured else []
    if LOCAL_VOLUMES in measured:
        found: dict[str, FsUsage] = {}
        for name, usage in stats.volumes:
            found.setdefault(name, usage)
        parts += [found.get(name) for name in local_volumes(pod)]
    if resource == INODES:
        return sum(part.inodes_used or 0 for part in parts if part is not None)
    return sum(part.used_bytes or 0 for part in parts if part is not None)


def local_volumes(pod: Pod) -> tuple[str, ...]:
    """The volumes whose data lies on the node's own disk (`localVolumeNames`)."""
    return tuple(volume.text("name") for volume in pod_volumes(pod) if _is_local(volume))


def pod_volumes(pod: Pod) -> tuple[Fields, ...]:
    """The volumes of the pod's spec."""
    return tuple(Fields.of(pod.manifest).child("spec").children("volumes"))


def _is_local(volume: Fields) -> bool:
    on_disk = volume.has("emptyDir") and not volume.child("emptyDir").text("medium")
    return on_disk or any(volume.has(kind) for kind in ("hostPath", "gitRepo", "configMap"))


def request_quantity(pod: Pod, resource: str) -> Quantity:
    """What a pod requests, as the kubelet counts it here.

    Containers summed, then the maximum with each init container, sidecars among them; overhead only where there is a
    request.
    """
    total = Quantity()
    for container in pod.containers:
        if resource in container.requests:
            total += container.requests[resource]
    for container in pod.init_containers:
        if resource in container.requests and total < container.requests[resource]:
            total = container.requests[resource]
    if total and resource in pod.overhead:
        total += pod.overhead[resource]
    return total


def fs_bytes(usage: FsUsage | None) -> int:
    """The bytes of one kind of data, 0 where nobody reported them."""
    return (usage.used_bytes or 0) if usage is not None else 0
