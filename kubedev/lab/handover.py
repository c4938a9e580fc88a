"""What becomes of a plugin's answer: from Allocate over the CRI request to the container's process.

And what becomes of the kubelet while there is no answer: a plugin that is frozen.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from kubedev.api.manifests import load
from kubedev.api.messages import (
    AllocateRequest,
    AllocateResponse,
    Answer,
    Call,
    ContainerAllocateResponse,
    RpcError,
    converse,
)
from kubedev.api.objects import Container, Pod
from kubedev.api.quantity import Quantity
from kubedev.cluster.cluster import ClusterError
from kubedev.cluster.events import FromKubelet, PodCreated
from kubedev.deviceplugin.plugin import Plugin, answer
from kubedev.kubelet.devices.device_manager import allocate
from kubedev.kubelet.devices.devices import container_devices
from kubedev.kubelet.events import Ask, StartContainer
from kubedev.lab.allocation_scene import RESOURCE, allocation_scene
from kubedev.lab.lookup import node_name, plugin_key
from kubedev.lab.rows import Rows
from kubedev.lab.session import Lab
from kubedev.views.catalogue import say
from kubedev.views.masks import natural_list
from kubedev.wire.codec import METHODS

__all__ = [
    "allocate_requests",
    "allocate_with",
    "flat_and_per_container",
    "freeze",
    "handover",
    "post_pods",
    "thaw",
    "waits",
]


# Who does what


def handover(lab: Lab, pod: str) -> Rows:
    """Each setting of a pod's devices: in the plugin's answer, in the CRI request, and in the process."""
    uid, node = lab.pod(pod).uid, lab.pod(pod).node_name
    held = lab.state.kubelets[node].devices.pod_devices.get(uid, {})
    rows = []
    for request in _requests(lab, uid):
        answers = [info.alloc_resp for info in held.get(request.container, {}).values()]
        seen = lab.state.containers[uid, request.container].output
        for kind, key, asked in _settings(request):
            said = [
                value
                for answer in answers
                for k, name, value in _said(answer)
                if (k, name) == (kind, key) and asked.startswith(value)
            ]
            process = next((line for line in seen if kind == "env" and line.startswith(f"{key}=")), "")
            rows.append(
                (
                    say(f"handover.{kind}"),
                    " / ".join(said) or say("handover.pod"),
                    asked,
                    process or _on_host(kind, asked),
                )
            )
    heads = [say(f"handover.{head}") for head in ("setting", "answer", "cri", "process")]
    return Rows(heads, rows)


def _requests(lab: Lab, uid: str) -> Iterator[StartContainer]:
    for step in range(1, lab.position + 1):
        event = lab.history[step].event
        if (
            isinstance(event, FromKubelet)
            and isinstance(event.effect, StartContainer)
            and event.effect.pod_uid == uid
        ):
            yield event.effect


def _settings(request: StartContainer) -> Iterator[tuple[str, str, str]]:
    """Kind, key and text of everything in a CRI request."""
    yield from (("env", name, f"{name}={value}") for name, value in request.envs)
    yield from (
        ("mount", path, f"{host} at {path}{', read only' * only}") for host, path, only in request.mounts
    )
    yield from (("device", path, f"{host} as {path}, {allowed}") for host, path, allowed in request.devices)
    yield from (("annotation", name, f"{name}={value}") for name, value in request.annotations)
    yield from (("cdi", name, name) for name in request.cdi_devices)


def _said(answer: ContainerAllocateResponse) -> Iterator[tuple[str, str, str]]:
    yield from (("env", name, f"{name}={value}") for name, value in answer.envs)
    yield from (("mount", m.container_path, f"{m.host_path} at {m.container_path}") for m in answer.mounts)
    yield from (("device", d.container_path, f"{d.host_path} as {d.container_path}") for d in answer.devices)
    yield from (("annotation", name, f"{name}={value}") for name, value in answer.annotations)
    yield from (("cdi", name, name) for name in answer.cdi_devices)


def _on_host(kind: str, asked: str) -> str:
    """Whether a mount's or device's host path is there: nobody has made it, as no runtime is here."""
    if kind not in ("mount", "device"):
        return say("handover.not-inside")
    path = asked.split(" ")[0]
    return f"{path}: {say('handover.there' if os.path.exists(path) else 'handover.not-there')}"


# Then and now


def flat_and_per_container(*containers: Sequence[str]) -> Rows:
    """The bytes of an Allocate request as v1alpha had it, and as v1beta1 has it, for these containers' devices."""
    ids = [id_ for container in containers for id_ in container]
    flat = b"".join(b"\x0a" + bytes([len(id_)]) + id_.encode() for id_ in ids)
    now = METHODS["Allocate"].encode_request(AllocateRequest(tuple(map(tuple, containers))))
    split = " ".join(f"[{', '.join(container)}]" for container in containers)
    rows = [
        (say("flat.v1alpha"), f"[{', '.join(ids)}]", flat.hex(" ")),
        (say("flat.v1beta1"), split, now.hex(" ")),
    ]
    return Rows(("", say("table.devices.list"), say("flat.bytes")), rows)


