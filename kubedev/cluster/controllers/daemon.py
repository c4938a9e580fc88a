"""Makes a DaemonSet's pod on each node that it may run on, as nodes come, and deletes it where it may not stay.

One that has failed or succeeded is deleted, and so made anew; where it fails again and again, later each time. Updates
of the DaemonSet are left out.

Go: `pkg/controller/daemon/daemon_controller.go: manage, podsShouldBeOnNode`; `daemon_sets` says where a pod should run.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from kubedev.api.admission import admit_pod
from kubedev.api.defaults import PriorityError, default_pod
from kubedev.api.objects import Node, Pod
from kubedev.api.pod_groups import PriorityClass, Workload
from kubedev.api.workloads import daemon_pod
from kubedev.cluster.controllers.effects import CreatePod, DeletePod
from kubedev.cluster.daemon_sets import may_stay, should_run

__all__ = ["BackOff", "BackOffs", "manage", "next_retry"]

INITIAL_BACK_OFF, MAX_BACK_OFF = 1.0, 900.0
"""In seconds. Go: `cmd/kube-controller-manager/app/apps.go: startDaemonSetController`."""


@dataclass(frozen=True, slots=True)
class BackOff:
    """A pod that failed was deleted at `since`; the next one that fails stays until `wait` seconds later.

    `waits` says that there is one.
    """

    since: float
    wait: float = INITIAL_BACK_OFF
    waits: bool = False

    @property
    def over(self) -> float:
        """When a failed pod may be deleted again."""
        return self.since + self.wait

    def expired(self, now: float) -> bool:
        """Whether the last failure is so long ago that it is forgotten."""
        return now - self.since > 2 * MAX_BACK_OFF


BackOffs: TypeAlias = Mapping[str, BackOff]
"""By namespace and name of a DaemonSet, and node."""


def next_retry(back_offs: BackOffs) -> float | None:
    """When the next failed pod that waits is to be deleted."""
    return min((back_off.over for back_off in back_offs.values() if back_off.waits), default=None)


def manage(
    workloads: Iterable[Workload],
    nodes: Iterable[Node],
    pods: Collection[Pod],
    classes: Collection[PriorityClass],
    now: float,
    back_offs: BackOffs,
) -> tuple[BackOffs, tuple[CreatePod | DeletePod, ...]]:
    """What is to be created and deleted, and who has to wait. A pod that is going counts until it is gone."""
    there = {(pod.namespace, pod.name): pod for pod in pods}
    waiting = {key: replace(b, waits=False) for key, b in back_offs.items() if not b.expired(now)}
    effects: list[CreatePod | DeletePod] = []
    for workload in (w for w in workloads if w.kind == "DaemonSet"):
        for node in nodes:
            made = daemon_pod(workload, node)
            known = there.get((made.namespace, made.name))
            if known is None and should_run(workload, node):
                effects.append(CreatePod(_admitted(made, classes, now)))
            elif known is not None and known.deletion_timestamp is None:
                key = f"{workload.namespace}/{workload.name}/{node.name}"
                if not may_stay(workload, node) or known.phase == "Succeeded":
                    effects.append(DeletePod(known.uid))
                elif known.phase == "Failed" and key in waiting and now < waiting[key].over:
                    waiting[key] = replace(waiting[key], waits=True)
                elif known.phase == "Failed":
                    waiting[key] = _longer(waiting.get(key), now)
                    effects.append(DeletePod(known.uid))
    return waiting, tuple(effects)


def _longer(before: BackOff | None, now: float) -> BackOff:
    return BackOff(now, min(2 * before.wait, MAX_BACK_OFF)) if before else BackOff(now)


def _admitted(pod: Pod, classes: Collection[PriorityClass], now: float) -> Pod:
    try:
        pod = admit_pod(pod, classes)
    except PriorityError:  # the class is not there (yet): the pod is made without a priority
        pod = replace(pod, priority=0)
    return replace(default_pod(pod), creation_timestamp=now)
