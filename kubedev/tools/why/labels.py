"""Labels that would let a pod onto a node."""

from collections.abc import Iterator, Mapping
from functools import partial

from kubedev.api.objects import Node, Pod
from kubedev.api.selectors import Affinity
from kubedev.api.values import replace
from kubedev.tools.why.groups import Group
from kubedev.tools.why.missing_labels import missing_labels
from kubedev.tools.why.move import Move, node_changed, pod_changed
from kubedev.tools.why.world import World

__all__ = ["label_moves"]

NAMED = 3


def label_moves(world: World, pod: Pod, groups: tuple[Group, ...]) -> Iterator[Move]:
    """A label on a node, or a line less in the pod's nodeSelector."""
    names = [name for group in groups if group.plugin == "NodeAffinity" for name in group.nodes]
    if not names:
        return
    lacking = {name: missing_labels(pod, info.node) for name in names if (info := world.node(name))}
    fewest = sorted((name for name in lacking if lacking[name]), key=lambda name: (len(lacking[name]), name))
    free = replace(pod, node_selector=None, affinity=without_required(pod))
    decision = world.decide(free, preempting=False)
    if lacking.get(decision.node_name):  # where it would go
        fewest = [decision.node_name, *(name for name in fewest if name != decision.node_name)]
    for name in fewest[:NAMED]:
        info, added = world.node(name), lacking[name]
        if info is None:
            continue
        written = " ".join(f"{key}={value}" for key, value in added.items())
        yield Move(
            15 + 5 * len(added),
            "label",
            f"the label {written} on node {name}",
            f"kubectl label node {name} {written}{' --overwrite' if set(added) & set(info.node.labels) else ''}",
            node_changed(name, partial(labelled, added=added)),
        )
    for key, value in (pod.node_selector or {}).items():
        yield Move(
            25,
            "selector",
            f"no `{key}: {value}` in its nodeSelector",
            "a new pod: the nodeSelector cannot be changed in one that is there",
            pod_changed(partial(unselected, key=key)),
            anew=True,
        )
    if pod.affinity and pod.affinity.node_affinity and pod.affinity.node_affinity.required:
        yield Move(
            28,
            "node affinity preferred",
            "its node affinity preferred, not required",
            "a new pod with preferredDuringSchedulingIgnoredDuringExecution in place of required...",
            pod_changed(lambda pod: replace(pod, affinity=without_required(pod))),
            anew=True,
        )


def labelled(node: Node, added: Mapping[str, str]) -> dict[str, object]:
    """The node's labels with these."""
    return {"labels": {**node.labels, **added}}


def unselected(pod: Pod, key: str) -> Pod:
    """The pod without a line of its nodeSelector."""
    rest = {other: value for other, value in (pod.node_selector or {}).items() if other != key}
    return replace(pod, node_selector=rest)


def without_required(pod: Pod) -> Affinity | None:
    """The pod's affinity without what it requires of its node."""
    affinity = pod.affinity
    if affinity is None or affinity.node_affinity is None:
        return affinity
    return replace(affinity, node_affinity=replace(affinity.node_affinity, required=None))
