"""What is changed after stepping back happens at that moment; a lab that is closed keeps its history."""

from collections.abc import Callable, Iterator

import pytest

from kubedev.cluster import events as e
from kubedev.cluster.cluster import ClusterError
from kubedev.cluster.history import History
from kubedev.lab.session import Lab

GPU = "nvidia.com/gpu"


def pod(name: str, gpus: int, more: str = "") -> str:
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  {more}
  containers: [{{name: main, image: i, resources: {{limits: {{{GPU}: {gpus}}}}}}}]
"""


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab("exact", nodes=1, transport="memory") as lab:
        lab.plugin(GPU, 2)
        lab.apply(pod("two", 2))
        yield lab


def back_to(lab: Lab, key: str) -> None:
    """Step back to just after the last message of a kind."""
    while lab.state.messages[-1].key != key:
        lab.back()


def keys(lab: Lab) -> list[str]:
    return [message.key for message in lab.state.messages]


def test_s1_a_change_happens_where_you_stepped_back_to(lab: Lab) -> None:
    back_to(lab, "bind")
    at = len(lab.state.messages)
    lab.set_health("d1", healthy=False)
    assert keys(lab)[at : at + 2] == ["health-set", "list-changed"]
    assert "ask-allocate" not in keys(lab)
    two = lab.pod("two")
    assert (two.phase, two.reason) == ("Failed", "UnexpectedAdmissionError")
    assert two.message.endswith(
        "requested number of devices unavailable for nvidia.com/gpu. Requested: 2, Available: 1, which is unexpected"
    )
    assert lab.state.idle


def test_s1_a_kill_before_the_answer_to_allocate_breaks_the_call(lab: Lab) -> None:
    back_to(lab, "ask-allocate")
    lab.kill_plugin(GPU)
    assert (lab.pod("two").phase, lab.devices_of("two")) == ("Failed", ())
    assert "rpc error: code = Unavailable" in lab.pod("two").message
    assert "answer-allocate" not in keys(lab)


def test_s1_a_change_that_concerns_others_leaves_what_was_on_its_way_as_it_was(lab: Lab) -> None:
    whole = keys(lab)
    back_to(lab, "pod-created")
    for step in [s for s in lab.message_steps()[:-1] if s >= lab.position]:
        lab.seek(step)
        lab.apply(pod("other", 0))
        calls = [k for k in keys(lab) if k in ("ask-allocate", "answer-allocate")]
        assert calls == [k for k in whole if k in ("ask-allocate", "answer-allocate")], step
        assert lab.devices_of("two") == ("d0", "d1")
        lab.back_to_live()


def test_s1_a_pod_deleted_before_it_is_seen_never_gets_a_node(lab: Lab) -> None:
    back_to(lab, "pod-created")
    lab.delete("two")
    assert not lab.state.store.pods
    assert "ask-allocate" not in keys(lab)


def test_s1_the_watch_of_one_watcher_keeps_its_order(lab: Lab) -> None:
    back_to(lab, "pod-created")
    lab.apply(pod("zwei", 2))
    told = [dict(m.values)["pod"] for m in lab.state.messages if m.key == "pod-pending"]
    assert told == ["two", "zwei"]
    assert (lab.pod("two").phase, lab.pod("zwei").node_name) == ("Running", "")


def test_s1_a_kubelet_that_restarts_before_it_sees_the_pod_admits_it_once(lab: Lab) -> None:
    back_to(lab, "bind")
    at = len(lab.state.messages)
    lab.restart_kubelet()
    assert keys(lab)[at] == "kubelet-restarted"
    assert lab.pod("two").phase == "Failed", "its plugin had not registered again"
    assert lab.state.idle


CHANGES: dict[str, Callable[[Lab], None]] = {
    "health": lambda lab: lab.set_health("d0", healthy=False),
    "kill": lambda lab: lab.kill_plugin(GPU),
    "another plugin": lambda lab: lab.plugin("example.com/nic", 1),
    "the plugin anew": lambda lab: lab.plugin(GPU, 3),
    "a pod": lambda lab: lab.apply(pod("other", 1)) and None,
    "no pod": lambda lab: lab.delete("two"),
    "clock": lambda lab: lab.advance(301),
    "kubelet": lambda lab: lab.restart_kubelet(),
    "machine": lambda lab: lab.restart_kubelet(reboot=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_s1_any_change_at_any_moment_happens_there_and_ends_well(lab: Lab, change: str) -> None:
    before = [lab.history[i].state for i in range(len(lab.history))]
    for step in range(len(before) - 1):
        lab.seek(step)
        alive = any(p.alive and any(d.id == "d0" for d in p.devices) for p in lab.state.plugins.values())
        if ("two" not in [p.name for p in lab.state.store.pods.values()] and change == "no pod") or (
            not alive and change in ("health", "kill")
        ):
            continue
        if not lab.state.kubelets:
            continue
        CHANGES[change](lab)
        event = lab.history[step + 1].event
        assert isinstance(
            event,
            e.HealthSet
            | e.PluginKilled
            | e.PluginLaunched
            | e.PodCreated
            | e.PodDeletionAsked
            | e.ClockAdvanced
            | e.KubeletStopped,
        ), (step, event)
        assert lab.state.idle, (step, lab.state.under_way())
        assert History.from_json(lab.history.to_json()).state == lab.state
        lab.back_to_live()
    assert [lab.history[i].state for i in range(len(lab.history))] == before


def test_s8_a_closed_lab_is_stepped_and_says_that_nothing_more_happens() -> None:
    with Lab("closing", nodes=1, transport="memory") as lab:
        lab.plugin(GPU, 2)
        first = lab.run()
        lab.apply(pod("web", 1))
        second = lab.run(first.end)
    end = lab.state
    assert first.state(first.end) != end
    assert second.state(second.end) == end
    assert [first.start, first.end] == [0, second.start]
    assert first.message_steps()[-1] == first.end
    lab.back()
    assert (lab.mode, lab.state == end) == ("replay", False)
    lab.forward()
    lab.forward()
    assert (lab.mode, lab.state) == ("live", end)
    lab.back()
    with pytest.raises(ClusterError, match="expected a lab that is open"):
        lab.set_health("d0", healthy=False)
    assert lab.mode == "replay"


def test_s8_a_fork_is_kept_when_its_lab_is_closed() -> None:
    with Lab("closing", nodes=1, transport="memory") as lab:
        lab.plugin(GPU, 2)
        lab.back()
        lab.kill_plugin(GPU)
        end, at = lab.state, lab.forked_at
    assert (lab.state, lab.forked_at) == (end, at)
    assert lab.run().forked_at == at


def test_s8_a_run_stays_as_it_is_when_its_lab_begins_anew(lab: Lab) -> None:
    run = lab.run()
    states = [run.state(step) for step in run.message_steps()]
    lab.reset()
    assert [run.state(step) for step in run.message_steps()] == states
    with pytest.raises(IndexError, match="expected a step from 0 to"):
        run.state(run.end + 1)


def test_n03_what_is_looked_at_is_one_step_for_all_who_listen(lab: Lab) -> None:
    seen: list[tuple[int, int]] = []
    lab.listen(lambda: seen.append((1, lab.position)))
    lab.listen(lambda: seen.append((2, lab.position)))
    lab.back()
    lab.set_health("d0", healthy=False)
    lab.back_to_live()
    assert seen[-1][1] == lab.position == len(lab.history) - 1
    assert {who for who, _ in seen} == {1, 2}
    assert [step for who, step in seen if who == 1][-1] == [step for who, step in seen if who == 2][-1]


def test_s1_a_cordon_at_the_moment_when_a_pod_is_pending_keeps_it_pending(lab: Lab) -> None:
    back_to(lab, "pod-pending")
    lab.cordon(lab.node().name)
    assert (lab.pod("two").node_name, lab.node().unschedulable) == ("", True)
    (said,) = [c.message for c in lab.pod("two").conditions]
    assert said.startswith("0/1 nodes are available: 1 node(s) were unschedulable.")


BEFORE_THE_TURN: dict[str, Callable[[Lab], object]] = {
    "taint": lambda lab: lab.taint("out:NoSchedule"),
    "health": lambda lab: lab.set_health("d1", healthy=False),
    "kill": lambda lab: lab.kill_plugin(GPU),
    "no node": lambda lab: lab.delete_node(lab.node().name),
    "another pod": lambda lab: lab.apply(pod("first", 2, f"nodeName: {lab.node().name}")),
}


@pytest.mark.parametrize("change", BEFORE_THE_TURN)
def test_s1_the_scheduler_hears_of_a_change_before_its_turn(lab: Lab, change: str) -> None:
    back_to(lab, "pod-pending")
    BEFORE_THE_TURN[change](lab)
    assert lab.pod("two").node_name == ""
    assert [c.reason for c in lab.pod("two").conditions] == ["Unschedulable"]


def test_s1_pods_of_the_future_are_not_there_and_the_clock_is_that_of_the_moment(lab: Lab) -> None:
    lab.apply(pod("later", 1))
    lab.advance(100)
    lab.apply(pod("last", 1))
    for step in lab.message_steps()[1:-1]:
        lab.seek(step)
        there, now = set(lab.state.store.pods), lab.state.now
        lab.uncordon(lab.node().name) if lab.state.store.nodes else lab.advance(0)
        assert set(lab.state.store.pods) <= there
        assert lab.state.now <= now + 1, "a pod in back-off may have waited"
        lab.back_to_live()
