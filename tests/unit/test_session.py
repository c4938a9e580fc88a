"""A lab's cluster in memory: the path, forks at every step, export and import."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubedev.api.manifests import ManifestError
from kubedev.cluster import events as e
from kubedev.cluster.cluster import ClusterError
from kubedev.cluster.history import History, HistoryError
from kubedev.cluster.step import step
from kubedev.lab.scene import path_state
from kubedev.lab.session import Lab

GPU = "nvidia.com/gpu"


def pod(name: str, gpus: int, extra: str = "") -> str:
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  {extra}
  containers:
  - {{name: main, image: cuda, command: [rm, -rf, /], resources: {{limits: {{{GPU}: {gpus}}}}}}}
"""


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab("test", transport="memory") as lab:
        yield lab


def test_pending_with_kubernetes_message_until_a_plugin_comes(lab: Lab) -> None:
    lab.apply(pod("web", 2))
    assert lab.pod("web").conditions[0].message == (
        "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. "
        "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
    )
    lab.plugin(GPU, 4, numa=2)
    assert lab.pod("web").phase == "Running"
    assert lab.devices_of("web") == ("d0", "d1")


def test_allocation_changes_neither_capacity_nor_allocatable(lab: Lab) -> None:
    lab.plugin(GPU, 4)
    lab.apply(pod("web", 3))
    assert (lab.node().capacity[GPU].value(), lab.node().allocatable[GPU].value()) == (4, 4)


def test_an_unhealthy_device_lowers_allocatable_only(lab: Lab) -> None:
    lab.plugin(GPU, 4)
    lab.set_health("d1", healthy=False)
    assert (lab.node().capacity[GPU].value(), lab.node().allocatable[GPU].value()) == (4, 3)
    lab.apply(pod("web", 3))
    assert lab.devices_of("web") == ("d0", "d2", "d3")


def test_a_killed_plugin_leaves_zero_allocatable_its_socket_and_five_minutes_of_capacity(lab: Lab) -> None:
    lab.plugin(GPU, 4)
    lab.kill_plugin(GPU)
    assert (lab.node().capacity[GPU].value(), lab.node().allocatable[GPU].value()) == (4, 0)
    assert "nvidia.com-gpu.sock" in lab.state.sockets["gpu-node-1"]
    lab.advance(300)
    assert lab.node().capacity[GPU].value() == 4
    lab.advance(1)
    assert (lab.node().capacity[GPU].value(), lab.node().allocatable[GPU].value()) == (0, 0)


def test_a_deleted_pod_is_gone_with_its_container(lab: Lab) -> None:
    lab.plugin(GPU, 4)
    lab.apply(pod("web", 4))
    lab.delete("web")
    assert not lab.state.store.pods
    assert not lab.state.containers
    lab.apply(pod("next", 4))
    assert lab.pod("next").phase == "Running"


def test_a_fork_at_every_step_ends_well_and_leaves_the_run_alone(lab: Lab) -> None:
    lab.plugin(GPU, 4)
    lab.apply(pod("web", 1))
    lab.set_health("d3", healthy=False)
    run = [entry.state for entry in (lab.history[i] for i in range(len(lab.history)))]
    for index in range(3, len(run) - 1):
        lab.seek(index)
        assert lab.mode == "replay"
        lab.apply(pod("other", 1))
        assert (lab.mode, lab.forked_at) == ("fork", index)
        assert lab.state.idle
        assert lab.pod("other").phase in ("Running", "Pending")
        lab.back_to_live()
        assert lab.mode == "live"
    assert [lab.history[i].state for i in range(len(lab.history))] == run


def test_a_step_is_one_message_back_and_forth(lab: Lab) -> None:
    lab.plugin(GPU, 4)
    total = len(lab.state.messages)
    lab.back()
    assert len(lab.state.messages) == total - 1
    lab.back()
    lab.forward()
    assert len(lab.state.messages) == total - 1


def test_go_live_goes_on_from_the_state_that_is_shown(lab: Lab) -> None:
    lab.plugin(GPU, 4)
    lab.apply(pod("web", 1))
    lab.delete("web")
    while not any(p.deletion_timestamp is None for p in lab.state.store.pods.values()):
        lab.back()
    lab.go_live()
    assert lab.mode == "live"
    assert lab.devices_of("web") == ("d0",)
    lab.apply(pod("more", 3))
    assert lab.devices_of("more") == ("d1", "d2", "d3")


