"""Exercises and their checks: a check names the invariant that is broken, and the device or pod that breaks it."""

from collections.abc import Callable, Iterator
from html import escape
from typing import Protocol, TypeVar

from kubedev.cluster.state import ClusterState
from kubedev.kubelet.devices.holdings import who_holds
from kubedev.views.catalogue import say

__all__ = [
    "Checked",
    "Invariant",
    "check",
    "devices_of",
    "holds",
    "no_device_twice",
    "only_healthy_devices",
    "runs",
]

Invariant = Callable[[ClusterState], Iterator[str]]
"""Yields a sentence for each way in which a state breaks it."""


S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)


class Shown(Protocol[S_co]):
    """A lab, or whatever else has a state to look at."""

    @property
    def state(self) -> S_co:
        """The state that is shown."""
        ...


def check(lab: Shown[S], *invariants: Callable[[S], Iterator[str]]) -> "Checked":
    """Whether the state that the lab shows keeps all invariants."""
    return Checked([sentence for invariant in invariants for sentence in invariant(lab.state)])


class Checked:
    """The outcome: true if nothing is broken, else the sentences that say what is."""

    def __init__(self, broken: list[str]) -> None:
        self.broken = broken

    def __bool__(self) -> bool:
        return not self.broken

    def __repr__(self) -> str:
        return say("check.good") if self else "\n".join([say("check.bad"), *(f"- {b}" for b in self.broken)])

    def _repr_html_(self) -> str:
        if self:
            return f'<div class="kubedev-check kubedev-good"><strong>✓ {escape(say("check.good"))}</strong></div>'
        items = "".join(f"<li>{escape(sentence)}</li>" for sentence in self.broken)
        return (
            f'<div class="kubedev-check"><strong>✗ {escape(say("check.bad"))}</strong><ul>{items}</ul></div>'
        )


def runs(*pods: str) -> Invariant:
    """These pods run."""

    def broken(state: ClusterState) -> Iterator[str]:
        found = {pod.name: pod for pod in state.store.pods.values()}
        for name in pods:
            if name not in found:
                yield say("check.no-pod", pod=name)
            elif found[name].phase != "Running":
                why = found[name].message or next(
                    (c.message for c in found[name].conditions if c.message), ""
                )
                yield say("check.not-running", pod=name, phase=found[name].phase or "Pending", why=why)

    return broken


def devices_of(state: ClusterState) -> Iterator[tuple[str, str, str, str]]:
    """All devices that pods hold, as (pod, node, resource, device)."""
    for node, agent in state.kubelets.items():
        held = {
            (holding.pod_uid, holding.resource, holding.device): None for holding in who_holds(agent.devices)
        }
        for uid, resource, device in held:  # a record of an ended init container may hold it, too
            if uid in state.store.pods and state.store.pods[uid].phase not in ("Failed", "Succeeded"):
                yield state.store.pods[uid].name, node, resource, device


def holds(pod: str, resource: str, count: int = 1) -> Invariant:
    """A pod that runs holds so many devices of the resource, at least: running is not enough."""

    def broken(state: ClusterState) -> Iterator[str]:
        held = sum((name, of) == (pod, resource) for name, _, of, _ in devices_of(state))
        found = next((p for p in state.store.pods.values() if p.name == pod), None)
        if found is None or found.phase != "Running" or held >= count:
            return
        values = {"pod": pod, "node": found.node_name, "resource": resource}
        if held:
            yield say("check.holds-few", held=held, count=count, **values)
        else:
            yield say("check.holds-nothing", **values)

    return broken


def no_device_twice() -> Invariant:
    """No device is held by two pods."""

    def broken(state: ClusterState) -> Iterator[str]:
        owners: dict[tuple[str, str, str], str] = {}
        for pod, *device in devices_of(state):
            node, resource, name = device
            first = owners.setdefault((node, resource, name), pod)
            if first != pod:
                yield say("check.twice", device=name, resource=resource, node=node, first=first, second=pod)

    return broken


def only_healthy_devices() -> Invariant:
    """No pod holds a device that is unhealthy."""

    def broken(state: ClusterState) -> Iterator[str]:
        for pod, node, resource, device in devices_of(state):
            if device in state.kubelets[node].devices.unhealthy_devices.get(resource, ()):
                yield say("check.sick", device=device, resource=resource, node=node, pod=pod)

    return broken
