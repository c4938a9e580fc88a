"""Node allocatable: reservations, the limits of cgroups, and node.status."""

from typing import Any

from kubedev.api.objects import ResourceList
from kubedev.api.quantity import Quantity
from kubedev.kubelet.pressure import node_allocatable as n
from kubedev.kubelet.pressure.settings import SettingsError, parse_reservation, parse_threshold_config
from tests.vectors.families._cgroups import shown
from tests.vectors.runner import unequal


def differences(case: dict[str, Any]) -> list[str]:
    got, wanted = answer(case["in"]), case["out"]
    if "error_any_of" in wanted:
        return [] if got["error"] in wanted["error_any_of"] else [f"error: {got['error']!r}"]
    return list(unequal(wanted, got, "out"))


def answer(case: dict[str, Any]) -> dict[str, Any]:
    try:
        config = n.NodeAllocatableConfig(
            parse_reservation("kube-reserved", case["kube_reserved"]),
            parse_reservation("system-reserved", case["system_reserved"]),
            parse_threshold_config([], case["eviction_hard"] or {}, {}, {}, {}),
            tuple(case["enforce"]),
            case["local_storage_isolation"],
            case["max_pods"],
            case["pods_per_core"],
        )
    except SettingsError as error:
        return {"error": str(error)}
    machine = n.Machine(
        case["num_cores"],
        case["memory_capacity"],
        tuple((pages["page_size_kb"], pages["num_pages"]) for pages in case["hugepages"]),
        case["ephemeral_storage"],
        case["max_pid"],
    )
    capacity = n.machine_capacity(machine, config.local_storage_isolation)
    reservations = n.node_allocatable_reservation(capacity, config)
    totals = {name: each.total for name, each in reservations.items()}
    old, plugin = case.get("old_status") or {}, case.get("device_plugin") or {}
    status = n.set_machine_info(
        (quantities(old.get("capacity")), quantities(old.get("allocatable"))),
        None if case.get("machine_info_error") else machine,
        config,
        (
            quantities(plugin.get("capacity")),
            quantities(plugin.get("allocatable")),
            plugin.get("removed") or (),
        ),
        totals,
    )
    return {
        "error": None,
        "reservation": texts(totals),
        "node_allocatable_absolute": texts(n.node_allocatable_absolute(capacity, config)),
        "internal_absolute": texts(n.node_allocatable_absolute(n.internal_capacity(machine), config)),
        "container_manager_capacity": texts(capacity),
        "validate_over": list(n.over_reserved(capacity, config)),
        "validate_error": n.over_reserved_text(capacity, config),
        "cgroups": {name: shown(limits) for name, limits in n.cgroup_limits(machine, config).items()},
        "capacity": texts(status[0]),
        "allocatable": texts(status[1]),
    }


def quantities(given: dict[str, str] | None) -> ResourceList:
    return {name: Quantity.parse(text) for name, text in (given or {}).items()}


def texts(quantities: ResourceList) -> dict[str, str]:
    return {name: quantity.canonical() for name, quantity in quantities.items()}
