"""What is compared is drawn: one pod in several clusters, and a fork beside the run that it left."""

from kubedev.cluster.history import History
from kubedev.cluster.state import ClusterState, Message
from kubedev.lab.lookup import devices_of, find_pod
from kubedev.lab.scene import path_state
from kubedev.lab.session import Lab
from kubedev.views.catalogue import say
from kubedev.views.fork import End, Event, fork_picture
from kubedev.views.live import LivePicture
from kubedev.views.multiples import ClusterView, multiples_picture
from kubedev.views.parts import Device
from kubedev.views.path_devices import device_state, device_words, numa_text

__all__ = ["both_ends", "side_by_side"]

RESOURCE = "nvidia.com/gpu"


class SideBySide(LivePicture):
    """Clusters side by side; `running` says in how many of them the pod runs."""

    running = 0


def side_by_side(manifest: str, *clusters: tuple[int, int], resource: str = RESOURCE) -> SideBySide:
    """One pod in several clusters of one node, each given by its devices and how many of them are unhealthy."""
    views, name, asks = [], "", 0
    for devices, unhealthy in clusters:
        with Lab("side by side", nodes=1, transport="memory") as lab:
            if devices:
                lab.plugin(resource, devices)
            for number in range(unhealthy):
                lab.set_health(f"d{number}", healthy=False)
            pod = lab.apply(manifest).pods[0]
            name = pod.name
            asks = sum(c.requests[resource].value() for c in pod.containers if resource in c.requests)
            views.append(_cluster(lab.state, name, resource, devices, unhealthy))
    compared = SideBySide(multiples_picture(name, resource, asks, views))
    compared.running = sum(view.phase == "Running" for view in views)
    return compared


def _cluster(state: ClusterState, pod: str, resource: str, devices: int, unhealthy: int) -> ClusterView:
    node = path_state(state, title="").nodes[0]
    found = find_pod(state, pod)
    seen = next((r for r in node.resources if r.name == resource), None)
    message = next((c.message for c in found.conditions if c.status == "False"), "")
    why = f"Insufficient {resource}" if f"Insufficient {resource}" in message else message
    key = "none" if not devices else "unhealthy" if unhealthy else "all"
    return ClusterView(
        say(f"clusters.{key}.title", count=devices, unhealthy=unhealthy),
        say(f"clusters.{key}.note", count=devices, unhealthy=unhealthy),
        seen.devices if seen else (),
        seen.allocatable if seen else None,
        found.phase or "Pending",
        why,
        message,
    )


def both_ends(lab: Lab, pod: str) -> LivePicture:
    """The fork that the lab shows beside the run that it left. Raises ValueError where there is no fork."""
    if lab.forked_at is None:
        raise ValueError(say("fork.no-fork"))
    at = lab.forked_at
    shared = len(lab.history[at].state.messages)
    run = _end(say("fork.run"), say("fork.run.about"), lab.left, shared, pod)
    fork = _end(say("fork.fork"), say("fork.fork.about", at=shared), lab.history, shared, pod)
    return LivePicture(fork_picture(shared, run, fork))


def _end(name: str, about: str, history: History, shared: int, pod: str) -> End:
    state = history.state
    events = tuple(Event(message.key, _words(message)) for message in state.messages[shared:])
    found = next((p for p in state.store.pods.values() if p.name == pod), None)
    node = (found.node_name if found else "") or next(iter(state.kubelets))
    held = ", ".join(devices_of(state, found)) if found else ""
    resources = [r for n in path_state(state, title="").nodes if n.name == node for r in n.resources]
    prefers = next((m for m in reversed(state.messages) if m.key == "answer-preferred"), None)
    stations = (
        (
            say("path.store"),
            say("fork.bound", pod=pod) if found and found.node_name else say("fork.pending", pod=pod),
        ),
        (say("path.plugin"), _words(prefers) if prefers else ""),
        (say("path.container"), say("fork.holds", devices=held) if held else say("path.container.none")),
    )
    numbers = [pair for r in resources for pair in _numbers(r.capacity, r.allocatable)]
    numbers.append((say("fork.pod-holds", pod=pod), held or "–"))
    devices = tuple(
        Device(d.id, device_state(d), f"{name}/{d.id}", numa_text(d.numa), d.owner, tooltip=device_words(d))
        for r in resources
        for d in r.devices
    )
    return End(name, about, events, stations, devices, tuple(numbers))


def _numbers(capacity: int | None, allocatable: int | None) -> list[tuple[str, str]]:
    return [("capacity", str(capacity)), ("allocatable", str(allocatable))]


def _words(message: Message) -> str:
    return say(f"label.{message.key}", **dict(message.values))
