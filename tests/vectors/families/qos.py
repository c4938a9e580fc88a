"""QoS class: as given, after API defaulting, and with the class of the status."""

from typing import Any

from kubedev.api.defaults import default_pod
from kubedev.api.objects import Pod
from kubedev.api.qos import compute_pod_qos, get_pod_qos


def containers(found: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    return [{"name": f"c{i}", "resources": resources} for i, resources in enumerate(found or [])]


def answer(case: dict[str, Any]) -> dict[str, Any]:
    pod = Pod.parse(
        {
            "metadata": {"name": "p"},
            "spec": {
                "containers": containers(case["containers"]),
                "initContainers": containers(case.get("init_containers")),
            },
            "status": {"qosClass": case.get("status_qos")},
        }
    )
    return {
        "raw": compute_pod_qos(pod).qos_class,
        "defaulted": compute_pod_qos(default_pod(pod)).qos_class,
        "get": get_pod_qos(pod).qos_class,
    }
