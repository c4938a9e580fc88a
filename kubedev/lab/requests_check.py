"""The invariants of lab 01's exercises."""

import re
from collections.abc import Iterator

from kubedev.api.objects import Container, Pod
from kubedev.api.quantity import Quantity
from kubedev.api.requests import pod_requests
from kubedev.cluster.state import ClusterState
from kubedev.lab.check import Invariant, devices_of
from kubedev.views.catalogue import say

__all__ = ["accepted", "asks", "may_use", "part_of"]


def accepted(answer: str) -> Invariant:
    """The API server took what was applied; `answer` is what `try_apply` gave back."""

    def broken(_: ClusterState) -> Iterator[str]:
        if not answer.endswith(say("apply.created", what="")):
            first = " ".join(answer.split("\n  * ")[:2])
            yield say("check.refused", error=first)

    return broken


def asks(pod: str, resource: str, amount: str) -> Invariant:
    """The pod requests just so much."""

    def broken(state: ClusterState) -> Iterator[str]:
        for found in _named(state, pod):
            is_ = pod_requests(found).get(resource, Quantity())
            if is_ != Quantity.parse(amount):
                yield say("check.asks", pod=pod, is_=is_, resource=resource, want=amount)

    return broken


def may_use(pod: str, container: str, resource: str, amount: str) -> Invariant:
    """No limit keeps the container from using so much."""

    def broken(state: ClusterState) -> Iterator[str]:
        for found in _named(state, pod):
            named = [c for c in (*found.init_containers, *found.containers) if c.name == container]
            if not named:
                yield say("check.container-gone", pod=pod, container=container)
            yield from (
                _too_little(each, pod, resource, amount) for each in named if _less(each, resource, amount)
            )

    return broken


def _less(container: Container, resource: str, amount: str) -> bool:
    limit = container.limits.get(resource)
    return limit is not None and limit < Quantity.parse(amount)


def _too_little(container: Container, pod: str, resource: str, amount: str) -> str:
    limit = container.limits[resource]
    values = {"container": container.name, "pod": pod, "is_": limit, "resource": resource, "want": amount}
    return say("check.may-use", **values)


def part_of(card: str, *pods: str) -> Invariant:
    """What these pods hold are parts of one card: devices whose ids are its name, or begin with it and no letter."""

    def broken(state: ClusterState) -> Iterator[str]:
        for pod, _, _, device in devices_of(state):
            if pod in pods and not re.fullmatch(rf"{re.escape(card)}([^a-zA-Z0-9].*)?", device):
                yield say("check.other-card", pod=pod, device=device, card=card)

    return broken


def _named(state: ClusterState, name: str) -> Iterator[Pod]:
    return (pod for pod in state.store.pods.values() if pod.name == name)
