"""One resource's hints for a container or a pod, found in both ways."""

from typing import Any

from kubedev.api.messages import HEALTHY, UNHEALTHY, Device
from kubedev.api.objects import Container, Pod
from kubedev.kubelet.bitmask import nodes_of
from kubedev.kubelet.hints import (
    Hints,
    ResourceHints,
    count_at_once,
    count_mask_by_mask,
    pod_request,
    resource_hints,
)


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """`hints`, or a text where the two ways of counting differ."""
    at_once, by_mask = (_hints(case, count) for count in (count_at_once, count_mask_by_mask))
    if at_once != by_mask:
        return {"hints": f"at once: {at_once}, mask by mask: {by_mask}"}
    return {"hints": "absent" if at_once is None else as_json(at_once.hints)}


def as_json(hints: Hints) -> list[dict[str, Any]] | None:
    """Hints as the vectors write them."""
    if hints is None:
        return None
    return [
        {
            "mask": None if h.numa_node_affinity is None else list(nodes_of(h.numa_node_affinity)),
            "preferred": h.preferred,
        }
        for h in hints
    ]


def _hints(case: dict[str, Any], count: Any) -> ResourceHints | None:
    devices = {
        d["id"]: Device(
            d["id"], HEALTHY if d["healthy"] else UNHEALTHY, None if d["numa"] is None else tuple(d["numa"])
        )
        for d in case["devices"]
    }
    reusable = set(case.get("reusable") or ())
    if case["scope"] == "pod":
        held = {id_ for ids in (case["pod_devices"] or {}).values() for id_ in ids}
        request = pod_request(*_pod(case["containers"]))
    else:
        held, request = set(case["container_devices"] or ()), case["request"]
    in_use = held | reusable | set(case["others"] or ())
    if not case["registered"] and not in_use:
        return None
    available = {d.id for d in devices.values() if d.health == HEALTHY} - in_use
    return resource_hints(
        "example.com/gpu", request, devices, available, case["numa_nodes"], held, reusable, count
    )


def _pod(containers: list[dict[str, Any]]) -> tuple[Pod, Any]:
    made = [
        (c["init"], Container(c["name"], restart_policy="Always" if c["restartable"] else None))
        for c in containers
    ]
    limits = {c["name"]: c["limit"] for c in containers}
    pod = Pod(
        "p",
        containers=tuple(c for init, c in made if not init),
        init_containers=tuple(c for init, c in made if init),
    )
    return pod, lambda container: limits[container.name]
