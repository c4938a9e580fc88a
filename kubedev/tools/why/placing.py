"""Many pods, one after the other: where each of them goes, and which are left over."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kubedev.api.objects import Pod
from kubedev.api.requests import compute_pod_resource_request
from kubedev.api.values import replace
from kubedev.scheduler.cycle import Outcome
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.preemption.preemption import Preemption
from kubedev.scheduler.queue.queued_pod import key_of
from kubedev.scheduler.snapshot import priority_of
from kubedev.tools.why.amounts import amounts
from kubedev.tools.why.asking import same_shape
from kubedev.tools.why.remedies import preemption_of
from kubedev.tools.why.world import World

__all__ = ["Placement", "place"]


@dataclass(frozen=True)
class Placement:
    """Where pods went: `placed` are nodes by pod, `left` Kubernetes' message by pod; pods are `namespace/name`.

    `evictions` are what preemption would have done for those that are left over and that it would help, with the pod's
    priority; `twins` the nodes of running pods that have the name of one of these pods.

    Nobody was preempted for any of them. Of nodes with the same score the first by name is taken; Kubernetes takes any.
    """

    before: World = field(repr=False)
    after: World = field(repr=False)
    placed: Mapping[str, str]
    left: Mapping[str, str]
    resources: tuple[str, ...] = ()
    evictions: Mapping[str, tuple[Preemption, int]] = field(default_factory=dict)
    twins: Mapping[str, str] = field(default_factory=dict)

    @property
    def nodes(self) -> tuple[tuple[NodeInfo, NodeInfo, int], ...]:
        """The nodes that got pods, before and after, with how many; those that got most first."""
        counts = Counter(self.placed.values())
        found = []
        for name, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
            before, after = self.before.node(name), self.after.node(name)
            assert before is not None
            assert after is not None
            found.append((before, after, count))
        return tuple(found)

    @property
    def others(self) -> tuple[NodeInfo, ...]:
        """The nodes that got none, those with most of what was asked for free first."""

        def free(info: NodeInfo) -> tuple[object, ...]:
            names = sorted(self.resources, key=lambda name: "/" not in name)  # devices first
            return (*(info.requested.get(name) - info.allocatable.get(name) for name in names), info.name)

        taken = set(self.placed.values())
        return tuple(sorted((info for info in self.after.nodes if info.name not in taken), key=free))

    @property
    def reasons(self) -> Mapping[str, tuple[str, ...]]:
        """The pods that are left over, by message."""
        found: dict[str, list[str]] = {}
        for pod, message in self.left.items():
            found.setdefault(message, []).append(pod)
        return {message: tuple(pods) for message, pods in found.items()}

    def picture(self) -> object:
        """The nodes that got pods, with what they had and what they got; and what is left over. For a notebook."""
        from kubedev.views.live import LivePicture  # with all that draws: only where somebody looks
        from kubedev.views.placing import placing_picture

        return LivePicture(placing_picture(self.nodes, self.resources, len(self.placed), self.reasons))


def place(world: World, pods: Iterable[Pod]) -> Placement:
    """Schedule the pods in the order of their priority, and then in the one in which they are given."""
    before, start = world, 0
    placed: dict[str, str] = {}
    left: dict[str, str] = {}
    evictions: dict[str, tuple[Preemption, int]] = {}
    refused: list[Pod] = []  # since the last one that was placed: the same again is refused the same
    names: dict[str, None] = {}
    pods = list(pods)
    asked = set(map(key_of, pods))
    running = ((key_of(one.pod), info.name) for info in world.nodes for one in info.pods)
    twins = {key: node for key, node in running if key in asked}
    for pod in sorted(pods, key=lambda pod: -priority_of(pod)):
        names.update(dict.fromkeys(amounts(compute_pod_resource_request(pod))))
        key = key_of(pod)
        again = next((key_of(other) for other in refused if same_shape(other, pod)), None)
        if again is not None:
            left[key] = left[again]
            evictions.update({key: evictions[again]} if again in evictions else {})
            continue
        gate = world.framework(pod).pre_enqueue(pod)
        decision = world.decide(pod, start=start) if gate.is_success else None
        if decision is not None and decision.outcome is Outcome.SCHEDULED:
            start = decision.next_start
            world = world.with_pod(replace(pod, node_name=decision.node_name))
            placed[key] = decision.node_name
            refused = []
        else:
            left[key] = decision.message if decision is not None else gate.message
            refused.append(pod)
            found = preemption_of(decision) if decision is not None else None
            if found is not None and found.node_name:
                evictions[key] = found, priority_of(pod)
    return Placement(before, world, placed, left, tuple(names), evictions, twins)
