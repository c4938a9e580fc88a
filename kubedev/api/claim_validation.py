"""Claims for devices and what they are made from, as the API server stores them: defaulted, and refused in its words.

Left out: the estimate of what an expression costs. Go: `pkg/apis/resource/validation/validation.go`,
`pkg/apis/resource/v1beta1/defaults.go`, and for pods `pkg/apis/core/validation/validation.go:
validatePodResourceClaims, validateResourceClaimNames`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from kubedev.api import names
from kubedev.api.cel import CompileError, compile_selector
from kubedev.api.cel.semver import Semver
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
    ResourceSlice,
)
from kubedev.api.fields import Fields
from kubedev.api.objects import Container, Pod
from kubedev.api.problems import (
    Problems,
    duplicate,
    invalid,
    invalids,
    not_found,
    required,
    too_long,
    too_many,
    unsupported,
)
from kubedev.api.selector_validation import node_term_problems

__all__ = [
    "attribute_name_problems",
    "default_device_object",
    "label_problems",
    "pod_claim_problems",
    "validate_device_object",
]

MOST_REQUESTS = MOST_SELECTORS = MOST_CONSTRAINTS = MOST_CONFIGS = 32
MOST_DEVICES, MOST_NAMES, LONGEST_VALUE, LONGEST_ID, LONGEST_DRIVER = 128, 32, 64, 32, 63
LONGEST_EXPRESSION, LONGEST_POOL = 10 * 1024, 253
C_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
NO_C_IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
    "'[A-Za-z_][A-Za-z0-9_]*')"
)
ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required"

T = TypeVar("T")


def default_device_object(found: DeviceObject) -> DeviceObject:
    """What the API server fills in: one device of each request that says nothing."""
    if not isinstance(found, ResourceClaim | ResourceClaimTemplate):
        return found
    requests = tuple(map(default_request, found.spec.requests))
    return replace(found, spec=replace(found.spec, requests=requests))


def default_request(request: DeviceRequest) -> DeviceRequest:
    """Go: `SetDefaults_DeviceRequest`."""
    mode = request.allocation_mode or EXACT_COUNT
    count = 1 if mode == EXACT_COUNT and request.count == 0 else request.count
    return replace(request, allocation_mode=mode, count=count)


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


# Slices


def slice_problems(found: ResourceSlice) -> Problems:
    """Go: `validateResourceSliceSpec`."""
    yield from driver_problems(found.driver, "spec.driver")
    pool = found.pool
    if not pool.name:
        yield required("spec.pool.name")
    elif len(pool.name) > LONGEST_POOL:
        yield too_long("spec.pool.name", LONGEST_POOL)
    for part in pool.name.split("/") if pool.name else ():
        yield from invalids("spec.pool.name", part, names.dns_subdomain_problems(part))
    if pool.resource_slice_count <= 0:
        detail = "must be greater than zero"
        yield invalid("spec.pool.resourceSliceCount", pool.resource_slice_count, detail)
    if pool.generation < 0:
        yield invalid("spec.pool.generation", pool.generation, "must be greater than or equal to zero")
    yield from place_problems(found)
    devices = Fields.of(found.manifest).child("spec").children("devices")
    yield from each(devices, MOST_DEVICES, device_problems, "spec.devices")
    yield from twice([one.text("name") for one in devices], "spec.devices", ".name")


def place_problems(found: ResourceSlice) -> Problems:
    """Where the devices of a slice are: one of three ways to say it."""
    if found.node_name:
        wrong = names.dns_subdomain_problems(found.node_name)
        yield from invalids("spec.nodeName", found.node_name, wrong)
    if found.node_selector is not None:
        path = "spec.nodeSelector.nodeSelectorTerms"
        if not found.node_selector:
            yield required(path, "must have at least one node selector term")
        for i, term in enumerate(found.node_selector):
            yield from node_term_problems(term, f"{path}[{i}]")
        if len(found.node_selector) != 1:
            yield invalid(path, len(found.node_selector), "must have exactly one selector term")
    said = {
        "nodeName": bool(found.node_name),
        "nodeSelector": found.node_selector is not None,
        "allNodes": found.all_nodes,
    }
    given = [name for name, there in said.items() if there]
    if not given:
        yield required("spec", ONE_PLACE)
    elif len(given) > 1:
        yield invalid("spec", ", ".join(given), ONE_PLACE)


def device_problems(device: Fields, path: str) -> Problems:
    """Go: `validateDevice`, `validateBasicDevice`."""
    yield from label_problems(device.text("name"), f"{path}.name")
    if not device.has("basic"):
        yield required(f"{path}.basic")
        return
    basic, at = device.child("basic"), f"{path}.basic"
    attributes, capacity = basic.child("attributes"), basic.child("capacity")
    for name in attributes.values:
        yield from attribute_name_problems(name, f"{at}.attributes")
        yield from attribute_problems(attributes.child(name), f"{at}.attributes[{name}]")
    for name in capacity.values:
        yield from attribute_name_problems(name, f"{at}.capacity")
    if (number := len(attributes.values) + len(capacity.values)) > MOST_NAMES:
        detail = f"the total number of attributes and capacities must not exceed {MOST_NAMES}"
        yield invalid(at, number, detail)


def attribute_problems(attribute: Fields, path: str) -> Problems:
    """Go: `validateDeviceAttribute`."""
    for kind in ("string", "version"):
        text = attribute.text(kind)
        if kind == "version" and attribute.has(kind) and not is_version(text):
            yield invalid(f"{path}.version", text, "must be a string compatible with semver.org spec 2.0.0")
        if len(text.encode()) > LONGEST_VALUE:
            yield too_long(f"{path}.{kind}", LONGEST_VALUE)
    given = [kind for kind in ("bool", "int", "string", "version") if attribute.has(kind)]
    if not given:
        yield required(path, "exactly one value must be specified")
    elif len(given) > 1:
        yield invalid(path, ", ".join(given), "exactly one field must be specified")


def is_version(text: str) -> bool:
    """Whether a text is a semantic version."""
    try:
        Semver.parse(text)
    except ValueError:
        return False
    return True


# Names and lists


def driver_problems(name: str, path: str) -> Problems:
    """Go: `ValidateCSIDriverName`."""
    if not name:
        yield required(path)
        return
    if len(name) > LONGEST_DRIVER:
        yield too_long(path, LONGEST_DRIVER)
    yield from invalids(path, name, names.dns_subdomain_problems(name.lower()))


def attribute_name_problems(name: str, path: str) -> Problems:
    """Go: `validateQualifiedName`."""
    if not name:
        yield required(path, "name required")
        return
    *domains, short = name.split("/")
    if len(domains) > 1:
        return
    if domains and not domains[0]:
        yield required(path, "the prefix must not be empty")
    elif domains:
        yield from driver_problems(domains[0], path)
    if domains and not short:
        yield required(path, "the name must not be empty")
        return
    if len(short) > LONGEST_ID:
        yield too_long(path, LONGEST_ID)
    if not C_IDENTIFIER.fullmatch(short):
        yield invalid(path, short, NO_C_IDENTIFIER)


def label_problems(name: str, path: str) -> Problems:
    """Go: `ValidateDNS1123Label`."""
    yield from invalids(path, name, names.dns_label_problems(name))


def each(items: Sequence[T], most: int, problems: Callable[[T, str], Problems], path: str) -> Problems:
    """Go: `validateSlice`."""
    for i, item in enumerate(items):
        yield from problems(item, f"{path}[{i}]")
    yield from too_many_problems(items, most, path)


def too_many_problems(items: Sequence[object], most: int, path: str) -> Problems:
    """A list that is too long."""
    if len(items) > most:
        yield too_many(path, len(items), most)


def twice(keys: Iterable[str], path: str, below: str = "") -> Problems:
    """Keys that stand in a list twice. Go: `validateSet`."""
    seen: set[str] = set()
    for i, key in enumerate(keys):
        if key in seen:
            yield duplicate(f"{path}[{i}]{below}", key)
        seen.add(key)


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
