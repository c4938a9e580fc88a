"""From what the machine has to what pods may have: the kubelet's reservations, and two different allocatables.

node.status subtracts what is reserved for the system, for Kubernetes and by hard eviction thresholds; the cgroup of
all pods knows nothing of eviction. Go source: `pkg/kubelet/cm/node_container_manager_linux.go`,
`pkg/kubelet/nodestatus/setters.go: MachineInfo`, `pkg/kubelet/cadvisor/util.go`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kubedev.api.gotext import quote
from kubedev.api.names import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    PODS,
    is_extended_resource_name,
    is_huge_page_resource_name,
)
from kubedev.api.objects import ResourceList
from kubedev.api.quantity import MILLI, Format, Quantity
from kubedev.kubelet.pressure.cgroups import ResourceConfig, cgroup_config
from kubedev.kubelet.pressure.settings import ENFORCE_PODS, PID
from kubedev.kubelet.pressure.thresholds import LESS_THAN, Threshold

__all__ = [
    "Machine",
    "NodeAllocatableConfig",
    "Reservation",
    "cgroup_limits",
    "internal_capacity",
    "machine_capacity",
    "native",
    "native_allocatable",
    "node_allocatable_absolute",
    "node_allocatable_reservation",
    "over_reserved",
    "over_reserved_text",
    "set_machine_info",
]

ZERO = Quantity()
RESERVED_BY_EVICTION = {"memory.available": MEMORY, "nodefs.available": EPHEMERAL_STORAGE}


@dataclass(frozen=True, slots=True)
class Machine:
    """What cAdvisor says of a machine: memory and root file system in bytes, huge pages as (KiB a page, pages).

    `ephemeral_storage` and `max_pid` are None where they are not known.
    """

    num_cores: int
    memory_capacity: int
    hugepages: tuple[tuple[int, int], ...] = ()
    ephemeral_storage: int | None = None
    max_pid: int | None = None


@dataclass(frozen=True, slots=True)
class NodeAllocatableConfig:
    """The kubelet's settings: what is kept from pods, and (`enforce`) which cgroups are limited by it."""

    kube_reserved: ResourceList = field(default_factory=dict)
    system_reserved: ResourceList = field(default_factory=dict)
    hard_eviction: tuple[Threshold, ...] = ()
    enforce: tuple[str, ...] = (ENFORCE_PODS,)
    local_storage_isolation: bool = True
    max_pods: int = 110
    pods_per_core: int = 0


@dataclass(frozen=True, slots=True)
class Reservation:
    """One resource's sum: what is kept for the system, for Kubernetes, and below the eviction threshold."""

    resource: str
    system: Quantity = ZERO
    kube: Quantity = ZERO
    eviction: Quantity = ZERO

    @property
    def total(self) -> Quantity:
        """All three, printed as the first one that is not zero."""
        return ZERO + self.system + self.kube + self.eviction


def machine_capacity(machine: Machine, local_storage_isolation: bool = True) -> dict[str, Quantity]:
    """CPU, memory, huge pages and, with the isolation of local storage, the root file system."""
    capacity = {
        CPU: Quantity(machine.num_cores * 1000, MILLI),
        MEMORY: Quantity(machine.memory_capacity, format=Format.BINARY_SI),
    }
    for page_kb, pages in machine.hugepages:
        size = Quantity(page_kb * 1024, format=Format.BINARY_SI)
        capacity[f"hugepages-{size}"] = Quantity(page_kb * 1024 * pages, format=Format.BINARY_SI)
    if local_storage_isolation and machine.ephemeral_storage is not None:
        capacity[EPHEMERAL_STORAGE] = Quantity(machine.ephemeral_storage, format=Format.BINARY_SI)
    return capacity


def internal_capacity(machine: Machine) -> dict[str, Quantity]:
    """What the cgroup of all pods is limited by: process ids too, local storage not."""
    capacity = machine_capacity(machine, local_storage_isolation=False)
    if machine.max_pid is not None:
        capacity[PID] = Quantity.of(machine.max_pid)
    return capacity


def node_allocatable_reservation(
    capacity: ResourceList, config: NodeAllocatableConfig
) -> dict[str, Reservation]:
    """What is kept from pods of each resource of the node, where anything is (`GetNodeAllocatableReservation`).

    Of the eviction thresholds only memory.available and nodefs.available reserve something.
    """
    evicted: dict[str, Quantity] = {}
    for threshold in config.hard_eviction:
        resource = RESERVED_BY_EVICTION.get(threshold.signal)
        if resource is not None and threshold.operator == LESS_THAN:
            evicted[resource] = threshold.value.of(capacity.get(resource, ZERO))
    reservations = {}
    for resource in capacity:
        reservation = Reservation(
            resource,
            config.system_reserved.get(resource, ZERO),
            config.kube_reserved.get(resource, ZERO),
            evicted.get(resource, ZERO),
        )
        if reservation.total:
            reservations[resource] = reservation
    return reservations


def node_allocatable_absolute(capacity: ResourceList, config: NodeAllocatableConfig) -> dict[str, Quantity]:
    """Capacity without what is reserved for system and Kubernetes, never below 0 (`GetNodeAllocatableAbsolute`)."""
    return {
        resource: _not_below_zero(
            quantity - config.system_reserved.get(resource, ZERO) - config.kube_reserved.get(resource, ZERO)
        )
        for resource, quantity in capacity.items()
    }


