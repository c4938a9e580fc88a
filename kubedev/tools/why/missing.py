"""Kinds of objects that are not in a dump, and what cannot be said without them about the pods that are asked about."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubedev.api.objects import Pod
from kubedev.tools.why.dump import Dump

__all__ = ["missing_kinds"]

RESOURCES: Mapping[str, str] = {
    "PersistentVolumeClaim": "pvc",
    "PersistentVolume": "pv",
    "StorageClass": "sc",
    "CSINode": "csinodes",
    "ResourceClaim": "resourceclaims",
    "ResourceSlice": "resourceslices",
    "DeviceClass": "deviceclasses",
    "Namespace": "namespaces",
    "PodDisruptionBudget": "pdb",
    "Service": "services",
    "ReplicaSet": "rs",
}
"""What kubectl calls these kinds."""


def missing_kinds(dump: Dump, pods: Sequence[Pod], answers: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A sentence for each kind that matters here and of which there is no object."""

    def absent(*kinds: str) -> str:
        return ",".join(RESOURCES[kind] for kind in kinds if kind not in dump.objects)

    if pods and not dump.nodes:
        yield "there is no Node in the dump: its figures are not known"
    if any(has_claims(pod) for pod in pods):
        if kinds := absent("PersistentVolumeClaim", "PersistentVolume", "StorageClass"):
            yield f"add {kinds} to the dump; until then what the pod's claims need is not known"
        if kinds := absent("CSINode"):
            yield f"add {kinds} to the dump; until then attach limits are not checked"
    if any(pod.resource_claims for pod in pods) and (
        kinds := absent("ResourceClaim", "ResourceSlice", "DeviceClass")
    ):
        yield f"add {kinds} to the dump; until then what the pod's resource claims need is not known"
    if any(selects_namespaces(pod) for pod in pods) and (kinds := absent("Namespace")):
        yield f"add {kinds} to the dump; until then a namespaceSelector matches none"
    preempts = any(answer.get("preemption") and answer["preemption"]["helps"] for answer in answers)
    if preempts and (kinds := absent("PodDisruptionBudget")):
        yield f"add {kinds} to the dump; until then it is not known whether preemption would break one"
    spread = any(not pod.topology_spread_constraints and pod.owner_references for pod in pods)
    scheduled = any(answer["state"] == "pending" and answer["scheduled"] for answer in answers)
    if spread and scheduled and (kinds := absent("Service", "ReplicaSet")):
        yield f"add {kinds} to the dump; until then another one may be chosen of several nodes that fit"


def has_claims(pod: Pod) -> bool:
    """Whether the pod has volumes that are claimed."""
    return any(volume.claim_name is not None or volume.claim_template is not None for volume in pod.volumes)


def selects_namespaces(pod: Pod) -> bool:
    """Whether a required term of the pod's chooses namespaces by their labels."""
    parts = (pod.affinity.pod_affinity, pod.affinity.pod_anti_affinity) if pod.affinity else ()
    return any(term.namespace_selector is not None for part in parts if part for term in part.required)
