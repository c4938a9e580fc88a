"""The nodes as a cycle sees them, in their order: made into a tuple only when somebody reads it."""

from kubedev.api.values import SharedMap
from kubedev.scheduler.later import LaterSequence
from kubedev.scheduler.node_info import NodeInfo

__all__ = ["NodesInOrder"]


class NodesInOrder(LaterSequence[NodeInfo]):
    """The nodes of these names. Whoever looks at all of them reads it; columns only ask what has changed."""

    __slots__ = ("by_name", "names")

    def __init__(self, by_name: SharedMap[str, NodeInfo], names: tuple[str, ...]) -> None:
        self.by_name, self.names = by_name, names
        super().__init__(lambda: tuple(map(dict(by_name.items()).__getitem__, names)), len(names))
