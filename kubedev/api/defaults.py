"""What the API server fills in before anybody sees an object: requests, rounding, host ports, priority.

Go source: `pkg/apis/core/v1/defaults.go`, `plugin/pkg/admission/priority/admission.go`. Only what bears on
devices and scheduling is here.
"""

from collections.abc import Iterable
from functools import lru_cache

from kubedev.api.objects import Container, Node, Pod, ResourceList
from kubedev.api.pod_groups import Namespace, PriorityClass
from kubedev.api.quantity import MILLI
from kubedev.api.values import Same, replace

__all__ = [
    "SYSTEM_PRIORITY_CLASSES",
    "PriorityError",
    "default_namespace",
    "default_node",
    "default_pod",
    "resolve_priority",
    "without_claims",
]

SYSTEM_PRIORITY_CLASSES = (
    PriorityClass("system-cluster-critical", 2_000_000_000),
    PriorityClass("system-node-critical", 2_000_001_000),
)


class PriorityError(ValueError):
    """A pod that names a priority class that does not exist, or a priority of its own."""


def default_pod(pod: Pod) -> Pod:
    """A pod as the API server stores it: missing requests are copied from the limits, one resource at a time.

    Quantities are rounded up to thousandths. A pod on the host's network takes its container ports there.
    """

    return replace(
        pod,
        containers=default_containers(Same(pod.containers), pod.host_network),
        init_containers=default_containers(Same(pod.init_containers), pod.host_network),
        overhead=round_up_list(pod.overhead) if pod.overhead else pod.overhead,
    )


@lru_cache(maxsize=256)  # pods of one template share their containers, and go on sharing them
def default_containers(
    of_containers: Same[tuple[Container, ...]], host_network: bool
) -> tuple[Container, ...]:
    """Containers as the API server stores them."""

    def default_container(container: Container) -> Container:
        ports = container.ports
        if host_network:
            ports = tuple(replace(port, host_port=port.host_port or port.container_port) for port in ports)
        requests = {**container.limits, **container.requests}
        limits = round_up_list(container.limits)
        return replace(container, requests=round_up_list(requests), limits=limits, ports=ports)

    return tuple(map(default_container, of_containers.value))


def without_claims(pod: Pod) -> Pod:
    """The pod without claims for devices, as it is stored where their feature gate is off.

    Go: `pkg/api/pod/util.go: dropDisabledDynamicResourceAllocationFields`.
    """
    if not pod.resource_claims and not any(one.claims for one in (*pod.containers, *pod.init_containers)):
        return pod
    return replace(
        pod,
        resource_claims=(),
        resource_claim_statuses={},
        containers=tuple(replace(one, claims=()) for one in pod.containers),
        init_containers=tuple(replace(one, claims=()) for one in pod.init_containers),
    )


def default_node(node: Node) -> Node:
    """A node as the API server stores it: without an allocatable list, all of the capacity can be had.

    An empty list is a list: then nothing can be had.
    """
    given = (node.manifest.get("status") or {}).get("allocatable") is not None or bool(node.allocatable)
    allocatable = node.allocatable if given else node.capacity
    return replace(node, capacity=round_up_list(node.capacity), allocatable=round_up_list(allocatable))


def default_namespace(namespace: Namespace) -> Namespace:
    """A namespace as the API server stores it: with its name as a label."""
    return replace(namespace, labels={**namespace.labels, "kubernetes.io/metadata.name": namespace.name})


def round_up_list(quantities: ResourceList) -> ResourceList:
    """Each quantity rounded up to thousandths."""
    return {name: quantity.round_up(MILLI) for name, quantity in quantities.items()}


def resolve_priority(pod: Pod, classes: Iterable[PriorityClass]) -> Pod:
    """The pod with the priority of its class, or of the global default, or 0; or PriorityError.

    Of several global defaults the one with the smallest value counts. The two system classes always exist.
    """
    known = {found.name: found for found in (*SYSTEM_PRIORITY_CLASSES, *classes)}
    if pod.priority_class_name:
        if pod.priority_class_name not in known:
            raise PriorityError(f"no PriorityClass with name {pod.priority_class_name} was found")
        chosen = known[pod.priority_class_name]
    else:
        defaults = (found for found in known.values() if found.global_default)
        chosen = min(defaults, key=lambda found: found.value, default=PriorityClass(""))
    if pod.priority is not None and pod.priority != chosen.value:
        raise PriorityError(
            f"the integer value of priority ({pod.priority}) must not be provided in pod spec; priority "
            f"admission controller computed {chosen.value} from the given PriorityClass name"
        )
    policy = pod.preemption_policy or chosen.preemption_policy
    if policy != chosen.preemption_policy:
        raise PriorityError(
            f"the string value of PreemptionPolicy ({policy}) must not be provided in pod spec; priority "
            f"admission controller computed {chosen.preemption_policy} from the given PriorityClass name"
        )
    return replace(
        pod,
        priority=chosen.value,
        priority_class_name=chosen.name,
        preemption_policy=chosen.preemption_policy,
    )
