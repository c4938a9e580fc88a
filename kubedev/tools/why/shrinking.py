"""A pod that asks for less, or for something else."""

from collections.abc import Mapping

from kubedev.api.names import PODS
from kubedev.api.objects import Container, Pod
from kubedev.api.requests import Resource, compute_pod_resource_request
from kubedev.api.values import replace
from kubedev.tools.why.amounts import quantity

__all__ = ["renamed", "smaller"]


def smaller(pod: Pod, most: Mapping[str, int]) -> Pod | None:
    """The pod with requests of which so much is asked for at most, in all; None where there is none such."""
    for name, number in most.items():
        if number <= 0 or name == PODS:
            return None
        while (asked := compute_pod_resource_request(pod).get(name)) > number:
            changed = lowered(pod, name, asked - number)
            if changed is None or compute_pod_resource_request(changed).get(name) >= asked:
                return None
            pod = changed
    return pod if most else None


def renamed(pod: Pod, name: str, other: str) -> Pod:
    """The pod with another resource in place of one."""

    def changed(those: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(
            replace(
                one, requests={other if key == name else key: value for key, value in one.requests.items()}
            )
            for one in those
        )

    return replace(pod, containers=changed(pod.containers), init_containers=changed(pod.init_containers))


def lowered(pod: Pod, name: str, by: int) -> Pod | None:
    """With the largest request of a container lowered by so much; None where that is more than it is."""
    containers = [*pod.containers, *pod.init_containers]
    largest = max(containers, key=lambda one: own(one, name), default=None)
    if largest is None or own(largest, name) <= by:
        return None
    less = replace(largest, requests={**largest.requests, name: quantity(name, own(largest, name) - by)})

    def changed(those: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(less if one is largest else one for one in those)

    return replace(pod, containers=changed(pod.containers), init_containers=changed(pod.init_containers))


def own(container: Container, name: str) -> int:
    """What one container asks for, as a Resource counts it."""
    return Resource.of({name: container.requests[name]}).get(name) if name in container.requests else 0
