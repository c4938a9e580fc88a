"""Critical pods on the kubelet: whom they evict, and the predicate handler around that."""

from typing import Any

from kubedev.api.objects import Node, Pod
from kubedev.kubelet.predicates import admit_by_predicates
from kubedev.kubelet.pressure import critical_preemption as c
from kubedev.kubelet.pressure.messages import TERMINATION_BY_KUBELET
from kubedev.scheduler.plugins.fits import InsufficientResource

Answer = dict[str, Any]


def answer(case: Answer) -> Answer:
    pod, pods = Pod.parse(case["pod"]), list(map(Pod.parse, case["pods"]))
    return globals()[f"of_{case['kind']}"](case, pod, pods)  # type: ignore[no-any-return]


def of_preempt(case: Answer, pod: Pod, pods: list[Pod]) -> Answer:
    needs = [c.Requirement(need["resource"], need["quantity"]) for need in case["needs"]]
    found = c.pods_to_preempt(pod, pods, needs)
    return {"error": found.error or None, "pods": [each.uid for each in found.victims]}


def of_failure(case: Answer, pod: Pod, pods: list[Pod]) -> Answer:
    handled = c.handle_admission_failure(pod, list(map(reason, case["reasons"])), pods)
    error, kills = handled.preemption.error, handled.preemption.kills
    return {
        "remaining": [shown(each) for each in handled.remaining] or None,
        "error": f"preemption: error finding a set of pods to preempt: {error}" if error else None,
        "events": [
            {"pod": kill.uid, "type": "Warning", "reason": kill.reason, "message": kill.message}
            for kill in kills
        ],
        "kills": [
            {
                "pod": kill.uid,
                "grace_seconds": kill.grace_seconds,
                "phase": "Failed",
                "reason": kill.reason,
                "message": kill.message,
                "disruption_target": {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": TERMINATION_BY_KUBELET,
                    "message": kill.disruption_target,
                },
            }
            for kill in kills
        ],
    }


def reason(given: Answer) -> InsufficientResource | c.PredicateFailure:
    if given["type"] == "predicate":
        return c.PredicateFailure(given["name"], given["desc"])
    numbers = given["requested"], given["used"], given["capacity"]
    return InsufficientResource(given["resource"], f"Insufficient {given['resource']}", *numbers)


def shown(reason: InsufficientResource | c.PredicateFailure) -> str:
    return reason.description if isinstance(reason, c.PredicateFailure) else reason.reason


def of_admit(case: Answer, pod: Pod, pods: list[Pod]) -> Answer:
    found = admit_by_predicates(Node.parse(case["node"]), pod, pods)
    killed = [each.uid for each in found.preemption.victims]
    return {"admit": found.admit, "reason": found.reason, "message": found.message, "killed": killed}
