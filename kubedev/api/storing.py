"""One object of a manifest as the API server would store it: read, defaulted and checked, or refused with reasons."""

from collections.abc import Iterable, Iterator

from kubedev.api.claim_validation import default_device_object, validate_device_object
from kubedev.api.claims import DeviceObject
from kubedev.api.defaults import default_namespace, default_node, default_pod, without_claims
from kubedev.api.fields import FieldError, Fields
from kubedev.api.kinds import Object, Values, name_of
from kubedev.api.objects import Node, Pod
from kubedev.api.pod_groups import Namespace, Workload
from kubedev.api.problems import Problem
from kubedev.api.storage import StorageObject
from kubedev.api.storage_validation import default_storage, validate_storage
from kubedev.api.strict import unknown_fields
from kubedev.api.switches import CLAIMS_GATE
from kubedev.api.validation import validate_node, validate_pod
from kubedev.api.workloads import pods_of, validate_workload

__all__ = ["GATE_IS_OFF", "RefusedError", "notes_on", "read", "refuse_duplicates"]

GATE_IS_OFF = f"the feature gate {CLAIMS_GATE} is off, as by default in v1.32"


class RefusedError(ValueError):
    """An object that is refused, and what is wrong with which of its fields."""

    def __init__(self, label: str, problems: tuple[Problem, ...]) -> None:
        super().__init__(label)
        self.label = label
        self.problems = problems


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
