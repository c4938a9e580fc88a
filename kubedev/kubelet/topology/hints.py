"""Topology hints: on which NUMA nodes could a request be served, and where best?

A resource answers with one hint for each set of NUMA nodes (a mask) that has enough of it. Two things
surprise:

- A hint is *preferred* if its mask is as small as any mask could be that would serve the request on an
  empty, healthy machine. So a node that is full, or whose devices are sick, still makes all wider masks
  "not preferred".
- Hints do not say how much a mask has left. The merge sees masks and nothing else.

Counting is done in two ways with the same result: mask by mask, as Kubernetes does it, which looks at every
device for every mask; and at once, which looks at every device once. Devices and CPUs are counted alike.

Source: `pkg/kubelet/cm/devicemanager/topology_hints.go`, and `cpumanager/policy_static.go` for CPUs.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeVar

from kubedev.api.messages import Device
from kubedev.kubelet.topology.bitmask import MAX_NUMA_NODES, iterate_bit_masks, mask_of, superset_sums
from kubedev.kubelet.topology.hint import TopologyHint
from kubedev.kubelet.topology.wide import Cover, WideHints, holds, smallest_size

__all__ = [
    "Counting",
    "Hints",
    "MaskCounts",
    "MaskVerdict",
    "ResourceHints",
    "TopologyHint",
    "count_at_once",
    "count_mask_by_mask",
    "device_hints",
    "generate_topology_hints",
    "has_topology_alignment",
    "hint_count",
    "wide_topology_hints",
    "written_out",
]

# A device or CPU by its id, and where it is: None if it sent no topology, () if it sent one without nodes.
T = TypeVar("T", str, int)
Places = Mapping[T, Sequence[int] | None]


# What a resource answers: hints, or None (it does not care), or () (no place can serve the request). On machines with
# more nodes than anybody can list the masks of, the hints are a value.
Hints = tuple[TopologyHint, ...] | WideHints | None


def written_out(hints: Hints) -> tuple[TopologyHint, ...]:
    """The hints as far as they are listed: all, or the first 64 of a machine with very many nodes."""
    return hints.first if isinstance(hints, WideHints) else hints or ()


def hint_count(hints: Hints) -> int | None:
    """How many hints there are; None where they are too different to be counted."""
    return hints.count if isinstance(hints, WideHints) else len(hints or ())


@dataclass(frozen=True, slots=True)
class MaskCounts:
    """What one mask holds of one resource. A device on several nodes belongs to each mask with any of them.

    `all` counts unhealthy and allocated ones too; `left_out` are reusable ones that are on none of the
    mask's nodes.
    """

    mask: int
    all: int
    available: int
    reusable: int
    left_out: int


@dataclass(frozen=True, slots=True)
class MaskVerdict:
    """Whether a mask became a hint, and why: `too few` and `reusable left out` did not."""

    counts: MaskCounts
    verdict: Literal["preferred", "not preferred", "too few", "reusable left out"]

    @property
    def hint(self) -> TopologyHint | None:
        """The hint that the mask became, if any."""
        if self.verdict in ("too few", "reusable left out"):
            return None
        return TopologyHint(self.counts.mask, self.verdict == "preferred")


@dataclass(frozen=True, slots=True)
class ResourceHints:
    """A resource's answer, and how it came about.

    Only `counted` and `already allocated` have `masks`, one verdict a mask, and `min_affinity_size`: the
    least number of nodes that could ever serve the request.
    """

    resource: str
    request: int
    hints: Hints
    reason: Literal["no topology", "already allocated", "allocated in another number", "too few", "counted"]
    min_affinity_size: int | None = None
    masks: tuple[MaskVerdict, ...] = ()


# Counting


class Counting(Protocol):
    """A way of counting what each mask holds.

    `places` is everything there is of the resource, `available` what may be taken, `reusable` what this
    pod's finished init containers had. Ids that are no longer listed count nowhere.
    """

    def __call__(
        self,
        places: Places[T],
        available: AbstractSet[T],
        reusable: AbstractSet[T],
        numa_nodes: Sequence[int],
    ) -> tuple[MaskCounts, ...]:
        """The counts of every mask, small masks first."""
        ...


def count_mask_by_mask(
    places: Places[T], available: AbstractSet[T], reusable: AbstractSet[T], numa_nodes: Sequence[int]
) -> tuple[MaskCounts, ...]:
    """Count as Kubernetes does: masks times devices steps."""
    bound = _with_topology(places, reusable)
    counts = []
    for mask in iterate_bit_masks(numa_nodes):
        inside = {id_ for id_, nodes in places.items() if any(n >= 0 and mask >> n & 1 for n in nodes or ())}
        reused = len(bound & inside)
        counts.append(MaskCounts(mask, len(inside), len(available & inside), reused, len(bound) - reused))
    return tuple(counts)


def count_at_once(
    places: Places[T], available: AbstractSet[T], reusable: AbstractSet[T], numa_nodes: Sequence[int]
) -> tuple[MaskCounts, ...]:
    """The same counts in devices plus masks times nodes steps: each device is looked at once.

    A device misses a mask if it is away from all of the mask's nodes. So devices are counted by the set of
    nodes they are away from, and the superset sums of these counts say for each mask how many devices miss
    it.
    """
    bound = _with_topology(places, reusable)
    masks = zip(iterate_bit_masks(range(len(numa_nodes))), iterate_bit_masks(numa_nodes), strict=True)
    everything = _count_in_masks(places, places.keys(), numa_nodes)
    free = _count_in_masks(places, available, numa_nodes)
    reused = _count_in_masks(places, bound, numa_nodes)
    return tuple(MaskCounts(m, everything[i], free[i], reused[i], len(bound) - reused[i]) for i, m in masks)


def _with_topology(places: Places[T], ids: AbstractSet[T]) -> set[T]:
    """The ids whose device sent a topology, be it one without nodes: then every mask leaves it out."""
    return {id_ for id_ in ids if places.get(id_) is not None}


def _count_in_masks(places: Places[T], ids: AbstractSet[T], numa_nodes: Sequence[int]) -> list[int]:
    """How many of the ids each mask holds; bit p of a place in the list stands for `numa_nodes[p]`."""
    away_from = [0] * (1 << len(numa_nodes))
    listed = ids & places.keys()
    for id_ in listed:
        nodes = places[id_] or ()
        away_from[mask_of(p for p, node in enumerate(numa_nodes) if node not in nodes)] += 1
    return [len(listed) - missing for missing in superset_sums(away_from)]


# Hints


def generate_topology_hints(
    resource: str,
    request: int,
    places: Places[T],
    available: AbstractSet[T],
    reusable: AbstractSet[T],
    numa_nodes: Sequence[int],
    count: Counting = count_at_once,
) -> ResourceHints:
    """Count, and judge each mask.

    On more than 16 nodes nothing is listed: the hints are a value, and there is no verdict for each mask.

    Source: `topology_hints.go: generateDeviceTopologyHints`, `policy_static.go: generateCPUTopologyHints`.
    """
    if len(numa_nodes) > MAX_NUMA_NODES:
        return wide_topology_hints(resource, request, places, available, reusable, numa_nodes)
    counts = count(places, available, reusable, numa_nodes)
    sizes = [of_mask.mask.bit_count() for of_mask in counts if of_mask.all >= request]
    min_affinity_size = min(sizes, default=len(numa_nodes))
    masks = tuple(_verdict(of_mask, request, min_affinity_size) for of_mask in counts)
    hints = tuple(verdict.hint for verdict in masks if verdict.hint is not None)
    return ResourceHints(resource, request, hints, "counted", min_affinity_size, masks)


def wide_topology_hints(
    resource: str,
    request: int,
    places: Places[T],
    available: AbstractSet[T],
    reusable: AbstractSet[T],
    numa_nodes: Sequence[int],
) -> ResourceHints:
    """The same hints as a value, however many nodes there are: no mask is looked at."""
    everywhere = mask_of(numa_nodes)

    def amounts(*groups: AbstractSet[T]) -> tuple[tuple[int, int], ...]:
        counts = Counter(_mask(places, id_, everywhere) for ids in groups for id_ in ids & places.keys())
        return tuple(sorted((mask, count) for mask, count in counts.items() if mask))

    bound = _with_topology(places, reusable)
    away = sorted({_mask(places, id_, everywhere) for id_ in bound})
    covers = [Cover(amounts(available, bound), request)]
    covers += [Cover(((mask, 1),) if mask else (), 1) for mask in away]
    size = smallest_size(numa_nodes, (Cover(amounts(places.keys()), request),))
    if not holds(covers, everywhere):
        return ResourceHints(resource, request, (), "counted", size)
    hints = WideHints(tuple(numa_nodes), everywhere, tuple(covers), size)
    return ResourceHints(resource, request, hints, "counted", size)


def _mask(places: Places[T], id_: T, everywhere: int) -> int:
    return mask_of(n for n in places[id_] or () if n >= 0 and everywhere >> n & 1)


def _verdict(counts: MaskCounts, request: int, min_affinity_size: int) -> MaskVerdict:
    if counts.left_out:
        return MaskVerdict(counts, "reusable left out")
    if counts.available + counts.reusable < request:
        return MaskVerdict(counts, "too few")
    preferred = counts.mask.bit_count() == min_affinity_size
    return MaskVerdict(counts, "preferred" if preferred else "not preferred")


def has_topology_alignment(devices: Mapping[str, Device]) -> bool:
    """Whether any device says on which NUMA node it is. (`topology_hints.go: deviceHasTopologyAlignment`)"""
    return any(device.numa_nodes for device in devices.values())


def device_hints(
    resource: str,
    request: int,
    devices: Mapping[str, Device],
    available: AbstractSet[str],
    numa_nodes: Sequence[int],
    allocated: AbstractSet[str] = frozenset(),
    reusable: AbstractSet[str] = frozenset(),
    count: Counting = count_at_once,
) -> ResourceHints:
    """The hints of one resource for a container or a pod that asks `request` devices of it.

    `devices` are all of the resource, by id. `allocated` are those that this very container (or pod) holds
    already, as after a restart of the kubelet: then the hints are those that lead to them again.

    Source: `topology_hints.go: GetTopologyHints, GetPodTopologyHints`, the bodies of their loops.
    """
    if not has_topology_alignment(devices):
        return ResourceHints(resource, request, None, "no topology")
    places = {id_: device.numa_nodes for id_, device in devices.items()}
    if allocated:
        if len(allocated) != request:
            return ResourceHints(resource, request, (), "allocated in another number")
        again = generate_topology_hints(resource, request, places, allocated, frozenset(), numa_nodes, count)
        return replace(again, reason="already allocated")
    if len(available | reusable) < request:
        return ResourceHints(resource, request, (), "too few")
    return generate_topology_hints(resource, request, places, available, reusable, numa_nodes, count)
