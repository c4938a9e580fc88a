"""Reported problems with admission and allocation: v1.32's behaviour and, behind a switch, the right one."""

from collections.abc import Callable, Iterable

import pytest

from kubedev.api.messages import (
    HEALTHY,
    UNHEALTHY,
    AllocateRequest,
    AllocateResponse,
    Answer,
    Call,
    ContainerAllocateResponse,
    Device,
    DevicePluginOptions,
    Mount,
    PreferredAllocationRequest,
    PreferredAllocationResponse,
    PreStartContainerRequest,
    RpcError,
    converse,
)
from kubedev.kubelet import events as k
from kubedev.kubelet.devices.allocation import DeviceRequest, DevicesToAllocate, devices_to_allocate
from kubedev.kubelet.devices.capacity import list_and_watch
from kubedev.kubelet.devices.checkpoint import checkpoint_text
from kubedev.kubelet.devices.devices import DeviceManagerState
from tests.unit.node_world import GPU, World, container, ids, pod
from tests.vectors.fake_plugin import connect

GONE = "no healthy devices present; cannot allocate unhealthy devices example.com/gpu"
PREFERS = DevicePluginOptions(get_preferred_allocation_available=True)
PRE_START = DevicePluginOptions(pre_start_required=True)


def rejected(error: str) -> tuple[str, str]:
    return "Failed", f"Pod was rejected: Allocate failed due to {error}, which is unexpected"


def unavailable(requested: int, available: int) -> str:
    return (
        f"requested number of devices unavailable for {GPU}. Requested: {requested}, Available: {available}"
    )


# Admission


def test_b11_a_bare_pod_after_a_reboot_is_rejected_for_good() -> None:
    world = World()
    world.plugin(2)
    world.admit(pod("p1", gpu=1))
    world.restart(reboot=True, ready=False)
    assert world.status("p1") == rejected(GONE)
    world.now += 20
    world.register()
    world.feed(k.SourcesReady())
    assert world.status("p1") == rejected(GONE)


def test_b11_if_the_plugin_is_first_the_pod_gets_the_same_device() -> None:
    world = World()
    world.plugin(2)
    world.admit(pod("p0", gpu=1))
    world.admit(pod("p1", gpu=1))
    bound, world.pods = world.pods, {}
    world.restart(reboot=True, ready=False)
    world.register()
    assert world.admit(bound["p1"])[0] == "Running"
    assert world.held_by("p1") == {"d1"}


def test_b12_every_replacement_is_rejected_until_the_plugin_is_back() -> None:
    world = World()
    world.plugin(1)
    world.admit(pod("r0", gpu=1))
    world.restart(reboot=True)
    for i in (1, 2, 3):
        assert world.admit(pod(f"r{i}", gpu=1)) == rejected(GONE)
    world.register()
    assert world.admit(pod("r4", gpu=1))[0] == "Running"
    assert [world.status(f"r{i}")[0] for i in range(5)] == ["Failed"] * 4 + ["Running"]


def test_b13_a_kubelet_restart_leaves_running_pods_alone() -> None:
    world = World()
    world.plugin(2)
    world.admit(pod("p1", gpu=1))
    world.calls.clear()
    world.restart()
    assert world.status("p1")[0] == "Running"
    assert world.numbers() == (0, 0)
    assert world.held_by("p1") == {"d0"}
    world.now += 10
    world.register()
    assert world.numbers() == (2, 2)
    assert not [call for call in world.calls if call.method == "Allocate"]
    assert world.admit(pod("p2", gpu=2)) == rejected(unavailable(2, 1)), "d0 is still p1's"


def test_b13_if_the_runtime_is_down_at_start_the_pod_is_rejected() -> None:
    world = World()
    world.plugin(2)
    world.admit(pod("p1", gpu=1))
    world.restart(reboot=True)  # the runtime reports nothing as running
    assert world.status("p1") == rejected(GONE)


def test_b16_a_pod_in_the_window_while_the_plugin_restarts() -> None:
    world = World()
    world.plugin(1)
    world.die()
    assert world.admit(pod("p", gpu=1)) == rejected(GONE)
    world.now += 5
    world.plugin(1)
    assert world.status("p") == rejected(GONE)
    assert world.admit(pod("next", gpu=1))[0] == "Running"


