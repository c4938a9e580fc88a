"""Node affinity: the plugin NodeAffinity, for what a pod requires and prefers of its node's labels and name.

Go: `pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubedev.api.objects import Pod
from kubedev.api.selectors import NodeAffinity as NodeAffinityRules
from kubedev.api.selectors import NodeSelectorTerm
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.scores import Score, default_normalize
from kubedev.scheduler.selectors.labels import SelectorError
from kubedev.scheduler.selectors.node_selector import (
    PreferredTerm,
    RequiredNodeAffinity,
    Term,
    parse_preferred_terms,
    parse_required_terms,
    required_node_affinity,
)
from kubedev.scheduler.status import SUCCESS, Code, Status

__all__ = ["NodeAffinity"]

_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
_POD = "node(s) didn't match Pod's node affinity/selector"


@dataclass(frozen=True, slots=True)
class NodeAffinity:
    """Refuses nodes that the pod's nodeSelector or required affinity excludes, prefers those it prefers.

    `added_required` and `added_preferred` are the affinity that the scheduler's configuration adds for all
    pods; make them with `with_added_affinity`.
    """

    added_required: tuple[Term, ...] | None = None
    added_preferred: tuple[PreferredTerm, ...] | None = None
    name: str = "NodeAffinity"

    @classmethod
    def with_added_affinity(cls, added: NodeAffinityRules) -> "NodeAffinity":
        """The plugin with NodeAffinityArgs.addedAffinity. Raises SelectorError where that is not valid."""
        required = None if added.required is None else parse_required_terms(added.required)
        if errors := [error for term in required or () for error in term.errors]:
            raise SelectorError(errors)
        return cls(required, parse_preferred_terms(added.preferred) if added.preferred else None)

    def pre_filter(
        self, pod: Pod, nodes: Sequence[NodeInfo], context: Context
    ) -> tuple[RequiredNodeAffinity, Status, frozenset[str] | None]:
        """The state is the parsed requirements; the names are those that the affinity is limited to."""
        required = required_node_affinity(pod)
        if required.terms is None and self.added_required is None and pod.node_selector is None:
            return required, Status(Code.SKIP), None
        affinity = pod.affinity.node_affinity if pod.affinity else None
        names = _node_names(affinity.required) if affinity and affinity.required else None
        if names is not None and not names:
            conflict = Status(
                Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("pod affinity terms conflict",), self.name
            )
            return required, conflict, None
        return required, SUCCESS, names

    def filter(self, state: RequiredNodeAffinity, pod: Pod, node_info: NodeInfo) -> Status:
        """Refuse the node that the configuration's affinity or the pod's own requirements exclude."""
        node = node_info.node
        if self.added_required is not None and not any(term.matches(node) for term in self.added_required):
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (_ENFORCED,), self.name)
        if not state.matches(node):
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (_POD,), self.name)
        return SUCCESS

    def pre_score(
        self, pod: Pod, nodes: Sequence[NodeInfo], context: Context
    ) -> tuple[tuple[PreferredTerm, ...], Status]:
        """The state is the preferred terms, the configuration's first; one that is not valid is an error."""
        affinity = pod.affinity.node_affinity if pod.affinity else None
        own, added = affinity.preferred if affinity else None, self.added_preferred
        if own is None and added is None:
            return (), Status(Code.SKIP)
        try:
            return (added or ()) + parse_preferred_terms(own or ()), SUCCESS
        except SelectorError as error:
            return (), Status(Code.ERROR, (str(error),), self.name)

    def score(self, state: tuple[PreferredTerm, ...], pod: Pod, node_info: NodeInfo) -> Score:
        """The sum of the weights of the terms that the node matches; `why` are these terms."""
        matching = tuple(preferred for preferred in state if preferred.term.matches(node_info.node))
        return Score(sum(preferred.weight for preferred in matching), matching)

    def normalize(self, state: tuple[PreferredTerm, ...], scores: Mapping[str, int]) -> dict[str, int]:
        """The node with the highest sum gets 100."""
        return default_normalize(scores)


def _node_names(terms: Sequence[NodeSelectorTerm]) -> frozenset[str] | None:
    """The only nodes that the terms allow by name; None where some term allows any name."""
    names: frozenset[str] = frozenset()
    for term in terms:
        by_name = [
            frozenset(field.values)
            for field in term.match_fields
            if field.key == "metadata.name" and field.operator == "In"
        ]
        if not by_name:
            return None
        names |= frozenset.intersection(*by_name)
    return names if terms else None
