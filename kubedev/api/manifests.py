"""YAML in, objects out: defaulted and checked as the API server would, with errors that say what to do.

A file may hold several documents, lists, KYAML (flow style) or JSON. What kubedev does not know it skips and
names; what kubectl would refuse is an error, for the whole file: nothing is half loaded. The configurations of
kubelet and scheduler are read by whom they are for: `load` is given a reader for each kind.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from kubedev.api.claim_validation import default_device_object, validate_device_object
from kubedev.api.claims import DeviceClass, DeviceObject, ResourceClaim, ResourceClaimTemplate
from kubedev.api.defaults import default_namespace, default_node, default_pod, without_claims
from kubedev.api.fields import FieldError, Fields, expected
from kubedev.api.objects import Node, Pod
from kubedev.api.pod_groups import Namespace, PodDisruptionBudget, PriorityClass, Service, Workload
from kubedev.api.problems import Problem
from kubedev.api.resource_slices import ResourceSlice
from kubedev.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    StorageObject,
    VolumeAttachment,
)
from kubedev.api.storage_validation import default_storage, validate_storage
from kubedev.api.strict import unknown_fields
from kubedev.api.switches import CLAIMS_GATE
from kubedev.api.validation import validate_node, validate_pod
from kubedev.api.workloads import pods_of, validate_workload
from kubedev.api.yaml_reader import Document, YAMLError, documents, line_of

__all__ = ["CONFIGURATIONS", "ManifestError", "Manifests", "Object", "Reader", "Skipped", "load"]

Values = Mapping[str, Any]
Reader = Callable[[Values], object]
"""Reads a configuration; raises ValueError where whoever it is for would refuse it."""
Object = (
    Pod
    | Node
    | Workload
    | Namespace
    | Service
    | PodDisruptionBudget
    | PriorityClass
    | StorageObject
    | DeviceObject
)
T = TypeVar("T")

GATE_IS_OFF = f"the feature gate {CLAIMS_GATE} is off, as by default in v1.32"
DEVICE_VERSION = "resource.k8s.io/v1beta1"
TYPES: dict[tuple[str, str], type[Object]] = {
    ("v1", "Pod"): Pod,
    ("v1", "Node"): Node,
    ("v1", "Namespace"): Namespace,
    ("v1", "Service"): Service,
    ("v1", "ReplicationController"): Workload,
    ("apps/v1", "Deployment"): Workload,
    ("apps/v1", "ReplicaSet"): Workload,
    ("apps/v1", "StatefulSet"): Workload,
    ("apps/v1", "DaemonSet"): Workload,
    ("batch/v1", "Job"): Workload,
    ("batch/v1", "CronJob"): Workload,
    ("policy/v1", "PodDisruptionBudget"): PodDisruptionBudget,
    ("scheduling.k8s.io/v1", "PriorityClass"): PriorityClass,
    ("v1", "PersistentVolumeClaim"): PersistentVolumeClaim,
    ("v1", "PersistentVolume"): PersistentVolume,
    ("storage.k8s.io/v1", "StorageClass"): StorageClass,
    ("storage.k8s.io/v1", "CSINode"): CSINode,
    ("storage.k8s.io/v1", "CSIDriver"): CSIDriver,
    ("storage.k8s.io/v1", "CSIStorageCapacity"): CSIStorageCapacity,
    ("storage.k8s.io/v1", "VolumeAttachment"): VolumeAttachment,
    (DEVICE_VERSION, "ResourceClaim"): ResourceClaim,
    (DEVICE_VERSION, "ResourceClaimTemplate"): ResourceClaimTemplate,
    (DEVICE_VERSION, "DeviceClass"): DeviceClass,
    (DEVICE_VERSION, "ResourceSlice"): ResourceSlice,
}
VERSIONS = {kind: version for version, kind in TYPES}
OWN_GROUPS = {version.rpartition("/")[0] for version in VERSIONS.values()} | {"extensions"}
CONFIGURATIONS = {
    ("kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"): "a kubelet reads it from a file (--config)",
    (
        "kubescheduler.config.k8s.io/v1",
        "KubeSchedulerConfiguration",
    ): "the scheduler reads it from a file (--config)",
}
"""Kinds that are configurations, and no objects of the API server; and who reads them."""
LISTS = {"List": "", "PodList": "Pod", "NodeList": "Node"}
TEMPLATE = re.compile(r"\{\{.*?\}\}")


class ManifestError(ValueError):
    """A file that kubectl would refuse: where, why (in its words where it has some), and what to do.

    `document` counts from 1, and is 0 where the file is no YAML.
    """

    def __init__(self, source: str, document: int, problem: str) -> None:
        super().__init__(f"{source}, document {document}: {problem}" if document else f"{source}: {problem}")
        self.source = source
        self.document = document
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Skipped:
    """An object of a kind that kubedev does not know, or does not need."""

    kind: str
    name: str
    api_version: str


@dataclass(frozen=True, slots=True)
class Manifests:
    """What came out of a file, in its order; a workload is followed by its pods (a DaemonSet has none yet).

    `notes` say where something was filled in, or counts for nothing here. `configurations` are what the readers
    that `load` was given made of theirs.
    """

    objects: tuple[Object, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    configurations: tuple[object, ...] = ()

    def __repr__(self) -> str:
        named = [f"{type(found).__name__} {found.name}" for found in self.objects]
        more = f", and {len(named) - 8} more" if len(named) > 8 else ""
        return f"<Manifests: {', '.join(named[:8]) or 'nothing'}{more}>"

    def of_type(self, wanted: type[T]) -> tuple[T, ...]:
        """The objects of one type."""
        return tuple(found for found in self.objects if isinstance(found, wanted))

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The pods, those of workloads too."""
        return self.of_type(Pod)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes."""
        return self.of_type(Node)


class RefusedError(ValueError):
    """An object that is refused, and what is wrong with which of its fields."""

    def __init__(self, label: str, problems: tuple[Problem, ...]) -> None:
        super().__init__(label)
        self.label = label
        self.problems = problems


def load(
    text: str,
    source: str = "manifest.yaml",
    readers: Mapping[tuple[str, str], Reader] | None = None,
    gates: Collection[str] = (),
) -> Manifests:
    """Load a file's text, or raise ManifestError; `source` is its name in errors and notes.

    `readers` are those of configurations, by apiVersion and kind. What has no reader is skipped with a note. `gates`
    are the feature gates that are on beyond v1.32's own: DynamicResourceAllocation.
    """
    loading = Loading(source, readers or {}, gates)
    try:
        for document in documents(text):
            loading.take(document, text)
    except YAMLError as error:
        hint = template_hint(text)
        if error.syntax and not hint:
            hint = ": mend it there; is it cut off, or indented with tabs?"
        raise ManifestError(source, 0, f"error converting YAML to JSON: yaml: {error}{hint}") from None
    except RecursionError:
        raise ManifestError(source, 0, "the YAML is nested too deeply: is this a manifest?") from None
    if not (loading.objects or loading.skipped or loading.configurations):
        raise ManifestError(source, 0, "no objects passed to apply: expected at least one document, got none")
    return Manifests(
        tuple(loading.objects), tuple(loading.skipped), tuple(loading.notes), tuple(loading.configurations)
    )


class Loading:
    """What has come out of a file so far."""

    def __init__(
        self, source: str, readers: Mapping[tuple[str, str], Reader], gates: Collection[str]
    ) -> None:
        self.source = source
        self.claims = CLAIMS_GATE in gates
        self.readers = readers
        self.known_names: set[tuple[str, str, str]] = set()
        self.objects: list[Object] = []
        self.skipped: list[Skipped] = []
        self.notes: list[str] = []
        self.configurations: list[object] = []

    def take(self, document: Document, text: str) -> None:
        """Take a document's objects, or raise ManifestError, which says where in the file what is wrong."""
        path = ""
        try:
            for where, values in flatten(document.value):
                path = where
                self.take_object(document, values)
        except RefusedError as refusal:
            prefix = f"{path}." if path else ""
            problem = refusal_text(refusal, lambda field: line_of(document, prefix + field))
        except FieldError as error:
            line = line_of(document, error.field if error.field.startswith(path) else f"{path}.{error.field}")
            problem = f"{error}{at_line(line)}"
        except ValueError as error:
            problem = f"{error}{at_line(line_of(document, path))}"
        else:
            return
        raise ManifestError(self.source, document.number, problem + template_hint(text)) from None

    def take_object(self, document: Document, values: Values) -> None:
        known = known_type(values, self.claims)
        version, kind = values["apiVersion"], values["kind"]
        notes: Iterable[str] = ()
        off = not self.claims and is_of_devices(version)
        if known is not None and not off:
            found = read(values, known, len(self.objects), self.claims)
            refuse_duplicates(found, self.known_names)
            self.objects += found
            notes = notes_on(values, self.claims)
        elif (version, kind) in self.readers:
            self.configurations.append(self.readers[version, kind](values))
        else:
            self.skipped.append(Skipped(kind, name_of(values), version))
            if (version, kind) in CONFIGURATIONS:
                reads = CONFIGURATIONS[version, kind]
                notes = (f"{kind} is no object of the API server: {reads}; it is not loaded here",)
            elif off:
                notes = (f"{kind} {name_of(values)} is not loaded: {GATE_IS_OFF}",)
        self.notes += (f"{self.source}, document {document.number}: {note}" for note in notes)


