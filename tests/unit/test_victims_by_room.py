"""The victim search with sums alone finds what the search with whole copies of nodes finds."""

from dataclasses import replace
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubedev.api.objects import Pod
from kubedev.api.pod_groups import PodDisruptionBudget
from kubedev.api.selectors import LabelSelector, Taint
from kubedev.scheduler.context import Context
from kubedev.scheduler.cycle import schedule_one
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.default_plugins import default_framework
from kubedev.scheduler.preemption import by_room
from kubedev.scheduler.preemption.preemption import Preemption
from kubedev.scheduler.snapshot import Snapshot
from tests.unit.scheduler_world import make_node, make_pod

some_pods = st.lists(
    st.tuples(
        st.sampled_from(["0", "500m", "1", "2"]), st.integers(0, 6), st.sampled_from("abc"), st.integers(0, 3)
    ),
    max_size=6,
)
BUDGET = PodDisruptionBudget("one", selector=LabelSelector({"app": "a"}), disruptions_allowed=1)


def placed(name: str, node: str, cpu: str, priority: int, app: str, started: int) -> Pod:
    pod = make_pod(name, cpu=cpu, priority=priority, labels={"app": app}, gpu="1" if app == "c" else "0")
    return replace(pod, uid=name, node_name=node, start_time=float(started))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(some_pods, min_size=1, max_size=4),
    st.sampled_from(["1", "3", "5"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["0", "2"]),
)
def test_the_search_with_sums_finds_the_same(
    on_nodes: list[list[tuple[Any, ...]]], cpu: str, tainted: bool, rival: bool, gpu: str
) -> None:
    infos = []
    for i, pods in enumerate(on_nodes):
        node = make_node(f"n{i}", gpu="2", pods="5")
        node = replace(node, taints=(Taint("t", "", "NoSchedule"),)) if tainted and i == 0 else node
        infos.append(NodeInfo.of(node, [placed(f"p{i}-{j}", f"n{i}", *one) for j, one in enumerate(pods)]))
    nominated = [replace(make_pod("rival", cpu="1", priority=9), nominated_node_name="n0")] if rival else []
    snapshot = Snapshot.of(Context(tuple(infos)), nominated, [BUDGET])
    preemptor = make_pod("preemptor", cpu=cpu, priority=5, gpu=gpu)
    quick = schedule_one(default_framework(100), preemptor, snapshot)
    with patch.object(by_room, "asked_for", lambda of_checker: None):
        by_copies = schedule_one(default_framework(100), preemptor, snapshot)
    assert quick == by_copies
    if quick.post_filter is not None:
        assert isinstance(quick.post_filter.why, Preemption)
