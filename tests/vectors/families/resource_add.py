"""Resource.Add and SetMaxResource over resource lists."""

from typing import Any

from kubedev.api.quantity import Quantity
from kubedev.api.requests import Resource


def go_names(resource: Resource) -> dict[str, Any]:
    return {
        "MilliCPU": resource.milli_cpu,
        "Memory": resource.memory,
        "EphemeralStorage": resource.ephemeral_storage,
        "AllowedPodNumber": resource.allowed_pod_number,
        "ScalarResources": dict(resource.scalar_resources),
    }


def answer(case: dict[str, Any]) -> dict[str, Any]:
    resource = Resource()
    for texts in case["lists"]:
        quantities = {name: Quantity.parse(text) for name, text in texts.items()}
        resource = resource.add(quantities) if case["op"] == "add" else resource.set_max(quantities)
    return go_names(resource)
