"""A pod's containers, one after another: which devices, what is reused, what the plugin is asked."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from kubedev.api.messages import (
    AllocateRequest,
    AllocateResponse,
    Answer,
    Call,
    ContainerAllocateResponse,
    RpcError,
    converse,
)
from kubedev.api.objects import Container, Pod
from kubedev.api.quantity import Quantity
from kubedev.kubelet.devices.capacity import list_and_watch
from kubedev.kubelet.devices.device_manager import allocate
from kubedev.kubelet.devices.devices import DeviceAllocateInfo, DeviceManagerState, Ids, allocated_by, insert
from tests.vectors.fake_plugin import Preferring, connect, devices, mask, plain
from tests.vectors.runner import unequal


@dataclass
class Plugins:
    """The recorded plugins of all resources."""

    resources: dict[str, Any]
    allocate_calls: Counter[str] = field(default_factory=Counter)
    preferring: dict[str, Preferring] = field(default_factory=dict)

    def __call__(self, call: Call) -> Answer:
        recorded = self.resources[call.resource]
        if not isinstance(call.request, AllocateRequest):
            return self.preferring.setdefault(call.resource, Preferring(recorded["preferred_mode"]))(call)
        self.allocate_calls[call.resource] += 1
        if recorded["allocate_error"]:
            return RpcError("Unknown", recorded["allocate_error"])
        if recorded["allocate_no_container_responses"]:
            return AllocateResponse()
        return AllocateResponse((ContainerAllocateResponse(),))


def _initial(given: dict[str, Any]) -> tuple[DeviceManagerState, list[Pod]]:
    state = DeviceManagerState()
    for client, (resource, recorded) in enumerate(sorted(given["resources"].items()), 1):
        state = connect(state, resource, client, preferred=recorded["preferred_mode"] != "")
        state = list_and_watch(state, resource, devices(recorded["devices"]))
    records = state.pod_devices
    for pod in given["existing_pods"]:
        for container, resources in pod["devices"].items():
            for resource, ids in resources.items():
                info = DeviceAllocateInfo({-1: tuple(ids)}, ContainerAllocateResponse())
                records = insert(records, pod["uid"], container, resource, info)
    active = [Pod(p["uid"], uid=p["uid"]) for p in given["existing_pods"] if p["active"]]
    return replace(state, pod_devices=records, allocated_devices=allocated_by(records)), active


def _steps(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    containers = {
        c["name"]: Container(
            c["name"],
            limits={resource: Quantity.of(count) for resource, count in c["limits"].items()},
            restart_policy="Always" if c["restartable"] else None,
        )
        for c in given["containers"]
    }
    init = {c["name"] for c in given["containers"] if c["init"]}
    pod = Pod(
        "pod",
        uid="pod",
        init_containers=tuple(c for name, c in containers.items() if name in init),
        containers=tuple(c for name, c in containers.items() if name not in init),
    )
    hints = {c["name"]: mask(c["hint"]) for c in given["containers"]}
    state, active = _initial(given)
    again = [given["repeat_container"]] if given["repeat_container"] else []
    for name in [*containers, *again]:
        plugins = Plugins(given["resources"])
        before = state.devices_to_reuse.get("pod", {})
        state, decision = converse(
            allocate(state, pod, containers[name], [*active, pod], hints[name]), plugins
        )
        held = {r: i.devices for r, i in state.pod_devices.get("pod", {}).get(name, {}).items()}
        after = state.devices_to_reuse.get("pod", {})
        yield {
            "container": name,
            "error": plain(decision.error),
            **_shown("devices", "count", held),
            **_shown("reusable_after", "reusable_after_count", after),
            **_shown("allocated_after", "allocated_after_count", state.allocated_devices),
            "reused": {r: len(ids & before.get(r, frozenset())) for r, ids in held.items()},
            "plugin_allocate_calls": dict(plugins.allocate_calls),
            "preferred_requests": {r: p.asked for r, p in plugins.preferring.items()},
            "pods_after": sorted(state.pod_devices),
        }
        if decision.error is not None:
            return


def _shown(name: str, counted: str, sets: Any) -> dict[str, Any]:
    filled: dict[str, Ids] = {resource: ids for resource, ids in sets.items() if ids}
    return {
        name: {resource: sorted(ids) for resource, ids in filled.items()},
        counted: {resource: len(ids) for resource, ids in filled.items()},
    }


def differences(case: dict[str, Any]) -> list[str]:
    steps = list(_steps(case["in"]))
    answers = case["out"].get("any_of") or [case["out"]["steps"]]
    found = [list(_differences(expected, steps)) for expected in answers]
    return min(found, key=len)


def _differences(expected: list[dict[str, Any]], steps: list[dict[str, Any]]) -> Iterator[str]:
    if len(expected) != len(steps):
        yield f"expected {len(expected)} steps, got {len(steps)}"
    for i, (wanted, got) in enumerate(zip(expected, steps, strict=False)):
        for key in wanted:
            yield from unequal(wanted[key], got[key], f"steps[{i}].{key}")
