"""From a manifest to the objects that the API server would store: read, admitted, with names that are free."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from kubedev.api.admission import NamespaceError, admit_pod, check_namespace, with_default_tolerations
from kubedev.api.claims import ResourceClaim, ResourceClaimTemplate
from kubedev.api.defaults import PriorityError
from kubedev.api.manifests import ManifestError, Manifests, Reader, load
from kubedev.api.names import is_extended_resource_name
from kubedev.api.objects import Node, Pod
from kubedev.api.pod_groups import Namespace, PriorityClass
from kubedev.api.quantity import Quantity
from kubedev.api.storage import PersistentVolume, PersistentVolumeClaim
from kubedev.cluster.apiserver import grace_period
from kubedev.cluster.cluster import ClusterError
from kubedev.cluster.state import ClusterState
from kubedev.cluster.store import Store, find
from kubedev.console import read_file
from kubedev.kubelet.registered_node import registered_node
from kubedev.views.catalogue import say

__all__ = [
    "MAX_DEVICES",
    "admitted",
    "asked_resources",
    "changed_pods",
    "declared",
    "is_there",
    "manifests",
    "new_node",
    "new_nodes",
    "new_pods",
    "read_text",
]

MAX_OBJECTS = 5_000
"""How many objects a lab creates at once."""

MAX_CONTAINERS = 100
"""How many containers of one pod a lab runs, init containers included. Kubernetes has no such limit; here each one is a
process where the lab is real, and the QoS class of the whole pod is looked at for each."""

MAX_DEVICES = 10_000
"""A node that declares more devices of a resource gets no plugin for it: they are a number to the scheduler."""

RESOURCES = {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "200Gi", "pods": "110"}


def new_node(name: str, **labels: str) -> Node:
    """A node as its kubelet registers it, before any plugin: 16 CPUs, 64 GiB, 110 pods."""
    amounts = {resource: Quantity.parse(text) for resource, text in RESOURCES.items()}
    return registered_node(Node(name, labels, capacity=amounts, allocatable=amounts))


def manifests() -> dict[str, Path]:
    """The manifests that come with the labs, by name: those beside the notebook first, the package's else."""
    package = Path(__file__).parents[1]
    for folder in (Path("manifests"), package / "labs/manifests", package.parent / "labs/manifests"):
        if folder.is_dir():
            return {path.stem: path for path in sorted(folder.glob("*.yaml"))}
    return {}


def admitted(
    manifest: str | Path,
    source: str,
    state: ClusterState,
    rename: bool,
    readers: Mapping[tuple[str, str], Reader],
    gates: Collection[str] = (),
) -> Manifests:
    """What is to be created: the manifest's objects as the API server stores them, nodes as their kubelets register
    them. A DaemonSet's pods are its controller's to make. `readers` are for the configurations in it,
    `gates` the feature gates that are on.

    Raises ManifestError, or ClusterError where a name is taken; with `rename` pods get a free one.
    """
    store = state.store
    text, source = read_text(manifest, source)
    _check_number(text.count("\n---"), source)
    loaded = load(text, source, readers, gates)
    _check_number(len(loaded.objects), source)
    _check_containers(loaded.pods, source)
    _check_namespaces(loaded, source, store)
    registered = [registered_node(node, state.now) for node in loaded.nodes]
    classes = (*store.priority_classes.values(), *loaded.of_type(PriorityClass))
    objects: list[Any] = []
    for obj in loaded.objects:
        if isinstance(obj, Pod):
            objects.append(_admitted(obj, classes, source))
        else:
            objects.append(registered.pop(0) if isinstance(obj, Node) else obj)
    if rename:
        objects = _with_free_names(objects, store)
    loaded = replace(loaded, objects=tuple(objects))
    _check_names(loaded, store)
    return replace(loaded, notes=(*loaded.notes, *_notes(loaded)))


