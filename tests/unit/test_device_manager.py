"""The device manager's smaller answers, and the life of a registration."""

from dataclasses import replace

import pytest

from kubedev.api.gotext import quote
from kubedev.api.messages import (
    HEALTHY,
    UNHEALTHY,
    AllocateResponse,
    ContainerAllocateResponse,
    Device,
    DevicePluginOptions,
    DeviceSpec,
    Empty,
    Mount,
    PreferredAllocationResponse,
    RegisterRequest,
    RpcError,
    converse,
)
from kubedev.api.switches import SWITCHES, check_switches
from kubedev.kubelet.devices.allocation import DeviceRequest, devices_to_allocate
from kubedev.kubelet.devices.capacity import (
    allocated_resources_status,
    get_capacity,
    list_and_watch,
    pods_to_update,
    sanitize_node_allocatable,
    update_plugin_resources,
)
from kubedev.kubelet.devices.device_manager import (
    allocate,
    get_device_run_container_options,
    restart,
    update_allocated_devices,
)
from kubedev.kubelet.devices.devices import (
    DeviceAllocateInfo,
    DeviceManagerState,
    allocated_by,
    get_allocatable_devices,
    get_devices,
    insert,
)
from kubedev.kubelet.devices.endpoint import PLUGIN_PHASES, Endpoint
from kubedev.kubelet.devices.registration import (
    clients,
    deregister,
    register,
    resource_of,
    socket_path,
    stop,
    stream_ended,
)
from kubedev.kubelet.devices.run_options import Conflict, device_run_container_options
from tests.unit.node_world import GPU, container, ids, pod
from tests.vectors.fake_plugin import connect

FIXED = DeviceManagerState(switches=frozenset({"121994"}))
NO_SPECS = ContainerAllocateResponse()


def holding(device_ids: dict[int, tuple[str, ...]], uid: str = "p", name: str = "c") -> DeviceManagerState:
    """A plugin with d0 to d2, and a container that holds some devices."""
    state = list_and_watch(connect(DeviceManagerState(), GPU), GPU, ids("d0", "d1", "d2"))
    records = insert(state.pod_devices, uid, name, GPU, DeviceAllocateInfo(device_ids, NO_SPECS))
    return replace(state, pod_devices=records, allocated_devices=allocated_by(records))


# Registration


def test_every_phase_is_reached_and_left() -> None:
    phases = {phase for phase, _ in PLUGIN_PHASES} | set(PLUGIN_PHASES.values())
    assert {phase for phase, _ in PLUGIN_PHASES} == set(PLUGIN_PHASES.values()) == phases
    reached, new = {"absent"}, {"absent"}
    while new:
        new = {to for (phase, _), to in PLUGIN_PHASES.items() if phase in new} - reached
        reached |= new
    assert reached == phases


@pytest.mark.parametrize(
    ("directory", "endpoint", "expected"),
    [
        ("/plugins", "gpu.sock", "/plugins/gpu.sock"),
        ("/plugins/", "/x", "/plugins/x"),
        ("/plugins", "../x", "/x"),
        ("/plugins", "", "/plugins"),
        ("/", "a//b/./c", "/a/b/c"),
        ("//plugins", "x", "/plugins/x"),
        ("plugins", "x", "plugins/x"),
    ],
)
def test_the_endpoint_is_joined_to_the_directory(directory: str, endpoint: str, expected: str) -> None:
    assert socket_path(directory, endpoint) == expected


def test_register_shows_how_far_it_is() -> None:
    request = RegisterRequest(endpoint="gpu.sock", resource_name=GPU)
    conversation = register(DeviceManagerState(), request, "/plugins", 7)
    state, call = next(conversation)
    assert (call.method, call.timeout, state.connections[7].phase) == ("Dial", 10.0, "dialing")
    assert (state.clients, state.endpoints) == ({GPU: 7}, {})
    state, call = conversation.send((state, Empty()))
    assert (call.method, call.timeout, state.connections[7].phase) == (
        "GetDevicePluginOptions",
        None,
        "asking options",
    )
    with pytest.raises(StopIteration) as done:
        conversation.send((state, DevicePluginOptions(pre_start_required=True)))
    state, error = done.value.value
    assert error is None
    assert state.connections[7].phase == "connected"
    assert resource_of(state, 7) == GPU
    assert clients(state) == (7,)


def test_an_answer_of_another_kind_is_the_drivers_fault() -> None:
    request = RegisterRequest(endpoint="gpu.sock", resource_name=GPU)
    with pytest.raises(TypeError, match="expected DevicePluginOptions or RpcError, got Empty"):
        converse(register(DeviceManagerState(), request, "/plugins", 1), lambda call: Empty())


