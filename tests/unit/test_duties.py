"""The duties of device plugins, judged in memory: no socket, no process and no clock."""

import json
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from kubedev.api.messages import (
    UNHEALTHY,
    AllocateRequest,
    AllocateResponse,
    Answer,
    Call,
    ContainerAllocateResponse,
    Device,
    DevicePluginOptions,
    DeviceSpec,
    Empty,
    Mount,
    PreferredAllocationRequest,
    PreferredAllocationResponse,
    PreStartContainerRequest,
    RegisterRequest,
    RpcError,
    converse,
)
from kubedev.deviceplugin.duties import (
    DUTIES,
    Asked,
    Limits,
    Listed,
    Registered,
    Seen,
    judged,
    observe,
    questions,
)
from kubedev.deviceplugin.duties.seen import Ended, MemorySize, StreamEnd, Waited
from kubedev.deviceplugin.plugin import Plugin, answer, make_devices
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.kubelet.devices.registration import register
from kubedev.tools.check_report import as_json, as_junit, outcome
from kubedev.wire.memory import MemoryTransport
from kubedev.wire.memory_plugin import MemoryPlugin

GPU = "example.com/gpu"
BOTH = DevicePluginOptions(pre_start_required=True, get_preferred_allocation_available=True)
DEVICES = make_devices(3)
Answers = Callable[[Call], Answer]


def well(call: Call) -> Answer:
    return answer(Plugin(GPU, DEVICES, BOTH), call.request)


def seen_of(
    answers: Answers = well,
    listed: tuple[tuple[Device, ...], ...] = (DEVICES,),
    request: RegisterRequest | None = None,
    options: DevicePluginOptions = BOTH,
) -> Seen:
    """What is seen of a plugin that registers with our kubelet in memory."""
    request = request or RegisterRequest(endpoint="gpu.sock", resource_name=GPU)

    def called_back(call: Call) -> Answer:
        return options if call.method == "GetDevicePluginOptions" else Empty()

    _, error = converse(register(DeviceManagerState(), request, "/plugins", 1), called_back)
    return replace(observe(request, error, options, listed, answers), directory="/plugins")


def not_kept(seen: Seen) -> dict[str, str]:
    return {v.duty.key: v.outcome for v in judged(DUTIES, seen) if v.outcome in ("warning", "broken")}


def said(seen: Seen, key: str) -> str:
    return next(verdict.seen for verdict in judged(DUTIES, seen) if verdict.duty.key == key)


def instead(kind: type, answers: Callable[..., Answer]) -> Answers:
    """A plugin that answers one kind of request in its own way."""
    return lambda call: answers(call.request) if isinstance(call.request, kind) else well(call)


def containers(make: Callable[[tuple[str, ...]], ContainerAllocateResponse]) -> Answers:
    return instead(
        AllocateRequest,
        lambda request: AllocateResponse(tuple(map(make, request.container_requests))),
    )


def test_a_good_plugin_in_memory_keeps_every_duty_that_can_be_tried_there() -> None:
    outcomes = {verdict.duty.key: verdict.outcome for verdict in judged(DUTIES, seen_of())}
    away = {"memory", "own-socket", "kubelet-restart", "kubelet-renamed", "kubelet-silent", "same-ids"}
    away |= {"ends", "socket-left", "starts-again", "stays-up", "cdi-names"}
    assert {key for key, outcome in outcomes.items() if outcome == "not applicable"} == away
    assert {outcome for key, outcome in outcomes.items() if key not in away} == {"ok"}


def test_each_duty_says_what_it_asks_whence_and_what_to_do() -> None:
    assert len({duty.key for duty in DUTIES}) == len(DUTIES)
    for duty in DUTIES:
        assert all((duty.key, duty.asks, duty.source, duty.advice))
        assert duty.stage in ("start", "calls", "restart", "silent", "end", "whole")


def test_nothing_seen_breaks_nothing_but_registering() -> None:
    assert not_kept(Seen(GPU)) == {"registers": "broken"}


