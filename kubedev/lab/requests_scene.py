"""Lab 01: pods as a reader would write them, and the pictures of what they ask for."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kubedev.api.defaults import default_pod
from kubedev.api.manifests import ManifestError, load
from kubedev.api.names import CPU
from kubedev.api.objects import Container, Pod
from kubedev.api.qos import compute_pod_qos
from kubedev.api.quantity import Quantity, QuantityError
from kubedev.api.requests import pod_arithmetic
from kubedev.api.validation import validate_pod
from kubedev.lab.rows import Rows
from kubedev.lab.session import Lab
from kubedev.views.arithmetic import Life, arithmetic_picture, lives_picture, refused_picture
from kubedev.views.catalogue import say
from kubedev.views.picture import Picture

__all__ = [
    "QOS_PARTS",
    "as_in_2021",
    "container",
    "draw_life",
    "draw_lives",
    "draw_qos",
    "life",
    "pod",
    "pod_text",
    "quantities",
    "try_apply",
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
    return Container(
        name,
        "example.com/app:1",
        requests=_quantities(asked),
        limits=_quantities(limits or {}),
        restart_policy="Always" if sidecar else None,
    )


def pod(*containers: Container, init: Sequence[Container] = (), name: str = "pod") -> Pod:
    """A pod as it is written, before the API server has filled anything in."""
    return Pod(name, uid=name, containers=containers, init_containers=tuple(init))


def _quantities(amounts: Amounts) -> dict[str, Quantity]:
    return {resource: Quantity.parse(str(amount)) for resource, amount in amounts.items()}


def as_in_2021(pod: Pod) -> Pod:
    """The pod as it was counted before sidecars: an init container that goes on running was one like any other."""
    return replace(pod, init_containers=tuple(replace(c, restart_policy=None) for c in pod.init_containers))


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


# Pictures


def life(load: int, migrate: int, proxy: int, app: int, sidecar_at: int = 1) -> Pod:
    """A pod whose containers ask for so many CPUs: two init containers, then the app.

    The sidecar `proxy` stands before the init container number `sidecar_at`, counted from 0.
    """
    inits = [container("load", cpu=load), container("migrate", cpu=migrate)]
    inits.insert(sidecar_at, container("proxy", sidecar=True, cpu=proxy))
    return pod(container("app", cpu=app), init=inits)


def draw_life(load: int, migrate: int, proxy: int, app: int, sidecar_at: int = 1) -> Picture:
    """The moments of such a pod, and its request as their envelope."""
    asked = life(load, migrate, proxy, app, sidecar_at)
    return arithmetic_picture(pod_arithmetic(asked), CPU, compute_pod_qos(default_pod(asked)))


def draw_lives(pods: Mapping[str, Pod], resource: str = CPU) -> Picture:
    """Pods side by side, each with its request; the keys are their titles."""
    return lives_picture([Life(title, pod_arithmetic(each)) for title, each in pods.items()], resource)


QOS_PARTS: Mapping[str, Mapping[str, str]] = {
    "nothing": {},
    "cpu 0": {"cpu": "0"},
    "cpu 1": {"cpu": "1"},
    "cpu 1, memory 1Gi": {"cpu": "1", "memory": "1Gi"},
    "cpu 1000m, memory 1024Mi": {"cpu": "1000m", "memory": "1024Mi"},
    "1 GPU": {"nvidia.com/gpu": "1"},
}
"""What `draw_qos` offers for requests and limits."""


def draw_qos(requests: str, limits: str, init: str, api_server: bool) -> Picture:
    """A pod with one app container, and perhaps an init container: the class, and the rule that decided it.

    `init` is `none`, `without resources` or `like the app`; `api_server` says whether the API server has seen it: it
    fills in its defaults, or refuses the pod.
    """
    requested, limited = QOS_PARTS[requests], QOS_PARTS[limits]
    inits = {
        "none": (),
        "without resources": (container("init"),),
        "like the app": (container("init", requested, limited),),
    }
    asked = pod(container("app", requested, limited), init=inits[init])
    if api_server:
        asked = default_pod(asked)
        if problems := validate_pod(asked):
            return refused_picture(f'The Pod "{asked.name}" is invalid:', problems)
    return arithmetic_picture(pod_arithmetic(asked), CPU, compute_pod_qos(asked))


# Manifests


def pod_text(*containers: Container, init: Sequence[Container] = (), name: str = "pod") -> str:
    """The pod's manifest as YAML."""
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


def try_apply(lab: Lab, manifest: str) -> str:
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
