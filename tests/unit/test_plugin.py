"""The plugin without its socket: its devices, what it prefers, what it answers."""

import pytest

from kubedev.api.messages import (
    HEALTHY,
    UNHEALTHY,
    AllocateRequest,
    AllocateResponse,
    ContainerPreferredAllocationRequest,
    Device,
    DeviceSpec,
    Empty,
    PreferredAllocationRequest,
    PreferredAllocationResponse,
    PreStartContainerRequest,
    RpcError,
)
from kubedev.deviceplugin.life_cycle import EVENTS, STATES, TRANSITIONS
from kubedev.deviceplugin.plugin import (
    OPTIONS,
    Plugin,
    PluginError,
    answer,
    make_devices,
    obey,
    set_count,
    set_health,
)
from kubedev.deviceplugin.preference import preferred_allocation

GPU = Plugin("example.com/gpu", make_devices(8, 2))
IDS = tuple(f"d{i}" for i in range(8))


def preferred(size: int, available: tuple[str, ...] = IDS, must: tuple[str, ...] = ()) -> tuple[str, ...]:
    request = ContainerPreferredAllocationRequest(available, must, size)
    return preferred_allocation(GPU.devices, request).device_ids


def test_devices_are_spread_over_numa_nodes_in_blocks() -> None:
    assert [d.numa_nodes for d in make_devices(8, 2)] == [(0,)] * 4 + [(1,)] * 4
    assert [d.numa_nodes for d in make_devices(5, 2)] == [(0,)] * 3 + [(1,)] * 2
    assert [d.numa_nodes for d in make_devices(2, 4)] == [(0,), (2,)]
    assert make_devices(2) == (Device("d0"), Device("d1"))
    assert make_devices(0, 2) == ()


@pytest.mark.parametrize(("count", "numa"), [(-1, 0), (1, -1)])
def test_negative_numbers_are_refused(count: int, numa: int) -> None:
    with pytest.raises(PluginError, match="0 or more"):
        make_devices(count, numa)


def test_health_and_count() -> None:
    ill = set_health(GPU, "d3", False)
    assert [d.id for d in ill.devices if d.health != HEALTHY] == ["d3"]
    assert set_health(ill, "d3", True) == GPU
    grown = set_count(ill, 10)
    assert len(grown.devices) == 10
    assert grown.devices[3].health == UNHEALTHY
    assert {d.numa_nodes for d in grown.devices} == {(0,), (1,)}
    with pytest.raises(PluginError, match="'d9' is no device of this plugin; it has d0 to d7"):
        set_health(GPU, "d9", False)


def test_a_device_is_left_out_once_and_listed_once_however_often_it_is_said() -> None:
    without = obey(GPU, "leave-out d0")
    assert [device.id for device in without.left_out] == ["d0"]
    assert len(without.devices) == 7
    assert obey(without, "leave-out d0") == without
    again = obey(without, "list d0")
    assert [device.id for device in again.devices] == [*IDS[1:], "d0"]
    assert obey(again, "list d0") == again
    with pytest.raises(PluginError, match="'d9' is no device of this plugin; it has d0 to d7"):
        obey(without, "leave-out d9")


def test_commands() -> None:
    assert obey(GPU, "unhealthy d3\n") == set_health(GPU, "d3", False)
    assert obey(obey(GPU, "unhealthy d3"), " healthy  d3 ") == GPU
    assert len(obey(GPU, "set 3").devices) == 3


@pytest.mark.parametrize("command", ["", "set", "set -1", "set x", "unhealthy", "healthy d8", "make d1"])
def test_what_is_no_command_is_refused_with_those_that_are(command: str) -> None:
    with pytest.raises(PluginError, match=r"there are: healthy ID|it has d0 to d7"):
        obey(GPU, command)


def test_preference_packs_numa_nodes() -> None:
    assert preferred(4) == ("d0", "d1", "d2", "d3")
    assert preferred(3, available=("d0", "d1", "d4", "d5", "d6")) == ("d4", "d5", "d6")
    assert preferred(2, available=("d0", "d1", "d4", "d5", "d6")) == ("d0", "d1"), (
        "the larger node stays whole"
    )
    assert preferred(6) == ("d0", "d1", "d2", "d3", "d4", "d5")


def test_preference_begins_with_what_must_be_included_and_stays_on_its_node() -> None:
    assert preferred(3, must=("d5",)) == ("d5", "d4", "d6")
    assert preferred(1, must=("d5", "d1")) == ("d5",)


def test_preference_says_why() -> None:
    request = ContainerPreferredAllocationRequest(IDS, ("d7",), 5)
    steps = preferred_allocation(GPU.devices, request).steps
    assert [(s.numa_nodes, s.taken) for s in steps] == [
        (None, ("d7",)),
        ((1,), ("d4", "d5", "d6")),
        ((0,), ("d0",)),
    ]
    assert all(step.why for step in steps)


def test_b21_a_dead_device_is_left_out_of_the_preference() -> None:
    ill = set_health(GPU, "d5", False)
    request = PreferredAllocationRequest((ContainerPreferredAllocationRequest(IDS, (), 7),))
    response = answer(ill, request)
    assert isinstance(response, PreferredAllocationResponse)
    assert sorted(response.container_responses[0]) == [i for i in IDS if i != "d5"]


def test_unknown_devices_are_left_out_of_the_preference() -> None:
    assert preferred(2, available=("d9", "d1")) == ("d1",)
    assert preferred(-1, must=("d0", "d1")) == ()


def test_allocate_says_what_the_container_needs() -> None:
    response = answer(GPU, AllocateRequest((("d0", "d3"),)))
    assert isinstance(response, AllocateResponse)
    (container,) = response.container_responses
    assert container.envs == (("KUBEDEV_EXAMPLE_COM_GPU", "d0,d3"),)
    assert container.devices == (
        DeviceSpec("/dev/gpu0", "/dev/gpu0", "rw"),
        DeviceSpec("/dev/gpu3", "/dev/gpu3", "rw"),
    )


def test_nvidias_runtime_finds_its_variable() -> None:
    response = answer(Plugin("nvidia.com/gpu", make_devices(2)), AllocateRequest((("d1",), ())))
    assert isinstance(response, AllocateResponse)
    assert [dict(c.envs)["NVIDIA_VISIBLE_DEVICES"] for c in response.container_responses] == ["d1", ""]


@pytest.mark.parametrize("request_", [AllocateRequest((("d1", "x"),)), PreStartContainerRequest(("x",))])
def test_unknown_devices_are_refused(request_: AllocateRequest | PreStartContainerRequest) -> None:
    assert answer(GPU, request_) == RpcError("Unknown", "unknown device 'x': example.com/gpu has d0 to d7")


def test_the_other_answers() -> None:
    assert answer(GPU, Empty()) == OPTIONS
    assert answer(GPU, PreStartContainerRequest(("d0",))) == Empty()


def test_life_cycle_table_is_closed_and_stopped_is_final() -> None:
    assert {state for state, _ in TRANSITIONS} | set(TRANSITIONS.values()) == set(STATES)
    assert {event for _, event in TRANSITIONS} == set(EVENTS)
    assert not any(state == "stopped" for state, _ in TRANSITIONS)
    assert all(TRANSITIONS[state, "stop"] == "stopped" for state in STATES if state != "stopped")
