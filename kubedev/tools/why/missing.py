"""Kinds of objects that are not in a dump, and what cannot be said without them about the pods that are asked about."""

from collections.abc import Iterator, Sequence
from typing import Any

from kubedev.api.objects import Pod
from kubedev.tools.why.dump import Dump

__all__ = ["missing_kinds"]


def missing_kinds(dump: Dump, pods: Sequence[Pod], answers: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A sentence for each kind that matters here and of which there is no object."""

    def absent(*kinds: str) -> str:
        return ", ".join(kind for kind in kinds if kind not in dump.objects)

    if pods and not dump.nodes:
        yield "there is no Node in the dump: its figures are not known"
    if any(has_claims(pod) for pod in pods) and (
        kinds := absent("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode")
    ):
        yield f"there is no {kinds} in the dump: what the pod's claims need is not known without"
    if any(pod.resource_claims for pod in pods) and (
        kinds := absent("ResourceClaim", "ResourceSlice", "DeviceClass")
    ):
        yield f"there is no {kinds} in the dump: what the pod's resource claims need is not known without"
    if any(selects_namespaces(pod) for pod in pods) and absent("Namespace"):
        yield "there is no Namespace in the dump: a namespaceSelector matches none"
    if any(answer.get("preemption") and answer["preemption"]["helps"] for answer in answers) and absent(
        "PodDisruptionBudget"
    ):
        yield "there is no PodDisruptionBudget in the dump: whether preemption would break one is not known"
    spread = any(not pod.topology_spread_constraints and pod.owner_references for pod in pods)
    scheduled = any(answer["state"] == "pending" and answer["scheduled"] for answer in answers)
    if spread and scheduled and (kinds := absent("Service", "ReplicaSet")):
        yield f"there is no {kinds} in the dump: of several nodes that fit, another one may be chosen"


def has_claims(pod: Pod) -> bool:
    """Whether the pod has volumes that are claimed."""
    return any(volume.claim_name is not None or volume.claim_template is not None for volume in pod.volumes)


def selects_namespaces(pod: Pod) -> bool:
    """Whether a required term of the pod's chooses namespaces by their labels."""
    parts = (pod.affinity.pod_affinity, pod.affinity.pod_anti_affinity) if pod.affinity else ()
    return any(term.namespace_selector is not None for part in parts if part for term in part.required)
