"""Reported problems of queue, preemption and scheduling, each reproduced."""

from dataclasses import replace

from kubedev.api.pod_groups import PodDisruptionBudget
from kubedev.api.selectors import LabelSelector, Taint
from kubedev.scheduler.preemption.preemption import Preemption
from kubedev.scheduler.queue.queue_transitions import Place
from tests.unit.scheduler_world import World, make_node, make_pod

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"


def world(*nodes: object) -> World:
    made = World()
    for node in nodes:
        made.node(node)  # type: ignore[arg-type]
    return made


def test_b52_the_same_words_for_three_causes() -> None:
    """No key, a count of 0, and all in use are one reason; a taint is another."""
    here = world(
        make_node("a"),
        make_node("b", gpu="0"),
        make_node("c", gpu="1"),
        replace(make_node("d", gpu="1"), taints=(Taint("nvidia.com/gpu", "", "NoSchedule"),)),
    )
    here.running(make_pod("other", gpu="1"), "c")
    here.pod(make_pod("p", gpu="1"))
    here.run()
    assert here.messages["p"] == (
        "0/4 nodes are available: 1 node(s) had untolerated taint {nvidia.com/gpu: }, "
        f"3 Insufficient nvidia.com/gpu. preemption: 0/4 nodes are available: 1 {NOT_HELPFUL}, 3 {NO_VICTIMS}."
    )
    here.pod(make_pod("none", spec={"tolerations": [{"operator": "Exists"}]}))
    (decision,) = here.run()
    assert decision.found is not None
    assert len(decision.found.feasible) == 4


