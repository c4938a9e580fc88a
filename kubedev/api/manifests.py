"""YAML in, objects out: defaulted and checked as the API server would, with errors that say what to do.

A file may hold several documents, lists, KYAML (flow style) or JSON. What kubedev does not know it skips and
names; what kubectl would refuse is an error, for the whole file: nothing is half loaded. The configurations of
kubelet and scheduler are read by whom they are for: `load` is given a reader for each kind.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from kubedev.api.fields import FieldError
from kubedev.api.kinds import Object, Values, flatten, is_of_devices, known_type, name_of
from kubedev.api.objects import Node, Pod
from kubedev.api.storing import GATE_IS_OFF, RefusedError, notes_on, read, refuse_duplicates
from kubedev.api.switches import CLAIMS_GATE
from kubedev.api.yaml_reader import Document, YAMLError, documents, line_of

__all__ = ["CONFIGURATIONS", "ManifestError", "Manifests", "Object", "Reader", "Skipped", "load"]

Reader = Callable[[Values], object]
"""Reads a configuration; raises ValueError where whoever it is for would refuse it."""
T = TypeVar("T")

CONFIGURATIONS = {
    ("kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"): "a kubelet reads it from a file (--config)",
    (
        "kubescheduler.config.k8s.io/v1",
        "KubeSchedulerConfiguration",
    ): "the scheduler reads it from a file (--config)",
}
"""Kinds that are configurations, and no objects of the API server; and who reads them."""
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
