"""A pod's way through the kubelet, and which of its containers are to start next.

Source: `pkg/kubelet/pod_workers.go`, `pkg/kubelet/kuberuntime/kuberuntime_manager.go: computePodActions,
doBackOff`, `pkg/kubelet/kubelet_pods.go: getPhase`, as far as devices are concerned: images, sandboxes and probes
are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kubedev.api.claims import ResourceClaim
from kubedev.api.objects import Condition, Container, Pod
from kubedev.api.values import replace
from kubedev.kubelet.pressure.critical_preemption import Preemption
from kubedev.kubelet.topology.topology import TopologyAdmission
from kubedev.scheduler.plugins.fits import InsufficientResource

__all__ = [
    "GONE_WITH_THE_MACHINE",
    "POD_PHASES",
    "Admission",
    "BackOff",
    "Phase",
    "PodRecord",
    "all_have_run",
    "api_phase",
    "ended",
    "found_again",
    "held_back",
    "moved",
    "outcome",
    "restarting",
    "to_start",
    "to_stop",
]

Phase = Literal[
    "Waiting", "Admitting", "Starting", "Running", "Evicting", "Terminating", "Succeeded", "Failed"
]

# The labs draw their diagram from this table, and `moved` allows nothing else.
POD_PHASES: Mapping[tuple[Phase, str], Phase] = {
    ("Waiting", "its turn"): "Admitting",
    ("Waiting", "deleted"): "Terminating",
    ("Waiting", "refused before the restart"): "Failed",
    ("Admitting", "admitted"): "Starting",
    ("Admitting", "refused"): "Failed",
    ("Starting", "all containers run"): "Running",
    ("Starting", "a container failed"): "Failed",
    ("Starting", "deleted"): "Terminating",
    ("Running", "all containers succeeded"): "Succeeded",
    ("Running", "a container failed"): "Failed",
    ("Running", "deleted"): "Terminating",
    ("Starting", "evicted"): "Evicting",
    ("Running", "evicted"): "Evicting",
    ("Evicting", "its containers ended"): "Failed",
    ("Evicting", "deleted"): "Terminating",
    ("Failed", "deleted"): "Terminating",
}

INITIAL_BACK_OFF = 10.0
MAX_BACK_OFF = 300.0
GONE_WITH_THE_MACHINE = 255  # what containerd says of a container that ran when the machine went down


@dataclass(frozen=True, slots=True)
class Admission:
    """The kubelet's answer to a pod: `reason` and `message` are those of the pod's status, empty if admitted.

    `topology` has the merges and every provider's allocation, container by container; `insufficient` is what the
    predicates found short, `preemption` who has to go so that a critical pod comes in all the same.
    """

    admit: bool
    reason: str = ""
    message: str = ""
    topology: TopologyAdmission = TopologyAdmission()
    insufficient: tuple[InsufficientResource, ...] = ()
    preemption: Preemption = Preemption()


@dataclass(frozen=True, slots=True)
class BackOff:
    """How a container that ends again and again is held back, all in seconds.

    It `ended` at that time, and starts again no sooner than `wait` later; `changed` is when `wait` was set.
    """

    ended: float
    wait: float = 0.0
    changed: float = 0.0

    def left(self, now: float) -> float:
        """How long the container has still to wait."""
        expired = self.ended - self.changed > 2 * MAX_BACK_OFF
        return 0.0 if expired else max(self.ended + self.wait - now, 0.0)

    def next(self, now: float) -> "BackOff":
        """The container starts again: the next time it waits longer."""
        expired = not self.wait or self.ended - self.changed > 2 * MAX_BACK_OFF
        return replace(
            self, wait=INITIAL_BACK_OFF if expired else min(2 * self.wait, MAX_BACK_OFF), changed=now
        )


@dataclass(frozen=True, slots=True)
class PodRecord:
    """What the kubelet knows of one pod.

    `starting` and `running` are names of containers, `exits` the last exit code of those that ended, `back_offs` how
    they are held back. `waiting_for` is the error of a container that could not be started; it is tried again when
    the node status is written. `admission` is the kubelet's answer to the pod with all that led to it, from the
    moment of that answer; `told` are phase, reason and message as the API server has them, `told_conditions` the
    kubelet's conditions. While a pod is evicted,
    `reason` and `message` wait until its containers have ended; `disruption_target` is the message of that condition.
    `removed` is a pod of which containers may still run though the API server does not know it any more.
    `claims` are those for devices, as the API server has them, by the pod's name for them.
    """

    pod: Pod
    phase: Phase = "Waiting"
    reason: str = ""
    message: str = ""
    starting: frozenset[str] = frozenset()
    running: frozenset[str] = frozenset()
    exits: tuple[tuple[str, int], ...] = ()
    back_offs: tuple[tuple[str, BackOff], ...] = ()
    waiting_for: str = ""
    admission: Admission | None = None
    told: tuple[str, str, str] = ("Pending", "", "")
    told_conditions: tuple[Condition, ...] = ()
    disruption_target: str = ""
    removed: bool = False
    claims: tuple[tuple[str, ResourceClaim], ...] = ()

    @property
    def over(self) -> bool:
        """Whether the pod has ended, or was refused."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def active(self) -> bool:
        """Whether the pod still holds its devices. One that was deleted by force holds none, even while it ends.

        Source: `pkg/kubelet/kubelet_pods.go: GetActivePods, filterOutInactivePods`, `kubelet.go: HandlePodRemoves`.
        """
        return not (self.over or self.removed)