def test_b53_preemption_cannot_make_a_node_larger() -> None:
    """A request above allocatable evicts nobody; where there were victims, the filter's own reason returns."""
    here = world(make_node("a", gpu="4"), make_node("b", gpu="4"))
    for node in ("a", "b"):
        here.running(make_pod(f"low-{node}", gpu="4"), node)
    here.pod(make_pod("big", gpu="8", priority=1000))
    here.run()
    assert here.messages["big"] == (
        "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. "
        "preemption: 0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    )
    assert all(pod.deletion_timestamp is None for pod in here.pods.values())


def test_b53_without_lower_pods_there_are_no_victims() -> None:
    here = world(make_node("a", gpu="4"), make_node("b", gpu="4"))
    here.pod(make_pod("big", gpu="8", priority=1000))
    here.run()
    assert here.messages["big"].endswith(f"preemption: 0/2 nodes are available: 2 {NO_VICTIMS}.")


def test_b54_the_preemptor_waits_until_its_victim_is_gone() -> None:
    """Nominated at once; tried again while the victim ends, it is told to wait; bound when the victim is gone."""
    here = world(make_node("n", cpu="5"))
    here.running(make_pod("low", cpu="4"), "n")
    here.running(make_pod("precious", cpu="1", priority=2_000_000), "n")
    here.pod(make_pod("high", cpu="4", priority=1_000_000))
    here.run()
    assert here.pods["high"].nominated_node_name == "n"
    assert here.pods["low"].deletion_timestamp is not None
    assert here.place("high") is Place.UNSCHEDULABLE
    here.finish("precious")
    here.wait(2)
    assert here.messages["high"] == (
        "0/1 nodes are available: 1 Insufficient cpu. "
        "preemption: not eligible due to a terminating pod on the nominated node."
    )
    assert here.pods["high"].nominated_node_name == "n"
    here.finish("low")
    decisions = here.wait(10)
    assert [one.node_name for one in decisions] == ["n"]
    assert here.pods["high"].node_name == "n"


def nominated_to_a() -> World:
    """Two full nodes; the pod of high priority has preempted the low one on `a`, which is still terminating."""
    here = world(make_node("a"), make_node("b"))
    here.running(make_pod("low", cpu="4", priority=1), "a")
    here.running(make_pod("mid", cpu="4", priority=5), "b")
    here.pod(make_pod("high", cpu="4", priority=100))
    here.run()
    assert here.pods["high"].nominated_node_name == "a"
    return here


def test_b56_a_nominated_node_that_breaks_lets_the_pod_preempt_elsewhere() -> None:
    here = nominated_to_a()
    taint = Taint("node.kubernetes.io/not-ready", "", "NoSchedule")
    here.node(replace(here.nodes["a"], taints=(taint,)))
    decisions = here.wait(2)
    assert [one.nominated_node_name for one in decisions] == ["b"]
    assert here.pods["mid"].deletion_timestamp is not None
    here.finish("mid")
    here.wait(10)
    assert here.pods["high"].node_name == "b"


def test_b56_a_victim_that_hangs_on_a_sound_node_is_waited_for() -> None:
    here = nominated_to_a()
    decisions = here.wait(700)
    assert len(decisions) >= 1, "the flush after five minutes has the pod tried again"
    assert here.messages["high"].endswith("not eligible due to a terminating pod on the nominated node.")
    assert here.pods["mid"].deletion_timestamp is None


def zookeeper(here: World, node: str) -> None:
    """Three pods of which at most one may be disrupted."""
    labels = {"app": "zk"}
    for i in range(3):
        here.running(make_pod(f"zk-{i}", labels=labels), node, start_time=i)
    here.budget(PodDisruptionBudget("zk", "default", LabelSelector(labels), disruptions_allowed=1))


def test_b57_preemption_breaks_a_budget_if_nothing_else_is_left() -> None:
    """The pod that is spared is one of those whose budget would be broken: they are given back first."""
    here = world(make_node("only", cpu="3"))
    zookeeper(here, "only")
    here.pod(make_pod("high", cpu="2", priority=100))
    (decision,) = here.run()
    assert decision.post_filter is not None
    preemption = decision.post_filter.why
    assert isinstance(preemption, Preemption)
    (trial,) = preemption.trials
    assert [one.pod.name for one in trial.reprieves] == ["zk-1", "zk-2", "zk-0"]
    assert [one.violates_budget for one in trial.reprieves] == [True, True, False]
    assert sorted(pod.name for pod in preemption.victims) == ["zk-0", "zk-2"]
    assert trial.num_pdb_violations == 1


def test_b57_a_node_without_broken_budgets_is_preferred() -> None:
    here = world(make_node("only", cpu="3"), make_node("other", cpu="3"))
    zookeeper(here, "only")
    for i in range(3):
        here.running(make_pod(f"plain-{i}", priority=50), "other")
    here.pod(make_pod("high", cpu="2", priority=100))
    (decision,) = here.run()
    assert decision.nominated_node_name == "other"
    assert isinstance(decision.post_filter and decision.post_filter.why, Preemption)
    assert decision.post_filter.why.rounds[0].values == {"only": 1, "other": 0}  # type: ignore[union-attr]


def waiting_for_a_gpu() -> World:
    here = world(make_node("n"))
    here.running(make_pod("neighbour"), "n")
    here.pod(make_pod("p", gpu="1"))
    here.run()
    assert here.place("p") is Place.UNSCHEDULABLE
    return here


def test_b63_devices_appear_and_the_pod_moves() -> None:
    here = waiting_for_a_gpu()
    here.node(make_node("n", gpu="1"))
    assert here.place("p") is Place.BACKOFF, "its back-off of one second is not over"
    assert [one.node_name for one in here.wait(1)] == ["n"]


def test_b63_an_unrelated_label_moves_nothing() -> None:
    here = waiting_for_a_gpu()
    here.node(make_node("n", labels={"colour": "blue"}))
    assert here.place("p") is Place.UNSCHEDULABLE


def test_b63_more_of_something_else_moves_nothing() -> None:
    here = waiting_for_a_gpu()
    here.node(make_node("n", cpu="64"))
    assert here.place("p") is Place.UNSCHEDULABLE


def test_b63_any_bound_pod_that_ends_moves_it() -> None:
    here = waiting_for_a_gpu()
    here.wait(5)
    here.finish("neighbour")
    assert here.place("p") is Place.ACTIVE, "its back-off was over long ago"
    here.run()
    assert here.place("p") is Place.UNSCHEDULABLE


def test_b63_a_new_node_too_small_even_when_empty_moves_nothing() -> None:
    here = waiting_for_a_gpu()
    here.node(make_node("small", cpu="500m", gpu="1"))
    assert here.place("p") is Place.UNSCHEDULABLE


def test_b63_after_five_minutes_it_is_tried_anyway() -> None:
    here = waiting_for_a_gpu()
    assert here.wait(300) == []
    tried = here.wait(31)
    assert [one.pod.name for one in tried] == ["p"]
    assert here.place("p") is Place.UNSCHEDULABLE
