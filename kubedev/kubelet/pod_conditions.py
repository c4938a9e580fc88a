"""The conditions of a pod that its kubelet writes. A container without probes is ready as long as it runs.

Source: `pkg/kubelet/status/generate.go`, `pkg/kubelet/kubelet_pods.go: generateAPIPodStatus`.
"""

from collections.abc import Iterable
from functools import lru_cache

from kubedev.api.fields import FieldError, Fields
from kubedev.api.gotext import quote
from kubedev.api.objects import Condition, Pod
from kubedev.kubelet.pods import PodRecord, api_phase

__all__ = ["KUBELET_CONDITIONS", "pod_conditions"]

KUBELET_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
"""The types that are the kubelet's own, in its order. Go: `pkg/kubelet/types/pod_status.go: PodConditionsByKubelet`."""

condition = lru_cache(maxsize=256)(Condition)
"""A condition without a time: the same one each time that it is said."""

TERMINAL_REASONS = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}


def pod_conditions(record: PodRecord) -> tuple[Condition, ...]:
    """The kubelet's conditions of a pod, without times; none of a pod that was refused (`kubelet.go: rejectPod`)."""
    if record.over and not (record.admission and record.admission.admit):
        return ()
    containers_ready = _containers_ready(record)
    sandbox = bool(record.starting or record.running or record.exits) and not record.over
    return (
        condition("PodReadyToStartContainers", "True" if sandbox else "False"),
        _initialized(record),
        _ready(record, containers_ready),
        containers_ready,
        condition("PodScheduled", "True"),
    )


def _initialized(record: PodRecord) -> Condition:
    """Go: `GeneratePodInitializedCondition`."""
    exits = dict(record.exits)
    if record.phase == "Succeeded":
        return condition("Initialized", "True", "PodCompleted")
    if any(c.name in record.running or c.name in exits for c in record.pod.containers):
        return condition("Initialized", "True")
    incomplete = [
        c.name
        for c in record.pod.init_containers
        if (c.name not in record.running if c.restartable else exits.get(c.name) != 0)
    ]
    if incomplete:
        message = f"containers with incomplete status: {_listed(incomplete)}"
        return condition("Initialized", "False", "ContainersNotInitialized", message)
    return condition("Initialized", "True")


def _containers_ready(record: PodRecord) -> Condition:
    """Go: `GenerateContainersReadyCondition`."""
    phase = api_phase(record)
    if phase in TERMINAL_REASONS:
        return condition("ContainersReady", "False", TERMINAL_REASONS[phase])
    asked = [c for c in record.pod.init_containers if c.restartable] + list(record.pod.containers)
    unready = [c.name for c in asked if c.name not in record.running]
    if unready:
        message = f"containers with unready status: {_listed(unready)}"
        return condition("ContainersReady", "False", "ContainersNotReady", message)
    return condition("ContainersReady", "True")


def _ready(record: PodRecord, containers_ready: Condition) -> Condition:
    """Go: `GeneratePodReadyCondition`. Nobody sets the conditions that readiness gates ask for."""
    if containers_ready.status != "True":
        return condition("Ready", "False", containers_ready.reason, containers_ready.message)
    missing = [
        f"corresponding condition of pod readiness gate {quote(gate)} does not exist."
        for gate in _readiness_gates(record.pod)
    ]
    if missing:
        return condition("Ready", "False", "ReadinessGatesNotReady", ", ".join(missing))
    return condition("Ready", "True")


def _readiness_gates(pod: Pod) -> list[str]:
    try:
        gates = Fields.of(pod.manifest).child("spec").children("readinessGates")
        return [gate.text("conditionType") for gate in gates]
    except FieldError:  # nothing that a lab looks at depends on them
        return []


def _listed(names: Iterable[str]) -> str:
    """Names as Go prints a slice."""
    return f"[{' '.join(names)}]"
