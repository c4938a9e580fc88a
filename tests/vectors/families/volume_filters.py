"""The vectors of the four volume plugins."""

from dataclasses import replace
from typing import Any

from kubedev.api.objects import Pod
from kubedev.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from kubedev.scheduler.plugins.volumes.node_volume_limits import NodeVolumeLimits
from kubedev.scheduler.plugins.volumes.volume_binding import VolumeBinding, find_pod_volumes
from kubedev.scheduler.plugins.volumes.volume_restrictions import VolumeRestrictions
from kubedev.scheduler.plugins.volumes.volume_zone import VolumeZone
from kubedev.scheduler.status import Code
from kubedev.scheduler.storage import Storage
from tests.vectors.families._plugins import context_of, outcome

PLUGINS = {
    plugin.name: plugin
    for plugin in (VolumeRestrictions(), NodeVolumeLimits(), VolumeZone(), VolumeBinding())
}
KINDS: dict[str, Any] = {
    "pvs": PersistentVolume,
    "pvcs": PersistentVolumeClaim,
    "classes": StorageClass,
    "csi_nodes": CSINode,
    "csi_drivers": CSIDriver,
    "capacities": CSIStorageCapacity,
    "attachments": VolumeAttachment,
}


def storage_of(case_in: dict[str, Any]) -> Storage:
    """The storage objects of a case."""
    storage = Storage()
    for field, kind in KINDS.items():
        for manifest in case_in.get(field, ()):
            storage = storage.with_object(kind.parse(manifest))
    return storage


def run(plugin: Any, case_in: dict[str, Any]) -> dict[str, Any]:
    """PreFilter, Filter on every node, and what would be bound there."""
    pod = Pod.parse(case_in["pod"])
    context = replace(context_of(case_in), storage=storage_of(case_in))
    state, status, _ = plugin.pre_filter(pod, context.node_infos, context)
    out: dict[str, Any] = {"prefilter": outcome(status)}
    if status.code is not Code.SUCCESS:
        return out
    out["filter"] = {info.name: outcome(plugin.filter(state, pod, info)) for info in context.node_infos}
    if plugin.name == "VolumeBinding":
        out["bindings"] = {
            info.name: bindings_of(state, info.node)
            for info in context.node_infos
            if out["filter"][info.name]["code"] == "Success"
        }
    return out


def bindings_of(state: Any, node: Any) -> dict[str, Any]:
    found = find_pod_volumes(state, node)
    return {
        "static": [[binding.claim.key, binding.volume.name] for binding in found.static],
        "provision": [claim.key for claim in found.provision],
    }


def differences(case: dict[str, Any]) -> list[str]:
    wrong = []
    for name, expected in case["out"].items():
        got = run(PLUGINS[name], case["in"])
        for node, choices in expected.get("bindings", {}).items():
            if "any_of" in choices and got.get("bindings", {}).get(node) in choices["any_of"]:
                got["bindings"][node] = choices
        if got != expected:
            wrong.append(f"{name}: expected {expected}, got {got}")
    return wrong
