"""What lab 02 shows: pictures from a history, plugins by hand, and registration then and now."""

from collections.abc import Iterator

import pytest

from kubedev.kubelet.devices.endpoint import PLUGIN_PHASES
from kubedev.lab.check import check, one_plugin, registered
from kubedev.lab.hand_made import RegistrationLab
from kubedev.lab.needs_wire import NeedsWireError
from kubedev.lab.register_then import PLUGINS, draw_register, register_now, register_then
from kubedev.lab.registration_scene import draw_registration, files, registration_state
from kubedev.views.registration import RegistrationState, attempts_picture
from tests.unit.test_views_decisions import check as check_picture

DEV = "test.com/dev"
SERVED, DEAD = "accepted", "rpc error: code = Unknown desc = "


@pytest.fixture(params=["grpc", "memory"])
def lab(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[RegistrationLab]:
    """The same where grpc is, and where it is not."""
    if request.param == "memory":
        without_grpc(monkeypatch)
    with RegistrationLab("registration") as made:
        yield made


def without_grpc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubedev.wire.backends.have_grpc", lambda: False)
    monkeypatch.setattr("kubedev.lab.session.have_grpc", lambda: False)


def state_of(lab: RegistrationLab) -> RegistrationState:
    return registration_state(lab.history, len(lab.history) - 1, lab.node().name)


def test_q1_an_error_comes_back_as_a_status_with_its_text(lab: RegistrationLab) -> None:
    assert lab.by_hand(DEV, version="v1alpha").start() == (
        f'{DEAD}requested API version "v1alpha" is not supported by kubelet. Supported version is ["v1beta1"]'
    )
    assert lab.by_hand("gpu").start() == f'{DEAD}the ResourceName "gpu" is invalid'
    mute = lab.by_hand(DEV, without=["GetDevicePluginOptions"])
    assert mute.start().startswith(
        f"{DEAD}failed to get device plugin options: rpc error: code = Unimplemented"
    )
    assert lab.numbers(DEV) == "no key on the node"
    assert [c.text for c in lab.attempt(mute, "mute").calls] == ["Register", "Dial", "GetDevicePluginOptions"]


def test_the_calls_of_a_registration_in_their_order(lab: RegistrationLab) -> None:
    assert lab.by_hand(DEV, ["a0"]).start() == SERVED
    state = state_of(lab)
    assert [(c.source, c.text) for c in state.calls] == [
        ("plugin", "Register"),
        ("kubelet", "Dial"),
        ("kubelet", "GetDevicePluginOptions"),
        ("plugin", "DevicePluginOptions"),
        ("kubelet", "ok"),
        ("kubelet", "ListAndWatch"),
        ("plugin", "list"),
    ]
    assert (state.phase, state.event) == ("connected", "list comes")
    assert state.files == ("kubelet.sock", "dev.sock")


def test_every_step_of_a_history_can_be_drawn_and_follows_the_table(lab: RegistrationLab) -> None:
    lab.plugin("nvidia.com/gpu", 2)
    a, b = (lab.by_hand(DEV, [f"{name}0"], socket=f"{name}.sock") for name in "ab")
    for step in (a.start, b.start, b.register, lambda: a.send("a0", "a1"), a.stop, lab.restart_kubelet):
        step()
    lab.kill_plugin("nvidia.com/gpu")
    for index in range(len(lab.history)):
        check_picture(draw_registration(lab, index))
        state = registration_state(lab.history, index, lab.node().name)
        if state.event:
            assert PLUGIN_PHASES[state.before, state.event] == state.phase


def test_c4_the_newest_replaces_the_first_and_the_first_ones_end_disconnects_it(lab: RegistrationLab) -> None:
    a, b = (lab.by_hand(DEV, [f"{name}0"], socket=f"{name}.sock") for name in "ab")
    a.start()
    b.start()
    assert state_of(lab).places == (("a", "superseded"), ("b", "connected"))
    assert "a.sock was superseded by b.sock" in check(lab, one_plugin(DEV)).broken[0]
    a.send("a0", "a1")
    assert lab.numbers(DEV) == "capacity 2, allocatable 2"
    a.stop()
    assert lab.numbers(DEV) == "capacity 2, allocatable 0"
    assert b.register() == SERVED
    assert check(lab, registered(DEV, "b0"), one_plugin(DEV))


def test_c4_mended_the_first_ones_end_means_nothing() -> None:
    with RegistrationLab("registration", ["121994"]) as lab:
        a, b = (lab.by_hand(DEV, [f"{name}0"], socket=f"{name}.sock") for name in "ab")
        a.start()
        b.start()
        a.stop()
        assert lab.numbers(DEV) == "capacity 1, allocatable 1"


def test_a_dead_file_is_known_and_ends_with_the_kubelets_start(lab: RegistrationLab) -> None:
    lab.plugin("nvidia.com/gpu", 2)
    node = lab.node().name
    lab.kill_plugin("nvidia.com/gpu")
    assert files(lab.state, node) == (
        ("kubelet.sock", "nvidia.com-gpu.sock"),
        frozenset({"nvidia.com-gpu.sock"}),
    )
    lab.restart_kubelet()
    assert files(lab.state, node) == (("kubelet.sock",), frozenset())


def test_a_step_that_a_plugin_cannot_take_is_refused(lab: RegistrationLab) -> None:
    plugin = lab.by_hand("example.com/gpu")
    with pytest.raises(ValueError, match="expected the steps 'serve' and 'register', got 'send'"):
        plugin.run("serve", "send")
    assert plugin.socket not in lab.files()  # not even the first step was taken


def test_who_looks_back_cannot_start_a_real_plugin(lab: RegistrationLab) -> None:
    hand = lab.by_hand(DEV)
    hand.start()
    lab.back()
    with pytest.raises(RuntimeError, match="back_to_live"):
        hand.register()


def test_a_reset_ends_what_was_made_by_hand(lab: RegistrationLab) -> None:
    lab.by_hand(DEV).start()
    lab.reset()
    assert lab.numbers(DEV) == "no key on the node"
    assert lab.by_hand(DEV).start() == SERVED


def test_files_are_those_of_sockets_that_are_served_or_were_left(lab: RegistrationLab) -> None:
    served, left = lab.by_hand(DEV), lab.by_hand("test.com/gone")
    served.serve()
    left.leave_socket()
    assert {"kubelet.sock", "dev.sock", "gone.sock"} <= set(lab.files())
    lab.restart_kubelet()
    assert {"dev.sock", "gone.sock"}.isdisjoint(lab.files())


def test_a_plugin_without_a_list_is_let_in_and_its_stream_ends(lab: RegistrationLab) -> None:
    assert lab.by_hand(DEV, without=["ListAndWatch"]).start() == SERVED
    assert any("unknown method ListAndWatch" in call.payload for call in state_of(lab).calls)


def test_what_takes_real_time_is_not_had_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    without_grpc(monkeypatch)
    with RegistrationLab("registration") as lab:
        plugin = lab.by_hand(DEV)
        with pytest.raises(NeedsWireError, match="Not here: a kubelet that dials for ten seconds"):
            plugin.serve_later(2)
        with pytest.raises(NeedsWireError):
            assert plugin.answer


def words(states: tuple[RegistrationState, ...]) -> list[str]:
    return [call.text for call in states[-1].calls]


def test_c4_then_register_was_answered_before_the_dial() -> None:
    good, late = PLUGINS["good"], PLUGINS["does not serve yet"]
    assert words(register_then(good)) == ["Register", "ok", "Dial", "ListAndWatch"]
    assert words(register_then(late)) == ["Register", "ok", "Dial"], "the plugin never hears of it"
    assert "context deadline exceeded" in register_then(late)[-1].note
    assert words(register_now(late))[-1] == "failed to dial device plugin: context deadline exceeded"
    now = words(register_now(good))
    assert (
        now.index("Dial") < now.index("GetDevicePluginOptions") < now.index("ok") < now.index("ListAndWatch")
    )


@pytest.mark.parametrize("plugin", PLUGINS)
def test_registration_by_hand_can_be_drawn_at_every_step(plugin: str) -> None:
    for kubelet in ("v1.32", "v1.21"):
        for step in range(7):
            check_picture(draw_register(plugin, kubelet, step))


def test_attempts_can_be_drawn(lab: RegistrationLab) -> None:
    plugins = [lab.by_hand(DEV, version="v1"), lab.by_hand(DEV), lab.by_hand("a/b/c"), lab.by_hand("x.com/y")]
    for plugin in plugins:
        plugin.start()
    tries = [lab.attempt(plugin, plugin.socket * 9, "a note " * 20) for plugin in plugins]
    check_picture(attempts_picture(tries))
    check_picture(attempts_picture(tries[:1]))
