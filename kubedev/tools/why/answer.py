"""The answer as plain values: what `--json` prints, and what the lines for people are made of. FORM.md describes it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kubedev import KUBERNETES_VERSION
from kubedev.api.objects import Pod
from kubedev.api.requests import compute_pod_resource_request
from kubedev.cluster.conditions import GATED
from kubedev.scheduler.cycle import Decision, Outcome
from kubedev.scheduler.plugins.fits import InsufficientResource
from kubedev.scheduler.plugins.node_ports import host_ports
from kubedev.scheduler.queue.queued_pod import key_of
from kubedev.scheduler.status import Status
from kubedev.tools.why.amounts import amounts, sum_that_does_not_work_out
from kubedev.tools.why.asking import Asked
from kubedev.tools.why.dump import Dump, is_refused
from kubedev.tools.why.groups import Group, Holder, groups_of, lacks_of, statuses_of
from kubedev.tools.why.missing import missing_kinds
from kubedev.tools.why.refusals import Refusal, refusal_of
from kubedev.tools.why.remedies import Remedy, preemption_of, remedies_of
from kubedev.tools.why.waking import events_waited_for
from kubedev.tools.why.words import port_of
from kubedev.tools.why.world import World

__all__ = ["VERSION", "answer", "explained", "victims_of"]

VERSION = "kubedev.why/v1"
Values = dict[str, Any]


def answer(
    dump: Dump,
    world: World,
    asked: Sequence[Asked],
    every_node: bool,
    brief: bool,
    says: Callable[[str], None] = lambda what: None,
) -> Values:
    """All that is to be said; `brief` leaves out what has to be tried, for many pods."""
    pods = []
    for number, one in enumerate(asked, 1):
        says(f"asking the scheduler about pod {number} of {len(asked)}")
        pods.append(explained(dump, world, one, every_node, brief))
    return {
        "version": VERSION,
        "kubernetes": KUBERNETES_VERSION,
        "cluster": dump.version,
        "notes": [*dump.notes, *notes(dump, world, asked), *together(pods)],
        "missing": list(missing_kinds(dump, [one.pod for one in asked], pods)),
        "devices": devices(dump),
        "pods": pods,
    }


def notes(dump: Dump, world: World, asked: Iterable[Asked]) -> Iterable[str]:
    """What makes this answer less sure than it looks."""
    for name in dict.fromkeys(one.pod.scheduler_name for one in asked):
        if not world.state.queue.handles(name):
            yield f"pods of the scheduler {name} are explained as default-scheduler would decide"
    for file in dump.node_files:
        if file.problem:
            yield f"{file.source}: {file.problem}: a kubelet that starts with it remembers nothing"
    if dump.version.startswith("v") and dump.version.split(".")[:2] != KUBERNETES_VERSION.split(".")[:2]:
        yield f"the cluster is {dump.version}, this is what {KUBERNETES_VERSION} decides"


def together(pods: Iterable[Values]) -> Iterable[str]:
    """That several pods which fit one by one may not fit together."""
    if sum(1 + len(pod["same"]) for pod in pods if pod["scheduled"] and pod["state"] == "pending") > 1:
        yield "each pod is asked about as if it were the next one; `kubedev place` puts all of them"


def explained(dump: Dump, world: World, asked: Asked, every_node: bool, brief: bool) -> Values:
    """One pod."""
    pod = asked.pod
    found: Values = {
        "pod": key_of(pod),
        "same": list(asked.more),
        "requests": dict(amounts(compute_pod_resource_request(pod))),
        "host_ports": [port_of(port) for port in host_ports(pod)],
        "priority": pod.priority or 0,
        "scheduled": False,
        "state": "pending",
        "node": "",
        "message": "",
    }
    if is_refused(pod.phase, pod.reason):
        refusal = refusal_of(dump, world, pod)
        return found | {"state": "refused", "node": pod.node_name, "refusal": of_refusal(refusal)}
    if pod.node_name or pod.phase in ("Succeeded", "Failed"):
        state = pod.phase.lower() if pod.phase in ("Succeeded", "Failed") else "bound"
        return found | {"state": state, "scheduled": True, "node": pod.node_name}
    entry = world.framework(pod).pre_enqueue(pod)
    if not entry.is_success:
        return found | of_gated(world, pod, entry, brief)
    if pod.deletion_timestamp is not None:
        return found | {
            "message": f"skip schedule deleting pod: {key_of(pod)}",
            "reason": "",
            "condition": None,
        }
    decision = world.decide(pod)
    return found | of_decision(world, pod, decision, every_node, brief)


def of_gated(world: World, pod: Pod, entry: Status, brief: bool) -> Values:
    """A pod that is not even tried: because of its gates, or of something else that has to be there first."""
    if not pod.scheduling_gates:
        return {"state": "gated", "message": entry.message, "reason": "", "gates": [], "condition": None}
    values: Values = {
        "state": "gated",
        "message": GATED,
        "reason": "SchedulingGated",
        "gates": list(pod.scheduling_gates),
        "condition": condition(pod, GATED),
    }
    if brief:
        return values
    remedies = remedies_of(world, pod, Decision(pod, Outcome.UNSCHEDULABLE))
    waits = {"SchedulingGates": ["PodUpdatePodSchedulingGatesEliminated"]}
    return values | {"groups": [], "remedies": list(map(of_remedy, remedies)), "queue": {"events": waits}}


def of_decision(world: World, pod: Pod, decision: Decision, every_node: bool, brief: bool) -> Values:
    """What the scheduler decides."""
    if decision.outcome is Outcome.SCHEDULED:
        scores = decision.scores
        best = {"score": scores.totals[decision.node_name]} if scores is not None and not brief else {}
        feasible = len(decision.found.feasible) if decision.found else 1
        values = {"scheduled": True, "node": decision.node_name, "feasible": feasible}
        return values | best | {"condition": condition(pod, "")}
    found: Values = {
        "message": decision.message,
        "reason": decision.outcome.value,
        "condition": condition(pod, decision.message),
        "unschedulable_plugins": list(decision.unschedulable_plugins),
    }
    if brief or decision.outcome is Outcome.ERROR:
        return found
    waits = events_waited_for(world.framework(pod), decision)
    groups = groups_of(decision, world)
    return found | {
        "groups": list(map(of_group, groups)),
        "remedies": list(map(of_remedy, remedies_of(world, pod, decision, groups))),
        "preemption": of_preemption(decision),
        "queue": {"events": {plugin: list(events) for plugin, events in waits.items()}},
        **({"nodes": every(world, decision)} if every_node else {}),
    }


def condition(pod: Pod, message: str) -> Values | None:
    """The pod's own condition PodScheduled, where it says something else than we do."""
    found = next((one for one in pod.conditions if one.type == "PodScheduled"), None)
    if found is None or found.status == "True" or found.message == message:
        return None
    return {"reason": found.reason, "message": found.message}


