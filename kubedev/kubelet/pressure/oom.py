"""oom_score_adj: whom the kernel kills first when memory ends, before the kubelet has looked.

Go source: `pkg/kubelet/qos/policy.go: GetContainerOOMScoreAdjust`.
"""

from dataclasses import replace

from kubedev.api.fields import Fields
from kubedev.api.int64 import wrap_int64
from kubedev.api.names import CPU, MEMORY
from kubedev.api.objects import Container, Pod, ResourceList
from kubedev.api.qos import BEST_EFFORT, GUARANTEED, get_pod_qos
from kubedev.api.quantity import Quantity
from kubedev.api.requests import pod_requests
from kubedev.kubelet.pressure.critical import is_node_critical_pod

__all__ = ["container_oom_score_adjust", "divide"]

GUARANTEED_ADJUST, BEST_EFFORT_ADJUST = -997, 1000


def divide(number: int, by: int) -> int:
    """The quotient cut off towards zero, as Go divides."""
    quotient = abs(number) // abs(by)
    return quotient if (number < 0) == (by < 0) else -quotient


def container_oom_score_adjust(
    pod: Pod, container: Container, memory_capacity: int, pod_level_resources: bool = False
) -> int:
    """The value for a container (or init container) on a machine with so many bytes of memory.

    -997 for guaranteed and node-critical pods, 1000 for best effort ones; between them, the more of the machine a
    container requests the lower, 3 to 999. A sidecar gets no more than the smallest main container would.
    `pod_level_resources` is the feature gate PodLevelResources (off in v1.32): what a pod requests beyond its
    containers is shared among them.
    """
    if is_node_critical_pod(pod):
        return GUARANTEED_ADJUST
    of_pod = _pod_level(pod) if pod_level_resources else None
    qos = get_pod_qos(
        pod if of_pod is None else replace(pod, containers=(of_pod,), init_containers=())
    ).qos_class
    if qos in (GUARANTEED, BEST_EFFORT):
        return GUARANTEED_ADJUST if qos == GUARANTEED else BEST_EFFORT_ADJUST
    extra = _extra(pod, of_pod.requests) if of_pod is not None else 0
    adjust = _share(_memory(container) + extra, memory_capacity)
    if container.restartable and any(c.name == container.name for c in pod.init_containers):
        smallest = min(map(_memory, pod.containers))
        adjust = min(adjust, _share(smallest + extra, memory_capacity))
    if adjust < 1000 + GUARANTEED_ADJUST:
        return 1000 + GUARANTEED_ADJUST
    return adjust - 1 if adjust == BEST_EFFORT_ADJUST else adjust


def _memory(container: Container) -> int:
    return container.requests.get(MEMORY, Quantity()).value()


def _share(memory: int, capacity: int) -> int:
    return 1000 - divide(wrap_int64(1000 * memory), capacity)


def _pod_level(pod: Pod) -> Container | None:
    """CPU and memory of spec.resources, which then decide the pod's class; None where there is none."""
    spec = Fields.of(pod.manifest).child("spec")
    if not spec.has("resources"):
        return None
    requests, limits = (
        _supported(spec.child("resources").quantities(what)) for what in ("requests", "limits")
    )
    return Container("", requests=requests, limits=limits)


def _supported(quantities: ResourceList) -> ResourceList:
    return {name: quantities[name] for name in (CPU, MEMORY) if name in quantities}


def _extra(pod: Pod, requests: ResourceList) -> int:
    """Each container's share of what the pod requests beyond them, in bytes."""
    if not requests.get(MEMORY):
        return 0
    of_containers = pod_requests(replace(pod, overhead={})).get(MEMORY, Quantity()).value()
    containers = len(pod.containers) + len(pod.init_containers)
    return divide(requests[MEMORY].value() - of_containers, containers)
