"""The messages of the PodResources API, version v1, as plain values: what agents ask a kubelet, and its answers.

Names and fields are those of `k8s.io/kubelet/pkg/apis/podresources/v1/api.proto`, but that a topology is the tuple of
its nodes' ids; only `wire` knows protobuf.
"""

from dataclasses import dataclass

from kubedev.api.messages import RpcError

__all__ = [
    "AllocatableResourcesRequest",
    "AllocatableResourcesResponse",
    "ContainerDevices",
    "ContainerMemory",
    "ContainerResources",
    "GetPodResourcesRequest",
    "GetPodResourcesResponse",
    "ListPodResourcesRequest",
    "ListPodResourcesResponse",
    "PodResources",
    "PodResourcesAnswer",
    "PodResourcesRequest",
]


@dataclass(frozen=True, slots=True)
class ContainerDevices:
    """One device on one NUMA node; `numa_nodes` is None where its plugin named none.

    The message has room for more of both, and other kubelets may use it.
    """

    resource_name: str
    device_ids: tuple[str, ...]
    numa_nodes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class ContainerMemory:
    """Bytes of one type of memory, from these NUMA nodes together."""

    memory_type: str
    size: int
    numa_nodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerResources:
    """What a container has: `cpu_ids` are the CPUs of its own, none where it shares."""

    name: str
    devices: tuple[ContainerDevices, ...] = ()
    cpu_ids: tuple[int, ...] = ()
    memory: tuple[ContainerMemory, ...] = ()


@dataclass(frozen=True, slots=True)
class PodResources:
    """A pod's sidecars and app containers, in this order."""

    name: str
    namespace: str
    containers: tuple[ContainerResources, ...] = ()


@dataclass(frozen=True, slots=True)
class ListPodResourcesRequest:
    """What do all pods of the node have?"""


@dataclass(frozen=True, slots=True)
class GetPodResourcesRequest:
    """What does one pod have?"""

    pod_name: str
    pod_namespace: str


@dataclass(frozen=True, slots=True)
class AllocatableResourcesRequest:
    """What could containers have, whoever has it now?"""


@dataclass(frozen=True, slots=True)
class ListPodResourcesResponse:
    """All pods that the kubelet knows, those that have ended too."""

    pod_resources: tuple[PodResources, ...] = ()


@dataclass(frozen=True, slots=True)
class GetPodResourcesResponse:
    """The pod that was asked for."""

    pod_resources: PodResources


@dataclass(frozen=True, slots=True)
class AllocatableResourcesResponse:
    """Healthy devices, CPUs that are not reserved, and memory by NUMA node: free or not."""

    devices: tuple[ContainerDevices, ...] = ()
    cpu_ids: tuple[int, ...] = ()
    memory: tuple[ContainerMemory, ...] = ()


PodResourcesRequest = ListPodResourcesRequest | GetPodResourcesRequest | AllocatableResourcesRequest
PodResourcesAnswer = (
    ListPodResourcesResponse | GetPodResourcesResponse | AllocatableResourcesResponse | RpcError
)
