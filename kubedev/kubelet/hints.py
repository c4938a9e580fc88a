"""Topology hints of devices: on which NUMA nodes could a request be served, and where best?

A resource answers with one hint for each set of NUMA nodes (a mask) that has enough devices. Two things
surprise:

- A hint is *preferred* if its mask is as small as any mask could be that would serve the request on an empty,
  healthy machine. So a node that is full, or whose devices are sick, still makes all wider masks "not
  preferred".
- Hints do not say how many devices a mask has left. The merge sees masks and nothing else.

Counting is done in two ways with the same result: mask by mask, as Kubernetes does it, which looks at every
device for every mask; and at once, which looks at every device once.

Source: `pkg/kubelet/cm/devicemanager/topology_hints.go`.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal, NamedTuple

from kubedev.api.messages import Device
from kubedev.api.objects import Container, Pod
from kubedev.kubelet.bitmask import iterate_bit_masks, mask_of, superset_sums

__all__ = [
    "Devices",
    "Hints",
    "MaskCounts",
    "MaskVerdict",
    "ResourceHints",
    "TopologyHint",
    "count_at_once",
    "count_mask_by_mask",
    "generate_device_topology_hints",
    "has_topology_alignment",
    "pod_request",
    "resource_hints",
]

Devices = Mapping[str, Device]
Ids = AbstractSet[str]


class TopologyHint(NamedTuple):
    """A place where a request can be served: a mask of NUMA nodes (None: anywhere); is it a good one?"""

    numa_node_affinity: int | None
    preferred: bool


# What a resource answers: hints, or None (it does not care), or () (no place can serve the request).
Hints = tuple[TopologyHint, ...] | None


@dataclass(frozen=True, slots=True)
class MaskCounts:
    """What one mask holds of one resource. A device on several nodes belongs to each mask with any of them.

    `devices` counts all of them, unhealthy and allocated ones too; `left_out` the reusable ones with a
    topology that are on none of the mask's nodes.
    """

    mask: int
    devices: int
    available: int
    reusable: int
    left_out: int


@dataclass(frozen=True, slots=True)
class MaskVerdict:
    """Whether a mask became a hint, and why: `too few devices` and `reusable left out` did not."""

    counts: MaskCounts
    verdict: Literal["preferred", "not preferred", "too few devices", "reusable left out"]

    @property
    def hint(self) -> TopologyHint | None:
        """The hint that the mask became, if any."""
        if self.verdict in ("too few devices", "reusable left out"):
            return None
        return TopologyHint(self.counts.mask, self.verdict == "preferred")


@dataclass(frozen=True, slots=True)
class ResourceHints:
    """A resource's answer, and how it came about.

    `reason` says which of the five ways was taken; `counted` and `already allocated` have `masks`, one
    verdict a mask, and `min_affinity_size`, the least number of nodes that could ever serve the request.
    """

    resource: str
    request: int
    hints: Hints
    reason: Literal[
        "no topology", "already allocated", "allocated in another number", "too few available", "counted"
    ]
    min_affinity_size: int | None = None
    masks: tuple[MaskVerdict, ...] = ()


Counting = Callable[[Devices, Ids, Ids, Sequence[int]], tuple[MaskCounts, ...]]


def count_mask_by_mask(
    devices: Devices, available: Ids, reusable: Ids, numa_nodes: Sequence[int]
) -> tuple[MaskCounts, ...]:
    """The counts of every mask, as Kubernetes finds them: masks times devices steps.

    `devices` are all devices of the resource by id, `available` those that may be taken, `reusable` those
    of this pod's finished init containers. Ids that are no longer listed count nowhere.
    """
    on = {id_: set(device.numa_nodes or ()) for id_, device in devices.items()}
    with_topology = _with_topology(devices, reusable)
    counts = []
    for mask in iterate_bit_masks(numa_nodes):
        inside = {id_ for id_, nodes in on.items() if any(mask >> node & 1 for node in nodes if node >= 0)}
        reused = len(with_topology & inside)
        counts.append(
            MaskCounts(mask, len(inside), len(available & inside), reused, len(with_topology) - reused)
        )
    return tuple(counts)


def count_at_once(
    devices: Devices, available: Ids, reusable: Ids, numa_nodes: Sequence[int]
) -> tuple[MaskCounts, ...]:
    """The same counts in devices plus masks times nodes steps: each device is looked at once.

    A device misses a mask if it is away from all of the mask's nodes. So devices are counted by the set of
    nodes they are away from, and the superset sums of these counts say for each mask how many devices miss
    it.
    """
    positions = range(len(numa_nodes))
    masks = zip(iterate_bit_masks(positions), iterate_bit_masks(numa_nodes), strict=True)
    with_topology = _with_topology(devices, reusable)
    listed = _count_in_masks(devices, devices.keys(), numa_nodes)
    free = _count_in_masks(devices, available, numa_nodes)
    reused = _count_in_masks(devices, with_topology, numa_nodes)
    total = len(with_topology)
    return tuple(MaskCounts(mask, listed[i], free[i], reused[i], total - reused[i]) for i, mask in masks)


def _with_topology(devices: Devices, ids: Ids) -> set[str]:
    """The ids whose device sent a topology, be it one without nodes: then every mask leaves it out."""
    return {id_ for id_ in ids if id_ in devices and devices[id_].numa_nodes is not None}


def _count_in_masks(devices: Devices, ids: Ids, numa_nodes: Sequence[int]) -> list[int]:
    """How many of the ids each mask holds; bit p of a place in the list stands for `numa_nodes[p]`."""
    away_from = [0] * (1 << len(numa_nodes))
    present = ids & devices.keys()
    for id_ in present:
        nodes = devices[id_].numa_nodes or ()
        away_from[mask_of(p for p, node in enumerate(numa_nodes) if node not in nodes)] += 1
    return [len(present) - missing for missing in superset_sums(away_from)]


def generate_device_topology_hints(
    counts: Sequence[MaskCounts], request: int, numa_nodes: Sequence[int]
) -> tuple[int, tuple[MaskVerdict, ...]]:
    """The least number of nodes that could ever serve the request, and each mask's verdict.

    Source: `topology_hints.go: generateDeviceTopologyHints`.
    """
    sizes = [c.mask.bit_count() for c in counts if c.devices >= request]
    min_affinity_size = min(sizes, default=len(numa_nodes))
    return min_affinity_size, tuple(_verdict(c, request, min_affinity_size) for c in counts)


def _verdict(counts: MaskCounts, request: int, min_affinity_size: int) -> MaskVerdict:
    if counts.left_out:
        return MaskVerdict(counts, "reusable left out")
    if counts.available + counts.reusable < request:
        return MaskVerdict(counts, "too few devices")
    preferred = counts.mask.bit_count() == min_affinity_size
    return MaskVerdict(counts, "preferred" if preferred else "not preferred")


def has_topology_alignment(devices: Devices) -> bool:
    """Whether any device says on which NUMA node it is. (`topology_hints.go: deviceHasTopologyAlignment`)"""
    return any(device.numa_nodes for device in devices.values())


def resource_hints(
    resource: str,
    request: int,
    devices: Devices,
    available: Ids,
    numa_nodes: Sequence[int],
    allocated: Ids = frozenset(),
    reusable: Ids = frozenset(),
    count: Counting = count_at_once,
) -> ResourceHints:
    """The hints of one resource for a container or a pod that asks `request` devices of it.

    `allocated` are those that the very container (or pod) holds already, as after a restart of the kubelet:
    then the hints are those that lead to them again. A pod's hints know nothing of `reusable` devices.

    Source: `topology_hints.go: GetTopologyHints, GetPodTopologyHints`, the body of their loops.
    """
    if not has_topology_alignment(devices):
        return ResourceHints(resource, request, None, "no topology")
    if allocated:
        if len(allocated) != request:
            return ResourceHints(resource, request, (), "allocated in another number")
        available, reusable = allocated, frozenset()
    elif len(available | reusable) < request:
        return ResourceHints(resource, request, (), "too few available")
    counts = count(devices, available, reusable, numa_nodes)
    size, masks = generate_device_topology_hints(counts, request, numa_nodes)
    hints = tuple(verdict.hint for verdict in masks if verdict.hint is not None)
    return ResourceHints(
        resource, request, hints, "already allocated" if allocated else "counted", size, masks
    )


def pod_request(pod: Pod, request: Callable[[Container], int]) -> int:
    """What a pod needs at most at one moment, when each container needs `request(container)`.

    Init containers run one after another, beside the sidecars started before them; app containers run
    beside all sidecars. Source: `k8s.io/component-helpers/resource/helpers.go: AggregateContainerLimits`.
    """
    sidecars = at_start = 0
    for container in pod.init_containers:
        if container.restartable:
            sidecars += request(container)
        else:
            at_start = max(at_start, sidecars + request(container))
    return max(at_start, sidecars + sum(map(request, pod.containers)))
