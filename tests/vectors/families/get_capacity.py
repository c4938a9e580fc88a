"""Plugins that come, list, stop and come back; pods that allocate; a kubelet that restarts: what is counted."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kubedev.api.messages import (
    AllocateRequest,
    AllocateResponse,
    Answer,
    Call,
    ContainerAllocateResponse,
    converse,
)
from kubedev.api.objects import Container, Pod
from kubedev.api.quantity import Quantity
from kubedev.kubelet.devices.capacity import get_capacity, list_and_watch
from kubedev.kubelet.devices.checkpoint import checkpoint_text
from kubedev.kubelet.devices.device_manager import allocate, restart, sources_ready, update_allocated_devices
from kubedev.kubelet.devices.devices import (
    DeviceManagerState,
    container_devices,
    get_allocatable_devices,
)
from kubedev.kubelet.devices.registration import plugin_disconnected
from tests.vectors.fake_plugin import connect, devices, plain, preferred_allocation, stopped


def plugin(call: Call) -> Answer:
    """The recorded plugin: it prefers the first devices, and says yes to everything."""
    if isinstance(call.request, AllocateRequest):
        return AllocateResponse((ContainerAllocateResponse(),))
    return preferred_allocation("first", call.request.container_requests[0])  # type: ignore[union-attr]


@dataclass
class World:
    """One run: the manager, the clock, the pods."""

    state: DeviceManagerState = field(default_factory=DeviceManagerState)
    now: float = 0.0
    pods: dict[str, Pod] = field(default_factory=dict)
    client: int = 0

    def register(self, event: dict[str, Any]) -> dict[str, Any]:
        self.client += 1
        self.state = connect(self.state, event["resource"], self.client)
        return {}

    def update(self, event: dict[str, Any]) -> dict[str, Any]:
        self.state = list_and_watch(self.state, event["resource"], devices(event["devices"]))
        return {}

    def stop(self, event: dict[str, Any]) -> dict[str, Any]:
        self.state = plugin_disconnected(self.state, event["resource"], self.now)
        return {}

    def advance(self, event: dict[str, Any]) -> dict[str, Any]:
        self.now += event["seconds"]
        return {}

    def capacity(self, event: dict[str, Any]) -> dict[str, Any]:
        self.state, got = get_capacity(self.state, self.now)
        return {
            "capacity": got.capacity,
            "allocatable": got.allocatable,
            "deleted": sorted(got.deleted),
            **self.seen(),
        }

    def restart(self, event: dict[str, Any]) -> dict[str, Any]:
        self.state = sources_ready(restart(checkpoint_text(self.state), self.now))
        return {"read_error": self.state.read_error, **self.seen()}

    def allocate(self, event: dict[str, Any]) -> dict[str, Any]:
        resource = event["resource"]
        container = Container("c", limits={resource: Quantity.of(event.get("count", 0))})
        pod = self.pods[event["pod"]] = Pod(event["pod"], uid=event["pod"], containers=(container,))
        self.state, decision = converse(allocate(self.state, pod, container, self.pods.values()), plugin)
        held = container_devices(self.state.pod_devices, pod.uid, "c", resource)
        return {
            "error": stopped(plain(decision.error)),
            "devices": None if held is None else sorted(held),
            **self.seen(),
        }

    def remove_pod(self, event: dict[str, Any]) -> dict[str, Any]:
        self.pods.pop(event["pod"], None)
        self.state = update_allocated_devices(self.state, self.pods.values())
        return {}

    def seen(self) -> dict[str, Any]:
        """The state as the vectors show it."""
        state = self.state
        allocatable = get_allocatable_devices(state)
        sets = {
            "healthy": state.healthy_devices,
            "unhealthy": state.unhealthy_devices,
            "allocated": state.allocated_devices,
            "allocatable_devices": allocatable,
        }
        seen = {name: {r: sorted(ids) for r, ids in by.items()} for name, by in sets.items()}
        return seen | {
            "endpoint_stopped": {r: state.connections[c].stopped for r, c in state.endpoints.items()}
        }


def answer(case: dict[str, Any]) -> dict[str, Any]:
    world = World()
    steps = []
    for event in case["events"]:
        act: Callable[[dict[str, Any]], dict[str, Any]] = getattr(world, event["op"])
        steps.append(act(event))
    return {"steps": steps}
