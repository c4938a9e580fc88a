"""Claims for devices and what they are made from, as the API server stores them: defaulted, and refused in its words.

Left out: the estimate of what an expression costs. Go: `pkg/apis/resource/validation/validation.go`,
`pkg/apis/resource/v1beta1/defaults.go`, and for pods `pkg/apis/core/validation/validation.go:
validatePodResourceClaims, validateResourceClaimNames`.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from kubedev.api import names
from kubedev.api.cel import CompileError, compile_selector
from kubedev.api.claims import (
    ALL,
    EXACT_COUNT,
    ClaimSpec,
    DeviceClass,
    DeviceConfiguration,
    DeviceObject,
    DeviceRequest,
    ResourceClaim,
    ResourceClaimTemplate,
)
from kubedev.api.device_names import (
    attribute_name_problems,
    driver_problems,
    each,
    label_problems,
    too_many_problems,
    twice,
)
from kubedev.api.objects import Container, Pod
from kubedev.api.problems import (
    Problems,
    duplicate,
    invalid,
    invalids,
    not_found,
    required,
    too_long,
    unsupported,
)
from kubedev.api.slice_validation import slice_problems

__all__ = [
    "default_device_object",
    "pod_claim_problems",
    "validate_device_object",
]

MOST_REQUESTS = MOST_SELECTORS = MOST_CONSTRAINTS = MOST_CONFIGS = 32
LONGEST_EXPRESSION = 10 * 1024


def default_device_object(found: DeviceObject) -> DeviceObject:
    """What the API server fills in: one device of each request that says nothing."""
    if not isinstance(found, ResourceClaim | ResourceClaimTemplate):
        return found
    requests = tuple(map(default_request, found.spec.requests))
    return replace(found, spec=replace(found.spec, requests=requests))


def default_request(request: DeviceRequest) -> DeviceRequest:
    """Go: `SetDefaults_DeviceRequest`; and adminAccess is dropped, whose feature gate is alpha and off in v1.32
    (`pkg/registry/resource/resourceclaim/strategy.go: dropDisabledDRAAdminAccessFields`).
    """
    mode = request.allocation_mode or EXACT_COUNT
    count = 1 if mode == EXACT_COUNT and request.count == 0 else request.count
    return replace(request, allocation_mode=mode, count=count, admin_access=None)


def validate_device_object(found: DeviceObject) -> Problems:
    """What the API server refuses."""
    if not found.name:
        yield required("metadata.name", "name or generateName is required")
    else:
        yield from invalids("metadata.name", found.name, names.dns_subdomain_problems(found.name))
    if isinstance(found, ResourceClaim):
        yield from claim_problems(found.spec, "spec.devices")
    elif isinstance(found, ResourceClaimTemplate):
        yield from claim_problems(found.spec, "spec.spec.devices")
    elif isinstance(found, DeviceClass):
        yield from selector_problems(found.selectors, "spec.selectors")
        yield from each(found.config, MOST_CONFIGS, configuration_problems, "spec.config")
    else:
        yield from slice_problems(found)


# Claims


def claim_problems(spec: ClaimSpec, path: str) -> Problems:
    """Go: `validateDeviceClaim`."""
    known = {request.name for request in spec.requests}
    yield from each(spec.requests, MOST_REQUESTS, request_problems, f"{path}.requests")
    yield from twice([one.name for one in spec.requests], f"{path}.requests", ".name")
    for i, constraint in enumerate(spec.constraints):
        at = f"{path}.constraints[{i}]"
        yield from reference_problems(constraint.requests, known, f"{at}.requests")
        if constraint.match_attribute is None:
            yield required(f"{at}.matchAttribute")
        else:
            yield from attribute_name_problems(constraint.match_attribute, f"{at}.matchAttribute")
            if "/" not in constraint.match_attribute:
                advice = "write the driver's name before it: gpu.example.com/switch"
                yield required(f"{at}.matchAttribute.domain", "must include a prefix", advice)
    yield from too_many_problems(spec.constraints, MOST_CONSTRAINTS, f"{path}.constraints")
    for i, config in enumerate(spec.config):
        yield from reference_problems(config.requests, known, f"{path}.config[{i}].requests")
        yield from configuration_problems(config, f"{path}.config[{i}]")
    yield from too_many_problems(spec.config, MOST_CONFIGS, f"{path}.config")


def request_problems(request: DeviceRequest, path: str) -> Problems:
    """Go: `validateDeviceRequest`."""
    yield from label_problems(request.name, f"{path}.name")
    if not request.device_class_name:
        yield required(f"{path}.deviceClassName")
    else:
        wrong = names.dns_subdomain_problems(request.device_class_name)
        yield from invalids(f"{path}.deviceClassName", request.device_class_name, wrong)
    yield from selector_problems(request.selectors, f"{path}.selectors")
    if request.allocation_mode == ALL:
        if request.count:
            detail = f"must not be specified when allocationMode is '{ALL}'"
            yield invalid(f"{path}.count", request.count, detail)
    elif request.allocation_mode != EXACT_COUNT:
        yield unsupported(f"{path}.allocationMode", request.allocation_mode, (ALL, EXACT_COUNT))
    elif request.count <= 0:
        yield invalid(f"{path}.count", request.count, "must be greater than zero")


def selector_problems(selectors: Sequence[str | None], path: str) -> Problems:
    """Go: `validateSelector`, `validateCELSelector`."""
    for i, expression in enumerate(selectors):
        at = f"{path}[{i}].cel"
        if expression is None:
            yield required(at)
        elif len(expression.encode()) > LONGEST_EXPRESSION:
            yield too_long(f"{at}.expression", LONGEST_EXPRESSION)
        else:
            try:
                compile_selector(expression)
            except CompileError as error:
                yield invalid(f"{at}.expression", expression, error.text(expression))
    yield from too_many_problems(selectors, MOST_SELECTORS, path)


def reference_problems(requests: Sequence[str], known: Collection[str], path: str) -> Problems:
    """Names of requests, which have to be there. Go: `validateRequestNameRef`."""
    for i, name in enumerate(requests):
        yield from label_problems(name, f"{path}[{i}]")
        if name not in known:
            yield invalid(f"{path}[{i}]", name, "must be the name of a request in the claim")
    yield from too_many_problems(requests, MOST_REQUESTS, path)
    yield from twice(requests, path)


def configuration_problems(config: DeviceConfiguration, path: str) -> Problems:
    """Go: `validateDeviceConfiguration`."""
    if not config.driver and config.parameters is None:
        yield required(f"{path}.opaque")
        return
    yield from driver_problems(config.driver, f"{path}.opaque.driver")
    if config.parameters is None:
        yield required(f"{path}.opaque.parameters")
    elif not isinstance(config.parameters, dict):
        detail = "parameters must be a valid JSON object"
        yield invalid(f"{path}.opaque.parameters", "<value omitted>", detail)


# Pods


def pod_claim_problems(pod: Pod) -> Problems:
    """The claims of a pod, and those that its containers name."""
    seen: set[str] = set()
    for i, claim in enumerate(pod.resource_claims):
        at = f"spec.resourceClaims[{i}]"
        if not claim.name:
            yield required(f"{at}.name")
        elif claim.name in seen:
            yield duplicate(f"{at}.name", claim.name)
        else:
            yield from label_problems(claim.name, f"{at}.name")
        seen.add(claim.name)
        sources = {
            "resourceClaimName": claim.resource_claim_name,
            "resourceClaimTemplateName": claim.resource_claim_template_name,
        }
        given = {name: value for name, value in sources.items() if value is not None}
        if len(given) != 1:
            detail = (
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
                if given
                else "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            )
            yield invalid(at, claim.name, detail)
        for name, value in given.items():
            yield from invalids(f"{at}.{name}", value, names.dns_subdomain_problems(value))
    known = sorted(seen - {""})
    for kind, containers in (("containers", pod.containers), ("initContainers", pod.init_containers)):
        for i, container in enumerate(containers):
            yield from named_claim_problems(container, known, f"spec.{kind}[{i}].resources.claims")


def named_claim_problems(container: Container, known: Sequence[str], path: str) -> Problems:
    """Go: `validateResourceClaimNames`."""
    seen: set[str] = set()
    for i, (name, request) in enumerate(container.claims):
        at = f"{path}[{i}]"
        if not name:
            yield required(at)
            continue
        key = f"{name}/{request}" if request else name
        overlaps = not request and any(other.partition("/")[0] == name for other in seen)
        if request and name not in seen:
            yield from label_problems(request, f"{at}.request")
        if name in seen or key in seen or overlaps:
            yield duplicate(at, key if key in seen else name)
        else:
            seen.add(key)
        if name not in known:
            which = f": {', '.join(known)}" if known else " which is empty"
            yield not_found(at, name, f"must be one of the names in pod.spec.resourceClaims{which}")
