"""Manifests of claims for devices, for tests: nodes with GPUs of a model each, and pods that claim some."""

from typing import Any

import yaml

from kubedev.api.switches import CLAIMS_GATE
from kubedev.kubelet.config import KubeletConfig
from kubedev.lab.session import Lab

DRIVER = "gpu.example.com"
CONFIG = KubeletConfig(switches=frozenset({CLAIMS_GATE}))
GPU = f'device.attributes["{DRIVER}"]'
MEMORY = f'device.capacity["{DRIVER}"].memory'
VERSION = "resource.k8s.io/v1beta1"


def written(*documents: dict[str, Any]) -> str:
    """YAML of several documents."""
    return yaml.safe_dump_all(documents)


def a_class(name: str = "gpu") -> dict[str, Any]:
    expression = f'device.driver == "{DRIVER}"'
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    return {"apiVersion": VERSION, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def a_slice(node: str, model: str, memory: str, count: int = 4, per_switch: int = 2) -> dict[str, Any]:
    """The GPUs of a node: all of one model, some on each switch."""
    devices = [
        {
            "name": f"gpu-{i}",
            "basic": {
                "attributes": {"model": {"string": model}, "switch": {"int": i // per_switch}},
                "capacity": {"memory": {"value": memory}},
            },
        }
        for i in range(count)
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    return {
        "apiVersion": VERSION,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-gpus"},
        "spec": spec,
    }


def claimed(count: int = 1, *expressions: str, switch: bool = False) -> dict[str, Any]:
    """The spec of a claim: so many GPUs (0: all) for which the expressions hold, on one switch where that is wanted."""
    selectors = [{"cel": {"expression": one}} for one in expressions]
    mode: dict[str, Any] = {"count": count} if count else {"allocationMode": "All"}
    request = {"name": "gpus", "deviceClassName": "gpu", "selectors": selectors, **mode}
    constraints = [{"matchAttribute": f"{DRIVER}/switch"}] if switch else []
    return {"devices": {"requests": [request], "constraints": constraints}}


def a_claim(name: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"apiVersion": VERSION, "kind": "ResourceClaim", "metadata": {"name": name}, "spec": spec, **more}


def a_template(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    kind = "ResourceClaimTemplate"
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, "spec": {"spec": spec}}


def a_pod(name: str, claim: str = "", template: str = "", **spec: Any) -> dict[str, Any]:
    """A pod with one claim, which its container uses: one that is there, or one to be made."""
    source = {"resourceClaimName": claim} if claim else {"resourceClaimTemplateName": template}
    container = {"name": "main", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}
    pod = {"resourceClaims": [{"name": "gpu", **source}], "containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod}


def message(lab: Lab, pod: str = "p") -> str:
    """What the scheduler says of a pod."""
    return next(c.message for c in lab.pod(pod).conditions if c.type == "PodScheduled")


def devices(lab: Lab, claim: str) -> list[str]:
    """What a claim got."""
    found = lab.state.store.resource_claims[f"default/{claim}"].allocation
    return [one.device for one in found.devices] if found else []
