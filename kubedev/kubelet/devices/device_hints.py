"""The device manager as a hint provider: what it knows of a pod's devices, for the counting in `hints`.

Source: `pkg/kubelet/cm/devicemanager/topology_hints.go: GetTopologyHints, GetPodTopologyHints`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from kubedev.api.objects import Container, Pod
from kubedev.kubelet.devices.device_manager import update_allocated_devices
from kubedev.kubelet.devices.devices import DeviceManagerState, container_devices, is_device_plugin_resource
from kubedev.kubelet.topology.hints import Counting, ResourceHints, count_at_once, device_hints

__all__ = ["get_pod_topology_hints", "get_topology_hints", "pod_request"]

Answer = tuple[DeviceManagerState, Mapping[str, ResourceHints]]


def get_topology_hints(
    state: DeviceManagerState,
    pod: Pod,
    container: Container,
    active_pods: Collection[Pod],
    numa_nodes: Sequence[int],
    count: Counting = count_at_once,
) -> Answer:
    """The hints for one container: an entry for each resource of its limits that a plugin offers or offered.

    Devices of pods that are gone are freed first, so there is a new state.
    """
    state = update_allocated_devices(state, active_pods)
    hints = {}
    for resource, limit in sorted(container.limits.items()):
        if is_device_plugin_resource(state, resource):
            held = container_devices(state.pod_devices, pod.uid, container.name, resource) or frozenset()
            reusable = state.devices_to_reuse.get(pod.uid, {}).get(resource, frozenset())
            hints[resource] = _hints(state, resource, limit.value(), numa_nodes, held, reusable, count)
    return state, hints


def get_pod_topology_hints(
    state: DeviceManagerState,
    pod: Pod,
    active_pods: Collection[Pod],
    numa_nodes: Sequence[int],
    count: Counting = count_at_once,
) -> Answer:
    """The hints for a whole pod: what its containers hold counts together, and nothing is reusable."""
    state = update_allocated_devices(state, active_pods)
    hints = {}
    for resource in sorted({name for c in (*pod.init_containers, *pod.containers) for name in c.limits}):
        if is_device_plugin_resource(state, resource):
            request = pod_request(pod, partial(_limit, resource))
            held = frozenset[str]().union(
                *(
                    container_devices(state.pod_devices, pod.uid, container, resource) or ()
                    for container in state.pod_devices.get(pod.uid, ())
                )
            )
            hints[resource] = _hints(state, resource, request, numa_nodes, held, frozenset(), count)
    return state, hints


def _limit(resource: str, container: Container) -> int:
    return container.limits[resource].value() if resource in container.limits else 0


def _hints(
    state: DeviceManagerState,
    resource: str,
    request: int,
    numa_nodes: Sequence[int],
    held: frozenset[str],
    reusable: frozenset[str],
    count: Counting,
) -> ResourceHints:
    devices = state.all_devices.get(resource, {})
    return device_hints(resource, request, devices, state.free(resource), numa_nodes, held, reusable, count)


def pod_request(pod: Pod, request: Callable[[Container], int]) -> int:
    """What a pod needs at most at one moment, when each container needs `request(container)`.

    Init containers run one after another, beside the sidecars started before them; app containers run
    beside all sidecars. Source: `k8s.io/component-helpers/resource/helpers.go: AggregateContainerLimits`.
    """
    sidecars = at_start = 0
    for container in pod.init_containers:
        if container.restartable:
            sidecars += request(container)
        else:
            at_start = max(at_start, sidecars + request(container))
    return max(at_start, sidecars + sum(map(request, pod.containers)))
