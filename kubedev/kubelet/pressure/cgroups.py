"""From milli-CPUs and bytes to what stands in a cgroup: shares, weight, quota, limits, and the files of version 2.

Go source: `pkg/kubelet/cm/helpers_linux.go`, `pkg/kubelet/cm/cgroup_manager_linux.go: toResources`, runc's
`libcontainer/cgroups/fs2`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubedev.api.int64 import wrap_int64
from kubedev.api.names import CPU, HUGE_PAGES_PREFIX, MEMORY, is_huge_page_resource_name
from kubedev.api.objects import ResourceList
from kubedev.api.quantity import Quantity, QuantityError
from kubedev.kubelet.pressure.oom import divide
from kubedev.kubelet.pressure.settings import PID

__all__ = [
    "HUGE_PAGE_SIZES",
    "MIN_SHARES",
    "QUOTA_PERIOD",
    "ResourceConfig",
    "cgroup_config",
    "cgroup_v2_files",
    "cpu_shares_to_weight",
    "cpu_weight_to_shares",
    "huge_page_limits",
    "huge_page_size",
    "huge_page_unit_size",
    "milli_cpu_to_quota",
    "milli_cpu_to_shares",
]

MIN_SHARES, MAX_SHARES = 2, 262144
SHARES_PER_CPU = 1024
QUOTA_PERIOD = 100_000  # microseconds
MIN_QUOTA = 1_000  # microseconds, the kernel takes no less

HUGE_PAGE_SIZES: Mapping[str, int] = {"1GB": 1 << 30, "2MB": 2 << 20}
"""The sizes that the kernel of an ordinary x86 machine has, as in its file names, in bytes."""


@dataclass(frozen=True, slots=True)
class ResourceConfig:
    """What the kubelet sets on a cgroup; None leaves it as it is.

    Times are microseconds, `memory` is bytes (negative is possible), `hugepages` by size of a page, both in bytes.
    `unified` are files of version 2 with their contents.
    """

    cpu_shares: int | None = None
    cpu_quota: int | None = None
    cpu_period: int | None = None
    memory: int | None = None
    pids: int | None = None
    hugepages: Mapping[int, int] = field(default_factory=dict)
    unified: Mapping[str, str] | None = None


def milli_cpu_to_shares(milli_cpu: int) -> int:
    """The weight of a request among its siblings: 1024 a CPU, at least 2 (Go: `MilliCPUToShares`)."""
    if milli_cpu == 0:
        return MIN_SHARES
    shares = divide(wrap_int64(milli_cpu * SHARES_PER_CPU), 1000)
    return max(MIN_SHARES, min(shares, MAX_SHARES))


def milli_cpu_to_quota(milli_cpu: int, period: int) -> int:
    """Microseconds of CPU time that a limit allows in each period; 0 is no limit (Go: `MilliCPUToQuota`)."""
    if milli_cpu == 0:
        return 0
    return max(divide(wrap_int64(milli_cpu * period), 1000), MIN_QUOTA)


def cpu_shares_to_weight(shares: int) -> int:
    """cpu.weight of cgroup version 2, 1 to 10000 (Go: `getCPUWeight`)."""
    return 10_000 if shares >= MAX_SHARES else 1 + (shares - MIN_SHARES) * 9999 // 262142


def cpu_weight_to_shares(weight: int) -> int:
    """The way back, which does not give the same number again (Go: `cpuWeightToCPUShares`)."""
    return (weight - 1) * 262142 // 9999 + MIN_SHARES


def huge_page_size(resource: str) -> int:
    """The size in bytes that stands in `hugepages-2Mi`; 0 where none does."""
    try:
        return Quantity.parse(resource.removeprefix(HUGE_PAGES_PREFIX)).value()
    except QuantityError:
        return 0


def huge_page_unit_size(size: int) -> str | None:
    """The size as the kernel's files have it (`2MB`); None where it is no whole number of a unit."""
    units = ("B", "KB", "MB", "GB", "TB", "PB")
    unit = 0
    while unit < len(units) - 1 and size % 1024 == 0:
        size, unit = size // 1024, unit + 1
    return None if size > 1024 and unit < len(units) - 1 else f"{size}{units[unit]}"


def huge_page_limits(quantities: ResourceList) -> dict[int, int]:
    """By the size of a page, both in bytes; two names of one size add up (Go: `HugePageLimits`)."""
    limits: dict[int, int] = {}
    for name, quantity in quantities.items():
        if is_huge_page_resource_name(name):
            size = huge_page_size(name)
            limits[size] = wrap_int64(limits.get(size, 0) + quantity.value())
    return limits


def cgroup_config(quantities: ResourceList | None, compressible_only: bool = False) -> ResourceConfig | None:
    """The limits for a list of resources, or for its CPU alone; None for none (Go: `getCgroupConfigInternal`)."""
    if quantities is None:
        return None
    shares = milli_cpu_to_shares(quantities[CPU].milli_value()) if CPU in quantities else None
    if compressible_only:
        return ResourceConfig(cpu_shares=shares)
    memory, pids = (quantities[name].value() if name in quantities else None for name in (MEMORY, PID))
    return ResourceConfig(shares, memory=memory, pids=pids, hugepages=huge_page_limits(quantities))


def cgroup_v2_files(
    config: ResourceConfig, page_sizes: Mapping[str, int] = HUGE_PAGE_SIZES
) -> dict[str, str]:
    """What runc writes into the files of a cgroup of version 2; page sizes that are not asked for get 0.

    Without `page_sizes` huge pages are left alone.
    """
    files: dict[str, str] = {}
    if config.cpu_shares:
        files["cpu.weight"] = str(cpu_shares_to_weight(config.cpu_shares))
    if config.cpu_quota or config.cpu_period:
        quota = config.cpu_quota or 0
        files["cpu.max"] = f"{quota if quota > 0 else 'max'} {config.cpu_period or QUOTA_PERIOD}"
    if config.memory:
        files["memory.max"] = "max" if config.memory == -1 else str(config.memory)
    if config.pids:
        files["pids.max"] = str(config.pids) if config.pids > 0 else "max"
    if page_sizes:
        limits = dict.fromkeys(page_sizes, 0)
        for size, limit in config.hugepages.items():
            unit = huge_page_unit_size(size)
            if unit is not None:
                limits[unit] = limit % 2**64
        for unit, limit in limits.items():
            files[f"hugetlb.{unit}.max"] = files[f"hugetlb.{unit}.rsvd.max"] = str(limit)
    return files | dict(config.unified or {})
