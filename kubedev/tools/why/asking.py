"""Which pods are asked about: one of the dump by its name, those of a manifest, or all that wait or were refused."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from kubedev.api.admission import admit_pod
from kubedev.api.defaults import PriorityError
from kubedev.api.objects import Pod
from kubedev.api.values import replace
from kubedev.console import read_file, reason
from kubedev.scheduler.queue.queued_pod import key_of
from kubedev.tools.why.dump import Dump, is_refused
from kubedev.tools.why.sources import DumpError

__all__ = ["Asked", "all_waiting", "asked_by_name", "asked_in_manifest", "pods_in_manifest", "same_shape"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A pod that is asked about; `more` are others that are the same but for their names."""

    pod: Pod
    more: tuple[str, ...] = ()


def asked_by_name(dump: Dump, name: str) -> Asked:
    """The pod of this name, with or without a namespace. Raises DumpError."""
    names = [name] if "/" in name else [key for key in dump.pods if key.partition("/")[2] == name]
    if len(names) > 1:
        raise DumpError(f"there are several pods {name}: say which of {', '.join(sorted(names)[:6])}")
    if not names or names[0] not in dump.pods:
        close = names_near(dump, name) if len(dump.pods) < 10_000 else []
        count = "1 pod" if len(dump.pods) == 1 else f"{len(dump.pods)} pods"
        hint = f"; is it {' or '.join(close)}?" if close else f": it has {count}"
        raise DumpError(f"there is no file and no pod in the dump with the name {name}{hint}")
    return Asked(dump.pod(names[0]))


def names_near(dump: Dump, name: str) -> list[str]:
    """The pods that may be meant; those that wait before others that are as near."""
    short = {key: key if "/" in name else key.partition("/")[2] for key in dump.pods}
    near = get_close_matches(name, set(short.values()), 12, 0.5)
    keys = [key for key in short if short[key] in near]

    def order(key: str) -> tuple[bool, int]:
        return bool(dump.pods[key].node_name), near.index(short[key])

    return sorted(keys, key=order)[:3]


def pods_in_manifest(dump: Dump, path: str) -> list[Pod]:
    """The pods of a manifest, as the API server of this cluster would store them. Raises DumpError."""
    from kubedev.api.manifests import ManifestError, load  # with all that checks a manifest: only for one

    try:
        pods = load(read_file(path), path).pods
    except ManifestError as error:
        raise DumpError(str(error)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise DumpError(reason(error) if isinstance(error, OSError) else f"{path} {reason(error)}") from None
    if not pods:
        raise DumpError(f"{path}: expected a pod, or something that makes pods, and it has none")
    return [admitted(dump, pod) for pod in pods]


def asked_in_manifest(dump: Dump, path: str) -> list[Asked]:
    """The pods of a manifest, those that are the same but for their names together. Raises DumpError."""
    found: list[Asked] = []
    for pod in pods_in_manifest(dump, path):
        like = next((number for number, one in enumerate(found) if same_shape(one.pod, pod)), None)
        if like is None:
            found.append(Asked(pod))
        else:
            found[like] = replace(found[like], more=(*found[like].more, key_of(pod)))
    return found


def admitted(dump: Dump, pod: Pod) -> Pod:
    """A new pod with what admission adds."""
    try:
        return admit_pod(pod, dump.of("PriorityClass"))
    except PriorityError as error:
        note = f"pod {key_of(pod)}: {error}: its priority counts as {pod.priority or 0}"
        if note not in dump.notes:
            dump.notes.append(note)
        return admit_pod(replace(pod, priority_class_name="", priority=None), ())


def all_waiting(dump: Dump) -> list[Asked]:
    """All pods that wait for a node or were refused by one; those that differ in their names alone stand together."""
    found: dict[tuple[object, ...], list[Asked]] = {}
    for key, pod in waiting(dump):
        owners = tuple((owner.kind, owner.name) for owner in pod.owner_references)
        there = found.setdefault((pod.namespace, owners, pod.reason, pod.message), [])
        like = next((number for number, one in enumerate(there) if same_shape(one.pod, pod)), None)
        if like is None:
            there.append(Asked(pod))
        else:
            there[like] = replace(there[like], more=(*there[like].more, key))
    return [one for there in found.values() for one in there]


def waiting(dump: Dump) -> Iterator[tuple[str, Pod]]:
    for key, pod in dump.pods.items():
        pending = not pod.node_name and pod.phase in ("", "Pending")
        if pending or is_refused(pod.phase, pod.reason):
            yield key, pod


def same_shape(one: Pod, other: Pod) -> bool:
    """Whether two pods ask for the same: all but names, times and conditions."""

    def shape(pod: Pod) -> Sequence[object]:
        plain = replace(
            pod,
            name="",
            uid="",
            resource_version="",
            creation_timestamp=None,
            start_time=None,
            conditions=(),
            volumes=(),
        )
        return (
            plain,
            [
                volume
                for volume in pod.volumes
                if volume.claim_name or volume.claim_template or volume.sources
            ],
        )

    return shape(one) == shape(other)
