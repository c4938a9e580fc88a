"""Random walks of a whole node: whatever happens in whatever order, these things stay true.

The walk runs with the switches on: v1.32's faults break some of them, as the examples at the end show.
"""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kubedev.api.messages import (
    HEALTHY,
    UNHEALTHY,
    AllocateResponse,
    Answer,
    Device,
    DevicePluginOptions,
    RpcError,
)
from kubedev.api.objects import Container, Pod
from kubedev.kubelet import events as k
from kubedev.kubelet.devices.capacity import get_capacity
from kubedev.kubelet.devices.checkpoint import checkpoint_text
from kubedev.kubelet.devices.device_manager import restart
from kubedev.kubelet.devices.devices import DeviceManagerState, Ids, allocated_by, write_checkpoint
from kubedev.kubelet.kubelet import step
from kubedev.kubelet.topology.merge import NUMAInfo
from kubedev.kubelet.topology.topology import TopologyManager
from tests.unit.node_world import World, container, pod

RESOURCES = ("example.com/gpu", "example.com/nic")
ENDPOINTS = ("a.sock", "b.sock")
FAULTS_MENDED = ("121994", "130145")
ASKS_ALL = DevicePluginOptions(pre_start_required=True, get_preferred_allocation_available=True)

device_lists = st.lists(
    st.builds(
        Device,
        st.sampled_from([f"d{i}" for i in range(8)]),
        st.sampled_from([HEALTHY, HEALTHY, HEALTHY, HEALTHY, HEALTHY, UNHEALTHY]),
        st.sampled_from([None, (), (0,), (1,), (0, 1)]),
    ),
    min_size=5,
    max_size=8,
    unique_by=lambda device: device.id,
)
counts = st.integers(0, 2)
options = st.builds(DevicePluginOptions, st.booleans(), st.booleans())


