"""The cycle with plugins of one's own, sampling, binding and what becomes of it."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from kubedev.api.objects import Pod
from kubedev.scheduler.cache.cache import Cache
from kubedev.scheduler.context import Context
from kubedev.scheduler.cycle import Decision, Outcome, schedule_one
from kubedev.scheduler.events import Bind, ClearNomination, DeleteVictim
from kubedev.scheduler.extension_points import EXTENSION_POINTS
from kubedev.scheduler.framework import Framework
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.default_plugins import default_framework
from kubedev.scheduler.preemption.preemption import DefaultPreemption, Preemption
from kubedev.scheduler.queue.queue_transitions import Place
from kubedev.scheduler.queue.queueing_hints import RegisteredEvent
from kubedev.scheduler.scheduler import SchedulerState, bind_finished, permit_finished, schedule_next, tick
from kubedev.scheduler.scores import Score
from kubedev.scheduler.snapshot import Snapshot
from kubedev.scheduler.status import SUCCESS, Code, Status
from tests.unit.scheduler_world import World, make_node, make_pod


@dataclass(frozen=True)
class OnlyQuietNodes:
    name: str = "OnlyQuietNodes"

    def filter(self, state: None, pod: Pod, node_info: NodeInfo) -> Status:
        if len(node_info.pods) < 1:
            return SUCCESS
        return Status(Code.UNSCHEDULABLE, ("node(s) were not quiet",))


@dataclass(frozen=True)
class LastName:
    """Scores the nodes by the number at the end of their names."""

    factor: int = 1
    name: str = "LastName"

    def score(self, state: None, pod: Pod, node_info: NodeInfo) -> Score:
        return Score(int(node_info.name[1:]) * self.factor)


@dataclass(frozen=True)
class Says:
    """Answers at one extension point, given by its method."""

    status: Status
    method: str
    name: str = "Says"

    def events_to_register(self) -> tuple[RegisteredEvent, ...]:
        return ()

    def __getattr__(self, method: str) -> Any:
        if method == self.method:
            return lambda pod, node_name: self.status
        raise AttributeError(method)


def cluster(*infos: NodeInfo, nominated: tuple[Pod, ...] = ()) -> Snapshot:
    return Snapshot.of(Context(infos), nominated)


def nodes(number: int) -> list[NodeInfo]:
    return [NodeInfo.of(make_node(f"n{i}")) for i in range(number)]


def world_with(framework: Framework, ttl: float = 0) -> World:
    state = SchedulerState(cache=Cache(ttl)).with_framework(framework)
    here = World(state)
    here.node(make_node("n0"))
    return here


def test_a_filter_of_ones_own_has_its_say_and_its_words() -> None:
    framework = default_framework().with_plugin(OnlyQuietNodes())
    busy = NodeInfo.of(make_node("a"), [replace(make_pod("q"), node_name="a")])
    decision = schedule_one(framework, make_pod("p", priority=-1), cluster(busy))
    assert decision.message.startswith("0/1 nodes are available: 1 node(s) were not quiet. preemption:")
    assert decision.unschedulable_plugins == ("OnlyQuietNodes",)
    answers = decision.answers("a")
    assert answers[-1].plugin == "OnlyQuietNodes"
    assert [one.status is not None and one.status.is_success for one in answers[:-1]] == [True] * 4


def test_filters_after_a_refusal_are_not_asked() -> None:
    decision = schedule_one(default_framework(), make_pod("p", cpu="64"), cluster(*nodes(1)))
    answers = {one.plugin: one.status for one in decision.answers("n0")}
    assert list(answers) == ["NodeUnschedulable", "NodeName", "TaintToleration", "NodeResourcesFit"]
    decision = schedule_one(
        default_framework(), make_pod("p", spec={"nodeName": "other"}), cluster(*nodes(1))
    )
    assert decision.answers("n0")[2].status is None


def test_a_score_of_ones_own_counts_with_its_weight() -> None:
    framework = default_framework().with_plugin(LastName(), weight=10)
    decision = schedule_one(framework, make_pod("p"), cluster(*nodes(3)))
    assert decision.node_name == "n2"
    assert decision.scores is not None
    mine = next(one for one in decision.scores.plugins if one.plugin == "LastName")
    assert mine.weighted("n2") == 20


def test_a_score_out_of_range_is_an_error() -> None:
    framework = default_framework().with_plugin(LastName(factor=101))
    decision = schedule_one(framework, make_pod("p"), cluster(*nodes(2)))
    assert decision.outcome is Outcome.ERROR
    assert 'plugin "LastName" returns an invalid score 101' in decision.message


def test_which_of_the_best_nodes_is_for_the_caller_to_choose() -> None:
    decision = schedule_one(default_framework(), make_pod("p"), cluster(*nodes(3)), choose=max)
    assert decision.scores is not None
    assert decision.scores.best() == ("n0", "n1", "n2")
    assert decision.node_name == "n2"


def test_only_so_many_nodes_are_looked_at_and_the_next_cycle_goes_on_there() -> None:
    snapshot = cluster(*nodes(300))
    first = schedule_one(default_framework(), make_pod("p"), snapshot)
    assert first.found is not None
    assert len(first.found.feasible) == 300 * (50 - 300 // 125) // 100
    second = schedule_one(default_framework(), make_pod("q"), snapshot, first.next_start)
    assert second.found is not None
    assert second.found.feasible[0].name == "n144"


def test_the_points_come_in_the_order_of_a_cycle() -> None:
    names = [point.name for point in EXTENSION_POINTS]
    assert names.index("PreFilter") < names.index("Filter") < names.index("PostFilter") < names.index("Score")
    assert names[-3:] == ["PreBind", "Bind", "PostBind"]


def test_a_plugin_that_is_never_asked_is_refused() -> None:
    @dataclass(frozen=True)
    class Misspelt:
        name: str = "Misspelt"

        def fliter(self, state: None, pod: Pod, node_info: NodeInfo) -> Status:
            return SUCCESS

    with pytest.raises(
        ValueError, match="Misspelt has no method that is ever called; it needs one of pre_enq"
    ):
        default_framework().with_plugin(Misspelt())


def test_an_unknown_plugin_cannot_be_taken_out() -> None:
    with pytest.raises(ValueError, match="no plugin 'NodeNmae' here, only SchedulingGates"):
        default_framework().without_plugin("NodeNmae")


def test_a_pod_fits_with_and_without_those_nominated_to_the_node() -> None:
    rival = replace(make_pod("rival", cpu="3", priority=10), nominated_node_name="n0")
    decision = schedule_one(
        default_framework(), make_pod("p", cpu="2", priority=10), cluster(*nodes(1), nominated=(rival,))
    )
    assert decision.found is not None
    check = decision.found.checks["n0"]
    assert (check.nominated, check.passes) == (("default/rival",), 1)
    assert check.status.reasons == ("Insufficient cpu",)


def test_a_failed_binding_gives_the_room_back() -> None:
    here = world_with(default_framework())
    here.bind_error = "the API server is away"
    here.pod(make_pod("p", cpu="4"))
    here.run()
    assert here.place("p") is Place.BACKOFF
    assert here.state.cache.nodes["n0"].requested.milli_cpu == 0
    here.bind_error = ""
    here.wait(1)
    assert here.pods["p"].node_name == "n0"
    assert here.state.cache.assumed == {}


def test_a_pod_nobody_confirms_expires_where_there_is_a_time_to_live() -> None:
    state = World(SchedulerState(cache=Cache(ttl=30)))
    state.node(make_node("n0"))
    state.pod(make_pod("p"))
    scheduler, _, (bind,) = schedule_next(state.state, 0)
    assert isinstance(bind, Bind)
    scheduler, _ = bind_finished(scheduler, bind.pod, bind.node_name, "", 5)
    assert scheduler.cache.assumed.keys() == {"default/p"}
    scheduler, _ = tick(scheduler, 35)
    assert scheduler.cache.assumed.keys() == {"default/p"}, "30 s after binding is not later than that"
    scheduler, _ = tick(scheduler, 36.5)
    assert scheduler.cache.pods == {}


@pytest.mark.parametrize("method", ["reserve", "permit", "pre_bind", "bind"])
def test_a_refusal_after_the_choice_gives_the_room_back(method: str) -> None:
    refusal = Status(Code.UNSCHEDULABLE, ("not this one",))
    here = world_with(default_framework().with_plugin(Says(refusal, method)))
    here.pod(make_pod("p"))
    here.run()
    assert here.place("p") is Place.UNSCHEDULABLE
    assert here.state.queue.unschedulable["default/p"].unschedulable_plugins == {"Says"}
    assert here.state.cache.pods == {}


def test_permit_may_ask_a_pod_to_wait() -> None:
    wait = Status(Code.WAIT)
    here = world_with(default_framework().with_plugin(Says(wait, "permit")))
    here.pod(make_pod("p", cpu="3"))
    here.pod(make_pod("q", cpu="3"))
    here.run()
    assert here.place("p") is Place.IN_FLIGHT, "it holds its room while it waits"
    assert here.place("q") is Place.UNSCHEDULABLE
    _, effects = permit_finished(here.state, "default/p", SUCCESS, 1)
    assert effects == (Bind(replace(here.pods["p"], node_name="n0"), "n0"),)
    here.finish("p")
    assert here.state.cache.pods == {}
    assert here.place("q") is Place.BACKOFF, "the room that p held may be what q needs"
    assert here.state.permit_waiting == ()


def failed(priority: int, *lower: Pod) -> tuple[Decision, tuple[object, ...]]:
    """A pod of this priority meets two full nodes; `lower` are nominated to n0."""
    here = World()
    for i in range(2):
        here.node(make_node(f"n{i}"))
        here.running(make_pod(f"low-{i}", cpu="4", priority=i), f"n{i}")
    for pod in lower:
        here.state = replace(here.state, queue=here.state.queue.nominate(pod, None))
    here.pod(make_pod("p", cpu="4", priority=priority))
    _, decision, effects = schedule_next(here.state, 0)
    assert decision is not None
    return decision, effects


def test_candidates_are_compared_until_one_is_left() -> None:
    decision, effects = failed(100)
    assert decision.post_filter is not None
    preemption = decision.post_filter.why
    assert isinstance(preemption, Preemption)
    assert [(one.criterion, one.left) for one in preemption.rounds] == [
        ("fewest broken disruption budgets", ("n0", "n1")),
        ("lowest highest priority", ("n0",)),
    ]
    victims = [one for one in effects if isinstance(one, DeleteVictim)]
    assert [one.pod.name for one in victims] == ["low-0"]
    assert victims[0].message == "default-scheduler: preempting to accommodate a higher priority pod"
    assert decision.message == "0/2 nodes are available: 2 Insufficient cpu."


def test_a_nomination_of_lower_priority_to_the_node_is_taken_back() -> None:
    lower = replace(make_pod("lower", priority=50), nominated_node_name="n0")
    _, effects = failed(100, lower)
    assert ClearNomination(lower) in effects


def test_no_victim_has_the_preemptors_priority() -> None:
    decision, effects = failed(0)
    assert decision.nominated_node_name == ""
    assert not [one for one in effects if isinstance(one, DeleteVictim)]


def test_in_a_large_cluster_a_part_of_the_nodes_is_tried() -> None:
    infos = []
    for i in range(30):
        node = make_node(f"n{i:02}")
        infos.append(NodeInfo.of(node, [replace(make_pod(f"low-{i}", cpu="4"), node_name=node.name)]))
    few = DefaultPreemption(min_candidate_nodes_absolute=2, offset=28)
    framework = default_framework().with_plugin(few)
    decision = schedule_one(framework, make_pod("p", cpu="4", priority=1), cluster(*infos))
    assert decision.post_filter is not None
    assert isinstance(decision.post_filter.why, Preemption)
    assert [one.node_name for one in decision.post_filter.why.trials] == ["n28", "n29", "n00"]
