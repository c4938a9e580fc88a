"""What controllers want done by the API server."""

from dataclasses import dataclass

from kubedev.api.objects import Condition, Pod
from kubedev.api.selectors import Taint

__all__ = ["CreatePod", "DeletePod", "Effect", "EvictPod", "MarkNode", "SwapTaints"]


@dataclass(frozen=True, slots=True)
class SwapTaints:
    """Give a node taints, and take others away."""

    node: str
    add: tuple[Taint, ...] = ()
    remove: tuple[Taint, ...] = ()


@dataclass(frozen=True, slots=True)
class MarkNode:
    """Write a node's conditions, since its kubelet does not."""

    node: str
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class EvictPod:
    """Give a pod the condition DisruptionTarget with this reason and message, then delete it.

    With `collect` the pod becomes Failed, and its object goes at once: nobody is there to end it.
    """

    uid: str
    reason: str
    message: str
    collect: bool = False


@dataclass(frozen=True, slots=True)
class CreatePod:
    """Create a pod."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Delete a pod."""

    uid: str


Effect = SwapTaints | MarkNode | EvictPod | CreatePod | DeletePod