def refused(state: DeviceManagerState, client: int) -> DeviceManagerState:
    request = RegisterRequest(endpoint="other.sock", resource_name=GPU)
    state, error = converse(
        register(state, request, "/plugins", client),
        lambda call: Empty() if call.method == "Dial" else RpcError("Unimplemented", "unknown service"),
    )
    assert error == (
        "failed to get device plugin options: rpc error: code = Unimplemented desc = unknown service"
    )
    return state


def test_a_refused_registration_leaves_the_first_one_without_a_watcher() -> None:
    state = list_and_watch(connect(DeviceManagerState(), GPU, client=1), GPU, ids("d0"))
    state = refused(state, client=2)
    state, close = stream_ended(state, 1, now=5.0)
    assert (state.connections[1].phase, close) == ("dead unnoticed", ())
    assert state.healthy_devices[GPU] == {"d0"}
    state = connect(state, GPU, client=3)
    assert state.connections.keys() == {3}


def test_with_the_switch_connections_are_told_apart() -> None:
    state = refused(connect(FIXED, GPU, client=1), client=2)
    assert state.clients == {GPU: 1}
    state = connect(state, GPU, client=3)
    assert (resource_of(state, 1), resource_of(state, 3)) == (None, GPU)
    state, close = stream_ended(state, 1, now=5.0)
    assert (state.connections.keys(), close) == ({3}, ())
    state, close = stream_ended(state, 3, now=6.0)
    assert (state.connections[3].phase, state.connections[3].stop_time, close) == ("stopped", 6.0, ())


def test_an_old_stream_that_ends_closes_the_new_one() -> None:
    state = connect(connect(DeviceManagerState(), GPU, client=1), GPU, client=2)
    state, close = stream_ended(state, 1, now=5.0)
    assert close == (2,)
    assert stream_ended(state, 2, now=6.0) == (state, ()), "its own end comes after that, and changes nothing"
    assert stream_ended(state, 99, now=6.0) == (state, ())


def test_stop_disconnects_all() -> None:
    state = connect(connect(DeviceManagerState(), GPU, client=1), "example.com/nic", client=2)
    state, close = stop(state, now=1.0)
    assert close == (1, 2)
    assert clients(state) == ()
    assert deregister(state, GPU, now=2.0) == (state, ())


# Capacity


def test_capacity_says_why() -> None:
    state = list_and_watch(
        connect(DeviceManagerState(), GPU), GPU, (Device("d0"), Device("d1", UNHEALTHY), Device("d2", ""))
    )
    state, capacity = get_capacity(state, now=0.0)
    (line,) = capacity.lines
    assert (line.healthy, line.unhealthy, line.plugin) == (1, 2, "active")
    assert (capacity.capacity, capacity.allocatable) == ({GPU: 3}, {GPU: 1})
    state, _ = stream_ended(state, 1, now=10.0)
    assert get_capacity(state, now=310.0)[1].lines[0].plugin == "stopped"
    state, capacity = get_capacity(state, now=310.1)
    assert (capacity.lines[0].plugin, capacity.deleted, capacity.capacity) == ("expired", (GPU,), {})
    assert (state.endpoints, state.connections, state.healthy_devices) == ({}, {}, {})
    assert get_capacity(state, now=311.0)[1].lines == ()


def test_devices_without_a_plugin_are_deleted() -> None:
    state = list_and_watch(DeviceManagerState(), GPU, ids("d0"))
    state, capacity = get_capacity(state, now=0.0)
    assert (capacity.lines[0].plugin, capacity.deleted) == ("missing", (GPU,))


def test_an_id_listed_both_ways_is_counted_twice() -> None:
    twice = (Device("d0", UNHEALTHY), Device("d0", HEALTHY), Device("d0", HEALTHY))
    state = list_and_watch(connect(DeviceManagerState(), GPU), GPU, twice)
    assert get_capacity(state, now=0.0)[1].capacity == {GPU: 2}
    assert get_allocatable_devices(state) == {GPU: {"d0": Device("d0")}}


def test_allocatable_is_raised_to_what_is_allocated() -> None:
    state = holding({-1: ("d0", "d1")})
    assert sanitize_node_allocatable(state, {GPU: 0, "cpu": 4}) == {GPU: 2, "cpu": 4}
    assert sanitize_node_allocatable(state, {GPU: 3}) == {GPU: 3}
    assert sanitize_node_allocatable(state, {}) == {GPU: 2}
    assert update_plugin_resources(state, "p", {GPU: 0}) == {GPU: 2}
    assert update_plugin_resources(state, "another", {GPU: 0}) == {GPU: 0}, "it holds no device"


