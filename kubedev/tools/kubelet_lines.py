"""What `kubedev kubelet` says, as one JSON object each: what happened, what it did, what was asked for.

`event` names the kind; the other keys are named like the fields of Kubernetes' messages.
"""

from collections.abc import Collection, Iterable
from dataclasses import fields, is_dataclass
from typing import Any

from kubedev.api.messages import HEALTHY, Dial, Empty, RpcError
from kubedev.api.names import is_extended_resource_name
from kubedev.kubelet.devices.allocation import DevicesToAllocate
from kubedev.kubelet.devices.device_manager import AllocationDecision
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.kubelet.devices.holdings import Holding, condition_of, who_holds, without_record
from kubedev.kubelet.events import (
    Answered,
    Ask,
    Effect,
    KubeletEvent,
    ListReceived,
    PluginRegistering,
    PodStatus,
    PodTerminated,
    Reply,
    StartContainer,
    StreamEnded,
)
from kubedev.kubelet.kubelet import KubeletState
from kubedev.kubelet.pods import PodRecord, api_phase
from kubedev.kubelet.topology.bitmask import nodes_of
from kubedev.kubelet.topology.topology import Alignment

__all__ = ["Line", "capacity_line", "device_lines", "effect_line", "event_line", "why_line"]

Line = dict[str, Any]


def event_line(state: KubeletState, event: KubeletEvent) -> Line | None:
    """What happened, as the kubelet in the state before it sees it; None where that is no news."""
    match event:
        case PluginRegistering(_, request):
            return {
                "event": "register",
                "resource": request.resource_name,
                "version": request.version,
                "endpoint": request.endpoint,
            }
        case ListReceived(client, devices):
            line: Line = {
                "event": "list",
                "resource": _resource(state, client),
                "devices": len(devices),
                "healthy": sum(device.health == HEALTHY for device in devices),
            }
            odd = sum(not _is_utf8(device.id) for device in devices)
            return {**line, "not_utf8": odd} if odd else line
        case StreamEnded(client, error):
            resource = _resource(state, client)
            return {"event": "stream ended", "resource": resource, "error": error} if resource else None
        case Answered(call_id, answer) if call_id in state.talks:
            call = state.talks[call_id].call
            line = {"event": "answer", "resource": call.resource, "method": call.method}
            if isinstance(answer, RpcError):
                return {**line, "error": str(answer)}
            return line if isinstance(answer, Empty) else {**line, "answer": _readable(answer)}
    return None


def effect_line(state: KubeletState, effect: Effect) -> Line | None:
    """What the kubelet does; None where that is no news."""
    match effect:
        case Ask(_, call):
            line = {"event": "call", "resource": call.resource, "method": call.method}
            return (
                line
                if isinstance(call.request, Dial | Empty)
                else {**line, "request": _readable(call.request)}
            )
        case Reply(_, resource, None):
            return {"event": "registered", "resource": resource}
        case Reply(_, resource, error):
            return {"event": "refused", "resource": resource, "error": error}
        case PodStatus(uid, phase, reason, message):
            line = {"event": "pod", "pod": uid, "phase": phase}
            return {**line, "reason": reason, "message": message} if reason else line
        case PodTerminated(uid):
            return {"event": "released", "pod": uid}
        case StartContainer():
            return {
                "event": "container",
                "pod": effect.pod_uid,
                "devices": _held(state.devices, effect.pod_uid),
                "envs": dict(effect.envs),
                "mounts": [
                    {"host_path": host, "container_path": path, "read_only": only}
                    for host, path, only in effect.mounts
                ],
                "device_nodes": [
                    {"host_path": host, "container_path": path, "permissions": allowed}
                    for host, path, allowed in effect.devices
                ],
                "annotations": dict(effect.annotations),
                "cdi_devices": list(effect.cdi_devices),
            }
    return None


def capacity_line(state: KubeletState) -> Line:
    """Capacity and allocatable of extended resources, as they stand in the node's status."""
    node = state.node
    return {
        "event": "capacity",
        "capacity": {n: q.value() for n, q in sorted(node.capacity.items()) if is_extended_resource_name(n)},
        "allocatable": {
            n: q.value() for n, q in sorted(node.allocatable.items()) if is_extended_resource_name(n)
        },
    }


