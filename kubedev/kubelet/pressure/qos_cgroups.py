"""The cgroup tree of a node: kubepods with its classes of service and pods, their names with both drivers.

Go source: `pkg/kubelet/cm/cgroup_manager_linux.go: CgroupName`, `pkg/kubelet/cm/pod_container_manager_linux.go`,
`pkg/kubelet/cm/qos_container_manager_linux.go: UpdateCgroups`, `pkg/kubelet/cm/container_manager.go:
ParseQOSReserved`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kubedev.api.gotext import quote
from kubedev.api.int64 import wrap_int64
from kubedev.api.names import CPU, MEMORY
from kubedev.api.objects import Pod
from kubedev.api.qos import BEST_EFFORT, BURSTABLE, GUARANTEED, get_pod_qos
from kubedev.api.quantity import Quantity
from kubedev.api.requests import pod_requests
from kubedev.kubelet.pressure.cgroups import (
    HUGE_PAGE_SIZES,
    MIN_SHARES,
    ResourceConfig,
    milli_cpu_to_shares,
)
from kubedev.kubelet.pressure.oom import divide
from kubedev.kubelet.pressure.pod_cgroup import MEMORY_MIN
from kubedev.kubelet.pressure.settings import SettingsError

__all__ = [
    "CgroupName",
    "CgroupTree",
    "QOSReserved",
    "new_cgroup_name",
    "parse_qos_reserved",
    "update_cgroups",
]

CgroupName = tuple[str, ...]

SUFFIX, POD_PREFIX = ".slice", "pod"
UNBOUNDED = 1 << 62


def new_cgroup_name(base: CgroupName, *components: str) -> CgroupName:
    """A name below another; ValueError where a part has `/`, or `_`, which stands for `-` with systemd."""
    for component in components:
        if "/" in component or "_" in component:
            raise ValueError(f"invalid character in component [{quote(component)}] of CgroupName")
    return (*base, *components)


@dataclass(frozen=True, slots=True)
class CgroupTree:
    """Where the cgroups are: below `root` (a path), named by the `driver` (`systemd` or `cgroupfs`)."""

    root: str = "/"
    driver: str = "systemd"

    @property
    def kubepods(self) -> CgroupName:
        """The cgroup of all pods; guaranteed pods live right under it."""
        return new_cgroup_name(_parse_cgroupfs(self.root), "kubepods")

    def of_class(self, qos_class: str) -> CgroupName:
        """The cgroup under which a class of service has its pods."""
        if qos_class == GUARANTEED:
            return self.kubepods
        return new_cgroup_name(self.kubepods, qos_class.lower())

    def of_pod(self, pod: Pod) -> CgroupName:
        """A pod's cgroup (`GetPodContainerName`)."""
        return new_cgroup_name(self.of_class(get_pod_qos(pod).qos_class), POD_PREFIX + pod.uid)

    def path(self, name: CgroupName) -> str:
        """The path below /sys/fs/cgroup. With systemd every level repeats its parents, and `-` becomes `_`."""
        if self.driver != "systemd":
            return "/" + "/".join(filter(None, name))
        path, prefix = "", ""
        for part in name:
            component = part.replace("-", "_")
            path += f"/{prefix}{component}{SUFFIX}"
            prefix += f"{component}-"
        return path or "/"

    def name(self, path: str) -> CgroupName:
        """The way back from a path."""
        if self.driver != "systemd":
            return _parse_cgroupfs(path)
        last = path.rstrip("/").rpartition("/")[2].removesuffix(SUFFIX)
        return tuple(part.replace("_", "-") for part in last.split("-"))

    def pod_uid(self, path: str) -> str | None:
        """The uid of the pod that has this cgroup, None where it is no pod's (`IsPodCgroup`)."""
        name, base = self.name(path), ""
        for qos_class in (BEST_EFFORT, BURSTABLE, GUARANTEED):
            parent = self.of_class(qos_class)
            if len(name) == len(parent) + 1:
                base = name[-1]
        parts = base.split(POD_PREFIX)
        return parts[1] if base.startswith(POD_PREFIX) and len(parts) == 2 else None


def _parse_cgroupfs(path: str) -> CgroupName:
    inner = path.removeprefix("/")
    return tuple(inner.split("/")) if inner else ()


@dataclass(frozen=True, slots=True)
class QOSReserved:
    """The gates and what they read: `memory_percent` counts with QOSReserved, memory.min with MemoryQoS on version 2.

    All are off in v1.32. `allocatable_memory` is in bytes, None where it is not known.
    """

    memory_percent: int | None = None
    memory_qos: bool = False
    allocatable_memory: int | None = None


def update_cgroups(pods: Iterable[Pod], reserved: QOSReserved | None = None) -> dict[str, ResourceConfig]:
    """The limits of kubepods (class Guaranteed), burstable and besteffort for the running pods."""
    reserved = reserved or QOSReserved()
    cpu, memory = 0, {GUARANTEED: 0, BURSTABLE: 0}
    for pod in pods:
        qos, requests = get_pod_qos(pod).qos_class, pod_requests(pod)
        if qos == BURSTABLE:
            cpu = wrap_int64(cpu + requests.get(CPU, Quantity()).milli_value())
        if qos in memory:
            memory[qos] = wrap_int64(memory[qos] + requests.get(MEMORY, Quantity()).value())
    free = ResourceConfig(hugepages=dict.fromkeys(HUGE_PAGE_SIZES.values(), UNBOUNDED))
    configs = {
        GUARANTEED: free,
        BURSTABLE: replace(free, cpu_shares=milli_cpu_to_shares(cpu)),
        BEST_EFFORT: replace(free, cpu_shares=MIN_SHARES),
    }
    if reserved.memory_qos:
        wanted = {GUARANTEED: memory[GUARANTEED] + memory[BURSTABLE], BURSTABLE: memory[BURSTABLE]}
        for qos, amount in wanted.items():
            if amount > 0:
                configs[qos] = replace(configs[qos], unified={MEMORY_MIN: str(amount)})
    if reserved.memory_percent is not None and reserved.allocatable_memory:
        left = reserved.allocatable_memory
        for qos, above in ((BURSTABLE, GUARANTEED), (BEST_EFFORT, BURSTABLE)):
            left -= divide(wrap_int64(memory[above] * reserved.memory_percent), 100)
            configs[qos] = replace(configs[qos], memory=left)
    return configs


def parse_qos_reserved(flags: Mapping[str, str]) -> dict[str, int]:
    """The setting qosReserved in percent, or SettingsError with the kubelet's text; only memory can be."""
    reserved = {}
    for resource, text in sorted(flags.items()):
        if resource != MEMORY:
            raise SettingsError(f"cannot reserve {quote(resource)} resource")
        try:
            reserved[resource] = _percentage(text)
        except SettingsError as error:
            raise SettingsError(
                f"failed to parse percentage {quote(text)} for {quote(resource)} resource: {error}"
            ) from None
    return reserved


def _percentage(text: str) -> int:
    if not text.endswith("%"):
        raise SettingsError(f"percentage expected, got '{text}'")
    digits = text.rstrip("%")
    if not re.fullmatch(r"[+-]?[0-9]+", digits, re.ASCII) or not -(2**63) <= int(digits) < 2**63:
        raise SettingsError(f"invalid number in percentage '{text}'")
    if not 0 <= int(digits) <= 100:
        raise SettingsError("percentage must be between 0 and 100")
    return int(digits)