def test_health_reaches_the_pod_with_its_feature_gate() -> None:
    listed = (Device("d0", UNHEALTHY), Device("d1"), Device("new"))
    state = holding({-1: ("d0",)})
    assert pods_to_update(state, GPU, listed) == ()
    assert allocated_resources_status(state, "p", "c") == {}
    state = replace(state, switches=frozenset({"ResourceHealthStatus"}))
    assert pods_to_update(state, GPU, listed) == ("p",)
    assert allocated_resources_status(state, "p", "c") == {GPU: {"d0": HEALTHY}}
    state = list_and_watch(state, GPU, listed)
    assert pods_to_update(state, GPU, listed) == ()
    assert allocated_resources_status(state, "p", "c") == {GPU: {"d0": UNHEALTHY}}
    state = list_and_watch(state, GPU, listed[1:])
    assert allocated_resources_status(state, "p", "c") == {GPU: {"d0": HEALTHY}}, "no longer listed"
    assert pods_to_update(state, GPU, listed) == ("p",), "it was away"


# Records


def test_get_devices_tells_nodes_from_the_record() -> None:
    state = holding({1: ("d1", "d0"), 0: ("d0",), -1: ("d2",)})
    assert get_devices(state, "p", "c") == {
        GPU: {"d0": Device("d0", numa_nodes=(0, 1)), "d1": Device("d1", numa_nodes=(1,)), "d2": Device("d2")}
    }
    assert get_devices(state, "p", "other") == {}


def test_records_of_gone_pods_stay_until_all_sources_are_seen() -> None:
    state = holding({-1: ("d0",)})
    assert update_allocated_devices(replace(state, sources_ready=False), []) == replace(
        state, sources_ready=False
    )
    assert update_allocated_devices(state, [pod("p")]) == state
    freed = update_allocated_devices(state, [pod("another")])
    assert (freed.pod_devices, freed.allocated_devices) == ({}, {})


# Allocation


def test_every_step_says_what_was_offered_and_taken() -> None:
    numa = [(0,), (0,), (1,), (1,), None]
    devices = tuple(Device(f"d{i}", numa_nodes=nodes) for i, nodes in enumerate(numa))
    state = list_and_watch(connect(DeviceManagerState(), GPU, preferred=False), GPU, devices)
    request = DeviceRequest("p", "c", GPU, 4)
    _, decision = converse(
        devices_to_allocate(state, request, frozenset({"d1"}), affinity=0b01), lambda call: Empty()
    )
    assert [(step.rule, step.taken) for step in decision.steps] == [
        ("reusable", {"d1"}),
        ("aligned", {"d0"}),
        ("unaligned", {"d2", "d3"}),
    ]
    assert all(step.taken <= step.offered for step in decision.steps)
    assert decision.devices == decision.sets.taken == {"d0", "d1", "d2", "d3"}
    assert decision.sets.no_affinity == {"d4"}
    assert decision.sets.in_use == {"d1"}


def test_an_error_of_the_second_resource_keeps_the_first_in_memory_only() -> None:
    state = list_and_watch(connect(DeviceManagerState(), GPU, 1, preferred=False), GPU, ids("d0"))
    state = list_and_watch(
        connect(state, "example.com/nic", 2, preferred=False), "example.com/nic", ids("n0")
    )
    wants = pod("p", container(gpu=1, nic=2))
    after, decision = converse(
        allocate(state, wants, wants.containers[0], [wants]), lambda call: AllocateResponse((NO_SPECS,))
    )
    assert [d.error is None for d in decision.decisions] == [True, False]
    assert decision.error == decision.decisions[1].error
    assert after.pod_devices["p"]["c"].keys() == {GPU}
    assert after.checkpoint == state.checkpoint


def test_a_start_without_a_record_allocates_again() -> None:
    state = list_and_watch(connect(DeviceManagerState(), GPU, preferred=False), GPU, ids("d0"))
    wants = pod("p", gpu=1)
    asked: list[str] = []

    def plugin(call: object) -> AllocateResponse:
        asked.append(call.method)  # type: ignore[attr-defined]
        return AllocateResponse((ContainerAllocateResponse(envs=(("A", "1"),)),))

    c = wants.containers[0]
    unchanged, options = converse(get_device_run_container_options(state, wants, c, []), plugin)
    assert (unchanged, options, asked) == (state, None, []), "the pod is no longer active"
    state, options = converse(get_device_run_container_options(state, wants, c, [wants]), plugin)
    assert asked == ["Allocate"]
    assert options is not None
    assert not isinstance(options, str)
    assert options.envs == (("A", "1"),)