def test_a_plugin_of_the_memory_transport_is_judged_by_the_same_duties() -> None:
    transport = MemoryTransport("/plugins")
    plugin = MemoryPlugin(Plugin(GPU, DEVICES), transport)
    said: list[RegisterRequest] = []
    lists: list[tuple[Device, ...]] = []
    transport.listen(lambda request, reply: (said.append(request), reply(None))[1])
    plugin.start()
    client = transport.connect(plugin.socket)
    client.list_and_watch(lists.append, lambda _: None)
    plugin.set_health("d0", False)
    plugin.set_health("d0", True)
    options = client.call(Call(GPU, plugin.socket, "GetDevicePluginOptions"))
    assert isinstance(options, DevicePluginOptions)
    seen = observe(said[0], None, options, lists, client.call)
    assert not_kept(seen) == {}
    assert {v.duty.key for v in judged(DUTIES, seen) if v.outcome == "ok"} >= {
        "allocate-all",
        "preferred-choice",
        "health",
    }


def test_reports_hold_whatever_a_plugin_says() -> None:
    strange = '\x1b[31m\x00\udcff\ufffe<&>"\n'
    seen = replace(Seen(strange), ended=(Ended("start", 1, strange),))
    verdicts = judged(DUTIES, seen)
    suite = ElementTree.fromstring(as_junit(strange, verdicts))
    failures = [case.find("failure") for case in suite]
    assert [failure.get("message") for failure in failures if failure is not None]
    report = json.loads(as_json(strange, verdicts, [strange]))
    assert report["resource"] == strange
    assert report["outcome"] == outcome(verdicts) == "broken"


# Registration


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"version": "v1beta2"}, "version"),
        ({"version": ""}, "version"),
        ({"endpoint": "a%41.sock"}, "endpoint"),
        ({"endpoint": "a\n.sock"}, "endpoint"),
        ({"endpoint": "a?b.sock"}, "endpoint"),
    ],
)
def test_a_registration_that_is_refused(changed: dict[str, str], key: str) -> None:
    request = replace(RegisterRequest(endpoint="gpu.sock", resource_name=GPU), **changed)  # type: ignore[arg-type]
    dialed = "/plugins/gpu.sock"

    def called_back(call: Call) -> Answer:
        if call.method == "Dial" and call.socket != dialed:
            return RpcError("DeadlineExceeded", "context deadline exceeded")
        return BOTH

    _, error = converse(register(DeviceManagerState(), request, "/plugins", 1), called_back)
    assert error
    seen = Seen(GPU, "/plugins", registered=(Registered(request, error, serving=False),))
    assert not_kept(seen) == {key: "broken"}


@pytest.mark.parametrize(
    "name", ["gpu", "kubernetes.io/gpu", "requests.a.com/gpu", "a.com/-x", f"a.com/{'x' * 64}"]
)
def test_b02_a_name_that_is_refused(name: str) -> None:
    seen = seen_of(request=RegisterRequest(endpoint="gpu.sock", resource_name=name))
    assert not_kept(seen) == {"resource-name": "broken"}


def test_a_plugin_that_registers_something_else_did_not_register() -> None:
    seen = replace(seen_of(), resource="example.com/other")
    assert not_kept(seen)["registers"] == "broken"
    assert GPU in said(seen, "registers")


def test_options_in_the_request_are_only_compared() -> None:
    request = RegisterRequest(endpoint="gpu.sock", resource_name=GPU, options=DevicePluginOptions())
    assert not_kept(seen_of(request=request)) == {"options": "warning"}


# Lists


