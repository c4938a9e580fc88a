"""Preferred allocation: which of the free devices serve a container best, packed on few NUMA nodes.

The kubelet asks GetPreferredAllocation before it chooses, and is free not to follow. kubedev's plugin answers
so that the container's devices share as few NUMA nodes as possible, and so that nodes stay whole for others.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kubedev.api.messages import HEALTHY, ContainerPreferredAllocationRequest, Device

__all__ = ["Preference", "PreferenceStep", "preferred_allocation"]

# The NUMA nodes of a device: its place. Devices with equal places are interchangeable; None is no topology.
Place = tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class PreferenceStep:
    """Devices of one place that were taken, and why this place."""

    numa_nodes: Place
    taken: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Preference:
    """The device ids preferred, in the order they were taken, and the steps that led to them."""

    device_ids: tuple[str, ...]
    steps: tuple[PreferenceStep, ...]


def preferred_allocation(
    devices: Sequence[Device], request: ContainerPreferredAllocationRequest
) -> Preference:
    """Choose `allocation_size` of the available devices, those that must be included first.

    Devices that the plugin does not know or knows to be unhealthy are left out, so that one dead device does
    not spoil the answer; then fewer than asked for may come back, and the kubelet fills up by itself.
    """
    size = max(request.allocation_size, 0)
    must_include = request.must_include_device_ids[:size]
    places = {device.id: device.numa_nodes for device in devices}
    free = _free_by_place(devices, set(request.available_device_ids) - set(must_include))
    used = {places[i] for i in must_include if i in places}
    steps = [PreferenceStep(None, must_include, "must be included")] if must_include else []
    missing = size - len(must_include)
    while missing > 0 and free:
        place, why = _best_place(free, used, missing)
        taken = tuple(free.pop(place)[:missing])
        steps.append(PreferenceStep(place, taken, why))
        missing -= len(taken)
    return Preference(tuple(i for step in steps for i in step.taken), tuple(steps))


def _free_by_place(devices: Iterable[Device], available: set[str]) -> dict[Place, list[str]]:
    free: dict[Place, list[str]] = {}
    for device in devices:
        if device.health == HEALTHY and device.id in available:
            free.setdefault(device.numa_nodes, []).append(device.id)
    return free


def _best_place(free: Mapping[Place, list[str]], used: set[Place], missing: int) -> tuple[Place, str]:
    """The place to take from next; among equals the one that is listed first."""
    if shared := [place for place in free if place in used]:
        return shared[0], "holds devices that must be included"
    if enough := [place for place in free if len(free[place]) >= missing]:
        return min(enough, key=lambda place: len(free[place])), "is the smallest with enough free devices"
    return max(free, key=lambda place: len(free[place])), "has the most free devices, though not enough"
