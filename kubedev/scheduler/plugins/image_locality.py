"""The plugin ImageLocality: a node that has the pod's images starts it sooner.

Go: `pkg/scheduler/framework/plugins/imagelocality/image_locality.go`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kubedev.api.objects import Node, Pod
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.scores import MAX_NODE_SCORE, NO_SCORE, Score
from kubedev.scheduler.status import SUCCESS, Status

__all__ = ["ImageLocality", "ImageShare", "normalized_image_name"]

MIB = 1024 * 1024
MIN_THRESHOLD = 23 * MIB
MAX_CONTAINER_THRESHOLD = 1000 * MIB


class ImageShare(NamedTuple):
    """An image that the node has: its size in bytes, and the part of all nodes that have it.

    Only `size * spread` counts, so that a node is not chosen again and again because it was once.
    """

    image: str
    size: int
    spread: float

    @property
    def points(self) -> int:
        """The bytes that count."""
        return int(self.size * self.spread)


@dataclass(frozen=True, slots=True)
class ImageLocality:
    """Prefers nodes that have many bytes of the pod's images already."""

    name: str = "ImageLocality"

    def pre_score(
        self, pod: Pod, nodes: Sequence[NodeInfo], context: Context
    ) -> tuple[Mapping[str, tuple[ImageShare, ...]], Status]:
        """The state is, by node, the shares of the pod's images there, one for each container that uses one.

        The size is that of the first node that has the image.
        """
        wanted = [normalized_image_name(c.image) for c in (*pod.init_containers, *pod.containers)]
        sizes: dict[str, int] = {}
        present = {
            node_info.node.name: _sizes_on(node_info.node, set(wanted)) for node_info in context.node_infos
        }
        numbers = Counter(name for images in present.values() for name in images)
        for images in present.values():
            sizes = images | sizes
        shares = {name: ImageShare(name, sizes[name], numbers[name] / len(present)) for name in sizes}
        return {
            node: tuple(shares[name] for name in wanted if name in images)
            for node, images in present.items()
            if images
        }, SUCCESS

    def score(self, state: Mapping[str, tuple[ImageShare, ...]], pod: Pod, node_info: NodeInfo) -> Score:
        """0 up to 23 MiB, 100 from 1000 MiB a container; `why` are the shares of the images on the node."""
        shares = state.get(node_info.node.name)
        if shares is None:
            return NO_SCORE
        highest = MAX_CONTAINER_THRESHOLD * (len(pod.init_containers) + len(pod.containers))
        points = min(max(sum(share.points for share in shares), MIN_THRESHOLD), max(highest, MIN_THRESHOLD))
        if points == MIN_THRESHOLD:
            return Score(0, shares)
        return Score(MAX_NODE_SCORE * (points - MIN_THRESHOLD) // (highest - MIN_THRESHOLD), shares)


def _sizes_on(node: Node, wanted: set[str]) -> dict[str, int]:
    """The sizes of the wanted images that a node has."""
    sizes: dict[str, int] = {}
    for image in node.images:
        for name in image.names:
            if name in wanted:
                sizes.setdefault(name, image.size_bytes)
    return sizes


def normalized_image_name(name: str) -> str:
    """The image with a tag: `:latest` where there is none."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"
