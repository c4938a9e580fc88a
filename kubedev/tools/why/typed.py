"""The quick way through a large dump: msgspec decodes what scheduling looks at, and passes over the rest.

A pod's spec is read by `kubedev.api` once for all pods whose specs are the same in what counts.
"""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import msgspec

from kubedev.api.fields import Fields
from kubedev.api.objects import ContainerImage, Node, Pod
from kubedev.api.values import replace
from kubedev.api.volumes import SETTINGS, Volume

__all__ = ["Maker", "Malformed", "item", "top", "values"]

Malformed = msgspec.DecodeError
Raw = msgspec.Raw
NONE = Raw()


class Top(msgspec.Struct, frozen=True, gc=False):
    """A document: a list, or an object."""

    kind: str = ""
    apiVersion: str = ""  # noqa: N815
    items: list[Raw] | None = None


class Metadata(msgspec.Struct, frozen=True, gc=False):
    """What everybody has."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: Raw = NONE
    resourceVersion: str = ""  # noqa: N815
    creationTimestamp: str | None = None  # noqa: N815
    deletionTimestamp: str | None = None  # noqa: N815
    ownerReferences: Raw = NONE  # noqa: N815


class Container(msgspec.Struct, frozen=True, gc=False):
    """A container of a pod."""

    name: str = ""
    image: str = ""
    resources: Raw = NONE
    ports: Raw = NONE
    restartPolicy: Raw = NONE  # noqa: N815


KINDS_OF_VOLUMES = ("persistentVolumeClaim", "ephemeral", *SETTINGS)
PodVolume = msgspec.defstruct(
    "PodVolume", [("name", str, ""), *((kind, Any, None) for kind in KINDS_OF_VOLUMES)], frozen=True, gc=False
)
"""A volume of a pod, with the sources that scheduling looks at."""


class Spec(msgspec.Struct, frozen=True, gc=False):
    """The specs of pods and nodes in one: no name means two things."""

    nodeName: str = ""  # noqa: N815
    containers: tuple[Container, ...] = ()
    initContainers: tuple[Container, ...] = ()  # noqa: N815
    overhead: Raw = NONE
    nodeSelector: Raw = NONE  # noqa: N815
    affinity: Raw = NONE
    tolerations: Raw = NONE
    topologySpreadConstraints: Raw = NONE  # noqa: N815
    priority: int | None = None
    priorityClassName: str = ""  # noqa: N815
    preemptionPolicy: str | None = None  # noqa: N815
    schedulerName: str = ""  # noqa: N815
    schedulingGates: Raw = NONE  # noqa: N815
    hostNetwork: bool = False  # noqa: N815
    volumes: tuple[PodVolume, ...] = ()  # type: ignore[valid-type]
    resourceClaims: Raw = NONE  # noqa: N815
    taints: Raw = NONE
    unschedulable: bool = False


class NodeFacts(msgspec.Struct, frozen=True, gc=False):
    """What a node says of itself."""

    kubeletVersion: str = ""  # noqa: N815


class Status(msgspec.Struct, frozen=True, gc=False):
    """The statuses of pods and nodes in one."""

    phase: str = ""
    reason: str = ""
    startTime: str | None = None  # noqa: N815
    nominatedNodeName: str = ""  # noqa: N815
    capacity: Raw = NONE
    allocatable: Raw = NONE
    conditions: Raw = NONE
    images: Raw = NONE
    nodeInfo: NodeFacts = NodeFacts()  # noqa: N815


class Item(msgspec.Struct, frozen=True, gc=False):
    """An object, as far as pods and nodes go."""

    kind: str = ""
    apiVersion: str = ""  # noqa: N815
    metadata: Metadata = Metadata()
    spec: Spec = Spec()
    status: Status = Status()


_top = msgspec.json.Decoder(Top).decode
_item = msgspec.json.Decoder(Item).decode
_values = msgspec.json.Decoder().decode


def top(data: Any) -> Top | None:
    """A document; None where it is no object with kind and items as they should be. Raises Malformed."""
    try:
        return _top(data)
    except msgspec.ValidationError:
        return None


def item(raw: Any) -> Item | None:
    """An object; None where it is not as pods and nodes are. Raises Malformed."""
    try:
        return _item(raw)
    except msgspec.ValidationError:
        return None


def values(raw: Any, named: tuple[str, str] = ("", "")) -> Any:
    """All of an object, as plain values."""
    found = _values(raw)
    if named[1] and isinstance(found, dict):
        return {"apiVersion": named[0], **found, "kind": named[1]}
    return found


PARTS = (
    "overhead",
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
    "schedulingGates",
    "resourceClaims",
)

_parts = attrgetter(*PARTS)
_container = attrgetter("name", "image", "resources", "ports", "restartPolicy")


class Maker:
    """Makes pods and nodes of what was decoded; equal parts are shared."""

    def __init__(self) -> None:
        self._pods: dict[tuple[Any, ...], Pod] = {}
        self._nodes: dict[tuple[bytes, ...], Node] = {}
        self._labels: dict[bytes, dict[str, str]] = {}
        self._times: dict[str | None, float | None] = {}
        self.images: dict[str, Raw] = {}

    def pod(self, found: Item) -> Pod:
        """A pod, equal to Pod.parse in what scheduling looks at. Raises FieldError."""
        meta, spec, status = found.metadata, found.spec, found.status
        parts = [bytes(raw) if raw is not NONE else b"" for raw in _parts(spec)]
        containers = tuple(map(_key, spec.containers)), tuple(map(_key, spec.initContainers))
        plain = (
            spec.priority,
            spec.priorityClassName,
            spec.preemptionPolicy,
            spec.schedulerName,
            spec.hostNetwork,
        )
        owners = bytes(meta.ownerReferences)
        key = (*parts, *containers, *plain, owners)
        like = self._pods.get(key)
        if like is None:
            like = self._pods[key] = _template(spec, parts, owners)
        namespace = meta.namespace or like.namespace
        return replace(
            like,
            name=meta.name,
            namespace=namespace,
            uid=meta.uid or f"{namespace}/{meta.name}",
            labels=self.labels(meta.labels),
            resource_version=meta.resourceVersion,
            creation_timestamp=self.time(meta.creationTimestamp),
            deletion_timestamp=self.time(meta.deletionTimestamp),
            node_name=spec.nodeName,
            volumes=_volumes(spec.volumes),
            phase=status.phase,
            reason=status.reason,
            start_time=self.time(status.startTime),
            nominated_node_name=status.nominatedNodeName,
        )

    def node(self, found: Item) -> Node:
        """A node, equal to Node.parse in what filters look at. Raises FieldError."""
        meta, spec, status = found.metadata, found.spec, found.status
        parts = tuple(map(bytes, (spec.taints, status.capacity, status.allocatable)))
        if parts not in self._nodes:
            taints, capacity, allocatable = (_values(part) if part else None for part in parts)
            told = {"capacity": capacity, "allocatable": allocatable}
            self._nodes[parts] = Node.parse({"spec": {"taints": taints}, "status": told})
        self.images[meta.name] = status.images
        manifest = {"status": {"nodeInfo": {"kubeletVersion": status.nodeInfo.kubeletVersion}}}
        return replace(
            self._nodes[parts],
            name=meta.name,
            labels=self.labels(meta.labels),
            unschedulable=spec.unschedulable,
            manifest=manifest,
        )

    def with_images(self, node: Node, wanted: tuple[bytes, ...]) -> Node:
        """The node with its images, if any of those that are wanted may be among them."""
        raw = bytes(self.images.get(node.name, NONE))
        if not any(name in raw for name in wanted):
            return node
        there = Fields.of({"images": _values(raw)}, "status").children("images")
        return replace(node, images=tuple(map(ContainerImage.read, there)))

    def labels(self, raw: Raw) -> Mapping[str, str]:
        """Labels, the same ones once."""
        key = bytes(raw)
        if key not in self._labels:
            self._labels[key] = Fields.of({"labels": _values(key) if key else None}, "metadata").text_map(
                "labels"
            )
        return self._labels[key]

    def time(self, text: str | None) -> float | None:
        """A moment."""
        if text not in self._times:
            self._times[text] = Fields.of({"time": text}).time("time")
        return self._times[text]


def _key(container: Container) -> tuple[Any, ...]:
    name, image, *raws = _container(container)
    return (name, image, *[bytes(raw) for raw in raws])


def _template(spec: Spec, parts: list[bytes], owners: bytes) -> Pod:
    """A pod with this spec, read as every other is."""
    read: dict[str, Any] = {name: _values(part) for name, part in zip(PARTS, parts, strict=True) if part}
    for name in ("containers", "initContainers"):
        read[name] = [
            {
                "name": one.name,
                "image": one.image,
                **{
                    part: _values(raw)
                    for part in ("resources", "ports", "restartPolicy")
                    if (raw := bytes(getattr(one, part)))
                },
            }
            for one in getattr(spec, name)
        ]
    for name in ("priority", "priorityClassName", "preemptionPolicy", "schedulerName", "hostNetwork"):
        read[name] = getattr(spec, name)
    metadata = {"ownerReferences": _values(owners) if owners else None}
    return Pod.parse({"metadata": metadata, "spec": read})


def _volumes(volumes: tuple[Any, ...]) -> tuple[Volume, ...]:
    looked_at = [msgspec.structs.asdict(one) for one in volumes if one != PodVolume(one.name)]
    return (
        tuple(map(Volume.read, Fields.of({"volumes": looked_at}, "spec").children("volumes")))
        if looked_at
        else ()
    )