def test_go_live_does_not_run_again_what_has_ended(lab: Lab) -> None:
    lab.apply(pod("web", 1, "initContainers: [{name: first, image: i}]"))
    lab.plugin(GPU, 4)
    lab.advance(10)
    lab.go_live()
    assert lab.pod("web").phase == "Running"
    ends = [event for event in lab.history.events_after(0) if isinstance(event, e.ContainerEnded)]
    assert [end.container for end in ends] == ["first"]


def test_a_run_is_exported_and_stepped_through_again(lab: Lab, tmp_path: Path) -> None:
    lab.plugin(GPU, 4)
    lab.apply(pod("web", 1))
    lab.restart_kubelet()
    lab.export(tmp_path / "run.json")
    again = History.from_json((tmp_path / "run.json").read_text())
    assert [again[i].state for i in range(len(again))] == [
        lab.history[i].state for i in range(len(lab.history))
    ]
    lab.reset()
    lab.load(tmp_path / "run.json")
    assert (lab.mode, lab.pod("web").phase) == ("fork", "Running")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": "kubedev history 1", "events": [{"class": "os:system", "fields": {}}]}'],
)
def test_a_file_that_is_no_history_is_refused(text: str) -> None:
    with pytest.raises(HistoryError):
        History.from_json(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (": : :", "pasted text"),
        ("- 1\n", "pasted text"),
        (pod("web", 1).replace("gpu: 1", "gpu: 0.5"), "spec.containers[0].resources.limits[nvidia.com/gpu]"),
        (pod("web", 1).replace("{nvidia.com/gpu: 1}", "{memory: 1.5Gi.}"), "1.5Gi."),
        (pod("web", 1).replace("limits: {", "requests: {nvidia.com/gpu: 2}, limits: {"), "nvidia.com/gpu"),
    ],
)
def test_bad_manifests_change_nothing(lab: Lab, text: str, says: str) -> None:
    before = lab.state
    with pytest.raises(ManifestError) as error:
        lab.apply(text + "\n")
    assert says in str(error.value)
    assert lab.state == before


def test_a_taken_name_is_refused_or_replaced_and_the_same_again_changes_nothing(lab: Lab) -> None:
    lab.apply(pod("web", 1))
    before = lab.state
    lab.apply(pod("web", 1))
    assert lab.state == before
    with pytest.raises(ClusterError, match='another one of pods "web" already exists'):
        lab.apply(pod("web", 2))
    assert lab.state == before
    lab.apply(pod("web", 2), rename=True)
    assert {p.name for p in lab.state.store.pods.values()} == {"web", "web-2"}


def test_a_pod_of_an_old_name_is_a_new_pod(lab: Lab) -> None:
    lab.plugin(GPU, 4)
    for _ in range(2):
        lab.apply(pod("web", 1))
        lab.delete("web")
    assert sum(message.key == "answer-allocate" for message in lab.state.messages) == 2


def test_what_is_drawn_as_open_or_ended_is_so(lab: Lab) -> None:
    lab.plugin(GPU, 4)
    lab.apply(pod("web", 1))
    for index in lab.message_steps():
        state = lab.history[index].state
        view = path_state(state, title="").nodes[0] if state.kubelets else None
        said = {message.key for message in state.messages}
        if view is not None:
            assert [p.streaming for p in view.plugins] in ([], ["list-and-watch" in said])
            assert all(container.running for container in view.containers)


def test_a_refused_plugin_is_told_why_and_stops(lab: Lab) -> None:
    lab.plugin("gpu", 4)
    plugin = lab.state.plugins["gpu-node-1", "gpu"]
    assert (plugin.phase, plugin.error) == ("refused", 'the ResourceName "gpu" is invalid')
    assert "gpu" not in lab.node().capacity


def test_step_refuses_an_event_out_of_turn(lab: Lab) -> None:
    states = [lab.history[i] for i in range(len(lab.history))]
    waiting = next(entry.state for entry in states if entry.state.pending)
    with pytest.raises(ValueError, match="expected the pending event"):
        step(waiting, e.SchedulerWants("something else"))
    with pytest.raises(ValueError, match="expected an event from outside"):
        step(states[-1].state, e.SchedulerTurn())


def test_u17_without_grpc_the_memory_steps_in_and_the_picture_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kubedev.wire.backends.have_grpc", lambda: False)
    monkeypatch.setattr("kubedev.lab.session.have_grpc", lambda: False)
    with Lab("windows") as lab:
        lab.plugin(GPU, 4)
        lab.apply(pod("web", 2))
        assert not lab.real
        assert lab.devices_of("web") == ("d0", "d1")
        assert lab.show().mode == "memory"
