"""What the kubelet says of its pods, and how it ends those that it evicts.

Source: `pkg/kubelet/status/status_manager.go: mergePodStatus`, `pkg/kubelet/pod_workers.go: killPodNow`. A pod that is
evicted fails, for the API server, only when its containers have ended.
"""

from collections.abc import Iterable

from kubedev.api.values import replace
from kubedev.kubelet.devices.capacity import allocated_resources_status
from kubedev.kubelet.events import PodStatus, StopContainer
from kubedev.kubelet.kubelet_state import Effects, KubeletState, Stepped
from kubedev.kubelet.pod_conditions import pod_conditions
from kubedev.kubelet.pods import PodRecord, api_phase, moved, to_stop
from kubedev.kubelet.pressure.messages import Kill

__all__ = ["evict", "evicted", "status", "tell", "with_pod"]


def with_pod(state: KubeletState, record: PodRecord) -> KubeletState:
    """The state with what it knows of a pod."""
    return replace(state, pods={**state.pods, record.pod.uid: record})


def status(state: KubeletState, record: PodRecord) -> PodStatus:
    """The pod's status as it is now."""
    uid = record.pod.uid
    health = tuple(
        (container.name, resource, device, state_of)
        for container in record.pod.containers
        for resource, devices in allocated_resources_status(state.devices, uid, container.name).items()
        for device, state_of in devices.items()
    )
    target = record.disruption_target if record.phase == "Failed" else ""
    said = record.reason, record.message
    return PodStatus(uid, api_phase(record), *said, health, target, pod_conditions(record))


def tell(state: KubeletState, uid: str) -> Stepped:
    """Write the pod's status, if it is not what the API server has already."""
    record = state.pods[uid]
    told = (api_phase(record), record.reason, record.message)
    conditions = pod_conditions(record)
    if (told, conditions) == (record.told, record.told_conditions) or record.phase == "Evicting":
        return state, ()
    return with_pod(state, replace(record, told=told, told_conditions=conditions)), (status(state, record),)


def evict(state: KubeletState, kills: Iterable[Kill]) -> Stepped:
    """Begin to end pods; each fails with its reason when its containers have ended, at once if none runs."""
    effects: Effects = ()
    for kill in kills:
        before = state.pods.get(kill.uid)
        if before is None or before.phase not in ("Starting", "Running"):  # it is going already
            continue
        record = moved(before, "evicted", kill.reason, kill.message)
        record = replace(record, disruption_target=kill.disruption_target, waiting_for="")
        stops = tuple(
            StopContainer(kill.uid, name) for name in to_stop(record) if name not in to_stop(before)
        )
        state, more = evicted(with_pod(state, record), kill.uid)
        effects += stops + more
    return state, effects


def evicted(state: KubeletState, uid: str) -> Stepped:
    """Say that an evicted pod has failed, once none of its containers runs."""
    record = state.pods[uid]
    if record.phase != "Evicting" or record.running:
        return state, ()
    return tell(with_pod(state, moved(record, "its containers ended", record.reason, record.message)), uid)
