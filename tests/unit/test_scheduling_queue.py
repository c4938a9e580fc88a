"""The scheduling queue, its table of moves, and the nominations."""

from dataclasses import replace

import pytest

from kubedev.api.objects import Pod
from kubedev.api.selectors import Toleration
from kubedev.scheduler.framework import events_of, may_refuse
from kubedev.scheduler.plugins.default_plugins import DEFAULT_PLUGINS, default_framework
from kubedev.scheduler.preemption.nominator import Nominator
from kubedev.scheduler.queue.cluster_events import ASSIGNED_POD_DELETE, NODE_ADD
from kubedev.scheduler.queue.queue import SchedulingQueue
from kubedev.scheduler.queue.queue_transitions import TRANSITIONS, Place, Trigger
from kubedev.scheduler.queue.queue_work import Work
from kubedev.scheduler.queue.queued_pod import InFlight, QueuedPod
from kubedev.scheduler.queue.queueing_hints import EVERY_EVENT
from tests.unit.scheduler_world import make_node, make_pod

KEY = "default/p"


def queue_with(*pods: Pod) -> SchedulingQueue:
    queue = SchedulingQueue(default_framework())
    for i, pod in enumerate(pods):
        queue = queue.add(pod, i)
    return queue


def refused(*plugins: str, pod: Pod | None = None) -> SchedulingQueue:
    """A queue whose only pod was refused by these plugins, at second 10, in its first attempt."""
    queue, popped = queue_with(pod or make_pod("p")).pop()
    assert popped is not None
    return queue.add_unschedulable(popped.pod.uid, plugins, (), 10)


def test_from_everywhere_a_pod_can_be_deleted_and_can_be_scheduled() -> None:
    reachable = {Place.ACTIVE}
    for _ in Place:
        reachable |= {source for (source, _), targets in TRANSITIONS.items() if targets & reachable}
    assert reachable == set(Place)
    waiting = set(Place) - {Place.OUTSIDE, Place.IN_FLIGHT}
    assert {source for source, trigger in TRANSITIONS if trigger is Trigger.POD_DELETED} == waiting


def test_only_popping_puts_a_pod_in_flight() -> None:
    into_flight = {trigger for (_, trigger), targets in TRANSITIONS.items() if Place.IN_FLIGHT in targets}
    assert into_flight == {Trigger.POPPED}


def test_a_move_that_is_not_in_the_table_is_refused() -> None:
    work = Work(queue_with(make_pod("p")), 0)
    with pytest.raises(RuntimeError, match="no such move: default/p"):
        work.move(QueuedPod(make_pod("p"), 0), Place.ACTIVE, Trigger.TIMEOUT, Place.BACKOFF)


def test_moves_tell_their_reason() -> None:
    queue = refused("NodeResourcesFit").without_moves()
    (move,) = queue.move_all(NODE_ADD, None, make_node("n"), 11).moves
    assert (move.pod, move.source, move.target) == (KEY, Place.UNSCHEDULABLE, Place.ACTIVE)
    assert move.why == "NodeAdd, NodeResourcesFit: n is new, and large enough"


@pytest.mark.parametrize(("at", "place"), [(10.5, Place.BACKOFF), (11, Place.ACTIVE)])
def test_back_off_counts_from_the_return(at: float, place: Place) -> None:
    queue = refused("NodeResourcesFit").move_all(NODE_ADD, None, make_node("n"), at)
    assert queue.place_of(KEY) is place


def test_back_off_doubles_up_to_ten_seconds() -> None:
    queue, now, waits = queue_with(make_pod("p")), 0.0, []
    for _ in range(6):
        queue, popped = queue.pop()
        assert popped is not None
        queue = queue.add_unschedulable(popped.pod.uid, (), (), now)
        until = queue.backoff_until(queue.backoff[KEY])
        waits.append(until - now)
        assert queue.flush_backoff(until - 0.001).active == {}
        now, queue = until, queue.flush_backoff(until)
    assert waits == [1, 2, 4, 8, 10, 10]


def test_a_gated_pod_waits_for_its_gates_only() -> None:
    gated = make_pod("p", spec={"schedulingGates": [{"name": "quota"}]})
    queue = queue_with(gated)
    (move,) = queue.moves
    assert (move.target, move.why) == (Place.GATED, "waiting for scheduling gates: [quota]")
    queue = queue.move_all(NODE_ADD, None, make_node("n"), 1).flush_unschedulable(1000)
    assert queue.activate([gated], 1001).place_of(KEY) is Place.GATED
    assert queue.update(gated, replace(gated, scheduling_gates=()), 1002).place_of(KEY) is Place.ACTIVE


