"""All that was read: the newest document of each object, what is missing, and what has to be said about it."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kubedev.api.fields import FieldError, Fields
from kubedev.api.kinds import TYPES
from kubedev.api.objects import Node, Pod
from kubedev.tools.why import documents
from kubedev.tools.why.documents import Entry, entries
from kubedev.tools.why.node_files import NodeFile, node_file
from kubedev.tools.why.sources import STANDARD_INPUT, DumpError, Progress, is_json, read_source

__all__ = ["Dump", "is_refused", "read_dump"]

T = TypeVar("T")
NOT_LOOKED_AT = {"Deployment", "DaemonSet", "Job", "CronJob"}
"""Kinds whose pods count, and not they themselves."""
REFUSALS = {
    "UnexpectedAdmissionError",
    "TopologyAffinityError",
    "SMTAlignmentError",
    "NodeAffinity",
    "NodeName",
    "NodePorts",
    "TaintToleration",
    "Preempting",
    "Preempted",
    "Evicted",
    "NodeShutdown",
    "Terminated",
    "PodOSSelectorNodeLabelDoesNotMatch",
    "PodOSNotSupported",
}
"""The reasons of pods that failed without a fault of their own, beside OutOf and a resource."""
LARGE_YAML = 1 << 20


@dataclass(slots=True)
class Dump:
    """Objects by kind, then by `namespace/name`, in the order in which they came.

    `whole` gives all of a pod's document. `notes` say what was done about documents that contradict each other,
    `skipped` counts the objects of kinds that nobody looks at; `scheduler` and `kubelet` are configurations.
    """

    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    whole: dict[str, Callable[[], Mapping[str, Any]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    scheduler: Any = None
    kubelet: Any = None
    node_files: list[NodeFile] = field(default_factory=list)
    versions: Counter[str] = field(default_factory=Counter)
    maker: Any = None
    _seen: dict[tuple[str, str], str] = field(default_factory=dict)

    def of(self, kind: str) -> list[Any]:
        """The objects of one kind."""
        return list(self.objects.get(kind, {}).values())

    @property
    def nodes(self) -> list[Node]:
        """The nodes."""
        return self.of("Node")

    @property
    def pods(self) -> Mapping[str, Pod]:
        """The pods by `namespace/name`."""
        return self.objects.get("Pod", {})

    def pod(self, key: str) -> Pod:
        """A pod with all that is known of it."""
        found = self.pods[key]
        return found if found.manifest else Pod.parse(self.whole[key]())

    @property
    def version(self) -> str:
        """The version of the cluster, as most of its nodes have it; empty where they do not say."""
        return next((version for version, _ in self.versions.most_common(1)), "")

    def newer(self, kind: str, key: str, version: str, source: str) -> bool:
        """Whether a document takes the place of the one of the same object that was there before, if any."""
        before = self._seen.get((kind, key))
        if before is None:
            self._seen[kind, key] = version
            return True
        both = before.isdigit() and version.isdigit()
        newer = int(version) >= int(before) if both else True
        why = (
            f"resourceVersion {max(int(before), int(version))}"
            if both and before != version
            else "the later one"
        )
        self.notes.append(f"{kind} {key.removeprefix('/')} is there twice ({source}): {why} counts")
        if newer:
            self._seen[kind, key] = version
        return newer


def read_dump(names: Iterable[str], progress: Progress | None = None) -> Dump:
    """Read files and standard input. Raises DumpError where one cannot be used."""
    names = list(names)
    dump, says = Dump(maker=documents.typed and documents.typed.Maker()), (progress or Progress(False)).says
    for name in names:
        says(f"reading {name}")
        data = read_source(name)
        if len(data) > LARGE_YAML and not is_json(data):
            dump.notes.append(f"{name} is YAML: JSON (-o json) is read a hundred times as fast")
        if (of_node := node_file(data, name)) is not None:
            dump.node_files.append(of_node)
            continue
        for number, entry in enumerate(entries(data, name)):
            if number % 5000 == 4999:
                says(f"reading {name}: {number + 1} objects")
            try:
                take(dump, entry, name)
            except FieldError as error:
                what = f"{entry.kind} {entry.namespace}/{entry.name}".replace(" /", " ")
                raise DumpError(f"{name}: {what}: {error}") from None
    if not dump.objects and not dump.node_files and not dump.scheduler and not dump.kubelet:
        kinds = ", ".join(sorted(dump.skipped)) or "nothing"
        hint = (
            ". Give what makes pods with -f, and a dump before" if NOT_LOOKED_AT & set(dump.skipped) else ""
        )
        given = ", ".join("standard input" if name == STANDARD_INPUT else name for name in names)
        raise DumpError(
            f"{given}: expected pods and nodes (`kubectl get nodes,pods -A -o json`), got {kinds}{hint}"
        )
    return dump


def take(dump: Dump, entry: Entry, source: str) -> None:
    """Take one object. Raises FieldError and DumpError."""
    kind, version = entry.kind, entry.version
    if kind == "KubeSchedulerConfiguration" or kind == "KubeletConfiguration":
        take_configuration(dump, entry, source)
        return
    known = TYPES.get((version, kind)) or (TYPES.get(("v1", kind)) if not version else None)
    if known is None or kind in NOT_LOOKED_AT or not entry.name:
        dump.skipped[kind or "objects without kind"] += 1
        if known is None and (expected := other_version(version, kind)):
            note = f"{kind} of {version} is not looked at: expected {expected}"
            dump.notes += [note] if note not in dump.notes else []
        return
    key = (
        f"{entry.namespace or 'default'}/{entry.name}" if known is Pod else f"{entry.namespace}/{entry.name}"
    )
    if not dump.newer(kind, key, entry.resource_version, source):
        return
    found: Any
    if known is Pod:
        found = pod_of(entry, dump.maker)
        dump.whole[key] = entry.values
    elif known is Node:
        found = dump.maker.node(entry.item) if dump.maker and entry.item else Node.parse(entry.values())
        dump.versions[kubelet_version(found)] += 1
    else:
        found = known.parse(entry.values())
    dump.objects.setdefault(kind, {})[key] = found


def other_version(version: str, kind: str) -> str:
    """The version in which a kind of this group is read, where that is another one; empty for other kinds."""
    group = version.rpartition("/")[0]
    return next((known for known, name in TYPES if name == kind and known.rpartition("/")[0] == group), "")


def pod_of(entry: Entry, maker: Any) -> Pod:
    """A pod: all of it where somebody may ask about it, and else what scheduling looks at."""
    item = entry.item
    if maker is None or item is None:
        return Pod.parse(entry.values())
    status, meta = item.status, item.metadata
    pending = not item.spec.nodeName or meta.deletionTimestamp or is_refused(status.phase, status.reason)
    return Pod.parse(entry.values()) if pending else maker.pod(item)


def is_refused(phase: str, reason: str) -> bool:
    """Whether a pod with this status was refused, or ended, by its kubelet or for another pod."""
    return phase == "Failed" and (reason in REFUSALS or reason.startswith("OutOf"))


def kubelet_version(node: Node) -> str:
    """The version of a node's kubelet."""
    return Fields.of(node.manifest).child("status").child("nodeInfo").text("kubeletVersion")


def take_configuration(dump: Dump, entry: Entry, source: str) -> None:
    """Take a configuration. Raises DumpError where a scheduler or a kubelet would not start with it."""
    # Loaded where it is needed: these rooms are large, and most dumps have no configuration.
    from kubedev.kubelet.kubelet_configuration import KubeletConfigurationError, load_kubelet_configuration
    from kubedev.scheduler.configuration.errors import ConfigurationError
    from kubedev.scheduler.configuration.loading import configuration_reader

    try:
        if entry.kind == "KubeSchedulerConfiguration":
            dump.scheduler = configuration_reader()(entry.values())
        else:
            dump.kubelet = load_kubelet_configuration(json.dumps(entry.values()), source)
    except (ConfigurationError, KubeletConfigurationError) as error:
        raise DumpError(f"{source}: {error}") from None
