"""Slices of devices, as the API server stores them: refused in its words.

Go: `pkg/apis/resource/validation/validation.go: ValidateResourceSlice`.
"""

from kubedev.api import names
from kubedev.api.cel.semver import Semver
from kubedev.api.device_names import attribute_name_problems, driver_problems, each, label_problems, twice
from kubedev.api.fields import Fields
from kubedev.api.problems import Problems, invalid, invalids, required, too_long
from kubedev.api.resource_slices import ResourceSlice
from kubedev.api.selector_validation import node_term_problems

__all__ = ["slice_problems"]

MOST_DEVICES, MOST_NAMES, LONGEST_VALUE, LONGEST_POOL = 128, 32, 64, 253
ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required"


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
