"""One call of devicesToAllocate. Where Go takes from a class at random, the counts are compared."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kubedev.api.messages import ContainerAllocateResponse, converse
from kubedev.kubelet.devices.allocation import DeviceRequest, devices_to_allocate, filter_by_affinity
from kubedev.kubelet.devices.capacity import list_and_watch
from kubedev.kubelet.devices.devices import DeviceAllocateInfo, DeviceManagerState, allocated_by, insert
from tests.vectors.fake_plugin import Preferring, connect, devices, mask, plain

RESOURCE = "example.com/gpu"
NO_SPECS = ContainerAllocateResponse()


def initial(case: dict[str, Any]) -> DeviceManagerState:
    """The manager before the call."""
    listed = devices(case["devices"])
    state = connect(DeviceManagerState(), RESOURCE, preferred=case["preferred_mode"] != "")
    state = list_and_watch(state, RESOURCE, listed)
    pods = state.pod_devices
    held = {("other", "c"): case["others"], ("pod", "c"): case["container_devices"]}
    held["pod", "init"] = case["reusable"]
    for (uid, container), ids in held.items():
        if ids is not None and (ids or (container == "c" and uid == "pod")):
            pods = insert(pods, uid, container, RESOURCE, DeviceAllocateInfo({-1: tuple(ids)}, NO_SPECS))
    return replace(
        state,
        pod_devices=pods,
        allocated_devices=allocated_by(pods),
        sources_ready=case["sources_ready"],
        running={"pod": frozenset({"c"})} if case["container_running"] else {},
    )


def differences(case: dict[str, Any]) -> list[str]:
    given, expected = case["in"], case["out"]
    state, plugin = initial(given), Preferring(given["preferred_mode"])
    free = state.healthy_devices.get(RESOURCE, frozenset()) - state.allocated_devices.get(
        RESOURCE, frozenset()
    )
    split = filter_by_affinity(state.all_devices[RESOURCE], free, mask(given["hint"]))
    if not given["registered"]:
        state = replace(state, healthy_devices={})
    request = DeviceRequest("pod", "c", RESOURCE, given["required"])
    reusable = frozenset(given["reusable"])
    state, decision = converse(devices_to_allocate(state, request, reusable, mask(given["hint"])), plugin)
    got = decision.devices
    after = state.allocated_devices.get(RESOURCE, frozenset())
    classes = {"aligned": split.aligned, "unaligned": split.unaligned, "no_affinity": split.no_affinity}
    answer: dict[str, Any] = {
        "error": plain(decision.error),
        "result": "nil" if got is None else "set",
        "preferred_requests": plugin.asked,
        "allocated_after": sorted(after),
        "allocated_after_count": len(after),
        "classes": {name: sorted(ids) for name, ids in classes.items()},
    }
    if got is not None:
        answer["count"] = len(got)
        answer["from"] = {name: len(got & ids) for name, ids in {**classes, "reusable": reusable}.items()}
        answer["allocated"] = sorted(got)
    return list(_unequal(expected, answer, got or frozenset()))


def _unequal(expected: dict[str, Any], answer: dict[str, Any], got: frozenset[str]) -> Iterator[str]:
    for key, value in expected.items():
        if key == "must_include":
            if not set(value) <= got:
                yield f"must_include: {value} not in {sorted(got)}"
        elif key in ("from", "allocated", "allocated_after", "allocated_after_count") and value is None:
            continue  # varies between runs of Go
        elif answer.get(key) != value:
            yield f"{key}: expected {value!r}, got {answer.get(key)!r}"