def _not_below_zero(quantity: Quantity) -> Quantity:
    return Quantity(format=quantity.format) if quantity.sign() < 0 else quantity


def over_reserved(capacity: ResourceList, config: NodeAllocatableConfig) -> dict[str, Reservation]:
    """The resources of which more is reserved than there is, sorted; a kubelet with any does not start."""
    reservations = node_allocatable_reservation(capacity, config)
    return {
        name: each for name, each in sorted(reservations.items()) if (capacity[name] - each.total).sign() < 0
    }


def over_reserved_text(capacity: ResourceList, config: NodeAllocatableConfig) -> str | None:
    """The kubelet's text when it does not start (`validateNodeAllocatable`), None if it does.

    Go prints the fields of its quantities instead of the quantities.
    """
    sentences = [
        f"Resource {quote(name)} has a reservation of {_go_fields(each.total)} but capacity of "
        f"{_go_fields(capacity[name])}. Expected capacity >= reservation."
        for name, each in over_reserved(capacity, config).items()
    ]
    return f"invalid Node Allocatable configuration. {' '.join(sentences)}" if sentences else None


def _go_fields(quantity: Quantity) -> str:
    number, pointer = (
        ("0 0", "0xADDRESS") if quantity.wide else (f"{quantity.mantissa} {quantity.exponent}", "<nil>")
    )
    return f"{{{{{number}}} {{{pointer}}} {quantity.text or ''} {quantity.format}}}"


def cgroup_limits(machine: Machine, config: NodeAllocatableConfig) -> dict[str, ResourceConfig | None]:
    """The limits of the cgroups kubepods, system-reserved and kube-reserved; None where one is left alone."""
    capacity: Mapping[str, Quantity] = internal_capacity(machine)
    if ENFORCE_PODS in config.enforce:
        capacity = node_allocatable_absolute(capacity, config)
    return {
        "kubepods": cgroup_config(capacity),
        "system-reserved": _reserved_cgroup("system-reserved", config.system_reserved, config),
        "kube-reserved": _reserved_cgroup("kube-reserved", config.kube_reserved, config),
    }


def _reserved_cgroup(
    name: str, reserved: ResourceList, config: NodeAllocatableConfig
) -> ResourceConfig | None:
    if name in config.enforce:
        return cgroup_config(reserved or None)
    compressible = f"{name}-compressible" in config.enforce
    return cgroup_config(reserved or None, compressible_only=True) if compressible else None


def set_machine_info(
    old: tuple[ResourceList, ResourceList],
    machine: Machine | None,
    config: NodeAllocatableConfig,
    plugins: tuple[ResourceList, ResourceList, Collection[str]],
    reservation: ResourceList,
) -> tuple[dict[str, Quantity], dict[str, Quantity]]:
    """Capacity and allocatable of node.status after one pass over what stood there before (the setter MachineInfo).

    `machine` is None where cAdvisor fails; `plugins` are the device manager's capacity, allocatable and removed
    resources. What nobody here knows of stays; an extended resource leaves allocatable when it has no capacity; huge
    pages come off allocatable memory last.
    """
    capacity = dict(old[0])
    of_plugins, allocatable_of_plugins, removed = plugins
    if machine is None:
        capacity |= {CPU: Quantity(), MEMORY: Quantity(), PODS: Quantity.of(config.max_pods)}
        allocatable_of_plugins = {}
    else:
        pods = config.max_pods
        if config.pods_per_core > 0:
            pods = min(machine.num_cores * config.pods_per_core, pods)
        capacity |= machine_capacity(machine, config.local_storage_isolation)
        capacity |= {PODS: Quantity.of(pods), **of_plugins}
        capacity |= {name: Quantity.of(0) for name in removed}
    allocatable = {
        name: quantity
        for name, quantity in old[1].items()
        if name in capacity or not is_extended_resource_name(name)
    }
    allocatable |= _without(capacity, reservation)
    allocatable |= allocatable_of_plugins
    return capacity, _without_huge_pages(capacity, allocatable)


def native_allocatable(capacity: ResourceList, config: NodeAllocatableConfig) -> dict[str, Quantity]:
    """What pods may have of the resources that no plugin counts: capacity without what is kept from them."""
    own = native(capacity)
    totals = {name: each.total for name, each in node_allocatable_reservation(own, config).items()}
    return _without_huge_pages(own, _without(own, totals))


def native(capacity: ResourceList) -> dict[str, Quantity]:
    """The resources that no plugin counts."""
    return {name: each for name, each in capacity.items() if not is_extended_resource_name(name)}


def _without(capacity: ResourceList, reservation: ResourceList) -> dict[str, Quantity]:
    return {
        name: _not_below_zero(quantity - reservation[name] if name in reservation else quantity)
        for name, quantity in capacity.items()
    }


def _without_huge_pages(capacity: ResourceList, allocatable: dict[str, Quantity]) -> dict[str, Quantity]:
    """Huge pages lie in the same memory, and come off it last."""
    for name, quantity in capacity.items():
        if is_huge_page_resource_name(name):
            allocatable[MEMORY] = _not_below_zero(allocatable.get(MEMORY, ZERO) - quantity)
    return allocatable
