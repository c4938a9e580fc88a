"""The device manager: gives containers their devices, remembers them, and tells the runtime about them.

Allocation is per container, in the order init containers, containers. What an init container got is offered
to the containers after it (`devices_to_reuse`), as it will be over by then; a restartable one (a sidecar)
goes on running and keeps its own. Nothing is ever given back to a plugin: a pod's records go when it is no
longer active, at the next allocation.

Source: `pkg/kubelet/cm/devicemanager/manager.go`. Of the Manager interface (`types.go`), Start is `restart`;
Stop, and what GetWatcherHandler returns, are functions of `registration` (`stop`; `validate_plugin`,
`register`, `deregister`); GetHealthChecker watches a server, which is the driver's; the two hint methods are
in `device_hints`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kubedev.api.messages import (
    AllocateRequest,
    AllocateResponse,
    Conversation,
    Empty,
    PreStartContainerRequest,
)
from kubedev.api.objects import Container, Pod
from kubedev.api.values import replace
from kubedev.kubelet.devices.allocation import DeviceRequest, DevicesToAllocate, devices_to_allocate
from kubedev.kubelet.devices.capacity import get_capacity, list_and_watch
from kubedev.kubelet.devices.checkpoint import read_checkpoint
from kubedev.kubelet.devices.devices import (
    DeviceAllocateInfo,
    DeviceManagerState,
    Ids,
    allocated_by,
    by_numa_node,
    container_devices,
    insert,
    is_device_plugin_resource,
    write_checkpoint,
)
from kubedev.kubelet.devices.endpoint import Endpoint, ask, moved
from kubedev.kubelet.devices.registration import stream_ended
from kubedev.kubelet.devices.run_options import DeviceRunContainerOptions, device_run_container_options

__all__ = [
    "PRE_START_CONTAINER_TIMEOUT",
    "AllocationDecision",
    "allocate",
    "get_capacity",
    "get_device_run_container_options",
    "list_and_watch",
    "restart",
    "sources_ready",
    "stream_ended",
    "update_allocated_devices",
]

# How long a plugin may take for PreStartContainer, in seconds. Allocate may take for ever.
PRE_START_CONTAINER_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class AllocationDecision:
    """What came of one container's allocation: a decision for each resource that was looked at.

    `error` is Kubernetes' text, None if all went well. `skipped` are resources that no plugin ever offered:
    they are counted by the scheduler alone, and the container gets nothing for them.
    """

    pod_uid: str
    container: str
    error: str | None
    decisions: tuple[DevicesToAllocate, ...] = ()
    skipped: tuple[str, ...] = ()


def allocate(
    state: DeviceManagerState,
    pod: Pod,
    container: Container,
    active_pods: Collection[Pod],
    affinity: int | None = None,
) -> Conversation[DeviceManagerState, AllocationDecision]:
    """Give a container its devices: choose them, tell the plugin, remember what it answered.

    `active_pods` are those that may hold devices, this pod among them; `affinity` is the topology manager's
    mask.
    """
    state = replace(state, devices_to_reuse={pod.uid: state.devices_to_reuse.get(pod.uid, {})})
    state, decision = yield from _allocate_container_resources(state, pod, container, active_pods, affinity)
    if decision.error is None:
        state = _offer_for_reuse(state, pod, container)
    return state, decision


def _offer_for_reuse(state: DeviceManagerState, pod: Pod, container: Container) -> DeviceManagerState:
    """Offer an init container's devices to the containers after it, or take away what this one now uses."""
    init = next((c for c in pod.init_containers if c.name == container.name), None)
    reusable = dict(state.devices_to_reuse.get(pod.uid, {}))
    for resource, info in state.pod_devices.get(pod.uid, {}).get(container.name, {}).items():
        known = reusable.get(resource, frozenset())
        keeps_running = init is None or init.restartable
        reusable[resource] = known - info.devices if keeps_running else known | info.devices
    return replace(state, devices_to_reuse={**state.devices_to_reuse, pod.uid: reusable})


def _allocate_container_resources(
    state: DeviceManagerState,
    pod: Pod,
    container: Container,
    active_pods: Collection[Pod],
    affinity: int | None,
) -> Conversation[DeviceManagerState, AllocationDecision]:
    """One resource after another, in order of their names (Go: at random); the first error ends it.

    Limits are looked at, as devices cannot be overcommitted. After an error the resources before it stay
    recorded, in memory but not in the checkpoint file, until the refused pod is no longer active.
    """
    decisions: list[DevicesToAllocate] = []
    skipped: list[str] = []
    updated = written = False
    for resource, limit in sorted(container.limits.items()):
        if not is_device_plugin_resource(state, resource):
            skipped.append(resource)
            continue
        if not updated:
            state, updated = update_allocated_devices(state, active_pods), True
        request = DeviceRequest(pod.uid, container.name, resource, limit.value())
        reusable = state.devices_to_reuse.get(pod.uid, {}).get(resource, frozenset())
        state, decision = yield from devices_to_allocate(state, request, reusable, affinity)
        error = decision.error
        if error is None and decision.devices:
            state, error = yield from _allocate_from_plugin(state, request, decision.devices)
            written = True
        decisions.append(replace(decision, error=error))
        if error is not None:
            return state, _allocated(pod, container, error, decisions, skipped)
    return write_checkpoint(state) if written else state, _allocated(pod, container, None, decisions, skipped)


def _allocated(
    pod: Pod, container: Container, error: str | None, decisions: list[DevicesToAllocate], skipped: list[str]
) -> AllocationDecision:
    return AllocationDecision(pod.uid, container.name, error, tuple(decisions), tuple(skipped))


