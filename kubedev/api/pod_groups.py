"""What speaks of many pods at once: namespaces, services, workloads, disruption budgets and priority classes.

They are read as pods and nodes are (`objects`).
"""

from dataclasses import dataclass, field
from typing import Self

from kubedev.api.fields import Fields
from kubedev.api.objects import DEFAULT_NAMESPACE, Labels, Manifest
from kubedev.api.selectors import LabelSelector

__all__ = ["Namespace", "PodDisruptionBudget", "PriorityClass", "Service", "Workload"]


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace; its labels count for namespace selectors."""

    name: str
    labels: Labels = field(default_factory=dict)

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        metadata = Fields.of(manifest).child("metadata")
        return cls(metadata.text("name"), metadata.text_map("labels"))


@dataclass(frozen=True, slots=True)
class Service:
    """A service: the default topology spread counts the pods that it selects."""

    name: str
    namespace: str = DEFAULT_NAMESPACE
    selector: Labels = field(default_factory=dict)

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        fields = Fields.of(manifest)
        metadata = fields.child("metadata")
        namespace = metadata.text("namespace", DEFAULT_NAMESPACE)
        return cls(metadata.text("name"), namespace, fields.child("spec").text_map("selector"))


@dataclass(frozen=True, slots=True)
class Workload:
    """What makes pods: ReplicaSet, Deployment, StatefulSet, DaemonSet, ReplicationController, Job."""

    kind: str
    name: str
    namespace: str = DEFAULT_NAMESPACE
    selector: LabelSelector | None = None
    replicas: int = 1
    manifest: Manifest = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        fields = Fields.of(manifest)
        metadata, spec, kind = fields.child("metadata"), fields.child("spec"), fields.text("kind")
        if kind == "ReplicationController":
            selector: LabelSelector | None = LabelSelector(spec.text_map("selector"))
        else:
            selector = LabelSelector.read(spec, "selector")
        namespace = metadata.text("namespace", DEFAULT_NAMESPACE)
        return cls(kind, metadata.text("name"), namespace, selector, spec.integer("replicas", 1), manifest)


@dataclass(frozen=True, slots=True)
class PodDisruptionBudget:
    """How many more pods may be evicted; `disrupted_pods` are names of pods that are already counted."""

    name: str
    namespace: str = DEFAULT_NAMESPACE
    selector: LabelSelector | None = None
    disruptions_allowed: int = 0
    disrupted_pods: tuple[str, ...] = ()

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        fields = Fields.of(manifest)
        metadata, status = fields.child("metadata"), fields.child("status")
        return cls(
            metadata.text("name"),
            metadata.text("namespace", DEFAULT_NAMESPACE),
            LabelSelector.read(fields.child("spec"), "selector"),
            status.integer("disruptionsAllowed"),
            tuple(status.child("disruptedPods").values),
        )


@dataclass(frozen=True, slots=True)
class PriorityClass:
    """A name for a priority; `global_default` gives it to pods without a class."""

    name: str
    value: int = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        fields = Fields.of(manifest)
        return cls(
            fields.child("metadata").text("name"),
            fields.integer("value"),
            fields.boolean("globalDefault"),
            fields.text("preemptionPolicy", "PreemptLowerPriority"),
        )
