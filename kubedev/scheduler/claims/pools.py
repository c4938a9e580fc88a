"""The pools of devices that a node can reach.

Go: `k8s.io/dynamic-resource-allocation/structured/pools.go: GatherPools`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kubedev.api.objects import Node
from kubedev.api.resource_slices import Device, DeviceID, ResourceSlice
from kubedev.api.values import Same
from kubedev.scheduler.selectors.labels import SelectorError
from kubedev.scheduler.selectors.node_selector import parse_node_selector

__all__ = ["Pool", "PoolDevice", "gather_pools"]


@dataclass(frozen=True, slots=True)
class PoolDevice:
    """A device with the slice that offers it."""

    id: DeviceID
    device: Device
    slice: ResourceSlice


@dataclass(frozen=True, slots=True)
class Pool:
    """The slices of a pool's newest generation.

    `invalid_reason` says why nobody may take from it, and is empty where all is well.
    """

    driver: str
    name: str
    slices: tuple[ResourceSlice, ...]
    invalid_reason: str = ""

    def __str__(self) -> str:
        return f"{self.driver}/{self.name}"

    @property
    def is_incomplete(self) -> bool:
        """Whether there are fewer slices, or more, than the pool is to have."""
        return len(self.slices) != self.slices[0].pool.resource_slice_count

    @property
    def devices(self) -> tuple[PoolDevice, ...]:
        """Its devices in the order of its slices."""
        return tuple(
            PoolDevice(DeviceID(self.driver, self.name, device.name), device, one)
            for one in self.slices
            for device in one.devices
        )


@lru_cache(maxsize=4)
def places_of(slices: Same[Sequence[ResourceSlice]]) -> tuple[dict[str, list[int]], list[int]]:
    """The numbers of the slices by node, and of those that are not one node's: found once for all nodes."""
    by_node: dict[str, list[int]] = {}
    elsewhere: list[int] = []
    for number, one in enumerate(slices.value):
        (by_node.setdefault(one.node_name, []) if one.node_name else elsewhere).append(number)
    return by_node, elsewhere


def gather_pools(slices: Sequence[ResourceSlice], node: Node) -> tuple[Pool, ...]:
    """The pools of a node, by driver and name; Go has them in a map's order.

    Raises ValueError where a slice's node selector cannot be understood.
    """
    pools: dict[tuple[str, str], list[ResourceSlice]] = {}
    by_node, elsewhere = places_of(Same(slices))
    for number in sorted((*by_node.get(node.name, ()), *elsewhere)):
        one = slices[number]
        if not is_reachable(one, node):
            continue
        known = pools.setdefault((one.driver, one.pool.name), [])
        if known and one.pool.generation < known[0].pool.generation:
            continue
        if known and one.pool.generation > known[0].pool.generation:
            known.clear()
        known.append(one)
    return tuple(Pool(*key, tuple(pools[key]), invalid_reason(pools[key])) for key in sorted(pools))


def invalid_reason(slices: Iterable[ResourceSlice]) -> str:
    """Why nobody may take from a pool of these slices. Go: `poolIsInvalid`."""
    seen: set[str] = set()
    for device in (device for one in slices for device in one.devices):
        if device.name in seen:
            return f"duplicate device name {device.name}"
        seen.add(device.name)
    return ""


def is_reachable(one: ResourceSlice, node: Node) -> bool:
    """Whether a node can use the devices of a slice; one that says nothing of nodes is of none."""
    if one.node_name:
        return one.node_name == node.name
    if one.all_nodes or one.node_selector is None:
        return one.all_nodes
    try:
        terms = parse_node_selector(one.node_selector)
    except SelectorError as error:
        raise ValueError(f"node selector in resource slice {one.name}: {error}") from None
    return any(term.matches(node) for term in terms)
