"""Preemption: the nodes where it helps, the one chosen, and its victims."""

from typing import Any

from kubedev.api.objects import Node, Pod
from kubedev.api.pod_groups import Namespace, PodDisruptionBudget, Service
from kubedev.scheduler.context import Context
from kubedev.scheduler.cycle import Decision, schedule_one
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.default_plugins import default_framework
from kubedev.scheduler.preemption.preemption import Preemption
from kubedev.scheduler.snapshot import Snapshot


def differences(case: dict[str, Any]) -> list[str]:
    decision = decide(case["in"])
    wanted, ours = case["out"], answer(decision)
    if "nominated_any_of" in wanted:
        preemption = preemption_of(decision)
        if sorted(preemption.tied) != sorted(wanted["nominated_any_of"]):
            return [f"nominated: expected any of {wanted['nominated_any_of']}, got {preemption.tied}"]
        ours = {key: value for key, value in ours.items() if key not in ("nominated", "victims", "deleted")}
    elif "candidates" in wanted and not wanted.get("nominated"):
        ours.pop("victims")
    keys = wanted.keys() - {"nominated_any_of"}
    return [f"{k}: expected {wanted[k]!r}, got {ours.get(k)!r}" for k in keys if wanted[k] != ours.get(k)]


def decide(case_in: dict[str, Any]) -> Decision:
    """One cycle for the case's pod; used by schedule_one too."""
    pods = [Pod.parse(pod) for pod in case_in.get("pods") or ()]
    nodes = [Node.parse(node) for node in case_in.get("nodes") or ()]
    infos = tuple(NodeInfo.of(node, [pod for pod in pods if pod.node_name == node.name]) for node in nodes)
    namespaces = [Namespace.parse(one) for one in case_in.get("namespaces") or ()]
    context = Context(
        infos,
        {namespace.name: namespace.labels for namespace in namespaces},
        tuple(Service.parse(one) for one in case_in.get("services") or ()),
    )
    nominated = [Pod.parse(pod) for pod in case_in.get("nominated_pods") or ()]
    budgets = [PodDisruptionBudget.parse(one) for one in case_in.get("pdbs") or ()]
    snapshot = Snapshot.of(context, nominated, budgets)
    return schedule_one(default_framework(100), Pod.parse(case_in["pod"]), snapshot)


def preemption_of(decision: Decision) -> Preemption:
    why = decision.post_filter.why if decision.post_filter else None
    return why if isinstance(why, Preemption) else Preemption()


def answer(decision: Decision) -> dict[str, Any]:
    if decision.found and decision.found.feasible:
        return {"feasible": sorted(info.name for info in decision.found.feasible)}
    preemption = preemption_of(decision)
    return {
        "message": decision.message,
        "candidates": {
            trial.node_name: {
                "victims": [pod.name for pod in trial.victims],
                "pdb_violations": trial.num_pdb_violations,
            }
            for trial in preemption.candidates
        },
        "nominated": decision.nominated_node_name,
        "victims": [pod.name for pod in preemption.victims],
        "deleted": sorted(pod.name for pod in preemption.victims),
    }
