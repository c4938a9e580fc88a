"""The same scenarios over the in-memory and the gRPC transport, with equal results.

A scenario returns what the kubelet and the plugin saw. gRPC runs it twice: with the plugin in a thread and in
a process of its own.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from kubedev.api.messages import (
    UNHEALTHY,
    VERSION,
    ContainerPreferredAllocationRequest,
    DevicePluginOptions,
    Empty,
    PreferredAllocationRequest,
    PreferredAllocationResponse,
    PreStartContainerRequest,
    RpcError,
)
from kubedev.deviceplugin.plugin import OPTIONS, Plugin, PluginError, make_devices, set_count, set_health
from kubedev.wire.grpc_transport import GrpcTransport
from kubedev.wire.memory import MemoryTransport
from kubedev.wire.memory_plugin import MemoryPlugin
from kubedev.wire.plugin_process import PluginProcess
from kubedev.wire.plugin_thread import PluginThread
from kubedev.wire.sockets import is_socket, private_directory
from kubedev.wire.transport import PluginHandle, Transport
from tests.contract.harness import Kubelet, Notes, allocate, ask, code_of, event_notes, nothing_left_behind

GPU = Plugin("example.com/gpu", make_devices(4, 2))
REGISTERED = ("registered", "", None, None)
STOPPED = ("stopped", "", None, None)


class World:
    """A transport, and plugins on it."""

    def __init__(self, kind: str, transport: Transport) -> None:
        self.kind = kind
        self.transport = transport
        self.events = Notes()
        self._plugins: list[PluginHandle] = []
        self._kubelets: list[Kubelet] = []

    def plugin(self, plugin: Plugin = GPU, version: str = VERSION) -> PluginHandle:
        """A plugin that has been started."""
        handle: PluginHandle
        note = event_notes(self.events)
        if isinstance(self.transport, MemoryTransport):
            handle = MemoryPlugin(plugin, self.transport, note, version)
        elif self.kind == "thread":
            handle = PluginThread(plugin, self.transport.directory, note, version)
        else:
            handle = PluginProcess(plugin, self.transport.directory, note, version)
        self._plugins.append(handle)
        handle.start()
        return handle

    def kubelet(self, refusal: str | None = None) -> Kubelet:
        """The kubelet, from its start on."""
        self._kubelets.append(Kubelet(self.transport, refusal))
        return self._kubelets[-1]

    def close(self) -> None:
        for plugin in self._plugins:
            plugin.stop()
        for kubelet in self._kubelets:
            kubelet.stop()


@contextmanager
def world(kind: str) -> Iterator[World]:
    if kind == "memory":
        yield World(kind, MemoryTransport())
        return
    directory = private_directory()
    made = World(kind, GrpcTransport(directory))
    with nothing_left_behind():
        try:
            yield made
        finally:
            made.close()
    assert not any(is_socket(str(path)) for path in Path(directory).iterdir())
    shutil.rmtree(directory)


def lives_and_answers(world: World) -> object:
    kubelet = world.kubelet()
    world.plugin(replace(GPU, options=DevicePluginOptions(True, True)))
    kubelet.notes.has(("list", 1, GPU.devices))
    client = kubelet.clients[0]
    preference = ContainerPreferredAllocationRequest(("d0", "d2", "d3"), (), 2)
    answers = [
        allocate(client, "d0", "d2"),
        allocate(client, "d9"),
        ask(client, "GetPreferredAllocation", PreferredAllocationRequest((preference,))),
        ask(client, "PreStartContainer", PreStartContainerRequest(("d0",))),
    ]
    assert code_of(answers[0]) == "OK"
    assert answers[1] == RpcError("Unknown", "unknown device 'd9': example.com/gpu has d0 to d3")
    assert answers[2] == PreferredAllocationResponse((("d2", "d3"),))
    assert answers[3] == Empty()
    kubelet.stop()
    return kubelet.notes.wait(lambda notes: notes[-1] == ("end", 1, "Canceled")), answers


def lists_each_change(world: World) -> object:
    kubelet = world.kubelet()
    plugin = world.plugin()
    kubelet.notes.has(("list", 1, GPU.devices))
    ill = set_health(GPU, "d3", False)
    plugin.set_health("d3", False)
    kubelet.notes.has(("list", 1, ill.devices))
    plugin.set_count(6)
    kubelet.notes.has(("list", 1, set_count(ill, 6).devices))
    plugin.set_count(4)
    kubelet.notes.has(("list", 1, ill.devices), times=2)
    with pytest.raises(PluginError):
        plugin.set_health("d4", False)
    assert [device.health for device in ill.devices].count(UNHEALTHY) == 1
    return kubelet.notes.all


def starts_with_the_devices_it_is_given(world: World) -> object:
    kubelet = world.kubelet()
    odd = tuple(
        replace(device, numa_nodes=nodes)
        for device, nodes in zip(GPU.devices, (None, (), (1,), (0, 1)), strict=True)
    )
    given = set_health(Plugin("example.com/gpu", odd), "d1", False)
    world.plugin(given)
    kubelet.notes.has(("list", 1, given.devices))
    return kubelet.notes.all


def is_refused_and_ends(world: World) -> object:
    text = 'requested API version "v1alpha" is not supported by kubelet. Supported version is ["v1beta1"]'
    kubelet = world.kubelet(refusal=text)
    plugin = world.plugin(version="v1alpha")
    events = world.events.wait(lambda notes: STOPPED in notes)
    assert ("refused", f"rpc error: code = Unknown desc = {text}", None, None) in events
    plugin.stop()
    return kubelet.notes.all, events


def is_killed(world: World) -> object:
    kubelet = world.kubelet()
    plugin = world.plugin()
    kubelet.notes.has(("list", 1, GPU.devices))
    world.events.has(REGISTERED)
    plugin.kill()
    kubelet.notes.has(("end", 1, "Unavailable"))
    client = kubelet.clients[0]
    answers = [code_of(allocate(client, "d0")), ask(client, "Dial", timeout=0.2)]
    assert answers[0] == "Unavailable"
    assert answers[1] == RpcError("DeadlineExceeded", "context deadline exceeded")
    client.close()
    world.plugin()
    kubelet.notes.has(("list", 2, GPU.devices))
    return kubelet.notes.all, answers, world.events.wait(lambda notes: len(notes) == 5)


def stops_properly(world: World) -> object:
    kubelet = world.kubelet()
    plugin = world.plugin()
    kubelet.notes.has(("list", 1, GPU.devices))
    world.events.has(REGISTERED)
    plugin.stop()
    plugin.stop()
    kubelet.notes.has(("end", 1, "EOF"))
    return kubelet.notes.all, world.events.wait(lambda notes: STOPPED in notes)


def sees_a_new_kubelet(world: World) -> object:
    kubelet = world.kubelet()
    plugin = world.plugin()
    kubelet.notes.has(("list", 1, GPU.devices))
    plugin.set_health("d0", False)
    kubelet.notes.has(("list", 1, set_health(GPU, "d0", False).devices))
    kubelet.restart()
    kubelet.notes.has(("list", 2, set_health(GPU, "d0", False).devices))
    assert code_of(allocate(kubelet.clients[1], "d1")) == "OK"
    assert code_of(allocate(kubelet.clients[0], "d1")) == "Canceled"
    return kubelet.notes.all


def waits_for_a_kubelet(world: World) -> object:
    world.plugin()
    kubelet = world.kubelet()
    kubelet.notes.has(("list", 1, GPU.devices))
    return kubelet.notes.all, world.events.wait(lambda notes: len(notes) >= 2)


def b05_the_second_plugin_takes_the_place_of_the_first(world: World) -> object:
    kubelet = world.kubelet()
    first = world.plugin()
    kubelet.notes.has(("list", 1, GPU.devices))
    two = Plugin("example.com/gpu", make_devices(2))
    world.plugin(two)
    kubelet.notes.has(("list", 2, two.devices))
    first.set_health("d0", False)
    kubelet.notes.has(("list", 1, set_health(GPU, "d0", False).devices))
    first.stop()
    kubelet.notes.has(("end", 1, "EOF"))
    fresh = world.transport.connect(kubelet.socket("example.com-gpu.sock"))
    answers = [ask(fresh, "Dial"), allocate(fresh, "d3")]
    assert answers == [Empty(), RpcError("Unknown", "unknown device 'd3': example.com/gpu has d0 to d1")]
    fresh.close()
    return kubelet.notes.all


def a_closed_client_answers_and_ends_once(world: World) -> object:
    kubelet = world.kubelet()
    world.plugin()
    kubelet.notes.has(("list", 1, GPU.devices))
    client = kubelet.clients[0]
    client.close()
    client.close()
    kubelet.notes.has(("end", 1, "Canceled"))
    late = Notes()
    client.list_and_watch(late.add, late.add)
    answers = [ask(client, "Dial"), ask(client, "GetDevicePluginOptions")]
    assert [code_of(answer) for answer in answers] == ["Canceled", "Canceled"]
    assert kubelet.notes.all.count(("end", 1, "Canceled")) == 1
    return answers, late.wait(lambda notes: len(notes) == 1)


def nobody_listens(world: World) -> object:
    world.kubelet()
    client = world.transport.connect(str(Path(world.transport.directory, "no.sock")))
    ended = Notes()
    client.list_and_watch(ended.add, lambda error: ended.add(error[:31]))
    answers = [ask(client, "Dial", timeout=0.2), code_of(ask(client, "GetDevicePluginOptions"))]
    client.close()
    return answers, ended.wait(lambda notes: notes == ["rpc error: code = Unavailable d"])


SCENARIOS: list[Callable[[World], object]] = [
    lives_and_answers,
    lists_each_change,
    starts_with_the_devices_it_is_given,
    is_refused_and_ends,
    is_killed,
    stops_properly,
    sees_a_new_kubelet,
    waits_for_a_kubelet,
    b05_the_second_plugin_takes_the_place_of_the_first,
    a_closed_client_answers_and_ends_once,
    nobody_listens,
]


@pytest.mark.parametrize("kind", ["thread", "process"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_grpc_does_as_memory_does(scenario: Callable[[World], object], kind: str) -> None:
    with world("memory") as memory:
        expected = scenario(memory)
    with world(kind) as real:
        assert scenario(real) == expected


def test_the_default_options_ask_for_preferences() -> None:
    assert DevicePluginOptions(False, True) == OPTIONS