class Node(RuleBasedStateMachine):
    """A kubelet, two resources, plugins on two sockets, pods that come and go."""

    switches = FAULTS_MENDED

    def __init__(self) -> None:
        super().__init__()
        self.ever: dict[str, set[str]] = defaultdict(set)

    @initialize()
    def start(self) -> None:
        self.world = World(switches=self.switches)
        topology = TopologyManager.new("best-effort", "container", NUMAInfo((0, 1)))
        self.world.kubelet = replace(self.world.kubelet, topology=topology)
        self.first = self.world.kubelet
        self.bound = 0
        self.all_plugins_come_back()

    @rule()
    def all_plugins_come_back(self) -> None:
        for resource, endpoint in zip(RESOURCES, ENDPOINTS, strict=True):
            self.world.plugin(8, resource, endpoint=endpoint, options=ASKS_ALL)
            self.know(endpoint)
        self.world.feed(k.SourcesReady())

    def know(self, endpoint: str) -> None:
        plugin = self.world.servers[f"/plugins/{endpoint}"].plugin
        self.ever[plugin.resource] |= {device.id for device in plugin.devices}

    @rule(
        resource=st.sampled_from(RESOURCES),
        endpoint=st.sampled_from(ENDPOINTS),
        devices=device_lists,
        options=options,
    )
    def register(
        self, resource: str, endpoint: str, devices: list[Device], options: DevicePluginOptions
    ) -> None:
        if f"/plugins/{endpoint}" in self.world.servers:
            self.world.die(endpoint)
        self.world.serve(devices, resource, endpoint, options)
        self.know(endpoint)
        self.world.register(resource, endpoint)

    @rule(endpoint=st.sampled_from(ENDPOINTS))
    def register_again(self, endpoint: str) -> None:
        served = self.world.servers.get(f"/plugins/{endpoint}")
        self.world.register(served.plugin.resource if served else RESOURCES[0], endpoint)

    @rule(endpoint=st.sampled_from(ENDPOINTS))
    def die(self, endpoint: str) -> None:
        if f"/plugins/{endpoint}" in self.world.servers:
            self.world.die(endpoint)

    @precondition(lambda self: self.world.streams)
    @rule(data=st.data(), devices=device_lists)
    def send(self, data: st.DataObject, devices: list[Device]) -> None:
        client = data.draw(st.sampled_from(sorted(self.world.streams)))
        endpoint = self.world.streams[client].removeprefix("/plugins/")
        self.world.send(devices, endpoint, client)
        self.know(endpoint)

    @precondition(lambda self: self.world.streams)
    @rule(data=st.data())
    def end_stream(self, data: st.DataObject) -> None:
        self.world.end_stream(data.draw(st.sampled_from(sorted(self.world.streams))))

    @rule(init=st.none() | counts, sidecar=st.none() | counts, gpu=counts, nic=counts)
    def bind(self, init: int | None, sidecar: int | None, gpu: int, nic: int) -> None:
        self.bound += 1
        before = [container("init", gpu=init)] if init is not None else []
        if sidecar is not None:
            before.append(container("sidecar", "Always", gpu=sidecar))
        new = pod(f"p{self.bound}", container(gpu=gpu, nic=nic), container("d", gpu=1), init=before)
        self.world.pods[new.uid] = new
        self.world.feed(k.PodBound(new))

    @precondition(lambda self: self.world.pods)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        self.world.delete(data.draw(st.sampled_from(sorted(self.world.pods))))

    @rule(data=st.data(), exit_code=st.integers(0, 1))
    def container_exits(self, data: st.DataObject, exit_code: int) -> None:
        running = [(uid, name) for uid, r in self.world.kubelet.pods.items() for name in sorted(r.running)]
        if running:
            uid, name = data.draw(st.sampled_from(running))
            self.world.feed(k.ContainerExited(uid, name, exit_code))

    @rule(method=st.sampled_from(["Allocate", "GetPreferredAllocation", "PreStartContainer"]))
    def plugins_get_slow(self, method: str) -> None:
        self.world.hold = lambda call: call.method == method and not self.world.held

    @precondition(lambda self: self.world.held)
    @rule(how=st.sampled_from(["well", "error", "empty"]))
    def slow_plugin_answers(self, how: str) -> None:
        answers: dict[str, Answer | None] = {"well": None, "error": RpcError("Unknown", "failed")}
        if self.world.held[0].call.method == "Allocate":
            answers["empty"] = AllocateResponse()
        self.world.release(answers.get(how))

    @rule(reboot=st.booleans(), ready=st.booleans())
    def restart(self, reboot: bool, ready: bool) -> None:
        self.world.held.clear()
        self.world.restart(reboot, ready)
        if not reboot:
            self.all_plugins_come_back()

    @rule()
    def sources_ready(self) -> None:
        self.world.feed(k.SourcesReady())

    @rule(seconds=st.sampled_from([1, 200, 301]))
    def time_passes(self, seconds: int) -> None:
        self.world.now += seconds
        self.world.feed(k.NodeStatusDue())

    # What stays true

    @property
    def devices(self) -> DeviceManagerState:
        return self.world.kubelet.devices

    @invariant()
    def no_device_is_in_two_live_containers(self) -> None:
        active = {p.uid: p for p in self.world.kubelet.active_pods()}
        holders: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
        for uid, containers in self.devices.pod_devices.items():
            for name, resources in containers.items():
                if uid in active and not is_over_before_others(active[uid], name):
                    for resource, info in resources.items():
                        for device in info.devices:
                            holders[resource, device].add((uid, name))
        shared = {where: who for where, who in holders.items() if len(who) > 1}
        assert not shared, shared

    @invariant()
    def only_devices_that_were_listed_are_allocated(self) -> None:
        for resource, allocated in self.devices.allocated_devices.items():
            assert allocated <= self.ever[resource]

    @invariant()
    def allocatable_is_healthy_and_at_most_capacity(self) -> None:
        _, counted = get_capacity(self.devices, self.world.now)
        for resource, allocatable in counted.allocatable.items():
            assert allocatable == len(self.devices.healthy_devices[resource])
            assert allocatable <= counted.capacity[resource]

    @invariant()
    def nothing_is_marked_that_nobody_holds(self) -> None:
        if not self.world.kubelet.talks:
            assert_no_stray_marks(self.devices)

    @invariant()
    def the_checkpoint_round_trips(self) -> None:
        read = restart(checkpoint_text(write_checkpoint(self.devices)), self.world.now)
        assert read.read_error is None
        assert read.pod_devices == self.devices.pod_devices
        assert read.endpoints.keys() == self.devices.healthy_devices.keys()

    @invariant()
    def healthy_devices_are_those_of_a_living_plugins_last_list(self) -> None:
        for resource, healthy in self.devices.healthy_devices.items():
            client = self.devices.endpoints[resource]
            assert self.devices.connections[client].resource == resource
            if healthy:
                listed = self.world.lists[client]
                assert client in self.world.streams
                assert healthy == {device.id for device in listed if device.health == HEALTHY}

    def teardown(self) -> None:
        if hasattr(self, "world"):
            state = self.first
            for event, now in self.world.history:
                state, _ = step(state, event, now)
            assert state == self.world.kubelet


def is_over_before_others(of: Pod, name: str) -> bool:
    """Whether a container is an ordinary init container: what it holds may be used by those after it."""
    init: Mapping[str, Container] = {c.name: c for c in of.init_containers}
    return name in init and not init[name].restartable


def assert_no_stray_marks(devices: DeviceManagerState) -> None:
    """Allocated is what the records say, empty sets aside."""

    def filled(sets: Mapping[str, Ids]) -> dict[str, Ids]:
        return {resource: ids for resource, ids in sets.items() if ids}

    assert filled(devices.allocated_devices) == filled(allocated_by(devices.pod_devices))


class FaultyNode(Node):
    """v1.32 as it is."""

    switches = ()


@pytest.mark.parametrize(("kind", "holds"), [(Node, True), (FaultyNode, False)])
def test_121994_a_walk_that_v1_32_does_not_survive(kind: type[Node], holds: bool) -> None:
    node = kind()
    node.start()
    node.register("example.com/gpu", "b.sock", [Device("d0")], ASKS_ALL)
    node.world.send([Device("d1")], "a.sock")
    with nullcontext() if holds else pytest.raises(AssertionError):
        node.healthy_devices_are_those_of_a_living_plugins_last_list()


@pytest.mark.parametrize(("kind", "holds"), [(Node, True), (FaultyNode, False)])
def test_130145_a_walk_that_v1_32_does_not_survive(kind: type[Node], holds: bool) -> None:
    node = kind()
    node.start()
    node.plugins_get_slow("Allocate")
    node.bind(init=None, sidecar=None, gpu=1, nic=0)
    node.slow_plugin_answers("empty")
    with nullcontext() if holds else pytest.raises(AssertionError):
        node.nothing_is_marked_that_nobody_holds()


TestNode = Node.TestCase
TestNode.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