def allocate_requests(lab: Lab, pod: str) -> Rows:
    """Every Allocate call that was sent for a pod: how many containers' requests each held."""
    held = lab.state.kubelets[lab.pod(pod).node_name].devices.pod_devices.get(lab.pod(pod).uid, {})
    mine = {info.devices for resources in held.values() for info in resources.values()}
    rows = []
    for step in range(1, lab.position + 1):
        event = lab.history[step].event
        call = event.effect.call if isinstance(event, FromKubelet) and isinstance(event.effect, Ask) else None
        if call is not None and isinstance(call.request, AllocateRequest):
            groups = call.request.container_requests
            if any(frozenset(ids) in mine for ids in groups):
                rows.append((call.resource, str(len(groups)), "; ".join(", ".join(ids) for ids in groups)))
    return Rows((say("table.resource"), say("flat.requests"), say("table.devices.list")), rows)


# Three answers to Allocate, without any wire


def allocate_with(*answers: str, switches: Sequence[str] = (), needed: int = 2) -> Rows:
    """Have the plugin answer Allocate with `yes`, `no` (an error) or `empty` (no container); what is left then.

    A device that is recorded is the pod's; one that is only marked is nobody's, and nobody gets it.
    """
    heads = [say(f"allocate.{head}") for head in ("answer", "recorded", "marked", "error")]
    return Rows(heads, [(answer, *_allocated(answer, frozenset(switches), needed)) for answer in answers])


def _allocated(kind: str, switches: frozenset[str], needed: int) -> tuple[str, str, str]:
    scene = allocation_scene(needed)
    limits = {RESOURCE: Quantity.of(needed)}
    pod = Pod("web", uid="web", containers=(Container("main", requests=limits, limits=limits),))
    plugin = Plugin(RESOURCE, tuple(scene.devices.values()))

    def told(call: Call) -> Answer:
        request = call.request
        if not isinstance(request, AllocateRequest):
            return answer(plugin, request)
        if kind == "no":
            return RpcError("Unknown", "device d0 does not answer")
        return AllocateResponse() if kind == "empty" else answer(plugin, request)

    start = replace(scene.state, switches=switches)
    state, decision = converse(allocate(start, pod, pod.containers[0], [pod]), told)
    held = container_devices(state.pod_devices, "web", "main", RESOURCE)
    marked = state.allocated_devices.get(RESOURCE, frozenset())
    return natural_list(held or frozenset()), natural_list(marked), decision.error or "–"


# No answer at all


def freeze(lab: Lab, resource: str, node: str = "") -> None:
    """Stop a plugin's process in its tracks (SIGSTOP): it lives, its socket is there, and it answers nothing."""
    lab.world.plugin(*plugin_key(lab.state, resource, node)).freeze()


def thaw(lab: Lab, resource: str, node: str = "") -> None:
    """Let it go on (SIGCONT), and wait until it has answered and nothing is under way."""
    lab.world.plugin(*plugin_key(lab.state, resource, node)).thaw()
    agent = node_name(lab.state, node)
    lab.wait(lambda state: all(t.call.resource != resource for t in state.kubelets[agent].talks.values()))
    lab.wait()


def post_pods(lab: Lab, *manifests: str) -> None:
    """Create pods and do not wait for them. Use it where `lab.apply` would wait in vain."""
    for text in manifests:
        for pod in load(text, source="pod").pods:
            lab.post(PodCreated(pod))


def waits(lab: Lab, seconds: float = 1.0) -> Rows:
    """Give the cluster some seconds of real time, at most; then what each pod's phase is, and what is waited for."""
    with suppress(ClusterError):
        lab.cluster.wait(timeout=seconds)
    state = lab.state
    node = {name for name, agent in state.kubelets.items() if agent.talks}
    rows = [(pod.name, pod.phase or "Pending", pod.node_name) for pod in state.store.pods.values()]
    rows += [
        (say("frozen.node", node=name), say("frozen.waits"), w)
        for name in sorted(node)
        for w in state.under_way()
    ]
    return Rows((say("table.pod"), say("table.phase"), say("table.node")), rows)