def _admitted(pod: Pod, classes: Iterable[PriorityClass], source: str) -> Pod:
    try:
        return admit_pod(pod, classes)
    except PriorityError as error:
        said = f'pods "{pod.name}" is forbidden: {error}'
        problem = f'Error from server (Forbidden): error when creating "{source}": {said}'
        raise ManifestError(source, 0, problem) from None


def declared(nodes: Iterable[Node], pods: Iterable[Pod]) -> Iterator[tuple[Node, str, int]]:
    """The devices that nodes say they have of the resources that pods ask for: node, resource and how many."""
    asked = sorted(asked_resources(pods))
    for node in nodes:
        yield from ((node, name, node.capacity[name].value()) for name in asked if name in node.capacity)


def _notes(loaded: Manifests) -> Iterator[str]:
    """What happens to these objects that nobody would see otherwise."""
    for node, resource, number in declared(loaded.nodes, loaded.pods):
        if number > MAX_DEVICES:
            values = {"node": node.name, "resource": resource, "count": number, "most": MAX_DEVICES}
            yield say("apply.stand-in", **values)


def _check_number(number: int, source: str) -> None:
    if number > MAX_OBJECTS:
        raise ManifestError(source, 0, say("apply.too-many", most=MAX_OBJECTS, count=number))


def _check_containers(pods: Iterable[Pod], source: str) -> None:
    for pod in pods:
        number = len(pod.init_containers) + len(pod.containers)
        if number > MAX_CONTAINERS:
            values = {"pod": pod.name, "most": MAX_CONTAINERS, "count": number}
            raise ManifestError(source, 0, say("apply.too-many-containers", **values))


def _check_namespaces(loaded: Manifests, source: str, store: Store) -> None:
    """As kubectl goes through a file: a namespace is there from where it is created on."""
    known = set(store.namespaces)
    for obj in loaded.objects:
        if isinstance(obj, Namespace):
            known.add(obj.name)
        try:
            check_namespace(getattr(obj, "namespace", "default"), known)
        except NamespaceError as error:
            said = f'Error from server (NotFound): error when creating "{source}": {error}'
            raise ManifestError(source, 0, f"{said}{say('apply.namespace')}") from None


def asked_resources(pods: Iterable[Pod]) -> set[str]:
    """The extended resources that pods ask for."""
    return {
        name
        for pod in pods
        for container in (*pod.init_containers, *pod.containers)
        for name in {**container.requests, **container.limits}
        if is_extended_resource_name(name)
    }


def read_text(manifest: str | Path, source: str = "") -> tuple[str, str]:
    """The text of a manifest that is given by its name among the labs', by its path, or as text; and its source."""
    if isinstance(manifest, str):
        if "\n" in manifest or ": " in manifest or manifest.lstrip()[:1] in ("", "{", "["):
            return manifest, source or "pasted text"
        manifest = manifests().get(manifest, Path(manifest))
    source = source or manifest.name
    try:
        return read_file(manifest), source
    except OSError as error:
        known = ", ".join(manifests()) or "none"
        problem = f"expected the path of a file, YAML text, or one of the labs' manifests ({known}); {error.strerror}"
        raise ManifestError(source, 0, problem) from None
    except UnicodeDecodeError:
        raise ManifestError(source, 0, "expected YAML in UTF-8, got bytes that are no text") from None


def _with_free_names(objects: Iterable[Any], store: Store) -> list[Any]:
    taken = {(pod.namespace, pod.name) for pod in store.pods.values()}

    def named(obj: Any) -> Any:
        if not isinstance(obj, Pod):
            return obj
        names = chain((obj.name,), (f"{obj.name}-{i}" for i in count(2)))
        name = next(n for n in names if (obj.namespace, n) not in taken)
        taken.add((obj.namespace, name))
        return obj if name == obj.name else replace(obj, name=name, uid=f"{obj.namespace}/{name}")

    return [named(obj) for obj in objects]