def at_line(line: int) -> str:
    """Where it stands, if that is known."""
    return f" (line {line})" if line else ""


def refusal_text(refusal: RefusedError, line: Callable[[str], int]) -> str:
    """What is wrong, each field with its line and what to do."""
    sentences = [
        f"{problem}{at_line(line(problem.field))}" + (f". Hint: {problem.advice}" if problem.advice else "")
        for problem in refusal.problems
    ]
    if len(sentences) == 1:
        return f"{refusal.label} {sentences[0]}"
    return "\n  * ".join((refusal.label, *sentences))


def template_hint(text: str) -> str:
    """What to do about a Helm chart's file, if it is one."""
    for number, line in enumerate(text.splitlines(), 1):
        if found := TEMPLATE.search(line):
            what = f"line {number} holds a template, {found[0]}"
            return f"\n  {what}: render the chart first (helm template CHART)"
    return ""


def flatten(document: Any, path: str = "") -> Iterator[tuple[str, Values]]:
    """The objects of a document with their paths: itself, or the items of a list."""
    if not isinstance(document, Mapping):
        raise ValueError(expected("an object with apiVersion, kind and metadata", document))
    kind = document.get("kind")
    if isinstance(kind, str) and kind in LISTS:
        for item in Fields.of(document, path).children("items"):
            typed = {"apiVersion": "v1", "kind": LISTS[kind]} if LISTS[kind] else {}
            yield from flatten({**typed, **item.values}, item.path)
    else:
        yield path, document


