"""`kubedev anonymize`: a dump that can be attached to an issue, in which nobody recognises a cluster.

What is not known to matter for scheduling is left out; every text that is not one of Kubernetes' own words becomes a
made-up one, the same everywhere. Made-up names sort as the real ones do, so that `kubedev why` says the same about
both, up to names.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kubedev.api.kinds import TYPES
from kubedev.console import Parser, json_line, told
from kubedev.tools.why.documents import entries
from kubedev.tools.why.sources import DumpError, read_source

__all__ = ["Anonymizer", "anonymized", "main"]

NAME = "kubedev anonymize"
Values = Mapping[str, Any]


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


KEPT = words(
    "apiVersion kind items phase reason status type operator effect protocol restartPolicy preemptionPolicy "
    "whenUnsatisfiable nodeAffinityPolicy nodeTaintsPolicy accessModes volumeMode volumeBindingMode allocationMode "
    "creationTimestamp deletionTimestamp startTime lastTransitionTime resourceVersion kubeletVersion qosClass "
    "policyType reclaimPolicy persistentVolumeReclaimPolicy storage maximumVolumeSize minAvailable maxUnavailable"
)
"""Fields whose texts are Kubernetes' own words, times, amounts and versions."""
AMOUNTS = words("requests limits capacity allocatable overhead")
"""Fields whose keys are names of resources, and whose values are amounts."""
LABELS = words("labels matchLabels nodeSelector selector")
"""Fields that are labels; a `selector` may have selectors in it, too."""
LABEL_KEYS = words("key topologyKey matchLabelKeys mismatchLabelKeys topologyKeys")
TAKEN = words(
    "metadata spec template name namespace uid labels ownerReferences controller annotations nodeName "
    "containers initContainers resources ports containerPort hostPort hostNetwork affinity nodeAffinity podAffinity "
    "podAntiAffinity requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution "
    "nodeSelectorTerms matchExpressions matchFields key values value weight preference podAffinityTerm labelSelector "
    "namespaceSelector namespaces topologyKey matchLabelKeys mismatchLabelKeys tolerations tolerationSeconds "
    "topologySpreadConstraints maxSkew minDomains priority priorityClassName schedulerName schedulingGates volumes "
    "persistentVolumeClaim claimName ephemeral volumeClaimTemplate resourceClaims resourceClaimName "
    "resourceClaimTemplateName claims request nominatedNodeName conditions message resourceClaimStatuses taints "
    "unschedulable nodeInfo replicas disruptionsAllowed disruptedPods globalDefault "
    "storageClassName volumeName claimRef provisioner allowedTopologies matchLabelExpressions required drivers nodeID "
    "allocatable count storageCapacity attachRequired nodeTopology csi driver volumeHandle "
    "gcePersistentDisk pdName awsElasticBlockStore volumeID azureDisk diskURI iscsi iqn rbd monitors pool image "
    "readOnly allNodes devices basic attributes generation resourceSliceCount constraints "
    "matchAttribute deviceClassName selectors cel expression allocation results device reservedFor resource"
) | KEPT | AMOUNTS | LABELS | LABEL_KEYS  # fmt: skip
"""Fields that are taken over; all others are left out. An `image` is that of a disk: a container has none here."""
ANNOTATIONS = ("pv.kubernetes.io/", "volume.kubernetes.io/", "storage.alpha.kubernetes.io/")
KIND_OF = {"nodeName": "node", "nominatedNodeName": "node", "namespaces": "namespace"}
NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
PUBLIC = (
    "topology.kubernetes.io/",
    "failure-domain.beta.kubernetes.io/",
    "node.kubernetes.io/",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "beta.kubernetes.io/",
)
"""Labels of nodes whose values say nothing about whose they are."""
OWN = re.compile(r"^(true|false|system-(node|cluster)-critical|default-scheduler)$|^[a-z.]*kubernetes\.io/")
"""Texts that are Kubernetes' own, wherever they stand."""
WORD = re.compile(r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*")
ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")


class Anonymizer:
    """Replaces texts, each by the same one everywhere; `learn` all objects before any is written."""

    def __init__(self) -> None:
        self._kinds: dict[str, set[str]] = {}
        self._names: dict[str, str] = {}
        self._in_messages: set[str] = set()
        self._domains: set[str] = set()

    # What there is

    def learn(self, objects: Iterable[Values]) -> None:
        """Collect every text that is to be replaced, and make up others in the same order."""
        there = list(objects)
        for one in there:
            self._domains.update(_resource_domains(one))
        for one in there:
            kind, metadata = str(one["kind"]), one["metadata"]
            self._note(kind.lower(), metadata.get("name"))
            self._note("namespace", metadata.get("namespace"))
        for one in there:
            self._learn(one)
        taken: set[str] = set()
        for kind in sorted(self._kinds, key=lambda kind: (kind not in ("node", "namespace", "pod"), kind)):
            mine = sorted(self._kinds[kind] - taken - {*NAMESPACES, "default-scheduler"})
            width = len(str(len(mine)))
            prefix = "example.com/key" if kind == "key" else kind
            self._names.update({old: f"{prefix}-{number:0{width}}" for number, old in enumerate(mine)})
            taken.update(mine)

    def _note(self, kind: str, text: object) -> None:
        if isinstance(text, str) and text and not text.isdigit() and not OWN.search(text):
            self._kinds.setdefault(kind, set()).add(text)

    def _learn(self, value: Any, field: str = "") -> None:
        if isinstance(value, Mapping):
            if field in LABELS and all(isinstance(one, str) for one in value.values()):
                for key, one in value.items():
                    self._label(key, one)
                return
            if field == "taints" or "effect" in value:
                self._in_messages.update(str(value.get(part) or "") for part in ("key", "value"))
            for key, one in value.items():
                if key in TAKEN and key not in AMOUNTS and key not in ("message", "annotations"):
                    self._learn(one, key)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            for one in value:
                self._learn(one, field)
        elif isinstance(value, str) and field not in KEPT:
            if field in LABEL_KEYS:
                self._label(value, "")
            else:
                self._note(KIND_OF.get(field, "name"), value)

    def _label(self, key: str, value: str) -> None:
        if not self.is_public(key):
            self._note("key", key)
        if not key.startswith(PUBLIC):
            self._note("value", value)

    def is_public(self, key: str) -> bool:
        """Whether a label's or taint's key says nothing of whose it is: Kubernetes' own, or a resource's vendor's."""
        domain = key.partition("/")[0] if "/" in key else ""
        return (
            domain.endswith(("kubernetes.io", "k8s.io"))
            or domain in self._domains
            or key in ("metadata.name",)
        )

    # What is written

    def name(self, text: str) -> str:
        """The made-up text for one."""
        return self._names.get(text, text)

    def text(self, message: str) -> str:
        """A sentence without names and addresses."""
        return WORD.sub(self._word, ADDRESS.sub("0.0.0.0", message))

    def _word(self, match: re.Match[str]) -> str:
        word = match[0].rstrip(".")
        end = match[0][len(word) :]
        if word in self._names and (word in self._in_messages or not word.isalpha()):
            return self._names[word] + end
        return "/".join(self._part(part) for part in word.split("/")) + end

    def _part(self, part: str) -> str:
        """A word of a sentence: a plain one is left as it is, but for those of taints."""
        return part if part.isalpha() and part not in self._in_messages else self.name(part)

    def written(self, value: Any, field: str = "") -> Any:
        """A value without what is not to be known."""
        if isinstance(value, Mapping):
            if field in AMOUNTS:
                return dict(value)
            if field in LABELS and all(isinstance(one, str) for one in value.values()):
                return {self.key(key): self.label(key, one) for key, one in value.items()}
            if field == "annotations":
                return {key: self.name(str(one)) for key, one in value.items() if key.startswith(ANNOTATIONS)}
            inner = field in ("containers", "initContainers")
            return {
                key: self.written(one, key)
                for key, one in value.items()
                if key in TAKEN and not (key == "image" and inner)
            }
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [self.written(one, field) for one in value]
        if not isinstance(value, str) or field in KEPT:
            return value
        if field in LABEL_KEYS:
            return self.key(value)
        return self.text(value) if field == "message" else self.name(value)

    def key(self, key: str) -> str:
        """A label's key."""
        return key if self.is_public(key) else self.name(key)

    def label(self, key: str, value: str) -> str:
        """A label's value."""
        return value if key.startswith(PUBLIC) else self.name(value)


def _resource_domains(one: Values) -> Iterator[str]:
    status = one.get("status")
    for field in ("capacity", "allocatable") if isinstance(status, Mapping) else ():
        amounts = (status or {}).get(field)
        for name in amounts if isinstance(amounts, Mapping) else ():
            if "/" in name:
                yield name.partition("/")[0]


def is_known(one: Values) -> bool:
    """Whether scheduling looks at objects of this kind."""
    kind = str(one.get("apiVersion")), str(one.get("kind"))
    return kind in TYPES and isinstance(one.get("metadata"), Mapping)


def anonymized(objects: Sequence[Values]) -> tuple[dict[str, Any], Anonymizer]:
    """A list of the objects that scheduling looks at, without what is not to be known; and who did it."""
    known = [one for one in objects if is_known(one)]
    hides = Anonymizer()
    hides.learn(known)
    return {"apiVersion": "v1", "kind": "List", "items": [hides.written(one) for one in known]}, hides


def main(argv: Sequence[str] | None = None) -> int:
    """Print the dump."""
    parser = Parser(
        NAME,
        description="A dump without names, labels' values, images, environments, annotations and addresses, which "
        "`kubedev why` explains in the same words. It is printed; nothing leaves this machine. Look through it before "
        "you give it to others.",
    )
    parser.add_argument(
        "dumps", nargs="+", metavar="DUMP", help="what kubectl printed, or - for standard input"
    )
    options = parser.parse_args(argv)
    try:
        files = {
            name: [entry.values() for entry in entries(read_source(name), name)] for name in options.dumps
        }
        found, _ = anonymized([one for objects in files.values() for one in objects])
        if not found["items"]:
            raise DumpError(
                f"{', '.join(files)}: expected pods and nodes (`kubectl get nodes,pods -A -o json`), and there are none"
            )
    except DumpError as error:
        return told(NAME, str(error), 2)
    print(json_line(found, indent=1))
    for sentence in left_out(files):
        told(NAME, sentence)
    return 0


def left_out(files: Mapping[str, Sequence[Values]]) -> Iterator[str]:
    """What of these files is not in the dump that is printed."""
    for name, objects in files.items():
        others = Counter(
            str(one.get("kind") or "objects without kind") for one in objects if not is_known(one)
        )
        if others and others.total() == len(objects):
            yield f"{name} is left out: it is no dump of pods and nodes"
        elif others:
            kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(others.items()))
            yield f"{name}: left out are objects of a kind or version that is not looked at: {kinds}"


if __name__ == "__main__":
    sys.exit(main())