@pytest.mark.parametrize(
    "file",
    [
        '{"Data":{"PodDeviceEntries":[{"PodUID":"p1","ContainerName":"c","ResourceName":"example.com/gpu",'
        '"DeviceIDs":["d0"],"AllocResp":""}],"RegisteredDevices":{}},"Checksum":1}',
        '{"Data":{"PodDeviceEntries":[{"PodUID":"p1","Contai',
        '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"example.com/gpu":["d0"]}},"Checksum":7}',
    ],
    ids=["b17_the_form_before_1_20", "b18_half_written", "b18_bad_checksum"],
)
def test_b17_b18_a_checkpoint_that_cannot_be_read_is_forgotten(file: str) -> None:
    world = World()
    world.plugin(2)
    world.admit(pod("p1", gpu=1))
    world.restart(checkpoint=file)
    assert world.kubelet.devices.read_error
    assert world.held_by("p1") is None
    assert world.status("p1")[0] == "Running", "its container runs on"
    assert checkpoint_text(world.kubelet.devices) == file
    world.register()
    assert checkpoint_text(world.kubelet.devices) != file
    assert world.admit(pod("p2", gpu=1))[0] == "Running"
    assert world.held_by("p2") == {"d0"}, "given out twice"


# GetPreferredAllocation


def gpus(devices: Iterable[Device], switches: Iterable[str] = ()) -> DeviceManagerState:
    """A device manager whose plugin wants to be asked."""
    state = connect(DeviceManagerState(switches=frozenset(switches)), GPU)
    return list_and_watch(state, GPU, tuple(devices))


def choose(
    state: DeviceManagerState,
    required: int,
    plugin: Callable[[Call], Answer],
    affinity: int | None = None,
) -> tuple[DeviceManagerState, DevicesToAllocate]:
    request = DeviceRequest("pod", "c", GPU, required)
    return converse(devices_to_allocate(state, request, affinity=affinity), plugin)


LOST = RpcError("Unknown", "GPU is lost")
LOST_TEXT = (
    "device plugin GetPreferredAllocation rpc failed with err: rpc error: code = Unknown desc = GPU is lost"
)


def failed_preference(switches: Iterable[str]) -> DevicesToAllocate:
    state = gpus(
        [Device("d0", HEALTHY, (0,)), Device("d1", HEALTHY, (1,)), Device("d2", HEALTHY, (1,))], switches
    )
    state, decision = choose(state, 2, lambda call: LOST, affinity=0b01)
    assert decision.error == LOST_TEXT
    return choose(state, 3, lambda call: PreferredAllocationResponse((("d0", "d1", "d2"),)))[1]


def test_b20_a_failed_preference_leaves_a_free_device_marked() -> None:
    assert failed_preference(()).error == unavailable(3, 2)


def test_b20_with_the_switch_a_rejected_pod_holds_nothing() -> None:
    assert failed_preference({"130145"}).devices == {"d0", "d1", "d2"}


@pytest.mark.parametrize(("switches", "free"), [((), 0), (("130145",), 2)])
def test_b20_an_empty_answer_to_allocate_leaves_them_marked_too(switches: Iterable[str], free: int) -> None:
    world = World(switches=switches)
    empty = AllocateResponse()
    world.plugin(2, answer=lambda request: empty if isinstance(request, AllocateRequest) else None)
    text = "&AllocateResponse{ContainerResponses:[]*ContainerAllocateResponse{},}"
    assert world.admit(pod("a", gpu=2)) == rejected(f"no containers return in allocation response {text}")
    world.servers["/plugins/gpu.sock"].answer = lambda request: None
    after = world.admit(pod("b", gpu=2))
    assert after == (("Running", "") if free else rejected(unavailable(2, 0)))


def test_b20_marks_go_with_the_next_dead_pod() -> None:
    world = World()
    empty = AllocateResponse()
    world.plugin(3)
    world.admit(pod("old", gpu=1))
    server = world.servers["/plugins/gpu.sock"]
    server.answer = lambda request: empty if isinstance(request, AllocateRequest) else None
    world.admit(pod("a", gpu=2))
    server.answer = lambda request: None
    assert world.admit(pod("b", gpu=2)) == rejected(unavailable(2, 0))
    world.delete("old")
    assert world.admit(pod("c", gpu=3))[0] == "Running"


@pytest.mark.parametrize(
    ("required", "affinity", "error"),
    [(1, None, LOST_TEXT), (7, None, LOST_TEXT), (1, 0b01, LOST_TEXT), (7, 0b01, None)],
)
def test_b21_one_dead_gpu_fails_every_preference(
    required: int, affinity: int | None, error: str | None
) -> None:
    devices = [Device(f"d{i}", UNHEALTHY if i == 5 else HEALTHY, (0,)) for i in range(8)]
    _, decision = choose(gpus(devices), required, lambda call: LOST, affinity)
    assert decision.error == error
    assert (decision.asked is None) == (error is None), "asked only if there is something to choose"