def is_of_devices(version: str) -> bool:
    """Whether a version is of the kinds that claim devices."""
    return version.partition("/")[0] == DEVICE_VERSION.partition("/")[0]


def known_type(values: Values, claims: bool) -> type[Object] | None:
    """The type of an object; None for kinds of other people, ValueError for what kubectl would refuse."""
    fields = Fields.of(values)
    unset = [f"{name} not set" for name in ("apiVersion", "kind") if not fields.text(name)]
    if unset:
        raise ValueError(f"error validating data: [{', '.join(unset)}]. {header_hint(values)}")
    version, kind = fields.text("apiVersion"), fields.text("kind")
    own = version.rpartition("/")[0] in OWN_GROUPS and (claims or not is_of_devices(version))
    if (version, kind) not in TYPES and kind in VERSIONS and own:
        raise ValueError(
            f'no matches for kind "{kind}" in version "{version}". Write apiVersion: {VERSIONS[kind]}'
        )
    return TYPES.get((version, kind))


def header_hint(values: Values) -> str:
    """What to write at the top of an object without apiVersion or kind."""
    spec, status = values.get("spec"), values.get("status")
    kind = "KIND"
    if isinstance(spec, Mapping) and "containers" in spec:
        kind = "Pod"
    elif isinstance(status, Mapping) and {"capacity", "allocatable"} & status.keys():
        kind = "Node"
    elif "globalDefault" in values:
        kind = "PriorityClass"
    looks = f"This looks like a {kind}: write" if kind in VERSIONS else "Write"
    return f"{looks} apiVersion: {VERSIONS.get(kind, 'VERSION')} and kind: {kind} at the top."


def name_of(values: Values) -> str:
    """The name of any object; empty where it has none."""
    metadata = values.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else ""


