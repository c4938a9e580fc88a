"""One resource's hints for a container or a pod, counted in both ways."""

from dataclasses import replace
from typing import Any

from kubedev.api.messages import HEALTHY, ContainerAllocateResponse, Device
from kubedev.api.objects import Container, Pod
from kubedev.api.quantity import Quantity
from kubedev.kubelet.devices.device_hints import get_pod_topology_hints, get_topology_hints
from kubedev.kubelet.devices.devices import DeviceAllocateInfo, DeviceManagerState, allocated_by
from kubedev.kubelet.topology.bitmask import nodes_of
from kubedev.kubelet.topology.hints import Counting, ResourceHints, count_at_once, count_mask_by_mask

GPU = "example.com/gpu"


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """`hints`, or a text where the two ways of counting differ."""
    at_once, by_mask = _hints(case, count_at_once), _hints(case, count_mask_by_mask)
    if at_once != by_mask:
        return {"hints": f"at once: {at_once}, mask by mask: {by_mask}"}
    return {"hints": "absent" if at_once is None else hints_as_json(at_once)}


def hints_as_json(answer: ResourceHints) -> list[dict[str, Any]] | None:
    """Hints as the vectors write them."""
    if answer.hints is None:
        return None
    return [
        {"mask": list(nodes_of(h.numa_node_affinity or 0)), "preferred": h.preferred} for h in answer.hints
    ]


def _hints(case: dict[str, Any], count: Counting) -> ResourceHints | None:
    pod, other = _pod(case), Pod("other", uid="other")
    state, active = _state(case, pod), (pod, other)
    if case["scope"] == "pod":
        _, hints = get_pod_topology_hints(state, pod, active, case["numa_nodes"], count)
    else:
        _, hints = get_topology_hints(state, pod, pod.containers[0], active, case["numa_nodes"], count)
    return hints.get(GPU)


def _pod(case: dict[str, Any]) -> Pod:
    one: list[dict[str, Any]] = [
        {"name": "c", "init": False, "restartable": False, "limit": case.get("request")}
    ]
    made = [
        (
            c["init"],
            Container(
                c["name"],
                limits={GPU: Quantity.of(c["limit"])},
                restart_policy="Always" if c["restartable"] else None,
            ),
        )
        for c in case.get("containers") or one
    ]
    apps, inits = (tuple(c for init, c in made if init is wanted) for wanted in (False, True))
    return Pod("pod", uid="pod", containers=apps, init_containers=inits)


def _state(case: dict[str, Any], pod: Pod) -> DeviceManagerState:
    devices = {
        d["id"]: Device(d["id"], HEALTHY, None if d["numa"] is None else tuple(d["numa"]))
        for d in case["devices"]
    }
    healthy = frozenset(d["id"] for d in case["devices"] if d["healthy"])
    reusable = frozenset(case.get("reusable") or ())
    held = case.get("pod_devices") or {"c": case.get("container_devices") or []}
    records = {
        "pod": {name: _record(ids) for name, ids in {**held, "finished": reusable}.items() if ids},
        "other": {"c": _record(case["others"])} if case["others"] else {},
    }
    state = DeviceManagerState(
        pod_devices=records,
        allocated_devices=allocated_by(records),
        devices_to_reuse={"pod": {GPU: reusable}},
    )
    if not case["registered"]:
        return state
    return replace(state, all_devices={GPU: devices}, healthy_devices={GPU: healthy})


def _record(ids: Any) -> dict[str, DeviceAllocateInfo]:
    return {GPU: DeviceAllocateInfo({0: tuple(ids)}, ContainerAllocateResponse())}
