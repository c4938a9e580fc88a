"""Fits: which resources a node lacks for a pod."""

from typing import Any

from kubedev.api.objects import Node, Pod
from kubedev.api.requests import compute_pod_resource_request
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.fits import fits


def answer(case: dict[str, Any]) -> dict[str, Any]:
    info = NodeInfo.of(Node.parse(case["node"]), map(Pod.parse, case["pods"]))
    ignored = case.get("ignored_resources") or (), case.get("ignored_resource_groups") or ()
    found = fits(compute_pod_resource_request(Pod.parse(case["pod"])), info, *ignored)
    insufficient = [
        {
            "ResourceName": short.resource_name,
            "Reason": short.reason,
            "Requested": short.requested,
            "Used": short.used,
            "Capacity": short.capacity,
        }
        for short in found
    ]
    return {"fits": not found, "insufficient": insufficient}