def read(values: Values, known: type[Object], number: int, claims: bool) -> list[Object]:
    """One object, defaulted and checked, with the pods that it makes; ValueError where it is refused."""
    metadata = Fields.of(values).child("metadata")
    if not metadata.has("name") and metadata.has("generateName"):  # the API server adds random letters
        name = f"{metadata.text('generateName')}{number}"
        values = {**values, "metadata": {**metadata.values, "name": name}}
    label = f'The {values["kind"]} "{name_of(values)}" is invalid:'
    try:
        return checked(known.parse(values), values, label, claims)
    except FieldError as error:
        raise RefusedError(label, (Problem(error.field, error.problem),)) from None


def checked(found: Object, values: Values, label: str, claims: bool) -> list[Object]:
    """An object as the API server would store it, with or without claims for devices."""
    if isinstance(found, Pod):
        pod = default_pod(found if claims else without_claims(found))
        refuse(label, (*unknown_fields(new(values), "Pod"), *validate_pod(pod)))
        return [pod]
    if isinstance(found, Node):
        node = default_node(found)
        refuse(label, (*unknown_fields(new(values), "Node"), *validate_node(node)))
        return [node]
    if isinstance(found, Workload):
        refuse(label, validate_workload(found, claims))
        pods = pods_of(found) if claims else map(without_claims, pods_of(found))
        return [found, *map(default_pod, pods)]
    if isinstance(found, StorageObject):
        stored = default_storage(found)
        refuse(label, (*unknown_fields(new(values), values["kind"]), *validate_storage(stored)))
        return [stored]
    if isinstance(found, DeviceObject):
        device = default_device_object(found)
        refuse(label, (*unknown_fields(new(values), values["kind"]), *validate_device_object(device)))
        return [device]
    if isinstance(found, Namespace):
        found = default_namespace(found)
    if not found.name:
        refuse(label, (Problem("metadata.name", "Required value: name or generateName is required"),))
    return [found]


def refuse_duplicates(found: Iterable[Object], known: set[tuple[str, str, str]]) -> None:
    """ValueError where an object of the same kind and name came before; else its name is noted."""
    for each in found:
        kind = each.kind if isinstance(each, Workload) else type(each).__name__
        key = (kind, getattr(each, "namespace", ""), each.name)
        if key in known:
            raise ValueError(f'{kind} "{each.name}" already exists: give each object a name of its own')
        known.add(key)


def new(values: Values) -> Values:
    """The object if somebody wrote it; empty if it came out of a cluster, which may be newer than kubedev."""
    return {} if Fields.of(values).child("metadata").has("uid") else values


def refuse(label: str, problems: Iterable[Problem]) -> None:
    """RefusedError with all problems, if there are any."""
    if problems := tuple(problems):
        raise RefusedError(label, problems)


def notes_on(values: Values, claims: bool) -> Iterator[str]:
    """Where something was filled in, or counts for nothing here."""
    fields = Fields.of(values)
    what = f"{values['kind']} {name_of(values)}"
    status, spec = fields.child("status"), fields.child("spec")
    if values["kind"] == "Node" and not status.has("allocatable"):
        if status.has("capacity"):
            yield f"{what} has no status.allocatable: all of its capacity counts, as the API server has it"
        else:
            yield f"{what} has neither capacity nor allocatable: no pod fits there until its kubelet reports"
    if values["kind"] == "Pod" and spec.has("resourceClaims") and not claims:
        yield f"{what} has resourceClaims, which count for nothing: {GATE_IS_OFF}"
    if any(one.has("adminAccess") for one in requests_of(values["kind"], spec)):
        yield f"{what} asks for adminAccess, which is dropped: the feature gate DRAAdminAccess is off in v1.32"
    account = spec.text("serviceAccountName") or spec.text("serviceAccount")
    if values["kind"] == "Pod" and account not in ("", "default"):
        yield f"{what} names the service account {account}, which counts for nothing here"
    if values["kind"] == "Pod" and spec.has("resources"):
        yield f"{what} has pod-level resources, which v1.32 does not count"
    if values["kind"] == "PodDisruptionBudget" and not status.has("disruptionsAllowed"):
        yield f"{what} has no status.disruptionsAllowed: no pod of it may be disrupted until it is worked out"
    if values["kind"] == "DaemonSet":
        yield f"{what} makes a pod for each node that it may run on, none in this file"


def requests_of(kind: str, spec: Fields) -> list[Fields]:
    """The requests of a claim for devices, or of a template; none of anything else."""
    claims = {"ResourceClaim": spec, "ResourceClaimTemplate": spec.child("spec")}
    return claims[kind].child("devices").children("requests") if kind in claims else []
