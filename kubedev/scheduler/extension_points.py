"""The points of a cycle at which plugins are asked, and what their methods look like.

Go: `pkg/scheduler/framework/interface.go`.
"""

from dataclasses import dataclass

__all__ = ["EXTENSION_POINTS", "PART_OF", "POINT_OF", "ExtensionPoint"]


@dataclass(frozen=True, slots=True)
class ExtensionPoint:
    """A point of the cycle at which plugins are asked: Kubernetes' name, the method, and what it is for."""

    name: str
    method: str
    signature: str
    purpose: str


EXTENSION_POINTS = (
    ExtensionPoint("PreEnqueue", "pre_enqueue", "(pod) -> Status", "may the pod be tried at all?"),
    ExtensionPoint(
        "PreFilter",
        "pre_filter",
        "(pod, nodes, context) -> (state, Status, node names | None)",
        "work out once what the filter needs; may name the only nodes worth a look",
    ),
    ExtensionPoint("Filter", "filter", "(state, pod, node_info) -> Status", "can the pod run on this node?"),
    ExtensionPoint(
        "PostFilter", "post_filter", "(failed cycle) -> PostFilterResult", "no node fits: what can be done?"
    ),
    ExtensionPoint(
        "PreScore",
        "pre_score",
        "(pod, nodes, context) -> (state, Status)",
        "work out once what the scores need",
    ),
    ExtensionPoint("Score", "score", "(state, pod, node_info) -> Score", "how good is this node?"),
    ExtensionPoint(
        "NormalizeScore", "normalize", "(state, scores) -> scores", "bring the scores of all nodes to 0..100"
    ),
    ExtensionPoint("Reserve", "reserve", "(pod, node name) -> Status", "note that the pod will run there"),
    ExtensionPoint("Permit", "permit", "(pod, node name) -> Status", "may it be bound now, never, or later?"),
    ExtensionPoint("PreBind", "pre_bind", "(pod, node name) -> Status", "prepare what the pod needs there"),
    ExtensionPoint("Bind", "bind", "(pod, node name) -> Status", "tell the API server; default: an effect"),
    ExtensionPoint("PostBind", "post_bind", "(pod, node name) -> None", "it is bound: clean up"),
)
"""The points in the order in which a pod comes to them."""


POINT_OF = {point.method: point.name for point in EXTENSION_POINTS}
PART_OF = {"add_pod": "pre_filter", "remove_pod": "pre_filter", "unreserve": "reserve", "normalize": "score"}
"""Methods that belong to a point: they are called where the plugin stands at that."""
