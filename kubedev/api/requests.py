"""What a pod requests: from its containers to the numbers that the scheduler and the kubelet count with.

Go source: `k8s.io/component-helpers/resource/helpers.go: PodRequests`, `pkg/scheduler/framework/types.go:
Resource, calculateResource`. Init containers run one after another before the others, so of them only the
peak counts; sidecars (init containers that go on running) count in every moment from their start.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Self

from kubedev.api.int64 import wrap_int64
from kubedev.api.names import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, is_scalar_resource_name
from kubedev.api.objects import Container, Pod, ResourceList
from kubedev.api.quantity import MILLI, Quantity
from kubedev.api.values import Same, replace

__all__ = [
    "DEFAULT_MEMORY_REQUEST",
    "DEFAULT_MILLI_CPU_REQUEST",
    "PodArithmetic",
    "RequestStep",
    "Resource",
    "Role",
    "add_lists",
    "calculate_resource",
    "compute_pod_resource_request",
    "max_lists",
    "pod_arithmetic",
    "pod_requests",
    "summed",
]

DEFAULT_MILLI_CPU_REQUEST = 100
DEFAULT_MEMORY_REQUEST = 200 * 1024 * 1024
ZERO = Quantity()
NON_MISSING: ResourceList = {
    CPU: Quantity(DEFAULT_MILLI_CPU_REQUEST, MILLI),
    MEMORY: Quantity(DEFAULT_MEMORY_REQUEST),
}


class Role(StrEnum):
    """The part that a container plays in a pod's request."""

    CONTAINER = "container"
    SIDECAR = "sidecar"
    INIT = "init container"


@dataclass(frozen=True, slots=True)
class RequestStep:
    """One container: what it requests, and what is needed in the moment that it stands for.

    For an init container that is itself and the sidecars before it, for a sidecar all sidecars up to itself,
    for another container all of those up to itself.
    """

    container: str
    role: Role
    requests: ResourceList
    needed: ResourceList


@dataclass(frozen=True, slots=True)
class PodArithmetic:
    """A pod's request and the way to it: `total = max(running, starting) + overhead`, by resource.

    `running` is the sum of containers and sidecars, `starting` the largest need of any init container.
    """

    steps: tuple[RequestStep, ...]
    running: ResourceList
    starting: ResourceList
    overhead: ResourceList
    total: ResourceList


def pod_requests(pod: Pod) -> ResourceList:
    """What a pod requests, by resource, before any rounding."""
    return pod_arithmetic(pod).total


def pod_arithmetic(pod: Pod, non_missing: ResourceList | None = None) -> PodArithmetic:
    """Work out a pod's request. `non_missing` stands in wherever a container has no request of that name."""
    return _arithmetic(Same(pod.containers), Same(pod.init_containers), Same(pod.overhead), Same(non_missing))


@lru_cache(maxsize=256)  # a pod is asked again and again, and pods of one template share their containers
def _arithmetic(
    of_containers: Same[tuple[Container, ...]],
    of_init_containers: Same[tuple[Container, ...]],
    of_overhead: Same[ResourceList],
    stand_in: Same[ResourceList | None],
) -> PodArithmetic:
    containers, init_containers = of_containers.value, of_init_containers.value
    overhead, non_missing = of_overhead.value, stand_in.value
    steps: list[RequestStep] = []
    running: ResourceList = {}
    sidecars: ResourceList = {}
    starting: ResourceList = {}
    for container in containers:
        requests = effective_requests(container, non_missing)
        running = add_lists(running, requests)
        steps.append(RequestStep(container.name, Role.CONTAINER, requests, running))
    for container in init_containers:
        requests = effective_requests(container, non_missing)
        needed = add_lists(requests, sidecars)
        if container.restartable:
            running = add_lists(running, requests)
            sidecars = needed
        starting = max_lists(starting, needed)
        role = Role.SIDECAR if container.restartable else Role.INIT
        steps.append(RequestStep(container.name, role, requests, needed))
    total = add_lists(max_lists(running, starting), overhead)
    return PodArithmetic(tuple(steps), running, starting, overhead, total)


def effective_requests(container: Container, non_missing: ResourceList | None) -> ResourceList:
    """A container's requests, with a stand-in for each one that is missing; an explicit 0 is not missing."""
    return {**non_missing, **container.requests} if non_missing else container.requests


def add_lists(left: ResourceList, right: ResourceList) -> ResourceList:
    """The sums by name."""
    if not left or not right:
        return left or right
    total = dict(left)
    for name, quantity in right.items():
        total[name] = total[name] + quantity if name in total else quantity
    return total


