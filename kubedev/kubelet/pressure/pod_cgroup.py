"""What a pod's spec becomes: its cgroup, and what the runtime is asked to set for each container and the sandbox.

Go source: `pkg/kubelet/cm/helpers_linux.go: ResourceConfigForPod`, `pkg/kubelet/kuberuntime:
generateLinuxContainerResources, calculateSandboxResources`, `k8s.io/component-helpers/resource: PodLimits`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kubedev.api.fields import Fields
from kubedev.api.names import CPU, MEMORY, is_huge_page_resource_name
from kubedev.api.objects import Container, Pod, ResourceList
from kubedev.api.qos import BEST_EFFORT, GUARANTEED, get_pod_qos
from kubedev.api.quantity import Quantity
from kubedev.api.requests import add_lists, max_lists, pod_requests
from kubedev.kubelet.pressure.cgroups import (
    HUGE_PAGE_SIZES,
    MIN_SHARES,
    QUOTA_PERIOD,
    ResourceConfig,
    huge_page_limits,
    huge_page_size,
    huge_page_unit_size,
    milli_cpu_to_quota,
    milli_cpu_to_shares,
)
from kubedev.kubelet.pressure.oom import container_oom_score_adjust

__all__ = [
    "CgroupSettings",
    "LinuxContainerResources",
    "container_resources",
    "overhead_resources",
    "pod_limits",
    "resource_config_for_pod",
    "sandbox_resources",
]

MEMORY_MIN, MEMORY_HIGH, OOM_GROUP = "memory.min", "memory.high", "memory.oom.group"
PAGE_SIZE = 4096
NOTHING = Quantity()


@dataclass(frozen=True, slots=True)
class CgroupSettings:
    """The kubelet's settings that reach cgroups. `cfs_period` is in microseconds, memory in bytes.

    `custom_period` is the gate CustomCPUCFSQuotaPeriod, `memory_qos` the gate MemoryQoS (both off in v1.32);
    `allocatable_memory` is None where it is not known.
    """

    cfs_quota: bool = True
    cfs_period: int = QUOTA_PERIOD
    custom_period: bool = False
    cgroup_v2: bool = True
    single_process_oom_kill: bool = True
    memory_qos: bool = False
    throttling_factor: float = 0.9
    memory_capacity: int = 0
    allocatable_memory: int | None = None


@dataclass(frozen=True, slots=True)
class LinuxContainerResources:
    """What the runtime is told over the CRI; 0 is not set. Times in microseconds, memory in bytes, pages by size."""

    cpu_shares: int = 0
    cpu_quota: int = 0
    cpu_period: int = 0
    memory_limit: int = 0
    oom_score_adj: int = 0
    hugepages: Mapping[str, int] = field(default_factory=dict)
    unified: Mapping[str, str] | None = None
    memory_swap_limit: int = 0

    def config(self) -> ResourceConfig:
        """The same as it is set on a cgroup; huge pages aside."""
        return ResourceConfig(
            self.cpu_shares, self.cpu_quota, self.cpu_period, self.memory_limit, unified=self.unified
        )


def _counted_limits(pod: Pod) -> tuple[ResourceList, tuple[ResourceList, ...]]:
    """The limits of all containers together, and for each one what counts in its moment.

    That is its own limits, for an init container with those of the sidecars before it.
    """
    limits: ResourceList = {}
    for container in pod.containers:
        limits = add_lists(limits, container.limits)
    counted = [container.limits for container in pod.containers]
    sidecars: ResourceList = {}
    starting: ResourceList = {}
    for container in pod.init_containers:
        moment = add_lists(container.limits, sidecars)
        if container.restartable:
            limits = add_lists(limits, container.limits)
            sidecars = moment = add_lists(sidecars, container.limits)
        counted.append(moment)
        starting = max_lists(starting, moment)
    return max_lists(limits, starting), tuple(counted)


def pod_limits(pod: Pod, overhead: bool = True) -> ResourceList:
    """A pod's limits by resource; its overhead is added where there is a limit."""
    limits = dict(_counted_limits(pod)[0])
    if overhead:
        for name, quantity in pod.overhead.items():
            if limits.get(name):
                limits[name] = limits[name] + quantity
    return limits


