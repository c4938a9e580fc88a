"""Node selectors, parsed: which nodes a pod's nodeSelector and node affinity allow or prefer.

Go: `k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kubedev.api.gotext import quote
from kubedev.api.objects import Node, Pod
from kubedev.api.selectors import NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm
from kubedev.scheduler.selectors.labels import (
    EVERYTHING,
    Requirement,
    Selector,
    SelectorError,
    from_labels,
    go_strings,
    new_requirement,
)

__all__ = [
    "PreferredTerm",
    "RequiredNodeAffinity",
    "Term",
    "parse_node_selector",
    "parse_preferred_terms",
    "parse_required_terms",
    "required_node_affinity",
]

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
FIELD_OPERATORS = ("In", "NotIn")


@dataclass(frozen=True, slots=True)
class Term:
    """One nodeSelectorTerm: all its conditions have to hold. `errors` say why it could not be understood."""

    labels: Selector = EVERYTHING
    fields: tuple[Requirement, ...] = ()
    errors: tuple[str, ...] = ()

    def matches(self, node: Node) -> bool:
        """Whether the node's labels and name fulfil the term; a term with errors matches no node."""
        if self.errors or not self.labels.matches(node.labels):
            return False
        if not self.fields or not node.name:
            return True
        fields = {"metadata.name": node.name}
        return all((fields.get(f.key, "") in f.values) == (f.operator == "In") for f in self.fields)


@dataclass(frozen=True, slots=True)
class PreferredTerm:
    """A term and what a node gains that matches it."""

    term: Term
    weight: int


@dataclass(frozen=True, slots=True)
class RequiredNodeAffinity:
    """A pod's nodeSelector and required node affinity; `terms` is None where there is no affinity."""

    node_selector: Selector = EVERYTHING
    terms: tuple[Term, ...] | None = None

    def matches(self, node: Node) -> bool:
        """Whether the nodeSelector holds, and at least one of the terms where there is an affinity."""
        if not self.node_selector.matches(node.labels):
            return False
        return self.terms is None or any(term.matches(node) for term in self.terms)


def required_node_affinity(pod: Pod) -> RequiredNodeAffinity:
    """What the pod requires of its node. A term that cannot be understood matches no node: no error."""
    affinity = pod.affinity.node_affinity if pod.affinity else None
    required = affinity.required if affinity else None
    return RequiredNodeAffinity(
        from_labels(pod.node_selector or {}),
        None if required is None else parse_required_terms(required),
    )


def parse_required_terms(terms: Sequence[NodeSelectorTerm]) -> tuple[Term, ...]:
    """Parse the terms; those without any condition match no node and are left out."""
    return tuple(
        _parse_term(term, f"nodeSelectorTerms[{i}]") for i, term in enumerate(terms) if not _is_empty(term)
    )


def parse_node_selector(terms: Sequence[NodeSelectorTerm]) -> tuple[Term, ...]:
    """The terms of a node selector that is an object's own: SelectorError where one cannot be understood.

    Go: `NewNodeSelector`.
    """
    parsed = parse_required_terms(terms)
    if errors := [error for term in parsed for error in term.errors]:
        raise SelectorError(errors)
    return parsed


def parse_preferred_terms(terms: Sequence[PreferredSchedulingTerm]) -> tuple[PreferredTerm, ...]:
    """Parse the terms; those without any condition and those of weight 0 are left out.

    Raises SelectorError with everything that is wrong in any of them.
    """
    parsed = tuple(
        PreferredTerm(_parse_term(term.preference, f"[{i}]"), term.weight)
        for i, term in enumerate(terms)
        if term.weight != 0 and not _is_empty(term.preference)
    )
    if errors := [error for preferred in parsed for error in preferred.term.errors]:
        raise SelectorError(errors)
    return parsed


def _is_empty(term: NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def _parse_term(term: NodeSelectorTerm, path: str) -> Term:
    labels, label_errors = _parse(term.match_expressions, f"{path}.matchExpressions", _label_requirement)
    fields, field_errors = _parse(term.match_fields, f"{path}.matchFields", _field_requirement)
    return Term(Selector(labels), fields, label_errors + field_errors)


def _parse(
    requirements: Sequence[NodeSelectorRequirement],
    path: str,
    parse_one: Callable[[NodeSelectorRequirement, str], Requirement],
) -> tuple[tuple[Requirement, ...], tuple[str, ...]]:
    parsed: list[Requirement] = []
    errors: list[str] = []
    for i, requirement in enumerate(requirements):
        try:
            parsed.append(parse_one(requirement, f"{path}[{i}]"))
        except SelectorError as error:
            errors += error.errors
    return tuple(parsed), tuple(errors)


def _label_requirement(given: NodeSelectorRequirement, path: str) -> Requirement:
    _check_operator(given, OPERATORS, path)
    return new_requirement(given.key, given.operator, given.values, path)


def _field_requirement(given: NodeSelectorRequirement, path: str) -> Requirement:
    _check_operator(given, FIELD_OPERATORS, path)
    if len(given.values) != 1:
        raise SelectorError(
            [f"{path}.values: Invalid value: {go_strings(given.values)}: must have one element"]
        )
    return Requirement(given.key, given.operator, given.values)


def _check_operator(given: NodeSelectorRequirement, supported: tuple[str, ...], path: str) -> None:
    if given.operator not in supported:
        names = ", ".join(f'"{name}"' for name in supported)
        raise SelectorError(
            [f"{path}.operator: Unsupported value: {quote(given.operator)}: supported values: {names}"]
        )