@pytest.mark.parametrize(
    ("devices", "key", "outcome"),
    [
        ((Device("a"), Device("a")), "device-ids", "broken"),
        ((Device(""),), "device-ids", "warning"),
        ((Device("x" * 64),), "device-ids", "warning"),
        ((Device("a", numa_nodes=(-1,)),), "topology", "broken"),
        ((Device("a", numa_nodes=(0, 0)),), "topology", "warning"),
        ((Device("a"), Device("b", "healthy")), "health", "broken"),
        ((Device("a"), Device("b", "Ready")), "health", "warning"),
        ((), "list-at-once", "warning"),
    ],
)
def test_a_list_with_a_fault(devices: tuple[Device, ...], key: str, outcome: str) -> None:
    seen = seen_of(lambda call: answer(Plugin(GPU, devices, BOTH), call.request), (devices,))
    assert not_kept(seen) == {key: outcome}


@pytest.mark.parametrize("devices", [(Device("a", numa_nodes=()),), (Device("a", UNHEALTHY),)])
def test_a_list_that_is_unusual_and_right(devices: tuple[Device, ...]) -> None:
    assert not_kept(seen_of(lambda call: answer(Plugin(GPU, devices, BOTH), call.request), (devices,))) == {}


def test_the_same_list_in_another_order_is_the_same_list() -> None:
    assert not_kept(seen_of(listed=(DEVICES, DEVICES[::-1]))) == {"list-on-change": "warning"}


def test_a_device_that_turns_unhealthy_is_watched() -> None:
    sick = (replace(DEVICES[0], health=UNHEALTHY), *DEVICES[1:])
    assert not_kept(seen_of(listed=(DEVICES, sick, DEVICES))) == {}
    assert "came back" in said(seen_of(listed=(DEVICES, sick, DEVICES)), "health")
    assert not_kept(seen_of(listed=(DEVICES, sick))) == {"health": "warning"}


def test_b68_no_device_is_healthy_after_the_kubelets_restart() -> None:
    seen = replace(seen_of(), waited=(Waited("healthy again", 30, False),))
    assert not_kept(seen) == {"health": "broken"}
    short = replace(seen, waited=(Waited("healthy again", 3, False, cut=True),))
    assert not_kept(short) == {"health": "warning"}


def test_a_stream_that_ends() -> None:
    seen = seen_of()
    assert not_kept(replace(seen, stream_ends=(StreamEnd("EOF", "calls"),))) == {"list-stream": "broken"}
    assert not_kept(replace(seen, stream_ends=(StreamEnd("EOF", "calls", again=True),))) == {
        "list-stream": "warning"
    }
    assert not_kept(replace(seen, stream_ends=(StreamEnd("EOF", "restart", again=True),))) == {}
    large = "rpc error: code = ResourceExhausted desc = grpc: received message larger than max (5000000 vs. 4194304)"
    assert not_kept(replace(seen, listed=(), stream_ends=(StreamEnd(large, "start"),))) == {
        "message-size": "broken"
    }


# Allocate


def node(path: str, host: str = "") -> DeviceSpec:
    return DeviceSpec(path, host or path, "rw")


ALLOCATED = [
    (lambda ids: ContainerAllocateResponse(devices=(node("/dev/a"), node("/dev/a"))), "no-duplicates", "warning"),
    (lambda ids: ContainerAllocateResponse(devices=(node("/a"), node("/a", "/b"))), "no-duplicates", "broken"),
    (lambda ids: ContainerAllocateResponse(mounts=(Mount("/m", "/a"), Mount("/m", "/b"))), "no-duplicates", "broken"),
    (lambda ids: ContainerAllocateResponse(cdi_devices=("a.com/gpu=0",) * 2), "no-duplicates", "warning"),
    (lambda ids: ContainerAllocateResponse(cdi_devices=("gpu0",)), "cdi-names", "broken"),
    (lambda ids: ContainerAllocateResponse(cdi_devices=("a.com/gpu=",)), "cdi-names", "broken"),
    (lambda ids: ContainerAllocateResponse(cdi_devices=("a.com/gpu=0-",)), "cdi-names", "broken"),
    (lambda ids: ContainerAllocateResponse(cdi_devices=("1a.com/gpu=0",)), "cdi-names", "broken"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "key", "outcome"), ALLOCATED)