def api_phase(record: PodRecord) -> str:
    """The phase as pod.status.phase shows it; a pod that is evicted fails when its containers have ended."""
    if record.phase == "Evicting":
        return record.told[0]
    if record.phase in ("Waiting", "Admitting", "Starting"):
        return "Pending"
    return "Running" if record.phase == "Terminating" else record.phase


def moved(record: PodRecord, what: str, reason: str = "", message: str = "") -> PodRecord:
    """The record after `what` happened; KeyError where POD_PHASES knows no such transition."""
    return replace(record, phase=POD_PHASES[record.phase, what], reason=reason, message=message)


def ended(record: PodRecord, container: str, exit_code: int, now: float) -> PodRecord:
    """The record after a container's process ended."""
    exits = {**dict(record.exits), container: exit_code}
    back_offs = dict(record.back_offs)
    back_offs[container] = replace(back_offs.get(container, BackOff(now)), ended=now)
    running = record.running - {container}
    return replace(record, running=running, exits=tuple(exits.items()), back_offs=tuple(back_offs.items()))


def restarting(record: PodRecord, container: str, now: float) -> PodRecord:
    """The record when a container begins to start; if it ended before, it is held back longer from now on."""
    back_offs = {n: b.next(now) if n == container else b for n, b in record.back_offs}
    return replace(record, starting=record.starting | {container}, back_offs=tuple(back_offs.items()))


def found_again(record: PodRecord, reboot: bool) -> PodRecord:
    """What the runtime still knows of a pod when its kubelet starts again.

    Of a pod that ran when the machine went down no container runs, and one that may be restarted begins anew, init
    containers first; with the policy OnFailure, what has succeeded stays so.
    """
    running, exits = record.running, dict(record.exits)
    if reboot:
        exits |= dict.fromkeys(running, GONE_WITH_THE_MACHINE)
        running = frozenset()
        if record.pod.restart_policy == "OnFailure":
            apps = {c.name for c in record.pod.containers}
            exits = {name: code for name, code in exits.items() if name in apps and code == 0}
        elif record.pod.restart_policy != "Never":
            exits = {}
    return PodRecord(record.pod, running=running, exits=tuple(exits.items()))


def all_have_run(record: PodRecord) -> bool:
    """Whether each of the pod's own containers runs or has run: the pod is no longer Pending."""
    return {c.name for c in record.pod.containers} <= record.running | dict(record.exits).keys()


def outcome(record: PodRecord) -> Literal["all containers succeeded", "a container failed"] | None:
    """How the pod has ended; None as long as a container of it runs or is to run. Sidecars are not asked."""
    exits = dict(record.exits)
    never = record.pod.restart_policy == "Never"
    if never and any(exits.get(c.name, 0) for c in record.pod.init_containers if not c.restartable):
        return "a container failed"
    apps = record.pod.containers
    if any(c.name in record.running | record.starting or _may_start(record, c) for c in apps):
        return None
    return "a container failed" if any(exits[c.name] for c in apps) else "all containers succeeded"


def to_start(record: PodRecord, now: float) -> tuple[Container, ...]:
    """The containers whose turn it is: init containers one after another, sidecars stay, then all the rest.

    An ordinary init container must have exited with 0 before the next one starts; a restartable one (a sidecar)
    need only be running. A container that is held back waits.
    """
    due = _next_ones(record)
    back_offs = dict(record.back_offs)
    return tuple(c for c in due if c.name not in back_offs or not back_offs[c.name].left(now))


def to_stop(record: PodRecord) -> tuple[str, ...]:
    """The containers that are to end now: all of a pod that goes, and the sidecars of one whose work is over.

    Sidecars end last, one after another, the last one first.
    """
    stays = record.phase in ("Waiting", "Admitting")
    if stays or (record.phase in ("Starting", "Running") and outcome(record) is None):
        return ()
    sidecars = [c.name for c in record.pod.init_containers if c.restartable and c.name in record.running]
    return tuple(sorted(record.running - set(sidecars))) or tuple(sidecars[-1:])


def held_back(record: PodRecord, now: float) -> tuple[str, float] | None:
    """The first container that is due and has to wait because it ended too often, and the back-off in seconds."""
    back_offs = dict(record.back_offs)
    for container in _next_ones(record):
        if container.name in back_offs and back_offs[container.name].left(now):
            return container.name, back_offs[container.name].wait
    return None


def _next_ones(record: PodRecord) -> tuple[Container, ...]:
    begun = record.starting | record.running
    exits = dict(record.exits)
    for container in record.pod.init_containers:
        if container.name in record.running and container.restartable:
            continue
        if container.name in begun:
            return ()
        if container.restartable or exits.get(container.name) != 0:
            return (container,)
    return tuple(c for c in record.pod.containers if c.name not in begun and _may_start(record, c))


def _may_start(record: PodRecord, container: Container) -> bool:
    exits, policy = dict(record.exits), record.pod.restart_policy
    if container.name not in exits:
        return True
    return policy == "Always" or (policy == "OnFailure" and exits[container.name] != 0)
