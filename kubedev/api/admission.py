"""What the API server's admission adds to a pod that somebody creates, and what it refuses.

Go source: `plugin/pkg/admission/priority`, `plugin/pkg/admission/defaulttolerationseconds`,
`plugin/pkg/admission/namespace/lifecycle`, `pkg/registry/core/pod/strategy.go`. The service account and its volume,
which are added too, are left out: nothing here looks at them.
"""

from collections.abc import Collection, Iterable
from functools import lru_cache

from kubedev.api.defaults import resolve_priority
from kubedev.api.objects import Labels, Pod
from kubedev.api.pod_groups import PriorityClass
from kubedev.api.selectors import (
    LabelSelectorRequirement,
    PodAffinity,
    PodAffinityTerm,
    Toleration,
    WeightedPodAffinityTerm,
)
from kubedev.api.values import Same, replace

__all__ = [
    "BUILT_IN_NAMESPACES",
    "NamespaceError",
    "admit_pod",
    "check_namespace",
    "with_default_tolerations",
]

BUILT_IN_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
TOLERATION_SECONDS = 300
"""How long a pod stays on a node in trouble that says nothing else (`--default-not-ready-toleration-seconds`)."""


class NamespaceError(ValueError):
    """An object in a namespace that is not there; the message is Kubernetes' own."""


def check_namespace(namespace: str, known: Collection[str]) -> None:
    """NamespaceError where a namespace is not there; four always are (Go: `lifecycle/admission.go: Admit`)."""
    if namespace not in known and namespace not in BUILT_IN_NAMESPACES:
        raise NamespaceError(f'namespaces "{namespace}" not found')


def admit_pod(pod: Pod, classes: Iterable[PriorityClass]) -> Pod:
    """A pod as it is stored: with the priority of its class and default tolerations, and with its own labels where
    an affinity term asks for them. Raises PriorityError.
    """
    return with_default_tolerations(with_match_labels(resolve_priority(pod, classes)))


def with_default_tolerations(pod: Pod) -> Pod:
    """The pod with 300 s on a node that is not ready or unreachable, unless it says how long itself."""
    added = added_tolerations(Same(pod.tolerations))
    return replace(pod, tolerations=added) if added is not pod.tolerations else pod


@lru_cache(maxsize=256)  # pods of one template share their tolerations, and go on sharing them
def added_tolerations(of_tolerations: Same[tuple[Toleration, ...]]) -> tuple[Toleration, ...]:
    """Tolerations with those that are missing; the same where none is."""
    own = of_tolerations.value
    added = [
        Toleration(key, "Exists", effect="NoExecute", toleration_seconds=TOLERATION_SECONDS)
        for key in (NOT_READY, UNREACHABLE)
        if not any(t.key in (key, "") and t.effect in ("NoExecute", "") for t in own)
    ]
    return (*own, *added) if added else own


def with_match_labels(pod: Pod) -> Pod:
    """The pod with matchLabelKeys and mismatchLabelKeys written into the selectors of its affinity terms."""
    affinity = pod.affinity
    if affinity is None or not (affinity.pod_affinity or affinity.pod_anti_affinity):
        return pod

    def written(part: PodAffinity | None) -> PodAffinity | None:
        return part and PodAffinity(
            tuple(with_label_keys(term, pod.labels) for term in part.required),
            tuple(
                WeightedPodAffinityTerm(each.weight, with_label_keys(each.pod_affinity_term, pod.labels))
                for each in part.preferred
            ),
        )

    attract, repel = written(affinity.pod_affinity), written(affinity.pod_anti_affinity)
    return replace(pod, affinity=replace(affinity, pod_affinity=attract, pod_anti_affinity=repel))


def with_label_keys(term: PodAffinityTerm, labels: Labels) -> PodAffinityTerm:
    """The term with the pod's own values of those labels; without a selector it stays as it is.

    Go: `pkg/registry/core/pod/strategy.go: applyMatchLabelKeysAndMismatchLabelKeys`.
    """
    if term.label_selector is None:
        return term
    added = tuple(
        LabelSelectorRequirement(key, operator, (labels[key],))
        for operator, keys in (("In", term.match_label_keys), ("NotIn", term.mismatch_label_keys))
        for key in keys
        if key in labels
    )
    expressions = (*term.label_selector.match_expressions, *added)
    return replace(term, label_selector=replace(term.label_selector, match_expressions=expressions))
