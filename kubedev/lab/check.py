"""Exercises and their checks: a check names the invariant that is broken, and the device or pod that breaks it."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Protocol, TypeVar

from kubedev.api.objects import Pod
from kubedev.api.quantity import Quantity
from kubedev.api.requests import pod_requests
from kubedev.cluster.state import ClusterState
from kubedev.kubelet.devices.holdings import who_holds
from kubedev.lab import record
from kubedev.views.catalogue import say

__all__ = [
    "Checked",
    "Invariant",
    "accepted",
    "asks",
    "check",
    "devices_of",
    "holds",
    "invariant",
    "may_use",
    "no_device_twice",
    "one_plugin",
    "only_healthy_devices",
    "part_of",
    "registered",
    "runs",
    "tried",
]

Invariant = Callable[[ClusterState], Iterator[str]]
"""Yields a sentence for each way in which a state breaks it."""


Row = Mapping[str, object]
"""What breaks an invariant, by the names of the places in its sentence; `key` where the sentence is another one."""

S = TypeVar("S")
T = TypeVar("T")
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


def tried(function: Callable[[T], object], cases: Mapping[str, tuple[T, object]]) -> "Checked":
    """Whether a reader's function gives what is right in each case: by its name the argument, and what is right."""
    broken = []
    for name, (argument, right) in cases.items():
        try:
            said = function(argument)
        except Exception as error:  # whatever a reader's function does
            broken.append(say("check.error", what=name, error=repr(error)))
        else:
            broken += [say("check.tried", what=name, said=said, right=right)] if said != right else []
    return Checked(broken)


class Checked:
    """The outcome: true if nothing is broken, else the sentences that say what is."""

    def __init__(self, broken: list[str]) -> None:
        self.broken = broken
        record.checked(not broken)

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


def invariant(key: str, rows: Callable[[S], Iterable[Row]]) -> Callable[[S], Iterator[str]]:
    """Return the invariant that a state keeps if it has no rows; each row is told by the text `check.KEY`."""

    def broken(state: S) -> Iterator[str]:
        for row in rows(state):
            values = dict(row)
            yield say(f"check.{values.pop('key', key)}", **values).strip()

    return broken


def _named(state: ClusterState, name: str) -> Iterator[Pod]:
    return (pod for pod in state.store.pods.values() if pod.name == name)


def runs(*pods: str) -> Invariant:
    """These pods run."""

    def rows(state: ClusterState) -> Iterator[Row]:
        for name in pods:
            pod = next(_named(state, name), None)
            if pod is None:
                yield {"key": "no-pod", "pod": name}
            elif pod.phase != "Running":
                why = pod.message or next((c.message for c in pod.conditions if c.message), "")
                yield {"pod": name, "phase": pod.phase or "Pending", "why": why}

    return invariant("not-running", rows)


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

    def rows(state: ClusterState) -> Iterator[Row]:
        held = sum((name, of) == (pod, resource) for name, _, of, _ in devices_of(state))
        found = next(_named(state, pod), None)
        if found is None or found.phase != "Running" or held >= count:
            return
        values = {"pod": pod, "node": found.node_name, "resource": resource, "held": held, "count": count}
        yield values if held else {**values, "key": "holds-nothing"}

    return invariant("holds-few", rows)


def no_device_twice() -> Invariant:
    """No device is held by two pods."""

    def rows(state: ClusterState) -> Iterator[Row]:
        owners: dict[tuple[str, str, str], str] = {}
        for pod, node, resource, device in devices_of(state):
            first = owners.setdefault((node, resource, device), pod)
            if first != pod:
                yield {"device": device, "resource": resource, "node": node, "first": first, "second": pod}

    return invariant("twice", rows)


def only_healthy_devices() -> Invariant:
    """No pod holds a device that is unhealthy."""
    return invariant(
        "sick",
        lambda state: (
            {"device": device, "resource": resource, "node": node, "pod": pod}
            for pod, node, resource, device in devices_of(state)
            if device in state.kubelets[node].devices.unhealthy_devices.get(resource, ())
        ),
    )


