"""Makes a DaemonSet's pod on each node that it may run on, as nodes come, and deletes it where it may not stay.

Left out: making a pod anew that has failed, and updates of the DaemonSet.

Go: `pkg/controller/daemon/daemon_controller.go: manage`; `daemon_sets` says where a pod should run.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from kubedev.api.admission import admit_pod
from kubedev.api.defaults import PriorityError, default_pod
from kubedev.api.objects import Node, Pod, PriorityClass, Workload
from kubedev.api.workloads import daemon_pod
from kubedev.cluster.controllers.effects import CreatePod, DeletePod
from kubedev.cluster.daemon_sets import may_stay, should_run

__all__ = ["manage"]


def manage(
    workloads: Iterable[Workload],
    nodes: Iterable[Node],
    pods: Collection[Pod],
    classes: Collection[PriorityClass],
    now: float,
) -> tuple[CreatePod | DeletePod, ...]:
    """What is to be created and deleted. A pod that is going counts until it is gone."""
    there = {(pod.namespace, pod.name): pod for pod in pods}
    effects: list[CreatePod | DeletePod] = []
    for workload in (w for w in workloads if w.kind == "DaemonSet"):
        for node in nodes:
            made = daemon_pod(workload, node)
            known = there.get((made.namespace, made.name))
            if known is None and should_run(workload, node):
                effects.append(CreatePod(_admitted(made, classes, now)))
            elif known is not None and known.deletion_timestamp is None and not may_stay(workload, node):
                effects.append(DeletePod(known.uid))
    return tuple(effects)


def _admitted(pod: Pod, classes: Collection[PriorityClass], now: float) -> Pod:
    try:
        pod = admit_pod(pod, classes)
    except PriorityError:  # the class is not there (yet): the pod is made without a priority
        pod = replace(pod, priority=0)
    return replace(default_pod(pod), creation_timestamp=now)
