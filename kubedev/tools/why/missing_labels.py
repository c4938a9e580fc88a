"""Which labels a node lacks for what a pod requires of its node."""

from collections.abc import Mapping

from kubedev.api.objects import Node, Pod
from kubedev.api.selectors import NodeSelectorTerm

__all__ = ["missing_labels"]


def missing_labels(pod: Pod, node: Node) -> Mapping[str, str]:
    """The fewest labels that the node needs for the pod's selector and affinity; empty where none help."""
    selected = {
        key: value for key, value in (pod.node_selector or {}).items() if node.labels.get(key) != value
    }
    affinity = pod.affinity.node_affinity if pod.affinity else None
    if affinity is None or affinity.required is None:
        return selected
    ways: list[Mapping[str, str]] = [
        needed for term in affinity.required if (needed := of_term(term, node)) is not None
    ]
    return {**sorted(ways, key=len)[0], **selected} if ways else {}


def of_term(term: NodeSelectorTerm, node: Node) -> Mapping[str, str] | None:
    """The labels that a term asks for and the node has not; None where no label helps."""
    needed: dict[str, str] = {}
    if term.match_fields:
        return None
    for one in term.match_expressions:
        value = node.labels.get(one.key)
        if one.operator == "In":
            if value not in one.values:
                needed[one.key] = one.values[0] if one.values else ""
        elif one.operator == "Exists":
            if value is None:
                needed[one.key] = ""
        elif (
            (one.operator == "NotIn" and value in one.values)
            or one.operator
            not in (
                "NotIn",
                "DoesNotExist",
            )
            or (one.operator == "DoesNotExist" and value is not None)
        ):
            return None
    return needed
