"""The API server's store as a value, and the watch events that its changes give.

Only what devices and scheduling need: nodes, pods, and the few kinds that scheduling reads. Every change
has a resource version, as in etcd.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from kubedev.api.objects import Namespace, Node, Pod, PodDisruptionBudget, PriorityClass, Service

__all__ = ["Object", "Store", "WatchEvent", "deleted", "listed", "new_uid", "put"]

Object = Node | Pod | PodDisruptionBudget | PriorityClass | Service | Namespace

KINDS: Mapping[type, str] = {
    Node: "nodes",
    Pod: "pods",
    PodDisruptionBudget: "pod_disruption_budgets",
    PriorityClass: "priority_classes",
    Service: "services",
    Namespace: "namespaces",
}


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """What a watcher is told: ADDED, MODIFIED or DELETED, the object, and what it was before."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: Object
    old: Object | None = None


@dataclass(frozen=True, slots=True)
class Store:
    """All objects, by name (pods by uid), the version of the last change, and the uids that pods have or had."""

    version: int = 0
    uids: frozenset[str] = frozenset()
    nodes: Mapping[str, Node] = field(default_factory=dict)
    pods: Mapping[str, Pod] = field(default_factory=dict)
    pod_disruption_budgets: Mapping[str, PodDisruptionBudget] = field(default_factory=dict)
    priority_classes: Mapping[str, PriorityClass] = field(default_factory=dict)
    services: Mapping[str, Service] = field(default_factory=dict)
    namespaces: Mapping[str, Namespace] = field(default_factory=dict)

    def pods_on(self, node: str) -> tuple[Pod, ...]:
        """The pods bound to a node, in the order in which they were created."""
        return tuple(pod for pod in self.pods.values() if pod.node_name == node)


def listed(store: Store) -> tuple[WatchEvent, ...]:
    """Every object as if it came now, pods last: what a new watcher is told at first."""
    kinds = sorted(KINDS.values(), key=lambda kind: kind == "pods")
    return tuple(WatchEvent("ADDED", obj) for kind in kinds for obj in getattr(store, kind).values())


def new_uid(store: Store, pod: Pod) -> str:
    """A uid for a pod that is to be created: its own, or another one where a pod had that before."""
    uids = (pod.uid, *(f"{pod.uid}#{number}" for number in range(2, len(store.uids) + 3)))
    return next(uid for uid in uids if uid not in store.uids)


def _key(obj: Object) -> str:
    return obj.uid if isinstance(obj, Pod) else obj.name


def put(store: Store, obj: Object) -> tuple[Store, WatchEvent]:
    """Create or replace an object."""
    kind = KINDS[type(obj)]
    known: Mapping[str, Object] = getattr(store, kind)
    old = known.get(_key(obj))
    changed = {**known, _key(obj): obj}
    store = _with(store, kind, changed)
    if isinstance(obj, Pod):
        store = replace(store, uids=store.uids | {obj.uid})
    return store, WatchEvent("MODIFIED" if old else "ADDED", obj, old)


def deleted(store: Store, obj: Object) -> tuple[Store, WatchEvent]:
    """Remove an object; KeyError where it is not there."""
    kind = KINDS[type(obj)]
    known: Mapping[str, Object] = getattr(store, kind)
    old = known[_key(obj)]
    changed = {key: value for key, value in known.items() if key != _key(obj)}
    return _with(store, kind, changed), WatchEvent("DELETED", old, old)


def _with(store: Store, kind: str, objects: Mapping[str, Object]) -> Store:
    changes: dict[str, Any] = {kind: objects}
    return replace(store, version=store.version + 1, **changes)
