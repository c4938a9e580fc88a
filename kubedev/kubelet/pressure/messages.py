"""What the kubelet says of evictions: status messages and events, word by word.

Go source: `pkg/kubelet/eviction/helpers.go: evictionMessage`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kubedev.api.names import EPHEMERAL_STORAGE, MEMORY
from kubedev.api.objects import Pod
from kubedev.api.quantity import Format, Quantity
from kubedev.kubelet.pressure.thresholds import SIGNALS, Observations, Threshold
from kubedev.kubelet.pressure.usage import ContainerStats, PodStats

__all__ = ["EVICTED", "TERMINATION_BY_KUBELET", "EvictionEvent", "Kill", "eviction_message"]

EVICTED = "Evicted"
TERMINATION_BY_KUBELET = "TerminationByKubelet"


@dataclass(frozen=True, slots=True)
class EvictionEvent:
    """A warning for a pod (`pod NAMESPACE/NAME`) or the node (`node`)."""

    object: str
    reason: str
    message: str
    annotations: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Kill:
    """A pod to be killed: it fails with this reason and message, after `grace_seconds` (None: the pod's own).

    `disruption_target` is the message of that condition (reason TerminationByKubelet), empty where it gets none.
    """

    uid: str
    reason: str
    message: str
    grace_seconds: int | None = None
    disruption_target: str = ""


@dataclass(frozen=True, slots=True)
class Blame:
    """The message of an eviction and the annotations of its event."""

    message: str
    annotations: Mapping[str, str] = field(default_factory=dict)


def eviction_message(
    resource: str,
    pod: Pod,
    stats: PodStats | None,
    thresholds: Iterable[Threshold],
    observations: Observations,
) -> Blame:
    """Why a pod is evicted: the threshold, and its containers that use more than they request.

    A container without any request is over it (request 0); for disks only where both layers are reported, and never
    for inodes and process ids.
    """
    message = f"The node was low on resource: {resource}. "
    for threshold in thresholds:
        observed = observations.get(threshold.signal)
        signal = SIGNALS.get(threshold.signal)
        if observed is not None and signal is not None and signal.resource == resource:
            quantity = threshold.value.of(observed.capacity)
            message += f"Threshold quantity: {quantity}, available: {observed.available}. "
            break
    if stats is None:
        return Blame(message)
    over = list(_over_request(resource, pod, stats))
    for name, used, request in over:
        message += (
            f"Container {name} was using {used}, request is {request}, has larger consumption of {resource}. "
        )
    annotations = {
        "offending_containers": ",".join(name for name, _, _ in over),
        "offending_containers_usage": ",".join(str(used) for _, used, _ in over),
        "starved_resource": resource,
    }
    return Blame(message, annotations)


def _over_request(resource: str, pod: Pod, stats: PodStats) -> Iterator[tuple[str, Quantity, Quantity]]:
    requests: dict[str, Quantity] = {}
    for container in (*pod.containers, *pod.init_containers):
        requests.setdefault(container.name, container.requests.get(resource, Quantity()))
    for found in stats.containers:
        used = _used(resource, found)
        if used is not None and found.name in requests and used > requests[found.name]:
            yield found.name, used, requests[found.name]


def _used(resource: str, stats: ContainerStats) -> Quantity | None:
    if resource == MEMORY and stats.memory is not None:
        return Quantity(stats.memory, format=Format.BINARY_SI)
    parts = [usage.used_bytes for usage in (stats.rootfs, stats.logs) if usage is not None]
    known = [part for part in parts if part is not None]
    if resource == EPHEMERAL_STORAGE and len(known) == 2:
        return Quantity(sum(known), format=Format.BINARY_SI)
    return None