def max_lists(left: ResourceList, right: ResourceList) -> ResourceList:
    """The larger ones by name."""
    if not left or not right:
        return left or right
    larger = dict(left)
    for name, quantity in right.items():
        if name not in larger or quantity > larger[name]:
            larger[name] = quantity
    return larger


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource list in whole numbers: millicores, bytes, counts. All are int64, and wrap as in Go.

    A scalar of 0 is not the same as none: a pod with one is no longer a pod that "asks for nothing".
    """

    milli_cpu: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    allowed_pod_number: int = 0
    scalar_resources: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, quantities: ResourceList) -> Self:
        """The resources of a list, each rounded up (Go: `NewResource`)."""
        return cls().add(quantities)

    def add(self, quantities: ResourceList) -> Self:
        """Plus a list; names that are neither known nor scalar are left out (Go: `Add`)."""
        other = whole_numbers(quantities)
        pods = quantities[PODS].value() if PODS in quantities else 0
        return self.plus(replace(other, allowed_pod_number=pods))

    def set_max(self, quantities: ResourceList, plain: bool = False) -> Self:
        """The larger one of each; never below 0, and pods are not looked at (Go: `SetMaxResource`)."""
        other = whole_numbers(quantities, plain)
        scalars = dict(self.scalar_resources)
        for name, number in other.scalar_resources.items():
            scalars[name] = max(scalars.get(name, 0), number)
        return replace(
            self,
            milli_cpu=max(self.milli_cpu, other.milli_cpu),
            memory=max(self.memory, other.memory),
            ephemeral_storage=max(self.ephemeral_storage, other.ephemeral_storage),
            scalar_resources=scalars,
        )

    def plus(self, other: "Resource", sign: int = 1) -> Self:
        """Plus another resource, or minus it with sign -1."""
        scalars = self.scalar_resources
        if other.scalar_resources:
            scalars = dict(scalars)
            for name, number in other.scalar_resources.items():
                scalars[name] = wrap_int64(scalars.get(name, 0) + sign * number)
        return type(self)(
            wrap_int64(self.milli_cpu + sign * other.milli_cpu),
            wrap_int64(self.memory + sign * other.memory),
            wrap_int64(self.ephemeral_storage + sign * other.ephemeral_storage),
            wrap_int64(self.allowed_pod_number + sign * other.allowed_pod_number),
            scalars,
        )

    def get(self, name: str) -> int:
        """The number of a resource by its name; what is not there is 0."""
        if name == CPU:
            return self.milli_cpu
        if name == MEMORY:
            return self.memory
        if name == EPHEMERAL_STORAGE:
            return self.ephemeral_storage
        return self.allowed_pod_number if name == PODS else self.scalar_resources.get(name, 0)


def summed(resources: Sequence[Resource]) -> Resource:
    """The sum, as `plus` one after another gives it: int64 wraps the same whenever that is done."""
    scalars: dict[str, int] = {}
    for one in resources:
        for name, number in one.scalar_resources.items():
            scalars[name] = scalars.get(name, 0) + number
    return Resource(
        wrap_int64(sum([one.milli_cpu for one in resources])),
        wrap_int64(sum([one.memory for one in resources])),
        wrap_int64(sum([one.ephemeral_storage for one in resources])),
        wrap_int64(sum([one.allowed_pod_number for one in resources])),
        {name: wrap_int64(number) for name, number in scalars.items()},
    )


def whole_numbers(quantities: ResourceList, plain: bool = False) -> Resource:
    """The numbers of a list, pods aside; with `plain` they are as large as they are, and no int64."""

    def number(name: str, scale: int = 0) -> int:
        quantity = quantities.get(name, ZERO)
        return quantity.rounded_up(scale) if plain else quantity.scaled_value(scale)

    return Resource(
        milli_cpu=number(CPU, MILLI),
        memory=number(MEMORY),
        ephemeral_storage=number(EPHEMERAL_STORAGE),
        scalar_resources={name: number(name) for name in quantities if is_scalar_resource_name(name)},
    )


def calculate_resource(pod: Pod) -> tuple[Resource, Resource]:
    """What a pod takes of its node: its requests, and CPU and memory as scoring sees them.

    Scoring puts 100m and 200Mi in place of each container's missing request, so that pods without any do not
    all seem to cost nothing.
    """
    return _taken(Same(pod.containers), Same(pod.init_containers), Same(pod.overhead))


@lru_cache(maxsize=4096)  # pods of one template share what this is reckoned from
def _taken(
    of_containers: Same[tuple[Container, ...]],
    of_init_containers: Same[tuple[Container, ...]],
    of_overhead: Same[ResourceList],
) -> tuple[Resource, Resource]:
    of_pod = of_containers, of_init_containers, of_overhead
    non_zero = whole_numbers(_arithmetic(*of_pod, Same(NON_MISSING)).total)
    requests = _arithmetic(*of_pod, Same(None)).total
    return whole_numbers(requests), Resource(non_zero.milli_cpu, non_zero.memory)


def compute_pod_resource_request(pod: Pod, switches: Collection[str] = ()) -> Resource:
    """What the scheduler asks of a node for a pod: nothing below 0, scalars by name.

    Huge quantities wrap as int64 does, and then fit; with the switch 128684 they do not.
    Go: `noderesources/fit.go: computePodResourceRequest`.
    """
    return _asked(Same(pod_requests(pod)), "128684" in switches)


@lru_cache(maxsize=256)
def _asked(requests: Same[ResourceList], plain: bool) -> Resource:
    request = Resource().set_max(requests.value, plain)
    return replace(request, scalar_resources=dict(sorted(request.scalar_resources.items())))
