"""The pods that a workload makes: Deployment, ReplicaSet, StatefulSet, DaemonSet, Job, CronJob and others.

Only the first generation of pods: nothing here watches them. Kubernetes ends most of their names with random
letters; here they are numbered, so that a run can be repeated.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from kubedev.api.defaults import default_pod, without_claims
from kubedev.api.fields import Fields
from kubedev.api.objects import Node, OwnerReference, Pod
from kubedev.api.pod_groups import Workload
from kubedev.api.problems import Problem, Problems, invalid, required, unsupported
from kubedev.api.selectors import (
    Affinity,
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Toleration,
)
from kubedev.api.strict import unknown_fields
from kubedev.api.validation import validate_pod
from kubedev.api.values import Same, replace

__all__ = [
    "daemon_pod",
    "number_of_pods",
    "pod_from_template",
    "pods_of",
    "template_path",
    "validate_workload",
    "with_daemon_tolerations",
]

MAX_PODS = 10_000
SELECTING = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")
JOB_POLICIES, LASTING_POLICIES = ("OnFailure", "Never"), ("Always",)
# What the DaemonSet controller adds, so that its pods stay on nodes in trouble.
DAEMON_TOLERATIONS = tuple(
    Toleration(f"node.kubernetes.io/{key}", "Exists", effect=effect)
    for key, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
)
HOST_NETWORK_TOLERATION = Toleration("node.kubernetes.io/network-unavailable", "Exists", effect="NoSchedule")


def template_path(workload: Workload) -> str:
    """Where the pod template stands in the workload's manifest."""
    return "spec.jobTemplate.spec.template" if workload.kind == "CronJob" else "spec.template"


def validate_workload(workload: Workload, claims: bool = False) -> tuple[Problem, ...]:
    """Why the API server would refuse the workload, or the pods of its template, with or without their claims."""
    path = template_path(workload)
    template = workload_spec(workload).child("template").values
    pod = default_pod(pod_from_template(workload, 0))
    pod = pod if claims else without_claims(pod)
    problems = [*unknown_fields(template, "PodTemplate", path), *number_problems(workload)]
    if workload.kind in SELECTING and workload.selector is None:
        problems.append(required("spec.selector", advice="repeat the template's labels under matchLabels"))
    elif workload.selector and not workload.selector.match_labels.items() <= pod.labels.items():
        detail = "`selector` does not match template `labels`"
        problems.append(invalid(f"{path}.metadata.labels", dict(pod.labels), detail))
    for problem in validate_pod(pod):
        own = problem.field.startswith(("metadata.name", "metadata.namespace"))
        problems.append(problem if own else replace(problem, field=f"{path}.{problem.field}"))
    allowed = JOB_POLICIES if workload.kind in ("Job", "CronJob") else LASTING_POLICIES
    if pod.restart_policy not in allowed:
        problems.append(unsupported(f"{path}.spec.restartPolicy", pod.restart_policy, allowed))
    return tuple(problems)


def number_problems(workload: Workload) -> Problems:
    """Numbers of pods below 0, and more of them than anybody wants to look at."""
    spec = workload_spec(workload)
    for name in ("replicas", "parallelism", "completions"):
        number = spec.integer(name)
        if number < 0:
            yield invalid(spec.at(name), number, "must be greater than or equal to 0")
        elif number > MAX_PODS:
            yield invalid(spec.at(name), number, f"kubedev makes at most {MAX_PODS} pods of one workload")


def workload_spec(workload: Workload) -> Fields:
    """The fields that say how many pods there are; those of a CronJob stand in its job template."""
    spec = Fields.of(workload.manifest).child("spec")
    return spec.child("jobTemplate").child("spec") if workload.kind == "CronJob" else spec


def number_of_pods(workload: Workload) -> int:
    """How many pods there are at the start; for a DaemonSet as many as nodes, so 0 here."""
    spec = workload_spec(workload)
    if workload.kind == "DaemonSet":
        return 0
    if workload.kind in ("Job", "CronJob"):
        if spec.boolean("suspend") or Fields.of(workload.manifest).child("spec").boolean("suspend"):
            return 0
        parallelism = spec.integer("parallelism", 1)
        return max(0, min(parallelism, spec.integer("completions", parallelism)))
    return max(0, workload.replicas)


def pods_of(workload: Workload) -> tuple[Pod, ...]:
    """The pods of a workload, numbered from 0; for a DaemonSet there is `daemon_pod`."""
    return tuple(pod_from_template(workload, i) for i in range(number_of_pods(workload)))


def pod_from_template(workload: Workload, number: int | str) -> Pod:
    """One pod of a workload, not defaulted yet. What is the same for all of them is one value: they share it."""
    name, template = f"{workload.name}-{number}", template_pod(Same(workload))
    metadata = Fields.of({**template.manifest["metadata"], "name": name})
    uid = metadata.text("uid", f"{workload.namespace}/{name}")
    return replace(template, name=name, uid=uid, manifest={**template.manifest, "metadata": metadata.values})


@lru_cache(maxsize=16)
def template_pod(of_workload: Same[Workload]) -> Pod:
    """The pod of a workload's template, under the workload's own name."""
    workload = of_workload.value
    template: Mapping[str, Any] = workload_spec(workload).child("template").values
    metadata = Fields.of(template.get("metadata"), f"{template_path(workload)}.metadata").values
    owned = {**metadata, "name": workload.name, "namespace": workload.namespace}
    owner = OwnerReference(workload.kind, workload.name, controller=True)
    return replace(Pod.parse({**template, "metadata": owned}), owner_references=(owner,))


def daemon_pod(workload: Workload, node: Node) -> Pod:
    """The pod of a DaemonSet that is meant for one node: the scheduler finds no other.

    For which nodes there is one, `cluster.daemon_sets` says.
    """
    pod = pod_from_template(workload, node.name)
    affinity = pod.affinity or Affinity()
    preferred = affinity.node_affinity.preferred if affinity.node_affinity else None
    only_here = NodeSelectorTerm(match_fields=(NodeSelectorRequirement("metadata.name", "In", (node.name,)),))
    node_affinity = NodeAffinity((only_here,), preferred)
    return with_daemon_tolerations(replace(pod, affinity=replace(affinity, node_affinity=node_affinity)))


def with_daemon_tolerations(pod: Pod) -> Pod:
    """The pod of a DaemonSet with the tolerations that the controller adds; one of its own of the same taint goes.

    Go: `pkg/controller/daemon/util/daemonset_util.go: AddOrUpdateDaemonPodTolerations`.
    """
    added = (*DAEMON_TOLERATIONS, HOST_NETWORK_TOLERATION) if pod.host_network else DAEMON_TOLERATIONS
    kept = (own for own in pod.tolerations if replace(own, toleration_seconds=None) not in added)
    return replace(pod, tolerations=(*kept, *added))
