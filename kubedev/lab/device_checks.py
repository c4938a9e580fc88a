"""What the checks of lab 04 look for, beside those of `kubedev.lab.check`."""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from kubedev.cluster.state import ClusterState
from kubedev.kubelet.devices.devices import DeviceAllocateInfo, PodDevices
from kubedev.kubelet.devices.run_options import device_run_container_options
from kubedev.lab.allocation_scene import Prefer, allocation_scene, decide
from kubedev.lab.check import Checked, Invariant, tried
from kubedev.views.catalogue import say
from kubedev.views.graphs import allocation_graph
from kubedev.views.masks import natural_list

if TYPE_CHECKING:
    from networkx import DiGraph

__all__ = ["PARTNERS", "check_last", "check_preference", "no_conflict"]

_INWARDS = ("all", "healthy", "available", "aligned", "unaligned", "no_affinity", "taken")

PARTNERS = {"d0": "d3", "d3": "d0", "d1": "d2", "d2": "d1", "d4": "d7", "d7": "d4", "d5": "d6", "d6": "d5"}
"""Pairs of devices with a fast link between them, as only the plugin can know."""


def check_preference(prefer: Prefer) -> Checked:
    """Whatever is free, a container that asks for two devices gets partners where a pair is free."""
    broken = []
    for in_use in range(6):
        scene = allocation_scene(2, in_use)
        decision = decide(scene, None, prefer)
        free = decision.sets.available
        pairs = [pair for pair in combinations(sorted(free), 2) if PARTNERS[pair[0]] == pair[1]]
        if decision.error is not None:
            broken.append(say("check.no-answer", free=natural_list(free), error=decision.error))
        elif pairs and tuple(sorted(decision.sets.taken)) not in pairs:
            values = {"free": natural_list(free), "taken": natural_list(decision.sets.taken)}
            broken.append(say("check.torn", pair=natural_list(pairs[0]), **values))
    return Checked(broken[:1])


def check_last(last: "Callable[[DiGraph, str], object]") -> Checked:
    """Whether a function of a decision's graph names the last set that a device was in, for all devices."""
    cases = {}
    for needed, in_use, unhealthy, mask in ((3, 2, 1, 0b01), (2, 3, 2, None), (5, 0, 3, 0b10)):
        decision = decide(allocation_scene(needed, in_use, unhealthy), mask)
        for device in sorted(decision.sets.all):
            right = [name for name in _INWARDS if device in getattr(decision.sets, name)][-1]
            what = say("check.last", device=device, needed=needed, in_use=in_use, unhealthy=unhealthy)
            cases[what] = (allocation_graph(decision), device), right
    return tried(lambda case: last(*case), cases)


def no_conflict() -> Invariant:
    """No two plugins use one name for the same container: a process has one value of it, whatever they want."""

    def broken(state: ClusterState) -> Iterator[str]:
        for agent in state.kubelets.values():
            pods = agent.devices.pod_devices
            for uid, container in _containers(state, pods):
                options = device_run_container_options(pods, uid, container)
                name = state.store.pods[uid].name
                for c in options.conflicts if options else ():
                    values = {"kept": c.kept, "dropped": c.dropped, "resource": c.resource}
                    yield say("check.conflict", pod=name, kind=c.kind, name=c.key, **values)
                for key, value, resources in _shared(pods[uid][container]):
                    yield say("check.shared", pod=name, name=key, value=value, resources=resources)

    return broken


def _shared(resources: Mapping[str, DeviceAllocateInfo]) -> Iterator[tuple[str, str, str]]:
    """The variables that several resources set to the same value: two devices look like one."""
    users: dict[tuple[str, str], list[str]] = {}
    for resource, info in sorted(resources.items()):
        for variable in info.alloc_resp.envs:
            users.setdefault(variable, []).append(resource)
    for (key, value), names in users.items():
        if len(names) > 1:
            yield key, value, ", ".join(names)


def _containers(state: ClusterState, pods: PodDevices) -> Iterator[tuple[str, str]]:
    """The containers with records whose pods are still there."""
    for uid, containers in pods.items():
        if uid in state.store.pods and state.store.pods[uid].phase not in ("Failed", "Succeeded"):
            yield from ((uid, container) for container in containers)
