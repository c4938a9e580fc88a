"""Quality of service: Guaranteed, Burstable or BestEffort, and the rule that decided it.

Go source: `pkg/apis/core/v1/helper/qos/qos.go: ComputePodQOS`. Only CPU and memory count, only amounts above
0, and init containers count like the others: one of them without limits spoils Guaranteed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from kubedev.api.names import CPU, MEMORY
from kubedev.api.objects import Container, Pod, ResourceList
from kubedev.api.quantity import Quantity
from kubedev.api.requests import add_lists
from kubedev.api.values import Same

__all__ = ["QOSDecision", "QOSRule", "compute_pod_qos", "get_pod_qos"]

QOS_RESOURCES = (CPU, MEMORY)

GUARANTEED, BURSTABLE, BEST_EFFORT = "Guaranteed", "Burstable", "BestEffort"


class QOSRule(StrEnum):
    """What decided the class, in the order in which it is looked at."""

    STATUS = "the class stands in the pod's status"
    NOTHING_SET = "no container requests or limits CPU or memory"
    LIMIT_MISSING = "not every container limits both CPU and memory"
    REQUEST_DIFFERS = "requests and limits of the pod are not equal"
    ALL_EQUAL = "every container limits CPU and memory, and requests are equal to limits"


@dataclass(frozen=True, slots=True)
class QOSDecision:
    """A pod's class, the rule that decided it, and the container or resource that it was decided by.

    `requests` and `limits` are the sums over all containers.
    """

    qos_class: str
    rule: QOSRule
    because: str
    requests: ResourceList
    limits: ResourceList


def get_pod_qos(pod: Pod) -> QOSDecision:
    """The class in the pod's status, else the computed one (Go: `GetPodQOS`)."""
    if pod.qos_class:
        return QOSDecision(pod.qos_class, QOSRule.STATUS, f"status.qosClass: {pod.qos_class}", {}, {})
    return compute_pod_qos(pod)


def compute_pod_qos(pod: Pod) -> QOSDecision:
    """The class that follows from requests and limits; API defaulting is not applied here."""
    return _qos(Same(pod.containers), Same(pod.init_containers))


@lru_cache(maxsize=256)  # a pod is asked again and again, and pods of one template share their containers
def _qos(
    of_containers: Same[tuple[Container, ...]], of_init_containers: Same[tuple[Container, ...]]
) -> QOSDecision:
    containers = (*of_containers.value, *of_init_containers.value)
    requests = sum_lists(counted(container.requests) for container in containers)
    limits = sum_lists(counted(container.limits) for container in containers)

    def decide(qos_class: str, rule: QOSRule, because: str = "") -> QOSDecision:
        return QOSDecision(qos_class, rule, because, requests, limits)

    if not requests and not limits:
        return decide(BEST_EFFORT, QOSRule.NOTHING_SET)
    if because := missing_limit(containers):
        return decide(BURSTABLE, QOSRule.LIMIT_MISSING, because)
    if because := difference(requests, limits):
        return decide(BURSTABLE, QOSRule.REQUEST_DIFFERS, because)
    return decide(GUARANTEED, QOSRule.ALL_EQUAL)


def counted(quantities: ResourceList) -> ResourceList:
    """CPU and memory above 0."""
    return {name: quantities[name] for name in QOS_RESOURCES if quantities.get(name, Quantity()).sign() > 0}


def sum_lists(lists: Iterable[ResourceList]) -> ResourceList:
    """The sums by name."""
    total: ResourceList = {}
    for quantities in lists:
        total = add_lists(total, quantities)
    return total


def missing_limit(containers: Iterable[Container]) -> str:
    """The first container that does not limit both CPU and memory; empty where there is none."""
    for container in containers:
        missing = [name for name in QOS_RESOURCES if name not in counted(container.limits)]
        if missing:
            return f"container {container.name} has no limit for {' and '.join(missing)}"
    return ""


def difference(requests: ResourceList, limits: ResourceList) -> str:
    """The first resource whose sums differ; empty where there is none."""
    for name in QOS_RESOURCES:
        if name not in requests:
            return f"no request for {name}"
        if requests[name] != limits[name]:
            return f"{name}: requests {requests[name]}, limits {limits[name]}"
    return ""