def accepted(answer: str) -> Invariant:
    """The API server took what was applied; `answer` is what it said."""
    taken = answer.endswith(say("apply.created", what=""))
    return invariant("refused", lambda _: [] if taken else [{"error": " ".join(answer.split("\n  * ")[:2])}])


def asks(pod: str, resource: str, amount: str) -> Invariant:
    """The pod requests just so much."""
    return invariant(
        "asks",
        lambda state: (
            {"pod": pod, "is_": is_, "resource": resource, "want": amount}
            for found in _named(state, pod)
            if (is_ := pod_requests(found).get(resource, Quantity())) != Quantity.parse(amount)
        ),
    )


def may_use(pod: str, container: str, resource: str, amount: str) -> Invariant:
    """No limit keeps the container from using so much."""

    def rows(state: ClusterState) -> Iterator[Row]:
        for found in _named(state, pod):
            limits = [
                c.limits.get(resource)
                for c in (*found.init_containers, *found.containers)
                if c.name == container
            ]
            if not limits:
                yield {"key": "container-gone", "pod": pod, "container": container}
            values = {"container": container, "pod": pod, "resource": resource, "want": amount}
            low = (limit for limit in limits if limit is not None and limit < Quantity.parse(amount))
            yield from ({**values, "is_": limit} for limit in low)

    return invariant("may-use", rows)


def part_of(card: str, *pods: str) -> Invariant:
    """What these pods hold are parts of one card: devices whose ids are its name, or begin with it and no letter."""
    return invariant(
        "other-card",
        lambda state: (
            {"pod": pod, "device": device, "card": card}
            for pod, _, _, device in devices_of(state)
            if pod in pods and not re.fullmatch(rf"{re.escape(card)}([^a-zA-Z0-9].*)?", device)
        ),
    )


def registered(resource: str, *devices: str) -> Invariant:
    """On every node's kubelet a plugin of the resource is registered, and its list has these devices, healthy."""

    def rows(state: ClusterState) -> Iterator[Row]:
        for node, agent in state.kubelets.items():
            about = {"resource": resource, "node": node}
            dialing = [
                posixpath.basename(connection.socket)
                for connection in agent.devices.connections.values()
                if connection.resource == resource and connection.phase == "dialing"
            ]
            yield from ({"key": "dialing", "node": node, "socket": socket} for socket in dialing)
            endpoint = agent.devices.endpoint(resource)
            if dialing:
                continue
            if (
                endpoint is None or endpoint.options is None
            ):  # without options it is known from the checkpoint only
                yield {**about, "why": _refusal(state, resource)}
            elif endpoint.stopped:
                yield {**about, "key": "stopped", "socket": posixpath.basename(endpoint.socket)}
            else:
                known = agent.devices.all_devices.get(resource, {})
                healthy = agent.devices.healthy_devices.get(resource, frozenset())
                lacking = (device for device in devices if device not in healthy)
                keys = {True: "device-sick", False: "no-device"}
                yield from ({**about, "key": keys[each in known], "device": each} for each in lacking)

    return invariant("not-registered", rows)


def _refusal(state: ClusterState, resource: str) -> str:
    """What the last Register of the resource was refused with, in a sentence; empty where it was not."""
    for message in reversed(state.messages):
        values = dict(message.values)
        if message.key in ("registered", "refused") and values.get("resource") == resource:
            return say("check.refused-last", error=values["error"]) if values["error"] else ""
    return ""


def one_plugin(resource: str) -> Invariant:
    """No second plugin holds on to a resource that another one has taken over."""

    def rows(state: ClusterState) -> Iterator[Row]:
        for node, agent in state.kubelets.items():
            newer = agent.devices.endpoint(resource)
            for older in agent.devices.connections.values():
                if older.resource == resource and older.phase == "superseded" and newer:
                    names = [posixpath.basename(each.socket) for each in (older, newer)]
                    yield {"resource": resource, "node": node, "older": names[0], "newer": names[1]}

    return invariant("superseded", rows)
