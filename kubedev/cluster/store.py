"""The API server's store as a value, and the watch events that its changes give.

Only what devices and scheduling need: nodes, pods, and the few kinds that scheduling reads. Every change
has a resource version, as in etcd.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from kubedev.api.claims import DeviceClass, DeviceObject, ResourceClaim, ResourceClaimTemplate
from kubedev.api.objects import Node, Pod
from kubedev.api.pod_groups import Namespace, PodDisruptionBudget, PriorityClass, Service, Workload
from kubedev.api.resource_slices import ResourceSlice
from kubedev.api.storage import StorageObject
from kubedev.api.values import replace, with_item, without_item
from kubedev.scheduler.storage import STORAGE_KINDS, Storage, key_of

__all__ = ["Object", "Store", "WatchEvent", "deleted", "find", "listed", "new_uid", "put"]

Object = (
    Node
    | Pod
    | PodDisruptionBudget
    | PriorityClass
    | Service
    | Namespace
    | StorageObject
    | Workload
    | DeviceObject
)

KINDS: Mapping[type, str] = {
    Node: "nodes",
    Pod: "pods",
    PodDisruptionBudget: "pod_disruption_budgets",
    PriorityClass: "priority_classes",
    Service: "services",
    Namespace: "namespaces",
    Workload: "workloads",
    DeviceClass: "device_classes",
    ResourceSlice: "resource_slices",
    ResourceClaimTemplate: "resource_claim_templates",
    ResourceClaim: "resource_claims",
}


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """What a watcher is told: ADDED, MODIFIED or DELETED, the object, and what it was before."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: Object
    old: Object | None = None


@dataclass(frozen=True, slots=True)
class Store:
    """All objects, by name (with a namespace: by `namespace/name`; pods by uid), the version of the last change, and
    how often each uid was asked for by a pod.
    """

    version: int = 0
    uids: Mapping[str, int] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)
    pods: Mapping[str, Pod] = field(default_factory=dict)
    pod_disruption_budgets: Mapping[str, PodDisruptionBudget] = field(default_factory=dict)
    priority_classes: Mapping[str, PriorityClass] = field(default_factory=dict)
    services: Mapping[str, Service] = field(default_factory=dict)
    namespaces: Mapping[str, Namespace] = field(default_factory=dict)
    storage: Storage = field(default_factory=Storage)
    workloads: Mapping[str, Workload] = field(default_factory=dict)
    device_classes: Mapping[str, DeviceClass] = field(default_factory=dict)
    resource_slices: Mapping[str, ResourceSlice] = field(default_factory=dict)
    resource_claim_templates: Mapping[str, ResourceClaimTemplate] = field(default_factory=dict)
    resource_claims: Mapping[str, ResourceClaim] = field(default_factory=dict)

    def pods_on(self, node: str) -> tuple[Pod, ...]:
        """The pods bound to a node, in the order in which they were created."""
        return tuple(pod for pod in self.pods.values() if pod.node_name == node)


def listed(store: Store) -> tuple[WatchEvent, ...]:
    """Every object as if it came now, pods last: what a new watcher is told at first."""
    kinds = sorted(KINDS.values(), key=lambda kind: kind == "pods")
    stored = [obj for kind in STORAGE_KINDS.values() for obj in getattr(store.storage, kind).values()]
    others = [obj for kind in kinds for obj in getattr(store, kind).values()]
    return tuple(WatchEvent("ADDED", obj) for obj in (*stored, *others))


def find(store: Store, obj: Object) -> Object | None:
    """The object of the same kind and name, as the store has it."""
    if isinstance(obj, StorageObject):
        of_kind: Mapping[str, StorageObject] = getattr(store.storage, STORAGE_KINDS[type(obj)])
        return of_kind.get(key_of(obj))
    known: Mapping[str, Object] = getattr(store, KINDS[type(obj)])
    return known.get(_key(obj))


def new_uid(store: Store, pod: Pod) -> str:
    """A uid for a pod that is to be created: its own, or another one where a pod had that before."""
    if pod.uid not in store.uids and pod.uid not in store.pods:
        return pod.uid
    numbers = count(store.uids.get(pod.uid, 1) + 1)
    return next(uid for number in numbers if (uid := f"{pod.uid}#{number}") not in store.pods)


def _key(obj: Object) -> str:
    match obj:
        case Pod():
            return obj.uid
        case Workload():
            return f"{obj.kind}/{obj.namespace}/{obj.name}"
    namespace = getattr(obj, "namespace", "")
    return f"{namespace}/{obj.name}" if namespace else obj.name


def put(store: Store, obj: Object) -> tuple[Store, WatchEvent]:
    """Create or replace an object."""
    old = find(store, obj)
    if isinstance(obj, StorageObject):
        stored = replace(store, storage=store.storage.with_object(obj), version=store.version + 1)
        return stored, WatchEvent("MODIFIED" if old else "ADDED", obj, old)
    kind = KINDS[type(obj)]
    known: Mapping[str, Object] = getattr(store, kind)
    store = _with(store, kind, with_item(known, _key(obj), obj))
    if isinstance(obj, Pod) and old is None:
        asked, _, number = obj.uid.partition("#")
        times = int(number) if number.isdecimal() else 1
        uids = with_item(store.uids, asked, max(times, store.uids.get(asked, 0)))
        store = replace(store, uids=uids)
    return store, WatchEvent("MODIFIED" if old else "ADDED", obj, old)


def deleted(store: Store, obj: Object) -> tuple[Store, WatchEvent]:
    """Remove an object; KeyError where it is not there."""
    if isinstance(obj, StorageObject):
        gone = find(store, obj)
        if gone is None:
            raise KeyError(key_of(obj))
        rest = replace(store, storage=store.storage.without_object(obj), version=store.version + 1)
        return rest, WatchEvent("DELETED", gone, gone)
    kind = KINDS[type(obj)]
    known: Mapping[str, Object] = getattr(store, kind)
    old = known[_key(obj)]
    return _with(store, kind, without_item(known, _key(obj))), WatchEvent("DELETED", old, old)


def _with(store: Store, kind: str, objects: Mapping[str, Object]) -> Store:
    changes: dict[str, Any] = {kind: objects}
    return replace(store, version=store.version + 1, **changes)