def test_an_answer_of_allocate_with_a_fault(
    make: Callable[[tuple[str, ...]], ContainerAllocateResponse], key: str, outcome: str
) -> None:
    lax = {"allocate-unknown": "warning"}
    assert not_kept(seen_of(containers(make))) == {key: outcome, **lax}


@pytest.mark.parametrize(
    "name", ["nvidia.com/gpu=0", "v/c=n", "vendor.com/gpu.x=GPU-0a:1.2_3", "vendor.com/net_0=all"]
)
def test_names_of_cdi_that_are_right(name: str) -> None:
    assert (
        said(seen_of(containers(lambda ids: ContainerAllocateResponse(cdi_devices=(name,)))), "cdi-names")
        == name
    )


def test_one_answer_a_container() -> None:
    def each(request: AllocateRequest) -> Answer:
        ids = [id_ for container in request.container_requests for id_ in container]
        return AllocateResponse(tuple(ContainerAllocateResponse(envs=(("ID", id_),)) for id_ in ids))

    assert not_kept(seen_of(instead(AllocateRequest, each)))["one-answer"] == "broken"
    none = not_kept(seen_of(instead(AllocateRequest, lambda _: AllocateResponse())))
    assert none["one-answer"] == "broken"

    def padded(request: AllocateRequest) -> Answer:
        empty = ContainerAllocateResponse()
        return AllocateResponse((empty, *(empty for _ in request.container_requests)))

    assert not_kept(seen_of(instead(AllocateRequest, padded)))["one-answer"] == "warning"


def test_refusals_of_allocate() -> None:
    refusal = RpcError("Unknown", "no")

    def refuses(when: Callable[[AllocateRequest], bool]) -> Answers:
        return lambda call: (
            refusal if isinstance(call.request, AllocateRequest) and when(call.request) else well(call)
        )

    several = refuses(lambda request: any(len(ids) > 1 for ids in request.container_requests))
    assert not_kept(seen_of(several)) == {"allocate-all": "broken"}
    odd = refuses(lambda request: not request.container_requests or not request.container_requests[0])
    assert not_kept(seen_of(odd)) == {}, "no kubelet asks for nothing"
    pods = refuses(lambda request: len(request.container_requests) > 1)
    assert not_kept(seen_of(pods)) == {}, "a kubelet asks for one container at a time"


def test_a_plugin_that_ends_at_what_no_kubelet_asks_is_only_warned() -> None:
    for why in ("unknown", "empty"):
        seen = replace(seen_of(), started=True, ended=(Ended(why, 2, "panic: index out of range"),))
        assert not_kept(seen) == {f"allocate-{why}": "warning"}
        assert "panic" in said(seen, f"allocate-{why}")


def test_a_call_that_is_not_answered_ends_the_conversation() -> None:
    asked: list[Call] = []

    def hangs(call: Call) -> Answer:
        asked.append(call)
        return RpcError("DeadlineExceeded", "context deadline exceeded")

    seen = seen_of(hangs)
    assert not_kept(seen)["allocate-one"] == "broken"
    assert sum(call.request.container_requests == (("d0",),) for call in asked) == 1  # type: ignore[union-attr]
    assert len([each for each in seen.asked if each.why not in ("unknown", "empty")]) == 1


# What the options ask for


def test_preferences_that_cannot_be_followed_are_warned_of() -> None:
    for ids in ((), ("x",), ("d0", "d1", "d2")):
        answers = instead(PreferredAllocationRequest, lambda _, ids=ids: PreferredAllocationResponse((ids,)))
        assert not_kept(seen_of(answers)) == {"preferred-choice": "warning"}
    empty = instead(PreferredAllocationRequest, lambda _: PreferredAllocationResponse())
    assert not_kept(seen_of(empty)) == {"preferred-choice": "warning"}


