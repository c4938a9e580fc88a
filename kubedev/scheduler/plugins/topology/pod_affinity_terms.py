"""The terms of pod affinity and anti-affinity, parsed.

Go: `pkg/scheduler/framework/types.go: AffinityTerm, NewPodInfo`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from kubedev.api.objects import Pod
from kubedev.api.selectors import Affinity, PodAffinity, PodAffinityTerm
from kubedev.api.values import Same
from kubedev.scheduler.selectors.labels import (
    NOTHING,
    Selector,
    SelectorError,
    from_label_selector,
    join_errors,
)

__all__ = [
    "NO_TERMS",
    "AffinityTerm",
    "AffinityTerms",
    "NamespaceLabels",
    "matches_all",
    "parse_affinity_terms",
]

NamespaceLabels = Mapping[str, Mapping[str, str]]
"""The labels of every namespace, by its name."""


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """Which pods are meant (by namespace and labels), what counts as together, the weight if preferred."""

    topology_key: str
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector
    weight: int = 0

    def matches(self, pod: Pod, namespace_labels: Mapping[str, str] | None = None) -> bool:
        """Whether the term means this pod.

        `namespace_labels` are those of the pod's namespace; a term with its namespaces listed needs none.
        """
        if pod.namespace in self.namespaces or self.namespace_selector.matches(namespace_labels or {}):
            return self.selector.matches(pod.labels)
        return False

    def with_namespaces(self, namespaces: NamespaceLabels) -> "AffinityTerm":
        """The term with the namespaces listed that its selector chooses; an empty one chooses all anyway.

        Go: `plugins/interpodaffinity/plugin.go: mergeAffinityTermNamespacesIfNotEmpty`.
        """
        if self.namespace_selector.is_empty or self.namespace_selector.nothing:
            return self
        chosen = {name for name, labels in namespaces.items() if self.namespace_selector.matches(labels)}
        return replace(self, namespaces=self.namespaces | chosen, namespace_selector=NOTHING)


@dataclass(frozen=True, slots=True)
class AffinityTerms:
    """All terms of a pod. A list with a fault in it is empty, and `errors` say what is wrong."""

    required_affinity: tuple[AffinityTerm, ...] = ()
    required_anti_affinity: tuple[AffinityTerm, ...] = ()
    preferred_affinity: tuple[AffinityTerm, ...] = ()
    preferred_anti_affinity: tuple[AffinityTerm, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def error(self) -> str:
        """All errors as one text."""
        return join_errors(self.errors)

    def with_namespaces(self, namespaces: NamespaceLabels) -> "AffinityTerms":
        """The terms with their namespaces listed, as the incoming pod's are before anything is matched."""

        if self is NO_TERMS:
            return self

        def merge(terms: Sequence[AffinityTerm]) -> tuple[AffinityTerm, ...]:
            return tuple(term.with_namespaces(namespaces) for term in terms)

        return AffinityTerms(
            merge(self.required_affinity),
            merge(self.required_anti_affinity),
            merge(self.preferred_affinity),
            merge(self.preferred_anti_affinity),
        )


NO_TERMS = AffinityTerms()


def matches_all(terms: Sequence[AffinityTerm], pod: Pod) -> bool:
    """Whether there are terms and all of them mean this pod.

    Go: `pkg/scheduler/framework/plugins/interpodaffinity/filtering.go: podMatchesAllAffinityTerms`.
    """
    return bool(terms) and all(term.matches(pod) for term in terms)


def parse_affinity_terms(pod: Pod) -> AffinityTerms:
    """Parse all of a pod's affinity and anti-affinity terms."""
    return NO_TERMS if pod.affinity is None else _terms(Same(pod.affinity), pod.namespace)


@lru_cache(maxsize=1024)  # a pod is asked again and again, and pods of one template share their affinity
def _terms(of_affinity: Same[Affinity], namespace: str) -> AffinityTerms:
    attract = of_affinity.value.pod_affinity or PodAffinity()
    repel = of_affinity.value.pod_anti_affinity or PodAffinity()
    errors: list[str] = []

    def parse(name: str, terms: Sequence[tuple[PodAffinityTerm, int]]) -> tuple[AffinityTerm, ...]:
        try:
            return tuple(_parse(namespace, term, weight) for term, weight in terms)
        except SelectorError as error:
            errors.append(f"{name}: {error}")
            return ()

    return AffinityTerms(
        parse("requiredAffinityTerms", [(term, 0) for term in attract.required]),
        parse("requiredAntiAffinityTerms", [(term, 0) for term in repel.required]),
        parse("preferredAffinityTerms", [(p.pod_affinity_term, p.weight) for p in attract.preferred]),
        parse("preferredAntiAffinityTerms", [(p.pod_affinity_term, p.weight) for p in repel.preferred]),
        tuple(errors),
    )


def _parse(namespace: str, term: PodAffinityTerm, weight: int) -> AffinityTerm:
    only_own = not term.namespaces and term.namespace_selector is None
    return AffinityTerm(
        topology_key=term.topology_key,
        selector=from_label_selector(term.label_selector),
        namespaces=frozenset((namespace,) if only_own else term.namespaces),
        namespace_selector=from_label_selector(term.namespace_selector),
        weight=weight,
    )
