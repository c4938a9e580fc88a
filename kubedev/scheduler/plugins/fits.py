"""Fits: does a node have enough of everything that a pod asks for? Each resource that falls short is told.

Go source: `pkg/scheduler/framework/plugins/noderesources/fit.go: fitsRequest`. The kubelet asks the same
again when it admits the pod.
"""

from collections.abc import Collection
from dataclasses import dataclass

from kubedev.api.int64 import wrap_int64
from kubedev.api.names import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, is_extended_resource_name
from kubedev.api.requests import Resource
from kubedev.scheduler.node_info import NodeInfo

__all__ = ["InsufficientResource", "fits", "is_ignored", "wanted"]

UNITS = {CPU: "m", MEMORY: " bytes", EPHEMERAL_STORAGE: " bytes"}


@dataclass(frozen=True, slots=True)
class InsufficientResource:
    """A resource that a node has too little of: millicores, bytes or counts.

    `requested` is what the pod asks for, `used` what the node's pods take, `capacity` what it can give.
    """

    resource_name: str
    reason: str
    requested: int
    used: int
    capacity: int

    @property
    def free(self) -> int:
        """What is left; below 0 on an overcommitted node."""
        return wrap_int64(self.capacity - self.used)

    @property
    def arithmetic(self) -> str:
        """The sum that does not work out, as a sentence."""
        unit = UNITS.get(self.resource_name, "")
        return (
            f"{self.resource_name}: requested {self.requested}{unit} > free {self.free}{unit} "
            f"(capacity {self.capacity}{unit} - used {self.used}{unit})"
        )


def fits(
    request: Resource,
    node_info: NodeInfo,
    ignored_resources: Collection[str] = (),
    ignored_groups: Collection[str] = (),
) -> tuple[InsufficientResource, ...]:
    """What a node lacks for a pod's request; empty where the pod fits.

    The order: pods, cpu, memory, ephemeral storage, then scalars by name (a map's order in Go). What is not
    requested always fits, on an overcommitted node too. Ignored are extended resources by name, or by the
    part before the slash: somebody else looks after those.
    """
    used, capacity = node_info.requested, node_info.allocatable
    short: list[InsufficientResource] = []
    pods, allowed = len(node_info.pods), capacity.allowed_pod_number
    if pods + 1 > allowed:
        short.append(InsufficientResource(PODS, "Too many pods", 1, pods, allowed))
    if request.milli_cpu:
        check(short, CPU, request.milli_cpu, used.milli_cpu, capacity.milli_cpu)
    if request.memory:
        check(short, MEMORY, request.memory, used.memory, capacity.memory)
    if request.ephemeral_storage:
        storage = used.ephemeral_storage, capacity.ephemeral_storage
        check(short, EPHEMERAL_STORAGE, request.ephemeral_storage, *storage)
    ignores = bool(ignored_resources or ignored_groups)
    for name, asked in request.scalar_resources.items():
        if not (ignores and is_ignored(name, ignored_resources, ignored_groups)):
            taken, given = used.scalar_resources.get(name, 0), capacity.scalar_resources.get(name, 0)
            check(short, name, asked, taken, given)
    return tuple(short)


def wanted(request: Resource) -> list[tuple[str, int]]:
    """What a request asks for, in the order of `fits`; what it asks nothing of always fits."""
    amounts = (
        (CPU, request.milli_cpu),
        (MEMORY, request.memory),
        (EPHEMERAL_STORAGE, request.ephemeral_storage),
    )
    return [(name, asked) for name, asked in (*amounts, *request.scalar_resources.items()) if asked > 0]


def check(short: list[InsufficientResource], name: str, asked: int, taken: int, given: int) -> None:
    """Note a resource of which less is left than a pod asks for."""
    if asked > 0 and asked > wrap_int64(given - taken):
        short.append(InsufficientResource(name, f"Insufficient {name}", asked, taken, given))


def is_ignored(name: str, resources: Collection[str], groups: Collection[str]) -> bool:
    """Whether an extended resource is left to somebody else, by its name or its domain."""
    return is_extended_resource_name(name) and (name in resources or name.split("/")[0] in groups)