def of_sum(lack: InsufficientResource) -> Values:
    return {
        "resource": lack.resource_name,
        "requested": lack.requested,
        "free": lack.free,
        "allocatable": lack.capacity,
        "used": lack.used,
        "text": sum_that_does_not_work_out(lack),
    }


def of_group(group: Group) -> Values:
    taint = group.taint
    return {
        "plugin": group.plugin,
        "reasons": list(group.reasons),
        "count": len(group.nodes),
        "nodes": list(group.nodes),
        "causes": [{"resource": cause.resource, "kind": cause.kind} for cause in group.causes],
        "taint": None if taint is None else {"key": taint.key, "value": taint.value, "effect": taint.effect},
        "closest": group.closest,
        "sums": list(map(of_sum, group.sums)),
        "holders": list(map(of_holder, group.holders)),
        "details": list(group.details),
    }


def of_holder(holder: Holder) -> Values:
    return {"pod": holder.pod, "resource": holder.resource, "amount": holder.amount}


def of_remedy(remedy: Remedy) -> Values:
    return {
        "moves": [{"kind": move.kind, "what": move.what, "how": move.how} for move in remedy.moves],
        "node": remedy.node,
        "evicts": victims_of(remedy.victims),
        "wakes": remedy.wakes,
        "why": remedy.woken_by,
    }


def victims_of(pods: Iterable[Pod]) -> list[Values]:
    """Pods that would be evicted."""
    return [{"pod": key_of(one), "priority": one.priority or 0} for one in pods]


def of_preemption(decision: Decision) -> Values | None:
    """Whether pods of lower priority would go for it, which and why, or why not."""
    found = preemption_of(decision)
    if found is None:
        return None
    chosen = next((one for one in found.candidates if one.node_name == found.node_name), None)
    counts: dict[str, int] = {}
    for trial in found.trials:
        if not trial.status.is_success:
            counts[trial.status.message] = counts.get(trial.status.message, 0) + 1
    return {
        "helps": bool(found.node_name),
        "priority": decision.pod.priority or 0,
        "not_eligible": found.not_eligible,
        "node": found.node_name,
        "victims": victims_of(found.victims),
        "budgets_broken": chosen.num_pdb_violations if chosen else 0,
        "candidates": len(found.candidates),
        "chosen_by": found.rounds[-1].criterion if found.rounds else "",
        "tied": list(found.tied),
        "in_vain": counts,
        "not_tried": decision.num_all_nodes - len(found.trials),
    }


def every(world: World, decision: Decision) -> list[Values]:
    """Each node with its answer."""
    found = []
    for name, status in statuses_of(decision, world).items():
        sums = list(map(of_sum, lacks_of(status)))
        found.append({"node": name, "plugin": status.plugin, "reasons": list(status.reasons), "sums": sums})
    return found


def of_refusal(refusal: Refusal) -> Values:
    """A kubelet's refusal."""
    return {
        "settings": list(refusal.settings),
        **{
            name: getattr(refusal, name)
            for name in ("reason", "message", "means", "detail", "next", "lab", "now", "replacement")
        },
        "figures": [{name: getattr(figure, name) for name in figure.__slots__} for figure in refusal.figures],
        "holders": list(map(of_holder, refusal.holders)),
    }


def devices(dump: Dump) -> list[Values]:
    """Who holds which devices, as the files of nodes say; `node` is where the dump has the pod, or empty."""
    by_uid = {pod.uid: pod for pod in dump.pods.values()}
    found: list[Values] = []
    for file in dump.node_files:
        for one in file.holdings:
            pod = by_uid.get(one.pod) or dump.pods.get(one.pod)
            found.append(
                {
                    "file": file.source,
                    "node": pod.node_name if pod is not None else "",
                    "pod": key_of(pod) if pod is not None else one.pod,
                    "container": one.container,
                    "resource": one.resource,
                    "devices": list(one.devices),
                    "numa_nodes": list(one.numa_nodes),
                    "known": pod is not None,
                }
            )
    return found
