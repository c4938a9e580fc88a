"""Claims for devices in manifests: read where their feature gate is on, defaulted, and refused in Kubernetes' words."""

import textwrap

import pytest

from kubedev.api.claims import DeviceClass, DeviceObject, ResourceClaim, ResourceClaimTemplate
from kubedev.api.manifests import ManifestError, Manifests, load
from kubedev.api.resource_slices import ResourceSlice
from kubedev.api.switches import CLAIMS_GATE

CLAIM = """
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - name: gpu
      deviceClassName: gpu.example.com
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  resourceClaims:
  - {name: gpu, resourceClaimName: c}
  containers:
  - name: c
    image: i
    resources: {claims: [{name: gpu}]}
"""
SLICE = """
apiVersion: resource.k8s.io/v1beta1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices:
  - name: gpu-0
    basic:
      attributes: {model: {string: A100}}
      capacity: {memory: {value: 40Gi}}
"""


def loaded(text: str) -> Manifests:
    return load(textwrap.dedent(text), gates=[CLAIMS_GATE])


def refused(text: str) -> str:
    with pytest.raises(ManifestError) as caught:
        loaded(text)
    return str(caught.value)


def with_request(line: str) -> str:
    return f"{CLAIM}      {line}\n"


def test_without_the_feature_gate_nobody_knows_the_kind_and_a_pod_loses_its_claims() -> None:
    found = load(f"{CLAIM}---{POD}")
    assert [one.kind for one in found.skipped] == ["ResourceClaim"]
    (pod,) = found.pods
    assert (pod.resource_claims, pod.containers[0].claims) == ((), ())
    off = "the feature gate DynamicResourceAllocation is off, as by default in v1.32"
    assert all(off in note for note in found.notes)
    assert len(found.notes) == 2


def test_with_it_they_are_objects_with_defaults() -> None:
    found = loaded(f"{CLAIM}---{POD}---{SLICE}")
    (claim,) = found.of_type(ResourceClaim)
    (request,) = claim.spec.requests
    assert (claim.key, request.allocation_mode, request.count) == ("default/c", "ExactCount", 1)
    (pod,) = found.pods
    assert [(one.name, one.resource_claim_name) for one in pod.resource_claims] == [("gpu", "c")]
    assert pod.containers[0].claims == (("gpu", ""),)
    (device,) = found.of_type(ResourceSlice)[0].devices
    assert device.basic is not None
    assert device.basic.attributes["model"].value == "A100"
    assert str(device.basic.capacity["memory"]) == "40Gi"
    assert found.notes == ()


def test_a_template_and_a_class_are_read() -> None:
    found = loaded(
        """
        apiVersion: resource.k8s.io/v1beta1
        kind: ResourceClaimTemplate
        metadata: {name: t}
        spec:
          metadata: {labels: {a: b}}
          spec: {devices: {requests: [{name: r, deviceClassName: k, allocationMode: All}]}}
        ---
        apiVersion: resource.k8s.io/v1beta1
        kind: DeviceClass
        metadata: {name: k}
        spec:
          selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]
          config: [{opaque: {driver: gpu.example.com, parameters: {a: 1}}}]
        """
    )
    (template,) = found.of_type(ResourceClaimTemplate)
    assert (template.labels, template.spec.requests[0].count) == ({"a": "b"}, 0)
    (known,) = found.of_type(DeviceClass)
    assert known.selectors == ("device.driver == 'gpu.example.com'",)
    assert known.config[0].parameters == {"a": 1}
    assert all(isinstance(one, DeviceObject) for one in found.objects)


def test_admin_access_is_dropped_with_a_note() -> None:
    found = loaded(with_request("adminAccess: true"))
    (claim,) = found.of_type(ResourceClaim)
    assert claim.spec.requests[0].admin_access is None
    dropped = "asks for adminAccess, which is dropped: the feature gate DRAAdminAccess is off in v1.32"
    assert found.notes == (f"manifest.yaml, document 1: ResourceClaim c {dropped}",)


