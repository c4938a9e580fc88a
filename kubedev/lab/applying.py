"""From a manifest to the objects that the API server would store: read, admitted, with names that are free."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kubedev.api.defaults import resolve_priority
from kubedev.api.manifests import ManifestError, Manifests, Reader, load
from kubedev.api.names import is_extended_resource_name
from kubedev.api.objects import Node, Pod, PriorityClass, Workload
from kubedev.api.quantity import Quantity
from kubedev.api.workloads import daemon_pod
from kubedev.cluster.cluster import ClusterError
from kubedev.cluster.store import Store

__all__ = ["admitted", "asked_resources", "is_there", "manifests", "new_node", "read_text"]

RESOURCES = {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "200Gi", "pods": "110"}


def new_node(name: str, **labels: str) -> Node:
    """A node as it is before any plugin: 16 CPUs, 64 GiB, 110 pods."""
    amounts = {resource: Quantity.parse(text) for resource, text in RESOURCES.items()}
    return Node(name, {"kubernetes.io/hostname": name, **labels}, capacity=amounts, allocatable=amounts)


def manifests() -> dict[str, Path]:
    """The manifests that come with the labs, by name: those beside the notebook first, the package's else."""
    package = Path(__file__).parents[1]
    for folder in (Path("manifests"), package / "labs/manifests", package.parent / "labs/manifests"):
        if folder.is_dir():
            return {path.stem: path for path in sorted(folder.glob("*.yaml"))}
    return {}


def admitted(
    manifest: str | Path, source: str, store: Store, rename: bool, readers: Mapping[tuple[str, str], Reader]
) -> Manifests:
    """What is to be created: the manifest's objects with priorities, and a DaemonSet's pods, one for each node.

    `readers` are for the configurations in it.

    Raises ManifestError, PriorityError, or ClusterError where a name is taken; with `rename` pods get a free one.
    """
    text, source = read_text(manifest, source)
    loaded = load(text, source, readers)
    nodes = (*store.nodes.values(), *loaded.nodes)
    classes = (*store.priority_classes.values(), *loaded.of_type(PriorityClass))
    objects: list[Any] = []
    for obj in loaded.objects:
        objects.append(resolve_priority(obj, classes) if isinstance(obj, Pod) else obj)
        if isinstance(obj, Workload) and obj.kind == "DaemonSet":
            objects += [resolve_priority(daemon_pod(obj, node), classes) for node in nodes]
    if rename:
        objects = _with_free_names(objects, store)
    loaded = replace(loaded, objects=tuple(objects))
    _check_names(loaded, store)
    return loaded


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
        return manifest.read_text("utf-8"), source
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
        names = (obj.name, *(f"{obj.name}-{i}" for i in range(2, len(taken) + 3)))
        name = next(n for n in names if (obj.namespace, n) not in taken)
        taken.add((obj.namespace, name))
        return obj if name == obj.name else replace(obj, name=name, uid=f"{obj.namespace}/{name}")

    return [named(obj) for obj in objects]


def is_there(obj: Any, store: Store) -> bool:
    """Whether a pod or node like this was created before: applying it again changes nothing, as with kubectl."""
    if isinstance(obj, Node):
        return obj.name in store.nodes and store.nodes[obj.name].manifest == obj.manifest
    there = _namesake(obj, store)
    return there is not None and _spec(there) == _spec(obj)


def _namesake(pod: Pod, store: Store) -> Pod | None:
    name = pod.namespace, pod.name
    return next((known for known in store.pods.values() if (known.namespace, known.name) == name), None)


def _spec(pod: Pod) -> tuple[Any, ...]:
    """What a manifest says of a pod, and neither scheduler nor kubelet changes."""
    return pod.containers, pod.init_containers, pod.labels, pod.annotations, pod.priority, pod.restart_policy


def _check_names(loaded: Manifests, store: Store) -> None:
    taken = [
        f'pods "{pod.name}"' for pod in loaded.pods if _namesake(pod, store) and not is_there(pod, store)
    ]
    taken += [
        f'nodes "{node.name}"'
        for node in loaded.nodes
        if node.name in store.nodes and not is_there(node, store)
    ]
    if taken:
        raise ClusterError(
            f"another one of {taken[0]} already exists: delete it first, or give this one another name"
        )
