"""What a pod requests: as given, after API defaulting, and as NodeInfo adds it."""

from typing import Any

from kubedev.api.defaults import default_pod
from kubedev.api.objects import Node, Pod
from kubedev.api.requests import compute_pod_resource_request
from kubedev.scheduler.node_info import NodeInfo
from tests.vectors.families.resource_add import go_names


def answer(case: dict[str, Any]) -> dict[str, Any]:
    pod = Pod.parse(case["pod"])
    info = NodeInfo.of(Node("n"), [pod])
    non_zero = info.non_zero_requested
    return {
        "raw": go_names(compute_pod_resource_request(pod)),
        "defaulted": go_names(compute_pod_resource_request(default_pod(pod))),
        "requested": go_names(info.requested),
        "nonzero": {"MilliCPU": non_zero.milli_cpu, "Memory": non_zero.memory},
    }
