"""What the API server refuses of pods and nodes, as far as devices and scheduling go.

Go source: `pkg/apis/core/validation/validation.go`. Give defaulted objects. One thing differs on purpose:
where the API server prints a quantity as a Go struct, it stands here as it would be written.
"""

from kubedev.api import names
from kubedev.api.claim_validation import pod_claim_problems
from kubedev.api.names import CPU, MEMORY
from kubedev.api.objects import Container, ContainerPort, Labels, Node, Pod, ResourceList
from kubedev.api.problems import (
    Problem,
    Problems,
    duplicate,
    forbidden,
    invalid,
    invalids,
    required,
    unsupported,
)
from kubedev.api.quantity import Quantity, QuantityError
from kubedev.api.selector_validation import validate_scheduling, validate_taints

__all__ = ["validate_node", "validate_pod"]

COUNTED_OBJECTS = frozenset(
    {
        "pods",
        "services",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
CONTAINER_RESOURCES = frozenset({CPU, MEMORY, names.EPHEMERAL_STORAGE})
QUOTA_RESOURCES = {f"{part}.{name}" for part in ("requests", "limits") for name in CONTAINER_RESOURCES}
STANDARD_RESOURCES = COUNTED_OBJECTS | CONTAINER_RESOURCES | QUOTA_RESOURCES | {"storage", "requests.storage"}
PROTOCOLS = ("SCTP", "TCP", "UDP")
RESTART_POLICIES = ("Always", "OnFailure", "Never")
MAX_PORT = 65535


def validate_pod(pod: Pod) -> tuple[Problem, ...]:
    """Why the API server would refuse a pod; empty where it would take it (Go: `ValidatePodCreate`)."""
    return tuple(pod_problems(pod))


def validate_node(node: Node) -> tuple[Problem, ...]:
    """Why the API server would refuse a node; empty where it would take it (Go: `ValidateNode`)."""
    return tuple(node_problems(node))


def node_problems(node: Node) -> Problems:
    yield from metadata_problems(node.name, "", node.labels)
    yield from validate_taints(node.taints, "spec.taints")
    for part, quantities in (("capacity", node.capacity), ("allocatable", node.allocatable)):
        for name in sorted(quantities):
            yield from quantity_problems(name, quantities[name], f"status.{part}.{name}")


def pod_problems(pod: Pod) -> Problems:
    yield from metadata_problems(pod.name, pod.namespace, pod.labels)
    if not pod.containers:
        yield required("spec.containers", advice="give the pod at least one container")
    yield from container_list_problems(pod)
    yield from init_container_list_problems(pod)
    if pod.restart_policy not in RESTART_POLICIES:
        yield unsupported("spec.restartPolicy", pod.restart_policy, RESTART_POLICIES)
    if pod.host_network:
        yield from host_network_problems(pod)
    if pod.overhead:
        yield from resource_problems({}, pod.overhead, "spec.overhead")
    yield from validate_scheduling(pod)
    yield from pod_claim_problems(pod)


def metadata_problems(name: str, namespace: str, labels: Labels) -> Problems:
    """Name, namespace and labels."""
    if not name:
        yield required("metadata.name", "name or generateName is required")
    else:
        yield from invalids("metadata.name", name, names.dns_subdomain_problems(name))
    if namespace:
        yield from invalids("metadata.namespace", namespace, names.dns_label_problems(namespace))
    for key, value in labels.items():
        yield from invalids("metadata.labels", key, names.qualified_name_problems(key))
        yield from invalids("metadata.labels", value, names.label_value_problems(value))


def container_list_problems(pod: Pod) -> Problems:
    """Containers, and that no two share a name or a host port."""
    seen: set[str] = set()
    for i, container in enumerate(pod.containers):
        path = f"spec.containers[{i}]"
        yield from container_problems(container, path)
        if container.name in seen:
            yield duplicate(f"{path}.name", container.name, "give each container a name of its own")
        seen.add(container.name)
        if container.restart_policy is not None:
            yield forbidden(f"{path}.restartPolicy", "may not be set for non-init containers")
    yield from host_port_conflicts(pod.containers, "spec.containers")


def init_container_list_problems(pod: Pod) -> Problems:
    """Init containers, whose names must differ from all others. They run alone: ports may be shared."""
    seen = {container.name for container in pod.containers}
    for i, container in enumerate(pod.init_containers):
        path = f"spec.initContainers[{i}]"
        yield from container_problems(container, path)
        if container.restart_policy not in (None, "Always"):
            yield unsupported(f"{path}.restartPolicy", str(container.restart_policy), ("Always",))
        if container.name in seen:
            yield duplicate(f"{path}.name", container.name, "give each container a name of its own")
        if container.name:
            seen.add(container.name)
        yield from host_port_conflicts((container,), "spec.initContainers")


def container_problems(container: Container, path: str) -> Problems:
    """One container."""
    if container.name:
        yield from invalids(f"{path}.name", container.name, names.dns_label_problems(container.name))
    else:
        yield required(f"{path}.name", advice="give the container a name")
    if not container.image:
        yield required(f"{path}.image", advice="give the container an image")
    for i, port in enumerate(container.ports):
        yield from port_problems(port, f"{path}.ports[{i}]")
    yield from resource_problems(container.requests, container.limits, f"{path}.resources")


def port_problems(port: ContainerPort, path: str) -> Problems:
    """Numbers and protocol of a port."""
    wrong = f"must be between 1 and {MAX_PORT}, inclusive"
    if not port.container_port:
        yield required(f"{path}.containerPort")
    elif not 0 < port.container_port <= MAX_PORT:
        yield invalid(f"{path}.containerPort", port.container_port, wrong)
    if not 0 <= port.host_port <= MAX_PORT:
        yield invalid(f"{path}.hostPort", port.host_port, wrong)
    if port.protocol not in PROTOCOLS:
        yield unsupported(f"{path}.protocol", port.protocol, PROTOCOLS)


def host_port_conflicts(containers: tuple[Container, ...], path: str) -> Problems:
    """Ports of the node that are taken twice."""
    seen: set[str] = set()
    for i, container in enumerate(containers):
        for j, port in enumerate(container.ports):
            text = f"{port.protocol}/{port.host_ip}/{port.host_port}"
            if port.host_port and text in seen:
                yield duplicate(f"{path}[{i}].ports[{j}].hostPort", text)
            seen.add(text)


def host_network_problems(pod: Pod) -> Problems:
    """On the host's network a container's port is the host's."""
    for i, container in enumerate(pod.containers):
        for j, port in enumerate(container.ports):
            if port.host_port != port.container_port:
                path = f"spec.containers[{i}].ports[{j}].hostPort"
                detail = "must match `containerPort` when `hostNetwork` is true"
                yield invalid(path, port.host_port, detail)


def resource_problems(requests: ResourceList, limits: ResourceList, path: str) -> Problems:
    """Requests and limits, and whether they go together (Go: `validateResourceRequirements`)."""
    for part, quantities in (("limits", limits), ("requests", requests)):
        for name in sorted(quantities):
            field, quantity = f"{path}.{part}[{name}]", quantities[name]
            yield from resource_name_problems(name, field)
            yield from quantity_problems(name, quantity, field)
            if part == "requests":
                yield from limit_problems(name, quantity, limits, path)
            if names.is_huge_page_resource_name(name) and not is_divisible(name, quantity):
                yield invalid(
                    field,
                    str(quantity),
                    f"{quantity} is not positive integer multiple of {name}",
                    "ask for whole pages",
                )
    everything = {**limits, **requests}
    if any(map(names.is_huge_page_resource_name, everything)) and not {CPU, MEMORY} & everything.keys():
        advice = "request memory (or cpu) beside the huge pages"
        yield forbidden(path, "HugePages require cpu or memory", advice)


def limit_problems(name: str, request: Quantity, limits: ResourceList, path: str) -> Problems:
    """A request against its limit: devices and huge pages cannot be overcommitted."""
    strict = not names.is_overcommit_allowed(name)
    if name not in limits:
        if strict:
            yield required(
                f"{path}.limits",
                "Limit must be set for non overcommitable resources",
                f"write {name}: {request} under limits; the request may then be left out",
            )
    elif strict and request != limits[name]:
        yield invalid(
            f"{path}.requests",
            str(request),
            f"must be equal to {name} limit of {limits[name]}",
            "write the same number under both, or leave the request out",
        )
    elif request > limits[name]:
        yield invalid(
            f"{path}.requests",
            str(request),
            f"must be less than or equal to {name} limit of {limits[name]}",
            "lower the request or raise the limit",
        )


def resource_name_problems(name: str, field: str) -> Problems:
    """Whether a container may ask for a resource of this name (Go: `validateContainerResourceName`)."""
    found = list(invalids(field, name, names.qualified_name_problems(name)))
    yield from found
    if "/" not in name:
        known = name in CONTAINER_RESOURCES or names.is_huge_page_resource_name(name)
        if not (found or known or name in STANDARD_RESOURCES):
            yield invalid(field, name, "must be a standard resource type or fully qualified")
        if not known:
            detail = "must be a standard resource for containers"
            advice = "a device has a domain before its name: example.com/gpu"
            yield invalid(field, name, detail, advice)
    elif not names.is_native_resource(name) and not names.is_extended_resource_name(name):
        yield invalid(field, name, "doesn't follow extended resource name standard")


def quantity_problems(name: str, quantity: Quantity, field: str) -> Problems:
    """Not below 0, and devices come whole (Go: `ValidateResourceQuantityValue`)."""
    if quantity.sign() < 0:
        yield invalid(field, str(quantity), "must be greater than or equal to 0")
    whole = name in COUNTED_OBJECTS or names.is_extended_resource_name(name)
    if whole and quantity.milli_value() % 1000:
        advice = "ask for whole devices (1, 2, ...): parts of one cannot be had"
        yield invalid(field, str(quantity), "must be an integer", advice)


def is_divisible(name: str, quantity: Quantity) -> bool:
    """Whether an amount of huge pages is a number of whole pages (Go: `IsHugePageResourceValueDivisible`)."""
    try:
        page = Quantity.parse(name.removeprefix(names.HUGE_PAGES_PREFIX))
    except QuantityError:
        return False
    if page.sign() <= 0 or page.milli_value() % 1000 or not page.value():
        return False
    return quantity.value() % page.value() == 0