def resource_config_for_pod(pod: Pod, settings: CgroupSettings) -> ResourceConfig:
    """The pod's cgroup. CPU and memory are limited only where every container has that limit.

    Without CustomCPUCFSQuotaPeriod the quota is that of 100 ms, yet the configured period stands beside it.
    """
    requests, limits = pod_requests(pod), pod_limits(pod)
    counted = _counted_limits(pod)[1]
    qos = get_pod_qos(pod).qos_class
    hugepages = huge_page_limits(requests)
    shares = milli_cpu_to_shares(requests.get(CPU, NOTHING).milli_value())
    period = settings.cfs_period if settings.custom_period else QUOTA_PERIOD
    quota = milli_cpu_to_quota(limits.get(CPU, NOTHING).milli_value(), period) if settings.cfs_quota else -1
    config = ResourceConfig(MIN_SHARES if qos == BEST_EFFORT else shares, hugepages=hugepages)
    if qos != BEST_EFFORT and (qos == GUARANTEED or all(each.get(CPU) for each in counted)):
        config = replace(config, cpu_quota=quota, cpu_period=settings.cfs_period)
    if qos != BEST_EFFORT and (qos == GUARANTEED or all(each.get(MEMORY) for each in counted)):
        config = replace(config, memory=limits.get(MEMORY, NOTHING).value())
    memory = requests.get(MEMORY, NOTHING).value()
    if settings.memory_qos and memory > 0:
        config = replace(config, unified={MEMORY_MIN: str(memory)})
    return config


def container_resources(pod: Pod, container: Container, settings: CgroupSettings) -> LinuxContainerResources:
    """What the runtime is to set for a container (`generateLinuxContainerResources`)."""
    limits = container.limits
    resources = _linux_resources(
        container.requests.get(CPU), limits.get(CPU, NOTHING), limits.get(MEMORY, NOTHING), settings
    )
    unified = _memory_qos(container, settings) if settings.memory_qos else {}
    return replace(
        resources,
        oom_score_adj=container_oom_score_adjust(pod, container, settings.memory_capacity),
        hugepages=_container_huge_pages(limits),
        unified={**(resources.unified or {}), **unified} or None,
    )


def sandbox_resources(pod: Pod, settings: CgroupSettings) -> LinuxContainerResources:
    """What all containers of the pod have together, its overhead aside (`calculateSandboxResources`)."""
    requests, limits = pod_requests(replace(pod, overhead={})), pod_limits(pod, overhead=False)
    memory = limits.get(MEMORY, NOTHING)
    return _linux_resources(requests.get(CPU), limits.get(CPU, NOTHING), memory, settings)


def overhead_resources(pod: Pod, settings: CgroupSettings) -> LinuxContainerResources:
    """What the pod's overhead allows the sandbox itself; nothing where the pod has none."""
    if not pod.overhead and not Fields.of(pod.manifest).child("spec").has("overhead"):
        return LinuxContainerResources()
    cpu, memory = (pod.overhead.get(name, NOTHING) for name in (CPU, MEMORY))
    return _linux_resources(cpu, cpu, memory, settings)


def _linux_resources(
    cpu_request: Quantity | None, cpu_limit: Quantity, memory_limit: Quantity, settings: CgroupSettings
) -> LinuxContainerResources:
    request = cpu_limit if cpu_request is None else cpu_request
    period = settings.cfs_period if settings.custom_period else QUOTA_PERIOD
    whole = settings.cgroup_v2 and not settings.single_process_oom_kill
    return LinuxContainerResources(
        milli_cpu_to_shares(request.milli_value()),
        milli_cpu_to_quota(cpu_limit.milli_value(), period) if settings.cfs_quota else 0,
        period if settings.cfs_quota else 0,
        memory_limit.value(),
        unified={OOM_GROUP: "1"} if whole else None,
    )


def _container_huge_pages(limits: ResourceList) -> dict[str, int]:
    pages = dict.fromkeys(HUGE_PAGE_SIZES, 0)
    for name, quantity in limits.items():
        unit = huge_page_unit_size(huge_page_size(name)) if is_huge_page_resource_name(name) else None
        if unit in pages:
            pages[unit] = quantity.value() % 2**64
    return pages


def _memory_qos(container: Container, settings: CgroupSettings) -> dict[str, str]:
    """memory.min is the request; from memory.high on the kernel slows the container down."""
    request, limit = (each.get(MEMORY, NOTHING).value() for each in (container.requests, container.limits))
    files = {MEMORY_MIN: str(request)} if request else {}
    upper = limit or max(settings.allocatable_memory or 0, 0)
    if request != limit and upper:
        point = math.floor(float(request) + (float(upper) - float(request)) * settings.throttling_factor)
        high = int(point / PAGE_SIZE) * PAGE_SIZE
        if high and high > request:
            files[MEMORY_HIGH] = str(high)
    return files
