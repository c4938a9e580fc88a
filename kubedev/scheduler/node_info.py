"""What the scheduler knows of a node: the node, its pods, and the sums that filters and scores count with.

A NodeInfo is a value: adding or removing a pod gives a new one, cheaply, since each pod's request is worked
out once and kept beside the pod. Go source: `pkg/scheduler/framework/types.go: NodeInfo`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from kubedev.api.objects import Container, Node, Pod
from kubedev.api.requests import Resource, calculate_resource, summed
from kubedev.api.values import Same, replace
from kubedev.scheduler.plugins.topology.pod_affinity_terms import (
    NO_TERMS,
    AffinityTerms,
    parse_affinity_terms,
)

__all__ = ["HostPort", "NodeInfo", "PodInfo", "host_ports"]

HostPort = tuple[str, str, int]  # address, protocol, port
ANY_ADDRESS = "0.0.0.0"
NOTHING = Resource()
NO_NODE = Node("")


@dataclass(frozen=True, slots=True)
class PodInfo:
    """A pod on a node, with what it takes there; `non_zero` is what scoring sees of its CPU and memory.

    `terms` are its pod affinity, parsed; a list of terms with a fault in it is empty.
    """

    pod: Pod
    resource: Resource
    non_zero: Resource
    ports: frozenset[HostPort] = frozenset()
    terms: AffinityTerms = NO_TERMS

    @classmethod
    def of(cls, pod: Pod) -> Self:
        """Work out what a pod takes."""
        ports = frozenset(host_ports(pod.containers))
        return cls(pod, *calculate_resource(pod), ports, parse_affinity_terms(pod))

    @property
    def has_affinity(self) -> bool:
        """Whether it wants to be near some pods, or far from some."""
        affinity = self.pod.affinity
        return affinity is not None and (affinity.pod_affinity or affinity.pod_anti_affinity) is not None

    @property
    def has_required_anti_affinity(self) -> bool:
        """Whether it must not be near some pods."""
        affinity = self.pod.affinity
        return (
            affinity is not None
            and affinity.pod_anti_affinity is not None
            and bool(affinity.pod_anti_affinity.required)
        )


def pod_info(pod: Pod) -> PodInfo:
    """A pod with what it takes: remembered, since a kubelet looks at all pods of its node at each admission."""
    return _pod_info(Same(pod))


@lru_cache(maxsize=4096)
def _pod_info(of_pod: Same[Pod]) -> PodInfo:
    return PodInfo.of(of_pod.value)


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """A node with its pods and sums; `generation` counts its changes.

    Where pods came before their node, `node` has no name and nothing to give.
    `non_zero_requested` has CPU and memory only, with a stand-in for each container that requests none.
    """

    node: Node = NO_NODE
    pods: tuple[PodInfo, ...] = ()
    pods_with_affinity: tuple[PodInfo, ...] = ()
    pods_with_required_anti_affinity: tuple[PodInfo, ...] = ()
    requested: Resource = NOTHING
    non_zero_requested: Resource = NOTHING
    allocatable: Resource = NOTHING
    used_ports: frozenset[HostPort] = frozenset()
    generation: int = 0

    @classmethod
    def of(cls, node: Node, pods: Iterable[Pod | PodInfo] = ()) -> Self:
        """A node with pods on it, added in their order."""
        info = cls().with_node(node)
        there = tuple([one if isinstance(one, PodInfo) else pod_info(one) for one in pods])
        if not there:
            return info
        related = [one for one in there if one.pod.affinity is not None]
        return replace(
            info,
            pods=there,
            pods_with_affinity=tuple([one for one in related if one.has_affinity]),
            pods_with_required_anti_affinity=tuple(
                [one for one in related if one.has_required_anti_affinity]
            ),
            requested=summed([one.resource for one in there]),
            non_zero_requested=summed([one.non_zero for one in there]),
            used_ports=frozenset().union(*[one.ports for one in there if one.ports]),
            generation=info.generation + len(there),
        )

    @property
    def name(self) -> str:
        """The node's name; empty where pods came before their node."""
        return self.node.name

    def with_node(self, node: Node) -> Self:
        """The same pods on another version of the node (Go: `SetNode`)."""
        allocatable = Resource.of(node.allocatable)
        return replace(self, node=node, allocatable=allocatable, generation=self.generation + 1)

    def add_pod(self, pod: Pod | PodInfo) -> Self:
        """With one pod more. Give a PodInfo where one is at hand: it saves working out the request."""
        info = pod if isinstance(pod, PodInfo) else pod_info(pod)
        more = (info,)
        anti_affinity = more if info.has_required_anti_affinity else ()
        return replace(
            self,
            pods=self.pods + more,
            pods_with_affinity=self.pods_with_affinity + (more if info.has_affinity else ()),
            pods_with_required_anti_affinity=self.pods_with_required_anti_affinity + anti_affinity,
            requested=self.requested.plus(info.resource),
            non_zero_requested=self.non_zero_requested.plus(info.non_zero),
            used_ports=self.used_ports | info.ports,
            generation=self.generation + 1,
        )

    def remove_pod(self, pod: Pod) -> Self:
        """Without the pod of this uid, or KeyError. The last pod takes its place in the list, as in Go.

        Ports are a set: where two pods share one, it is free as soon as either goes. Subtracted is what the
        given version of the pod takes: an old version leaves the sums wrong, as in Go.
        """
        info = next((found for found in self.pods if found.pod.uid == pod.uid), None)
        if info is None:
            raise KeyError(f"no corresponding pod {pod.name} in pods of node {self.name}")
        taken = info if info.pod is pod else pod_info(pod)
        return replace(
            self,
            pods=without(self.pods, info),
            pods_with_affinity=without(self.pods_with_affinity, info),
            pods_with_required_anti_affinity=without(self.pods_with_required_anti_affinity, info),
            requested=self.requested.plus(taken.resource, sign=-1),
            non_zero_requested=self.non_zero_requested.plus(taken.non_zero, sign=-1),
            used_ports=self.used_ports - taken.ports,
            generation=self.generation + 1,
        )


def without(pods: tuple[PodInfo, ...], gone: PodInfo) -> tuple[PodInfo, ...]:
    """The list without one pod, the last one in its place (Go: `removeFromSlice`)."""
    for i, info in enumerate(pods):
        if info is gone:
            rest = pods[:-1]
            return rest if i == len(rest) else (*rest[:i], pods[-1], *rest[i + 1 :])
    return pods


def host_ports(containers: Iterable[Container]) -> list[HostPort]:
    """The ports of the node that containers take; no address means all of the node's."""
    return [
        (port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)
        for container in containers
        for port in container.ports
        if port.host_port > 0
    ]