def new_nodes(loaded: Manifests, store: Store) -> list[Node]:
    """The nodes that are not there yet: applying one again changes nothing, as with kubectl."""
    return [node for node in loaded.nodes if not _same_node(node, store)]


def new_pods(loaded: Manifests, store: Store) -> list[Pod]:
    """The pods that are not there yet."""
    there = _by_name(store)
    return [pod for pod in loaded.pods if not _same_pod(pod, there.get((pod.namespace, pod.name)))]


def _same_node(node: Node, store: Store) -> bool:
    return node.name in store.nodes and store.nodes[node.name].manifest == node.manifest


def _same_pod(pod: Pod, there: Pod | None) -> bool:
    if there is None or pod.node_name not in ("", there.node_name):
        return False
    return _spec(there) == _spec(pod) and _keeps_tolerations(pod, there)


Lasting = PersistentVolume | PersistentVolumeClaim | ResourceClaim | ResourceClaimTemplate
"""Objects of which nobody may change what they say, while others write what comes of them."""


def is_there(obj: Any, store: Store) -> bool:
    """Whether a volume or claim like this is there: what came of it since stays as it is."""
    return isinstance(obj, Lasting) and getattr(find(store, obj), "manifest", None) == obj.manifest


def _others(loaded: Manifests, store: Store) -> list[Lasting]:
    """Volumes and claims whose names are taken by others."""
    mine = [one for one in loaded.objects if isinstance(one, Lasting)]
    return [one for one in mine if find(store, one) is not None and not is_there(one, store)]


def _by_name(store: Store) -> dict[tuple[str, str], Pod]:
    return {(pod.namespace, pod.name): pod for pod in store.pods.values()}


def _spec(pod: Pod) -> tuple[Any, ...]:
    """What a manifest says of a pod for good: neither scheduler nor kubelet changes it, and nobody may."""
    kept = replace(pod, uid="", resource_version="", creation_timestamp=None, deletion_timestamp=None)
    kept = replace(kept, node_name="", tolerations=(), scheduling_gates=(), owner_references=())
    kept = replace(
        kept,
        resource_claim_statuses={},
        phase="",
        reason="",
        message="",
        start_time=None,
        nominated_node_name="",
    )
    return replace(kept, qos_class="", conditions=()), grace_period(pod)


def changed_pods(loaded: Manifests, store: Store) -> list[Pod]:
    """The pods that are there, with what may be changed of a pod: tolerations that come or last for another time,
    scheduling gates that go. Go: `pkg/apis/core/validation/validation.go: ValidatePodUpdate`.
    """
    there = _by_name(store)
    known = [(pod, there.get((pod.namespace, pod.name))) for pod in loaded.pods]
    changed = [(old, _changed(pod, old)) for pod, old in known if old is not None and _same_pod(pod, old)]
    return [new for old, new in changed if new != old]


def _changed(pod: Pod, there: Pod) -> Pod:
    gates = tuple(gate for gate in there.scheduling_gates if gate in pod.scheduling_gates)
    return replace(there, tolerations=with_default_tolerations(pod).tolerations, scheduling_gates=gates)


def _keeps_tolerations(pod: Pod, there: Pod) -> bool:
    """Whether every toleration stays; its seconds may change."""
    wanted = {replace(t, toleration_seconds=None) for t in with_default_tolerations(pod).tolerations}
    return {replace(t, toleration_seconds=None) for t in there.tolerations} <= wanted


def _check_names(loaded: Manifests, store: Store) -> None:
    there = _by_name(store)
    taken = [f'pods "{pod.name}"' for pod in new_pods(loaded, store) if (pod.namespace, pod.name) in there]
    taken += [f'nodes "{node.name}"' for node in new_nodes(loaded, store) if node.name in store.nodes]
    taken += [f'{type(one).__name__.lower()}s "{one.name}"' for one in _others(loaded, store)]
    if taken:
        raise ClusterError(
            f"another one of {taken[0]} already exists: delete it first, or give this one another name"
        )