@pytest.mark.parametrize(
    ("answer", "got"),
    [
        (("d9", "d8"), {"d0", "d1"}),
        (("d3",), {"d0", "d3"}),
        (("d1", "d2", "d3"), {"d1", "d2"}),
        ((), {"d0", "d1"}),
        (("d3", "d3"), {"d0", "d3"}),
        (("used", "d2"), {"d0", "d2"}),
    ],
    ids=["unknown", "too few", "too many", "none", "twice", "in use"],
)
def test_b22_preferred_allocation_with_wrong_ids(answer: tuple[str, ...], got: set[str]) -> None:
    state = gpus(ids("d0", "d1", "d2", "d3"))
    _, decision = choose(state, 2, lambda call: PreferredAllocationResponse((answer,)))
    assert decision.error is None
    assert decision.devices == got
    assert decision.sets.preferred == set(answer)


# Init containers


def test_b23_an_init_containers_extra_devices_stay_the_pods() -> None:
    world = World()
    world.plugin(8)
    world.admit(pod("p", container("app", gpu=2), init=[container("warm", gpu=5)]))
    warm, app = world.held_by("p", "warm"), world.held_by("p", "app")
    assert (len(warm or ()), len(app or ())) == (5, 2)
    assert (app or set()) < (warm or set())
    assert world.admit(pod("p2", gpu=4)) == rejected(unavailable(4, 3))
    assert world.admit(pod("p3", gpu=3))[0] == "Running"


def test_b23_two_init_containers_and_an_app_share() -> None:
    world = World()
    world.plugin(8)
    world.admit(pod("p", container("app", gpu=4), init=[container("one", gpu=3), container("two", gpu=2)]))
    assert len(world.kubelet.devices.allocated_devices[GPU]) == 4


# PreStartContainer


def test_b26_no_pre_start_for_a_container_that_asks_zero() -> None:
    world = World()
    world.plugin(2, options=PRE_START)
    assert world.admit(pod("p", gpu=0))[0] == "Running"
    assert "PreStartContainer" not in [call.method for call in world.calls]


def test_b26_pre_start_before_every_start_with_the_same_ids() -> None:
    world = World()
    world.plugin(2, options=PRE_START)
    world.admit(pod("p", gpu=1))
    world.feed(k.ContainerExited("p", "c", 1))
    asked = [call.request for call in world.calls if call.method == "PreStartContainer"]
    assert asked == [PreStartContainerRequest(("d0",))] * 2


def test_b27_pre_start_over_thirty_seconds_fails_the_start_not_the_pod() -> None:
    slow = RpcError("DeadlineExceeded", "context deadline exceeded")
    world = World()
    world.plugin(
        2,
        options=PRE_START,
        answer=lambda request: slow if isinstance(request, PreStartContainerRequest) else None,
    )
    phase, message = world.admit(pod("p", gpu=1))
    assert [call.timeout for call in world.calls if call.method == "PreStartContainer"] == [30.0]
    assert message == (
        "device plugin PreStartContainer rpc failed with err: "
        "rpc error: code = DeadlineExceeded desc = context deadline exceeded"
    )
    assert phase == "Starting"
    assert world.held_by("p") == {"d0"}
    world.servers["/plugins/gpu.sock"].answer = lambda request: None
    world.feed(k.NodeStatusDue())
    assert world.status("p")[0] == "Running"


# Allocate


def test_b28_a_frozen_plugin_holds_up_every_other_pod() -> None:
    world = World()
    world.plugin(2)
    world.hold = lambda call: call.method == "Allocate"
    world.feed(k.PodBound(pod("g1", gpu=1)))
    world.feed(k.PodBound(pod("c1")))
    world.now += 300
    world.feed(k.NodeStatusDue())
    assert "c1" not in world.kubelet.pods
    assert [ask.call.timeout for ask in world.held] == [None]
    world.release()
    assert (world.status("g1")[0], world.status("c1")[0]) == ("Running", "Running")


def test_b29_a_pod_is_rejected_whole_though_its_first_container_was_served() -> None:
    world = World()
    world.plugin(2)
    two = pod("p", container("c1", gpu=1), container("c2", gpu=2))
    assert world.admit(two) == rejected(unavailable(2, 1))
    assert [c.request for c in world.calls if c.method == "Allocate"] == [AllocateRequest((("d0",),))]
    assert world.held_by("p", "c1") == {"d0"}, "until somebody else allocates"
    assert world.admit(pod("q", gpu=2))[0] == "Running"
    assert world.held_by("p", "c1") is None