def _allocate_from_plugin(
    state: DeviceManagerState, request: DeviceRequest, devices: Ids
) -> Conversation[DeviceManagerState, str | None]:
    """Tell the plugin which devices a container gets, and record its answer. The plugin may take its time."""
    resource = request.resource
    endpoint = state.endpoint(resource)
    if endpoint is None:
        return _roll_back(state), f"unknown Device Plugin {resource}"
    state, answer = yield from ask(
        state, endpoint, "Allocate", AllocateRequest((tuple(sorted(devices)),)), AllocateResponse
    )
    if isinstance(answer, str):
        return _roll_back(state), answer
    if not answer.container_responses:
        # v1.32 forgets to take the marks of the devices back.
        state = _roll_back(state) if "130145" in state.switches else state
        text = "&AllocateResponse{ContainerResponses:[]*ContainerAllocateResponse{},}"
        return state, f"no containers return in allocation response {text}"
    nodes = by_numa_node(state.all_devices.get(resource, {}), devices)
    info = DeviceAllocateInfo(nodes, answer.container_responses[0])
    records = insert(state.pod_devices, request.pod_uid, request.container, resource, info)
    return replace(state, pod_devices=records), None


def _roll_back(state: DeviceManagerState) -> DeviceManagerState:
    """Allocated is what the records say, and nothing else."""
    return replace(state, allocated_devices=allocated_by(state.pod_devices))


def update_allocated_devices(state: DeviceManagerState, active_pods: Collection[Pod]) -> DeviceManagerState:
    """Free the devices of pods that are no longer active; not before all sources of pods have been seen."""
    gone = state.pod_devices.keys() - {pod.uid for pod in active_pods}
    if not state.sources_ready or not gone:
        return state
    records = {uid: containers for uid, containers in state.pod_devices.items() if uid not in gone}
    return _roll_back(replace(state, pod_devices=records))


def get_device_run_container_options(
    state: DeviceManagerState,
    pod: Pod,
    container: Container,
    active_pods: Collection[Pod],
    affinity: int | None = None,
) -> Conversation[DeviceManagerState, DeviceRunContainerOptions | str | None]:
    """What the runtime is told for a container that starts: options, None without devices, or an error's text.

    Plugins that asked for it get PreStartContainer first, at every start. If there is no record for a
    resource (the kubelet restarted at a bad moment), it is allocated now.
    """
    allocate_again = False
    for resource, limit in sorted(container.limits.items()):
        if not is_device_plugin_resource(state, resource) or limit.value() == 0:
            continue
        state, error = yield from _pre_start_container(state, pod.uid, container.name, resource)
        if error is not None:
            return state, error
        active = any(p.uid == pod.uid for p in active_pods)
        held = container_devices(state.pod_devices, pod.uid, container.name, resource)
        allocate_again |= active and held is None
    if allocate_again:
        state, decision = yield from allocate(state, pod, container, active_pods, affinity)
        if decision.error is not None:
            return state, decision.error
    return state, device_run_container_options(state.pod_devices, pod.uid, container.name)


def _pre_start_container(
    state: DeviceManagerState, pod_uid: str, container: str, resource: str
) -> Conversation[DeviceManagerState, str | None]:
    endpoint = state.endpoint(resource)
    if endpoint is None:
        return state, f"endpoint not found in cache for a registered resource: {resource}"
    if endpoint.options is None or not endpoint.options.pre_start_required:
        return state, None
    devices = container_devices(state.pod_devices, pod_uid, container, resource)
    if devices is None:
        return state, (
            f"no devices found allocated in local cache for pod {pod_uid}, "
            f"container {container}, resource {resource}"
        )
    request = PreStartContainerRequest(tuple(sorted(devices)))
    state, answer = yield from ask(
        state, endpoint, "PreStartContainer", request, Empty, PRE_START_CONTAINER_TIMEOUT
    )
    failed = f"device plugin PreStartContainer rpc failed with err: {answer}"
    return state, failed if isinstance(answer, str) else None


def restart(
    checkpoint: str | None,
    now: float,
    running: Mapping[str, Ids] | None = None,
    switches: Ids = frozenset(),
) -> DeviceManagerState:
    """A kubelet that has just started: what it knows stands in the checkpoint file (None if there is none).

    Bytes of the file that are no UTF-8 are to be read as surrogate escapes: Kubernetes reads such files too.
    `running` are the containers that the runtime reports as running, by pod uid. Every resource in the file
    has no device and a stopped plugin until one registers; its grace period begins now. A file that cannot
    be read is left alone until the next write: `read_error` says why, and the manager starts empty.
    """
    state = DeviceManagerState(
        running=running or {}, sources_ready=False, checkpoint=checkpoint, switches=switches
    )
    records, registered, error = read_checkpoint(checkpoint)
    stopped = {
        -1 - i: replace(moved(Endpoint(resource, "", "absent"), "kubelet restarts"), stop_time=now)
        for i, resource in enumerate(sorted(registered))
    }
    return replace(
        state,
        pod_devices=records,
        allocated_devices=allocated_by(records),
        healthy_devices=dict.fromkeys(registered, frozenset()),
        unhealthy_devices=dict.fromkeys(registered, frozenset()),
        connections=stopped,
        endpoints={endpoint.resource: client for client, endpoint in stopped.items()},
        read_error=error,
    )


def sources_ready(state: DeviceManagerState) -> DeviceManagerState:
    """All sources of pods have been seen: from now on, records of pods that are gone are removed."""
    return replace(state, sources_ready=True)