def test_another_version_of_the_kind_is_not_served() -> None:
    text = refused(CLAIM.replace("v1beta1", "v1"))
    assert 'no matches for kind "ResourceClaim" in version "resource.k8s.io/v1"' in text


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("count: -1", "spec.devices.requests[0].count: Invalid value: -1: must be greater than zero"),
        (
            "{allocationMode: All, count: 2}",
            "spec.devices.requests[0].count: Invalid value: 2: must not be specified when allocationMode is 'All'",
        ),
        (
            "allocationMode: Most",
            'spec.devices.requests[0].allocationMode: Unsupported value: "Most": supported values: '
            '"All", "ExactCount"',
        ),
        (
            "selectors: [{cel: {expression: device.speed > 1}}]",
            'spec.devices.requests[0].selectors[0].cel.expression: Invalid value: "device.speed > 1": compilation '
            "failed: ERROR: <input>:1:7: undefined field 'speed'",
        ),
        ("selectors: [{}]", "spec.devices.requests[0].selectors[0].cel: Required value"),
        ("cout: 2", "spec.devices.requests[0].cout: unknown field"),
    ],
)
def test_a_request_that_is_refused(line: str, problem: str) -> None:
    if line.startswith("{"):
        line = "\n      ".join(line.strip("{}").split(", "))
    assert problem in refused(with_request(line))


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (
            "constraints: [{matchAttribute: switch}]",
            "spec.devices.constraints[0].matchAttribute.domain: Required value: must include a prefix",
        ),
        (
            "constraints: [{matchAttribute: gpu.example.com/1st}]",
            'spec.devices.constraints[0].matchAttribute: Invalid value: "1st": a valid C identifier must start with',
        ),
        (
            "constraints: [{requests: [cpu], matchAttribute: gpu.example.com/switch}]",
            'spec.devices.constraints[0].requests[0]: Invalid value: "cpu": must be the name of a request in the claim',
        ),
        ("constraints: [{}]", "spec.devices.constraints[0].matchAttribute: Required value"),
        (
            "config: [{opaque: {driver: gpu.example.com, parameters: 5}}]",
            'spec.devices.config[0].opaque.parameters: Invalid value: "<value omitted>": parameters must be a valid '
            "JSON object",
        ),
    ],
)
def test_a_claim_that_is_refused(more: str, problem: str) -> None:
    assert problem in refused(f"{CLAIM}    {more}\n")


def test_a_name_that_stands_twice_is_refused() -> None:
    again = "    - {name: gpu, deviceClassName: k}\n"
    assert 'spec.devices.requests[1].name: Duplicate value: "gpu"' in refused(CLAIM + again)
    many = "".join(f"    - {{name: r{i}, deviceClassName: k}}\n" for i in range(32))
    assert "spec.devices.requests: Too many: 33: must have at most 32 items" in refused(CLAIM + many)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "  nodeName: n1\n",
            "",
            "spec: Required value: exactly one of `nodeName`, `nodeSelector`, or `allNodes`",
        ),
        (
            "  nodeName: n1\n",
            "  nodeName: n1\n  allNodes: true\n",
            'spec: Invalid value: "nodeName, allNodes": exactly one of `nodeName`, `nodeSelector`, or `allNodes`',
        ),
        (
            "resourceSliceCount: 1",
            "resourceSliceCount: 0",
            "spec.pool.resourceSliceCount: Invalid value: 0: must be",
        ),
        (
            "{string: A100}",
            "{}",
            "basic.attributes[model]: Required value: exactly one value must be specified",
        ),
        (
            "{string: A100}",
            "{string: A100, int: 1}",
            'basic.attributes[model]: Invalid value: "int, string": exactly one field must be specified',
        ),
        (
            "{string: A100}",
            "{version: '1.0'}",
            'basic.attributes[model].version: Invalid value: "1.0": must be a string',
        ),
        ("{value: 40Gi}", "{value: 40GB}", "basic.capacity.memory.value: Invalid value"),
        ("driver: gpu.example.com", "driver: Gpu_1", 'spec.driver: Invalid value: "Gpu_1"'),
        ("name: gpu-0", "name: gpu_0", 'spec.devices[0].name: Invalid value: "gpu_0"'),
    ],
)
def test_a_slice_that_is_refused(old: str, new: str, problem: str) -> None:
    assert problem in refused(SLICE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "{claims: [{name: gpu}]}",
            "{claims: [{name: cpu}]}",
            'spec.containers[0].resources.claims[0]: Not found: "cpu": must be one of the names in '
            "pod.spec.resourceClaims: gpu",
        ),
        (
            "{claims: [{name: gpu}]}",
            "{claims: [{name: gpu}, {name: gpu, request: r}]}",
            'spec.containers[0].resources.claims[1]: Duplicate value: "gpu"',
        ),
        (
            "{name: gpu, resourceClaimName: c}",
            "{name: gpu}",
            'spec.resourceClaims[0]: Invalid value: "gpu": must specify one of: `resourceClaimName`',
        ),
        (
            "{name: gpu, resourceClaimName: c}",
            "{name: gpu, resourceClaimName: c, resourceClaimTemplateName: t}",
            'spec.resourceClaims[0]: Invalid value: "gpu": at most one of `resourceClaimName`',
        ),
        (
            "  - {name: gpu, resourceClaimName: c}",
            "  - {name: gpu, resourceClaimName: c}\n  - {name: gpu, resourceClaimName: d}",
            'spec.resourceClaims[1].name: Duplicate value: "gpu"',
        ),
        ("resourceClaimName: c", "resourceClaim: c", "spec.resourceClaims[0].resourceClaim: unknown field"),
    ],
)
def test_a_pod_whose_claims_are_refused(old: str, new: str, problem: str) -> None:
    assert problem in refused(POD.replace(old, new))
    assert load(POD.replace(old, new)).pods if "unknown" not in problem else True
