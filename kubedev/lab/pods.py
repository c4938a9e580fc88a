"""Pods as a reader writes them, in code or as YAML; what they ask for, in numbers and in pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kubedev.api.defaults import default_pod as default_pod
from kubedev.api.manifests import ManifestError, load
from kubedev.api.names import CPU
from kubedev.api.objects import Container, Pod
from kubedev.api.qos import compute_pod_qos as compute_pod_qos
from kubedev.api.quantity import Quantity as Quantity
from kubedev.api.quantity import QuantityError
from kubedev.api.requests import pod_arithmetic
from kubedev.api.requests import pod_requests as pod_requests
from kubedev.api.storage import PersistentVolume, PersistentVolumeClaim
from kubedev.api.validation import validate_pod
from kubedev.kubelet.pressure.two_limits import PERIOD
from kubedev.kubelet.pressure.two_limits import Wants as Wants
from kubedev.kubelet.pressure.two_limits import against_limits as against_limits
from kubedev.lab.node_scene import pod_yaml as pod_yaml
from kubedev.lab.rows import Rows
from kubedev.lab.session import Lab
from kubedev.views.arithmetic import arithmetic_picture, lives_picture, refused_picture
from kubedev.views.catalogue import say
from kubedev.views.limits import limits_picture
from kubedev.views.live import LivePicture
from kubedev.views.picture import Picture

__all__ = [
    "Quantity",
    "Wants",
    "against_limits",
    "apply",
    "as_in_2021",
    "claim",
    "compute_pod_qos",
    "container",
    "default_pod",
    "draw",
    "draw_life",
    "draw_limits",
    "from_spec",
    "life",
    "manifest",
    "pod",
    "pod_requests",
    "pod_yaml",
    "quantities",
    "side_by_side",
]

Amounts = Mapping[str, str | int]


def container(
    name: str,
    requests: Amounts | None = None,
    limits: Amounts | None = None,
    sidecar: bool = False,
    **more: str | int,
) -> Container:
    """A container; `cpu="1"` and the like are requests. A sidecar is an init container that goes on running."""
    asked = {key.replace("_", "-"): value for key, value in more.items()} | dict(requests or {})
    requested, limited = (
        {resource: Quantity.parse(str(amount)) for resource, amount in given.items()}
        for given in (asked, limits or {})
    )
    policy = "Always" if sidecar else None
    return Container(name, "example.com/app:1", requested, limited, policy)


def pod(*containers: Container, init: Sequence[Container] = (), name: str = "pod") -> Pod:
    """A pod as it is written, before the API server has filled anything in."""
    return Pod(name, uid=name, containers=containers, init_containers=tuple(init))


def from_spec(name: str, **spec: Any) -> Pod:
    """A pod by the fields of its spec as a manifest has them; with one container `c` unless they say otherwise."""
    return Pod.parse({"metadata": {"name": name}, "spec": {"containers": [{"name": "c"}], **spec}})


def claim(
    name: str = "data",
    volume: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    mode: str = "ReadWriteOnce",
    storage_class: str = "",
) -> tuple[PersistentVolumeClaim | PersistentVolume, ...]:
    """A claim of 1Gi, bound to a volume with these labels and further fields of its spec if such are given."""
    size = {"storage": "1Gi"}
    spec = {"accessModes": [mode], "resources": {"requests": size}, "storageClassName": storage_class}
    if volume is None:
        return (PersistentVolumeClaim.parse({"metadata": {"name": name}, "spec": spec}),)
    bound = {"name": name, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    reference = {"name": name, "namespace": "default"}
    there = {
        "accessModes": [mode],
        "capacity": size,
        "storageClassName": storage_class,
        "claimRef": reference,
    }
    return (
        PersistentVolumeClaim.parse({"metadata": bound, "spec": {**spec, "volumeName": f"{name}-volume"}}),
        PersistentVolume.parse(
            {
                "metadata": {"name": f"{name}-volume", "labels": dict(labels or {})},
                "spec": {**there, **volume},
            }
        ),
    )


def as_in_2021(pod: Pod) -> Pod:
    """The pod as it was counted before sidecars: an init container that goes on running was one like any other."""
    return replace(pod, init_containers=tuple(replace(c, restart_policy=None) for c in pod.init_containers))


def manifest(*containers: Container, init: Sequence[Container] = (), name: str = "pod") -> str:
    """The manifest of a pod as YAML."""
    lines = ["apiVersion: v1", "kind: Pod", "metadata:", f"  name: {name}", "spec:"]
    for title, group in (("initContainers", init), ("containers", containers)):
        lines += [f"  {title}:"] if group else []
        for each in group:
            lines += [f"    - name: {each.name}", f"      image: {each.image}"]
            lines += ["      restartPolicy: Always"] if each.restart_policy else []
            lines += ["      resources:"] if each.requests or each.limits else []
            for part, amounts in (("requests", each.requests), ("limits", each.limits)):
                words = ", ".join(f"{resource}: {amount}" for resource, amount in amounts.items())
                lines += [f"        {part}: {{ {words} }}"] if amounts else []
    return "\n".join(lines) + "\n"


def apply(lab: Lab, manifest: str) -> str:
    """Create what a manifest says, in place of older pods of its names; what the API server says to it."""
    try:
        loaded = load(manifest, say("apply.source"))
    except ManifestError as error:
        return str(error)
    there = {each.name for each in lab.state.store.pods.values()}
    for name in sorted(there & {each.name for each in loaded.pods}):
        lab.delete(name)
    lab.apply(manifest)
    return "\n".join(say("apply.created", what=f"pod/{each.name}") for each in loaded.pods)


def quantities(*texts: str) -> Rows:
    """How each text is read: the number in full, in thousandths, in whole units rounded up, and printed back."""
    heads = ("written", "number", "milli", "whole", "printed", "format")
    return Rows([say(f"quantities.{head}") for head in heads], map(_quantity_row, texts))


def _quantity_row(text: str) -> tuple[str, ...]:
    try:
        read = Quantity.parse(text)
    except QuantityError as error:
        return text, str(error), "", "", "", ""
    return text, read.as_dec(), str(read.milli_value()), str(read.value()), str(read), str(read.format)


def draw(pod: Pod, resource: str = CPU, api_server: bool = True, top: int = 0) -> Picture:
    """The moments of a pod's life, its request as their envelope, and its QoS class with the rule that decided it.

    With `api_server` the pod is as the API server stores it: with its defaults, or refused. The scale goes to `top`,
    or as far as the pod needs.
    """
    if api_server:
        pod = default_pod(pod)
        if problems := validate_pod(pod):
            return refused_picture(f'The Pod "{pod.name}" is invalid:', problems)
    return arithmetic_picture(pod_arithmetic(pod), resource, compute_pod_qos(pod), Quantity.of(top))


def life(load: int, migrate: int, proxy: int, app: int, sidecar_at: int = 1) -> Pod:
    """A pod whose containers ask for so many CPUs: two init containers, then the app.

    The sidecar `proxy` stands before the init container number `sidecar_at`, counted from 0.
    """
    inits = [container("load", cpu=load), container("migrate", cpu=migrate)]
    inits.insert(sidecar_at, container("proxy", sidecar=True, cpu=proxy))
    return pod(container("app", cpu=app), init=inits)


def draw_life(load: int, migrate: int, proxy: int, app: int, sidecar_at: int = 1) -> Picture:
    """The moments of such a pod, for `explore`: the scale goes to 12 whatever is turned."""
    return draw(life(load, migrate, proxy, app, sidecar_at), top=12)


def side_by_side(pods: Mapping[str, Pod], resource: str = CPU) -> LivePicture:
    """Pods by their titles, each with its request, on one scale."""
    return LivePicture(lives_picture({title: pod_arithmetic(each) for title, each in pods.items()}, resource))


def draw_limits(cpu_limit: str, memory_limit: str, threads: int = 4) -> Picture:
    """The same container against a CPU limit and a memory limit; the scale is that of eight threads."""
    return limits_picture(against_limits(Wants(threads=threads), cpu_limit, memory_limit), most=8 * PERIOD)
