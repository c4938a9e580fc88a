"""What a plugin may look at besides the pod and the node: the cluster as the cycle began."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kubedev.api.pod_groups import Service, Workload
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.storage import Storage

__all__ = ["Context"]


@dataclass(frozen=True, slots=True)
class Context:
    """A snapshot of the cluster.

    `node_infos` are all nodes with the pods on them, also those that some filter refused; `namespace_labels`
    are the labels of every namespace that exists. Services and workloads (ReplicaSets and the like) say which
    pods belong together for the cluster's default topology spread; `storage` has volumes, claims and the like.
    Go: `pkg/scheduler/framework/listers.go: SharedLister`, and the listers of the others.
    """

    node_infos: Sequence[NodeInfo] = ()
    namespace_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    services: tuple[Service, ...] = ()
    workloads: tuple[Workload, ...] = ()
    storage: Storage = field(default_factory=Storage)