def test_b30_a_container_restarts_on_its_sick_device() -> None:
    world = World()
    world.plugin(2)
    world.admit(pod("p1", gpu=1))
    world.send([Device("d0", UNHEALTHY), Device("d1", HEALTHY)])
    world.calls.clear()
    for _ in range(3):
        world.feed(k.ContainerExited("p1", "c", 1))
    assert world.held_by("p1") == {"d0"}
    assert not world.calls
    assert world.numbers() == (2, 1)
    world.send(ids("d0", "d1"))
    assert world.numbers() == (2, 2)


def test_b31_two_plugins_want_the_same_name() -> None:
    def says(value: str, host: str) -> Callable[[object], Answer | None]:
        response = ContainerAllocateResponse(envs=(("E", value),), mounts=(Mount("/m", host),))
        return lambda request: AllocateResponse((response,)) if isinstance(request, AllocateRequest) else None

    world = World()
    world.plugin(1, "example.com/x", endpoint="x.sock", answer=says("1", "/a"))
    world.plugin(1, "example.com/y", endpoint="y.sock", answer=says("2", "/b"))
    wants = container("c", x=1, y=1)
    wants = type(wants)("c", limits=wants.limits, envs=(("E", "user"),))
    assert world.admit(pod("p", wants))[0] == "Running"
    (started,) = (e for e in world.log if isinstance(e, k.StartContainer))
    assert started.mounts == (("/a", "/m", False),)
    assert started.envs == (("E", "1"), ("E", "user"))
    assert dict(started.envs)["E"] == "user", "a runtime takes the last one"


def test_b32_cdi_names_are_not_checked_by_the_kubelet() -> None:
    response = ContainerAllocateResponse(cdi_devices=("vendor.com/gpu=gpu0", "gpu0", "gpu0"))
    world = World()
    world.plugin(
        1, answer=lambda r: AllocateResponse((response,)) if isinstance(r, AllocateRequest) else None
    )
    world.admit(pod("p", gpu=1))
    (started,) = (e for e in world.log if isinstance(e, k.StartContainer))
    assert started.cdi_devices == ("vendor.com/gpu=gpu0", "gpu0")
    assert world.held_by("p") == {"d0"}


def test_b33_a_pod_that_asks_nothing_is_not_accounted() -> None:
    world = World()
    world.plugin(2)
    before = world.kubelet.devices
    assert world.admit(pod("p"))[0] == "Running"
    assert world.kubelet.devices.pod_devices == before.pod_devices == {}
    assert checkpoint_text(world.kubelet.devices) == checkpoint_text(before)


@pytest.mark.parametrize("fails", [False, True])
def test_b34_two_replicas_are_not_two_gpus(fails: bool) -> None:
    replicas = [Device(f"GPU-{gpu}::{i}") for gpu in "ab" for i in range(4)]
    text = 'request for "example.com/gpu": invalid request: maximum request size for shared resources is 1; found 2'

    def plugin(request: object) -> Answer | None:
        if isinstance(request, PreferredAllocationRequest):
            return PreferredAllocationResponse((("GPU-a::0", "GPU-a::1"),))
        if isinstance(request, AllocateRequest) and fails:
            return RpcError("Unknown", text)
        return None

    world = World()
    world.plugin(replicas, options=PREFERS, answer=plugin)
    result = world.admit(pod("p", gpu=2))
    if fails:
        assert result == rejected(f"rpc error: code = Unknown desc = {text}")
        assert world.kubelet.devices.allocated_devices == {}
    else:
        assert world.held_by("p") == {"GPU-a::0", "GPU-a::1"}, "one and the same GPU"


def test_b35_one_device_in_two_pools_is_given_out_twice() -> None:
    world = World()
    world.plugin(ids("vf0", "vf1"), "example.com/dpdk", endpoint="dpdk.sock")
    world.plugin(ids("vf0"), "example.com/kernel", endpoint="kernel.sock")
    assert world.admit(pod("p", container(dpdk=2)))[0] == "Running"
    assert world.admit(pod("q", container(kernel=1)))[0] == "Running"
    assert world.held_by("q", resource="example.com/kernel") == {"vf0"}


def test_other_events_go_on_while_the_plugin_thinks() -> None:
    served = AllocateResponse((ContainerAllocateResponse(),))
    world = World()
    world.plugin(2, options=PREFERS, answer=lambda r: served if isinstance(r, AllocateRequest) else None)
    world.hold = lambda call: call.method == "GetPreferredAllocation"
    world.feed(k.PodBound(pod("p", gpu=1)))
    world.send(ids("d1", "d2"))
    assert world.numbers() == (2, 2)
    world.release(PreferredAllocationResponse((("d0",),)))
    assert world.held_by("p") == {"d0"}, "it was available when the plugin was asked"
    assert world.kubelet.devices.all_devices[GPU].keys() == {"d1", "d2"}
