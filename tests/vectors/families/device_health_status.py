"""The health of devices in the status of the containers that hold them."""

from typing import Any

from kubedev.api.objects import Pod
from kubedev.kubelet.devices.capacity import allocated_resources_status

from .pod_resources import device_manager


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """The lists of all containers of the status; None where there is none."""
    state = device_manager(case, frozenset({"ResourceHealthStatus"}))
    uid = Pod.parse(case["pod"]).uid
    containers = {}
    for status in case["pod"].get("status", {}).get("containerStatuses") or ():
        earlier = status.get("allocatedResourcesStatus")
        before = {
            each["name"]: {r["resourceID"]: r.get("health", "") for r in each.get("resources") or ()}
            for each in earlier or ()
        }
        found = allocated_resources_status(state, uid, status["name"], before)
        containers[status["name"]] = found if found or earlier is not None else None
    return {"containers": containers}