def test_after_a_restart_pre_start_waits_for_the_plugin() -> None:
    state = restart(None, now=0.0)
    state = replace(state, allocated_devices={GPU: frozenset()})
    wants = pod("p", gpu=1)
    state, error = converse(
        get_device_run_container_options(state, wants, wants.containers[0], [wants]), lambda call: Empty()
    )
    assert error == f"endpoint not found in cache for a registered resource: {GPU}"


# Run options


def test_conflicts_are_told_and_the_first_resource_wins() -> None:
    first = ContainerAllocateResponse(
        envs=(("E", "1"), ("F", "1")),
        mounts=(Mount("/m", "/a"),),
        devices=(DeviceSpec("/dev/x", "/dev/a", "r"),),
        annotations=(("k", "1"),),
        cdi_devices=("v/c=0",),
    )
    second = ContainerAllocateResponse(
        envs=(("E", "2"), ("F", "1")),
        mounts=(Mount("/m", "/b"),),
        devices=(DeviceSpec("/dev/x", "/dev/a", "rw"),),
        annotations=(("k", "2"),),
        cdi_devices=("v/c=0", "v/c=1"),
    )
    records = insert({}, "p", "c", "b.com/y", DeviceAllocateInfo({}, second))
    records = insert(records, "p", "c", "a.com/x", DeviceAllocateInfo({}, first))
    options = device_run_container_options(records, "p", "c")
    assert options is not None
    assert (options.envs, options.mounts, options.devices) == (first.envs, first.mounts, first.devices)
    assert options.cdi_devices == ("v/c=0", "v/c=1")
    assert options.conflicts == (
        Conflict("env", "E", "b.com/y", "1", "2"),
        Conflict("mount", "/m", "b.com/y", "/a", "/b"),
        Conflict("annotation", "k", "b.com/y", "1", "2"),
    )


# Names and switches


def test_an_unknown_switch_is_named_with_the_known_ones() -> None:
    assert check_switches(["121994", "121994"]) == {"121994"}
    with pytest.raises(ValueError, match=r"expected switches among 121994, .*; got 121995") as caught:
        check_switches({"121994", "121995"})
    assert all(name in str(caught.value) for name in SWITCHES)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain", '"plain"'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("\t\n\x00\x7f", '"\\t\\n\\x00\\x7f"'),
        ("é€😀", '"é€😀"'),
        ("\u00a0\u2028\U000e0001", '"\\u00a0\\u2028\\U000e0001"'),
    ],
)
def test_texts_are_quoted_as_go_does(text: str, quoted: str) -> None:
    assert quote(text) == quoted


def test_a_step_names_what_was_offered_and_not_only_what_the_plugin_chose_of_it() -> None:
    """Among four aligned devices the plugin prefers d2: four were offered."""
    devices = {f"d{i}": Device(f"d{i}", numa_nodes=(0,)) for i in range(4)}
    state = DeviceManagerState(
        all_devices={"example.com/gpu": devices},
        healthy_devices={"example.com/gpu": frozenset(devices)},
        connections={
            1: Endpoint(
                "example.com/gpu",
                "s",
                "connected",
                DevicePluginOptions(get_preferred_allocation_available=True),
            )
        },
        endpoints={"example.com/gpu": 1},
    )
    asked = devices_to_allocate(state, DeviceRequest("u", "c", "example.com/gpu", 1), affinity=0b01)
    _, decision = converse(asked, lambda _: PreferredAllocationResponse((("d2",),)))
    (step,) = decision.steps
    assert (step.rule, step.offered, step.taken) == ("preferred", frozenset(devices), {"d2"})


def test_devices_of_a_plugin_that_goes_while_it_is_asked_are_not_kept_as_allocated() -> None:
    """It is asked what it prefers, and there is no way to it any more when the devices are to be handed out."""
    state = list_and_watch(connect(DeviceManagerState(), GPU), GPU, ids("d0", "d1", "d2"))
    wants = pod("p", gpu=2)
    conversation = allocate(state, wants, wants.containers[0], [wants])
    state, call = next(conversation)
    assert call.method == "GetPreferredAllocation"
    with pytest.raises(StopIteration) as done:
        conversation.send((replace(state, endpoints={}), PreferredAllocationResponse((("d0", "d1"),))))
    state, decision = done.value.value
    assert decision.error == f"unknown Device Plugin {GPU}"
    assert state.allocated_devices.get(GPU, frozenset()) == frozenset()
    assert state.pod_devices == {}
