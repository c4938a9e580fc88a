"""Reported problems with registration, lists and what the node says: v1.32's behaviour, and the right one."""

import pytest

from kubedev.api.messages import HEALTHY, UNHEALTHY, Device
from kubedev.kubelet.devices.capacity import should_reset_extended_resource_capacity
from kubedev.kubelet.devices.registration import validate
from tests.unit.node_world import GPU, World, ids, pod

GONE = "no healthy devices present; cannot allocate unhealthy devices example.com/gpu"
REFUSED = f"Pod was rejected: Allocate failed due to {GONE}, which is unexpected"


@pytest.mark.parametrize("version", ["v1alpha", "", "V1beta1", "v1beta2"])
def test_b01_another_api_version_is_refused_and_nothing_is_added(version: str) -> None:
    world = World()
    world.serve(1)
    assert world.register(version=version) == (
        f'requested API version "{version}" is not supported by kubelet. Supported version is ["v1beta1"]'
    )
    assert world.numbers() == (None, None)
    assert not world.calls, "the plugin is not even dialed"
    assert world.register() is None
    assert world.numbers() == (1, 1)


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("gpu", False),
        ("kubernetes.io/gpu", False),
        ("batch.kubernetes.io/gpu", False),
        ("requests.example.com/gpu", False),
        (f"example.com/{'a' * 63}", True),
        (f"example.com/{'a' * 64}", False),
        ("Example.com/gpu", False),
        ("example.com/A2_4.Q", True),
        ("example.com/-x", False),
        ("nsm.ligato.io", False),
        ("mykubernetes.io/gpu", False),
        ("a/b/c", False),
    ],
)
def test_b02_resource_names_the_kubelet_refuses(name: str, good: bool) -> None:
    assert validate("v1beta1", name) == (None if good else f'the ResourceName "{name}" is invalid')


def test_b03_a_plugin_that_registers_before_it_serves() -> None:
    world = World()
    assert world.register() == "failed to dial device plugin: context deadline exceeded"
    assert world.now == 10.0
    assert world.numbers() == (None, None)
    world.serve(2)  # up to here it was late
    assert world.numbers() == (None, None), "nobody tries again but the plugin"
    assert world.register() is None
    assert world.numbers() == (2, 2)
    assert [call.method for call in world.calls] == ["Dial", "Dial", "GetDevicePluginOptions"]


def two_plugins(world: World) -> None:
    world.plugin(ids("a0"), endpoint="a.sock")
    world.plugin(ids("b0"), endpoint="b.sock")


def test_b05_two_plugins_for_one_resource_are_not_added_up() -> None:
    world = World()
    two_plugins(world)
    assert world.numbers() == (1, 1)
    world.send(ids("a0", "a1"), endpoint="a.sock")
    assert world.numbers() == (2, 2), "the superseded stream overwrites the list"
    phase, message = world.admit(pod("p", gpu=2))
    assert {call.socket for call in world.calls if call.method == "Allocate"} == {"/plugins/b.sock"}
    assert (phase, "unknown device 'a0'" in message) == ("Failed", True), "b is asked for devices of a"


def test_b05_with_the_switch_a_superseded_stream_is_not_listened_to() -> None:
    world = World(switches={"121994"})
    two_plugins(world)
    world.send(ids("a0", "a1"), endpoint="a.sock")
    assert world.numbers() == (1, 1)
    assert world.admit(pod("p", gpu=1))[0] == "Running"
    assert world.held_by("p") == {"b0"}


def test_b06_a_list_over_four_mebibytes_ends_the_stream() -> None:
    too_big = ids(*(f"{i:064}" for i in range(100_000)))
    world = World()
    world.plugin(2)
    world.send(too_big)
    assert world.numbers() == (2, 0), "a lost plugin: what it had is unhealthy"
    first = World()
    first.plugin(too_big)
    assert first.numbers() == (0, 0), "there was nothing to mark"
    fits = World()
    fits.plugin(ids(*(f"{i:036}" for i in range(20_000))))
    assert fits.numbers() == (20_000, 20_000)