def device_lines(state: KubeletState) -> list[Line]:
    """One line a resource: its plugin, and its devices with health, NUMA nodes and the pod that holds them.

    A device that a pod holds and the plugin no longer lists is `not listed`, as long as it is held. One that is taken
    though no record says by whom has a `note`.
    """
    manager = state.devices
    held = {(held.resource, held.device): held for held in who_holds(manager)}
    taken = {*held, *without_record(manager)}
    listed = manager.healthy_devices.keys() | manager.unhealthy_devices.keys()
    lines = []
    for resource in sorted(listed | {resource for resource, _ in taken}):
        known = manager.all_devices.get(resource, {})
        ids = [id_ for id_ in known if condition_of(manager, resource, id_) != "not listed"]
        ids += _sorted({id_ for r, id_ in taken if r == resource}.difference(ids))
        devices = [_device(manager, resource, id_, held.get((resource, id_)), taken) for id_ in ids]
        endpoint = manager.endpoint(resource)
        plugin = endpoint.phase if endpoint else "absent"
        lines.append({"event": "devices", "resource": resource, "plugin": plugin, "devices": devices})
    return lines


def _device(
    manager: DeviceManagerState,
    resource: str,
    id_: str,
    held: Holding | None,
    taken: Collection[tuple[str, str]],
) -> Line:
    device = manager.all_devices.get(resource, {}).get(id_)
    condition = condition_of(manager, resource, id_)
    if condition == "not listed":
        nodes = list(held.numa_nodes) if held and held.numa_nodes else None
    else:
        nodes = None if device is None or device.numa_nodes is None else list(device.numa_nodes)
    line: Line = {
        "id": id_,
        "health": condition if condition == "not listed" else condition.capitalize(),
        "numa_nodes": nodes,
        "pod": held.pod_uid if held else None,
    }
    if held is None and (resource, id_) in taken:
        line["note"] = "taken without a record: no pod holds it, and none can get it"
    return line


def why_line(record: PodRecord) -> Line:
    """How the kubelet came to take or refuse a pod: affinities, and each device set step by step."""
    admission = record.admission
    topology = admission.topology if admission else None
    decisions = [
        decision
        for allocated in (topology.allocations if topology else ())
        if isinstance(allocated.decision, AllocationDecision)
        for decision in allocated.decision.decisions
    ]
    return {
        "event": "why",
        "pod": record.pod.uid,
        "phase": api_phase(record),
        "reason": record.reason,
        "message": record.message,
        "affinity": [_affinity(alignment) for alignment in (topology.alignments if topology else ())],
        "devices": [_decision(decision) for decision in decisions],
        "insufficient": [
            {"resource": short.resource_name, "requested": short.requested, "used": short.used}
            for short in (admission.insufficient if admission else ())
        ],
    }


def _affinity(alignment: Alignment) -> Line:
    decision = alignment.decision
    mask = decision.hint.numa_node_affinity
    return {
        "policy": decision.policy,
        "numa_nodes": None if mask is None else list(nodes_of(mask)),
        "preferred": decision.hint.preferred,
        "admit": decision.admit,
    }


def _decision(decision: DevicesToAllocate) -> Line:
    return {
        "resource": decision.request.resource,
        "required": decision.request.required,
        "taken": _sorted(decision.devices or ()),
        "error": decision.error,
        "steps": [
            {"rule": s.rule, "why": s.why, "offered": _sorted(s.offered), "taken": _sorted(s.taken)}
            for s in decision.steps
        ],
    }


def _is_utf8(text: str) -> bool:
    """Whether a text came as UTF-8; other bytes are kept as lone surrogates, and are shown as their escapes."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _resource(state: KubeletState, client: int) -> str:
    endpoint = state.devices.connections.get(client)
    return endpoint.resource if endpoint else ""


def _held(manager: DeviceManagerState, pod_uid: str) -> dict[str, list[str]]:
    containers = manager.pod_devices.get(pod_uid, {}).values()
    return {r: _sorted(info.devices) for resources in containers for r, info in sorted(resources.items())}


def _sorted(ids: Iterable[str]) -> list[str]:
    """In the order in which people count: d2 before d10."""
    return sorted(ids, key=lambda id_: (len(id_), id_))


def _readable(message: object) -> Any:
    """A message as JSON, its empty fields left out."""
    if is_dataclass(message):
        values = {field.name: _readable(getattr(message, field.name)) for field in fields(message)}
        return {name: value for name, value in values.items() if value not in ("", [], None, False)}
    return [_readable(item) for item in message] if isinstance(message, tuple) else message