def test_an_error_where_the_options_ask_refuses_the_pod() -> None:
    refusal = RpcError("Unimplemented", "unknown method")
    assert not_kept(seen_of(instead(PreferredAllocationRequest, lambda _: refusal))) == {
        "preferred-answer": "broken"
    }
    assert not_kept(seen_of(instead(PreStartContainerRequest, lambda _: refusal))) == {"pre-start": "broken"}
    kinds = (PreferredAllocationRequest, PreStartContainerRequest)
    without = seen_of(
        lambda call: refusal if isinstance(call.request, kinds) else well(call), options=DevicePluginOptions()
    )
    assert not_kept(without) == {}, "it is not asked"


def test_the_kubelet_never_offers_less_than_it_asks_for() -> None:
    for count in range(1, 6):
        conversation = questions(GPU, "s", make_devices(count), BOTH)
        batch = next(conversation, None)
        while batch:
            for ask in batch:
                if isinstance(ask.call.request, PreferredAllocationRequest):
                    (asked,) = ask.call.request.container_requests
                    assert 0 < asked.allocation_size <= len(asked.available_device_ids)
                    assert set(asked.must_include_device_ids) <= set(asked.available_device_ids)
                    assert len(asked.must_include_device_ids) <= asked.allocation_size
            try:
                batch = conversation.send(tuple(Asked(a.why, a.call, Empty()) for a in batch))
            except StopIteration:
                batch = None


# Its life


@pytest.mark.parametrize(
    ("sizes", "outcome"),
    [
        ((20, 21, 21, 21, 21), None),
        ((20, 60, 61, 61, 61), None),
        ((20, 21, 21, 22, 22), None),
        ((20, 25, 30, 35, 40), "warning"),
        ((20, 40, 60, 80, 100), "broken"),
        ((200, 190, 180, 170, 160), None),
    ],
)
def test_memory_that_grows_steadily(sizes: tuple[int, ...], outcome: str | None) -> None:
    memory = tuple(MemorySize(200 * (n + 1), size << 20) for n, size in enumerate(sizes))
    assert not_kept(replace(seen_of(), memory=memory)).get("memory") == outcome


def test_its_own_socket_matters_only_where_no_restart_is_noticed_either() -> None:
    unnoticed = Waited("own socket", 8, False)
    assert not_kept(replace(seen_of(), waited=(unnoticed, Waited("restart", 10, True)))) == {
        "own-socket": "warning"
    }
    both = replace(seen_of(), waited=(unnoticed, Waited("restart", 30, False)))
    assert not_kept(both) == {"own-socket": "broken", "kubelet-restart": "broken"}


def test_no_time_to_wait_breaks_no_duty() -> None:
    waited = tuple(
        Waited(what, 3, False, cut=True)
        for what in ("own socket", "restart", "renamed", "silent", "again", "end")
    )
    outcomes = not_kept(replace(seen_of(), started=True, waited=waited, left=()))
    assert outcomes == {"own-socket": "warning"}


def test_a_plugin_that_ends_with_its_kubelet_is_started_again_by_a_daemon_set() -> None:
    for stage, key in (("restart", "kubelet-restart"), ("silent", "kubelet-silent")):
        came = (Waited("restart", 1, True), Waited("renamed", 1, True), Waited("silent", 1, True))
        seen = replace(seen_of(), started=True, waited=came, ended=(Ended(stage, 1),))
        assert not_kept(seen) == {key: "warning"}
    assert not_kept(replace(seen_of(), started=True, ended=(Ended("calls", 1),))) == {"stays-up": "broken"}


def test_ids_over_restarts() -> None:
    def after(*devices: Device) -> Seen:
        seen = seen_of()
        return replace(seen, listed=(*seen.listed, Listed(devices, 2, stage="restart")))

    assert not_kept(after(*DEVICES)) == {}
    assert not_kept(after(*DEVICES, Device("new"))) == {}
    assert not_kept(after(*DEVICES[:2])) == {"same-ids": "warning"}
    assert not_kept(after(Device("x"), Device("y"))) == {"same-ids": "broken"}
    assert not_kept(after()) == {}, "an empty list comes first, or last, from some plugins"


def test_limits_stay_within_a_minute() -> None:
    assert Limits().total < 60