def test_b08_after_the_grace_period_zero_stays_on_the_node() -> None:
    world = World()
    world.plugin(2)
    world.die()
    assert world.numbers() == (2, 0)
    world.now = 299
    assert world.numbers() == (2, 0)
    world.now = 300
    assert world.numbers() == (2, 0), "more than five minutes, not five"
    world.now = 301
    assert world.numbers() == (0, 0)
    world.restart()
    assert world.numbers() == (0, 0), "the key goes only with the node object"


def test_b08_back_within_the_grace_period_all_is_as_before() -> None:
    world = World()
    world.plugin(2)
    world.admit(pod("p", gpu=1))
    world.die()
    world.now = 180
    world.plugin(2)
    assert world.numbers() == (2, 2)
    assert world.status("p")[0] == "Running"
    assert world.held_by("p") == {"d0"}
    world.now = 10_000
    assert world.numbers() == (2, 2)


def test_b09_allocatable_counts_health_not_use() -> None:
    world = World()
    world.plugin(2)
    world.admit(pod("p", gpu=2))
    assert world.numbers() == (2, 2)
    world.send([Device("d0", UNHEALTHY), Device("d1", HEALTHY)])
    assert world.numbers() == (2, 1)
    assert world.held_by("p") == {"d0", "d1"}


def test_b10_a_socket_is_taken_for_a_checkpoint() -> None:
    assert not should_reset_extended_resource_capacity(["kubelet.sock"])
    assert should_reset_extended_resource_capacity([".hidden"])
    assert should_reset_extended_resource_capacity([])


def test_b10_with_the_switch_only_the_checkpoint_counts() -> None:
    fixed = frozenset({"126943"})
    assert should_reset_extended_resource_capacity(["kubelet.sock"], fixed)
    assert not should_reset_extended_resource_capacity(["kubelet.sock", "kubelet_internal_checkpoint"], fixed)


def test_b67_after_a_kubelet_restart_a_plugin_that_does_not_register_has_nothing() -> None:
    world = World()
    world.plugin(2)
    world.restart()
    assert world.numbers() == (0, 0)
    world.now = 1e6
    assert world.numbers() == (0, 0)
    assert world.register() is None
    assert world.numbers() == (2, 2)


def test_b68_the_end_of_the_old_stream_disconnects_the_new_one() -> None:
    world = World()
    world.plugin(2)
    world.plugin(2)  # the same socket, a new connection
    old, new = world.streams
    world.end_stream(old)
    assert world.numbers() == (2, 0)
    assert new not in world.streams, "the kubelet closed it"
    assert world.admit(pod("p", gpu=1)) == ("Failed", REFUSED)


def test_b68_with_the_switch_the_end_of_the_old_stream_means_nothing() -> None:
    world = World(switches={"121994"})
    world.plugin(2)
    world.plugin(2)
    old, new = world.streams
    world.end_stream(old)
    assert world.numbers() == (2, 2)
    assert new in world.streams
    world.send(ids("d0", "d1"))
    assert world.admit(pod("p", gpu=1))[0] == "Running"
    world.end_stream(new)
    assert world.numbers() == (2, 0)


def failed_second_registration(world: World) -> None:
    world.plugin(2)
    assert world.register(endpoint="nobody.sock") is not None
    world.die()


def test_b68_after_a_failed_second_registration_a_death_goes_unnoticed() -> None:
    world = World()
    failed_second_registration(world)
    assert world.numbers() == (2, 2)
    phase, message = world.admit(pod("p", gpu=1))
    assert phase == "Failed"
    assert "rpc error: code = Unavailable" in message
    world.plugin(1)
    assert world.numbers() == (1, 1)


def test_b68_with_the_switch_a_failed_second_registration_changes_nothing() -> None:
    world = World(switches={"121994"})
    failed_second_registration(world)
    assert world.numbers() == (2, 0)
    assert world.admit(pod("p", gpu=1)) == ("Failed", REFUSED)


def test_b69_a_resource_that_no_plugin_ever_offered_gives_nothing() -> None:
    world = World()
    assert world.admit(pod("p", gpu=3))[0] == "Running"
    assert world.held_by("p") is None
    assert not world.calls
    assert GPU not in world.kubelet.devices.allocated_devices
    assert world.kubelet.devices.checkpoint is None
