"""A pod's way through the kubelet, and which of its containers are to start next.

Source: `pkg/kubelet/pod_workers.go`, `pkg/kubelet/kuberuntime/kuberuntime_manager.go: computePodActions`, as far
as devices are concerned: images, sandboxes and probes are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from kubedev.api.objects import Container, Pod
from kubedev.kubelet.admission import Admission

__all__ = ["POD_PHASES", "Phase", "PodRecord", "api_phase", "ended", "moved", "to_start"]

Phase = Literal["Waiting", "Admitting", "Starting", "Running", "Terminating", "Succeeded", "Failed"]

# The labs draw their diagram from this table, and `moved` allows nothing else.
POD_PHASES: Mapping[tuple[Phase, str], Phase] = {
    ("Waiting", "its turn"): "Admitting",
    ("Admitting", "admitted"): "Starting",
    ("Admitting", "refused"): "Failed",
    ("Starting", "all containers run"): "Running",
    ("Starting", "a container failed"): "Failed",
    ("Starting", "deleted"): "Terminating",
    ("Running", "all containers succeeded"): "Succeeded",
    ("Running", "a container failed"): "Failed",
    ("Running", "a container restarts"): "Running",
    ("Running", "deleted"): "Terminating",
}


@dataclass(frozen=True, slots=True)
class PodRecord:
    """What the kubelet knows of one pod.

    `starting` and `running` are names of containers, `exits` the last exit code of those that ended. `waiting_for`
    is the error of a container that could not be started; it is tried again when the node status is written.
    `admission` is the kubelet's answer to the pod with all that led to it, from the moment of that answer.
    """

    pod: Pod
    phase: Phase = "Waiting"
    reason: str = ""
    message: str = ""
    starting: frozenset[str] = frozenset()
    running: frozenset[str] = frozenset()
    exits: tuple[tuple[str, int], ...] = ()
    waiting_for: str = ""
    admission: Admission | None = None

    @property
    def active(self) -> bool:
        """Whether the pod still holds its devices (`pkg/kubelet/kubelet_pods.go: filterOutInactivePods`)."""
        return self.phase not in ("Succeeded", "Failed")


def api_phase(record: PodRecord) -> str:
    """The phase as pod.status.phase shows it."""
    if record.phase in ("Waiting", "Admitting", "Starting"):
        return "Pending"
    return "Running" if record.phase == "Terminating" else record.phase


def moved(record: PodRecord, what: str, reason: str = "", message: str = "") -> PodRecord:
    """The record after `what` happened; KeyError where POD_PHASES knows no such transition."""
    return replace(record, phase=POD_PHASES[record.phase, what], reason=reason, message=message)


def ended(record: PodRecord, container: str, exit_code: int) -> PodRecord:
    """The record after a container's process ended."""
    exits = {**dict(record.exits), container: exit_code}
    return replace(record, running=record.running - {container}, exits=tuple(exits.items()))


def to_start(record: PodRecord) -> tuple[Container, ...]:
    """The containers whose turn it is: init containers one after another, sidecars stay, then all the rest.

    An ordinary init container must have exited with 0 before the next one starts; a restartable one (a sidecar)
    need only be running.
    """
    begun = record.starting | record.running
    exits = dict(record.exits)
    for container in record.pod.init_containers:
        if container.name in record.running and container.restartable:
            continue
        if container.name in begun:
            return ()
        if container.restartable or exits.get(container.name) != 0:
            return (container,)
    return tuple(c for c in record.pod.containers if c.name not in begun and _may_start(record, c, exits))


def _may_start(record: PodRecord, container: Container, exits: Mapping[str, int]) -> bool:
    if container.name not in exits:
        return True
    policy = record.pod.restart_policy
    return policy == "Always" or (policy == "OnFailure" and exits[container.name] != 0)
