"""filterByAffinity as it was in Kubernetes v1.21, for lab 06: the same devices, another answer every few runs.

It sorted the NUMA nodes by how many devices the *position* in the list had, and not the node at that position; and a
device counted for the first of its nodes in this order, in the mask or not. The order began as Go's maps give it,
which is chance.

Source: `pkg/kubelet/cm/devicemanager/manager.go: filterByAffinity` of v1.21.
"""

from collections.abc import Callable, Iterable, Mapping
from random import Random

from kubedev.api.messages import Device
from kubedev.kubelet.devices.allocation import Affinity
from kubedev.kubelet.devices.devices import NODE_WITHOUT_TOPOLOGY, Ids
from kubedev.kubelet.topology.hints import has_topology_alignment

__all__ = ["filter_by_affinity_then", "go_map_order", "shown"]

Order = Callable[[Iterable[int | str]], list[int | str]]


def go_map_order(random: Random) -> Order:
    """The order in which Go walks a map of up to eight keys: as they came, but from a random one of eight places on.

    (More keys than eight are shuffled.)
    """

    def order(keys: Iterable[int | str]) -> list[int | str]:
        listed = list(keys)
        if len(listed) > 8:
            random.shuffle(listed)
            return listed
        first = random.randrange(8)
        return listed[first:] + listed[:first]

    return order


def filter_by_affinity_then(
    devices: Mapping[str, Device], available: Ids, affinity: int | None, order: Order
) -> Affinity:
    """Split the available devices as v1.21 did; `order` says how a map's keys are walked (`sorted` will do)."""
    if affinity is None or not has_topology_alignment(devices):
        return Affinity(frozenset(), frozenset(), available)
    per_node: dict[int, set[str]] = {}
    for device in order(sorted(available)):
        for node in devices[str(device)].numa_nodes or (NODE_WITHOUT_TOPOLOGY,):
            per_node.setdefault(node, set()).add(str(device))
    nodes = _sorted_by_mistake([int(node) for node in order(per_node)], per_node)
    lists: dict[str, set[str]] = {"aligned": set(), "unaligned": set(), "no_affinity": set()}
    for device in available:
        first = next(node for node in nodes if device in per_node[node])
        in_mask = first >= 0 and affinity >> first & 1
        name = "no_affinity" if first == NODE_WITHOUT_TOPOLOGY else "aligned" if in_mask else "unaligned"
        lists[name].add(device)
    return Affinity(*(frozenset(lists[name]) for name in ("aligned", "unaligned", "no_affinity")))


def _sorted_by_mistake(nodes: list[int], per_node: Mapping[int, set[str]]) -> list[int]:
    """Sort by insertion, as Go does with short lists, but compare places in the list as if they were nodes."""
    nodes = list(nodes)
    for end in range(1, len(nodes)):
        place = end
        while place > 0 and len(per_node.get(place, ())) < len(per_node.get(place - 1, ())):
            nodes[place - 1], nodes[place] = nodes[place], nodes[place - 1]
            place -= 1
    return nodes


def shown(lists: Affinity) -> str:
    """The three lists in a line: aligned a | unaligned - | no affinity b."""
    names = ("aligned", "unaligned", "no_affinity")
    found = {name.replace("_", " "): sorted(getattr(lists, name)) for name in names}
    return " | ".join(f"{name} {' '.join(ids) or '-'}" for name, ids in found.items())