def test_an_event_seen_in_flight_is_replayed() -> None:
    queue, popped = queue_with(make_pod("p")).pop()
    assert popped is not None
    queue = queue.move_all(ASSIGNED_POD_DELETE, replace(make_pod("q"), node_name="n"), None, 5)
    queue = queue.add_unschedulable(popped.pod.uid, ("NodeResourcesFit",), (), 10)
    assert queue.place_of(KEY) is Place.BACKOFF
    assert queue.moves[-1].why == "AssignedPodDelete, NodeResourcesFit: q left its node"
    assert queue.in_flight == ()


def test_events_are_kept_for_the_later_pods_in_flight() -> None:
    queue = queue_with(make_pod("p"), make_pod("q"))
    queue, first = queue.pop()
    queue = queue.move_all(NODE_ADD, None, make_node("n1"), 1)
    queue, second = queue.pop()
    queue = queue.move_all(NODE_ADD, None, make_node("n2"), 2)
    assert first is not None
    assert second is not None
    queue = queue.done(first.pod.uid)
    assert [entry.new for entry in queue.in_flight if entry.event] == [make_node("n2")]
    assert queue.done(second.pod.uid).in_flight == ()


def test_pending_plugins_are_helped_without_back_off() -> None:
    queue, popped = queue_with(make_pod("p")).pop()
    assert popped is not None
    queue = queue.add_unschedulable(popped.pod.uid, (), ("NodeResourcesFit",), 10)
    assert queue.move_all(NODE_ADD, None, make_node("n"), 10).place_of(KEY) is Place.ACTIVE


def test_a_pod_that_changes_in_two_ways_moves_once_for_the_better_one() -> None:
    """Labels do not help against taints, tolerations do."""
    pod = make_pod("p")
    changed = replace(pod, labels={"app": "web"}, tolerations=(Toleration("k", "Exists"),))
    queue = refused("TaintToleration", pod=pod).without_moves().update(pod, changed, 10)
    assert queue.place_of(KEY) is Place.BACKOFF
    assert queue.backoff[KEY].pod == changed
    assert [move.target for move in queue.moves] == [Place.BACKOFF]


def test_a_pod_deleted_in_flight_does_not_come_back() -> None:
    queue, popped = queue_with(make_pod("p")).pop()
    assert popped is not None
    queue = queue.delete(popped.pod)
    assert queue.place_of(KEY) is Place.IN_FLIGHT, "its attempt goes on"
    assert queue.add_unschedulable(popped.pod.uid, ("NodeName",), (), 1).place_of(KEY) is Place.OUTSIDE


def test_a_pod_changed_in_flight_comes_back_as_it_is_now() -> None:
    queue, popped = queue_with(make_pod("p")).pop()
    assert popped is not None
    changed = replace(popped.pod, labels={"app": "web"})
    queue = queue.update(popped.pod, changed, 1).add_unschedulable(popped.pod.uid, ("NodeName",), (), 2)
    assert queue.unschedulable[KEY].pod == changed


def test_a_pod_activated_in_flight_is_tried_again() -> None:
    queue, popped = queue_with(make_pod("p")).pop()
    assert popped is not None
    queue = queue.activate([popped.pod], 1).add_unschedulable(popped.pod.uid, ("NodeName",), (), 2)
    assert queue.place_of(KEY) is Place.BACKOFF


def test_the_same_uid_is_not_popped_twice() -> None:
    queue, popped = queue_with(make_pod("p")).pop()
    assert popped is not None
    queue, again = queue.add(popped.pod, 1).pop()
    assert again is None
    assert queue.in_flight == (InFlight(popped),)


def test_every_default_plugin_says_what_it_waits_for() -> None:
    refusing = [plugin for plugin in DEFAULT_PLUGINS if may_refuse(plugin)]
    assert [plugin.name for plugin in refusing if events_of(plugin) is EVERY_EVENT] == []


def test_an_update_that_does_not_speak_of_it_leaves_a_nomination() -> None:
    pod = make_pod("p")
    nominated = Nominator().add(pod, "n")
    assert nominated.update(pod, replace(pod, labels={"a": "b"})).node_of(pod.uid) == "n"
    told = replace(pod, nominated_node_name="m")
    moved = nominated.update(pod, told)
    assert moved.pods_for_node("m") == (told,)
    assert moved.update(told, pod).node_of(pod.uid) == ""


def test_pods_of_one_moment_are_scheduled_as_they_came() -> None:
    queue = queue_with()
    for name in ("second", "first", "third"):
        queue = queue.add(make_pod(name), 5.0)
    names = []
    for _ in range(3):
        queue, popped = queue.pop()
        assert popped is not None
        names.append(popped.pod.name)
    assert names == ["second", "first", "third"]
