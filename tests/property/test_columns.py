"""The scheduler over columns answers as the readable way does: clusters made at random, walks, and all vectors."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kubedev.api.objects import Node, Pod
from kubedev.api.pod_groups import Namespace, Service
from kubedev.api.selectors import NodeAffinity as NodeAffinityRules
from kubedev.api.selectors import NodeSelectorRequirement, NodeSelectorTerm
from kubedev.cluster.serialise import decode, encode
from kubedev.scheduler.columns.scores import SCORES
from kubedev.scheduler.columns.table import Table
from kubedev.scheduler.context import Context
from kubedev.scheduler.cycle import schedule_one
from kubedev.scheduler.framework import Framework
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.default_plugins import DEFAULT_PLUGINS, default_framework
from kubedev.scheduler.plugins.node_affinity import NodeAffinity
from kubedev.scheduler.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from kubedev.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kubedev.scheduler.plugins.resource_scores import ResourceSpec, Strategy, UtilizationPoint
from kubedev.scheduler.plugins.topology.inter_pod_affinity import InterPodAffinity
from kubedev.scheduler.plugins.topology.pod_topology_spread import PodTopologySpread
from kubedev.scheduler.queue.queue import SchedulingQueue
from kubedev.scheduler.scheduler import SchedulerState
from kubedev.scheduler.scores import Score
from kubedev.scheduler.scoring import ScoreError
from kubedev.scheduler.snapshot import Snapshot
from kubedev.scheduler.status import SUCCESS, Code, Status
from tests.both_ways import BothWays, both_ways
from tests.property.test_scheduler_machine import SchedulerMachine
from tests.unit.scheduler_world import World, make_node, make_pod
from tests.vectors import runner
from tests.vectors.families import _plugins, score_resources

GPU, HOST, ZONE, RACK = "nvidia.com/gpu", "kubernetes.io/hostname", "topology.kubernetes.io/zone", "rack"
KEYS = st.sampled_from([HOST, ZONE, ZONE, RACK])
APPS = st.sampled_from(["a", "b", "c"])

# Clusters at random


def few(strategy: Any, most: int = 2) -> Any:
    return st.lists(strategy, max_size=most)


def usually(value: Any, other: Any) -> Any:
    return st.one_of(st.just(value), st.just(value), st.just(value), other)


taints = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["dedicated", "spot"]),
        "value": st.sampled_from(["", "x"]),
        "effect": st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
    }
)
tolerations = st.fixed_dictionaries(
    {"operator": st.sampled_from(["Exists", "Equal"])},
    optional={
        "key": st.sampled_from(["dedicated", "spot", "node.kubernetes.io/unschedulable"]),
        "value": st.just("x"),
        "effect": st.sampled_from(["NoSchedule", "PreferNoSchedule"]),
    },
)
quantities = st.fixed_dictionaries(
    {"cpu": st.sampled_from(["1", "2", "4500m"]), "memory": st.sampled_from(["1Gi", "8Gi", "0"])},
    optional={
        GPU: st.sampled_from(["0", "1", "4"]),
        "ephemeral-storage": st.sampled_from(["0", "10Gi"]),
        "hugepages-2Mi": st.just("64Mi"),
    },
).flatmap(lambda given: st.sampled_from(["0", "2", "110"]).map(lambda pods: given | {"pods": pods}))
requests = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.sampled_from(["0", "100m", "333m", "1"]),
        "memory": st.sampled_from(["100Mi", "777Mi", "2Gi"]),
        GPU: st.sampled_from(["0", "1", "2"]),
        "ephemeral-storage": st.just("3Gi"),
        "hugepages-2Mi": st.just("2Mi"),
    },
)
images = st.lists(
    st.builds(
        lambda name, size: {"names": [f"{name}:latest"], "sizeBytes": size * 1024 * 1024},
        st.sampled_from(["small", "large"]),
        st.sampled_from([10, 100, 900]),
    ),
    max_size=2,
    unique_by=lambda image: image["names"][0],
)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    labels = {HOST: name, ZONE: draw(st.sampled_from(["z1", "z2", "z3"])), RACK: draw(APPS)}
    for key in draw(usually([], few(st.sampled_from([HOST, ZONE, RACK])))):
        labels.pop(key, None)
    return Node.parse(
        {
            "metadata": {"name": name, "labels": labels},
            "spec": {
                "taints": draw(usually([], few(taints))),
                "unschedulable": draw(usually(False, st.just(True))),
            },
            "status": {"allocatable": draw(quantities), "images": draw(usually([], images))},
        }
    )


selectors = st.sampled_from(
    [
        {"matchLabels": {"app": "a"}},
        {"matchLabels": {"app": "b"}},
        {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]},
        {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
        {},
        None,
    ]
)
terms = st.fixed_dictionaries(
    {"topologyKey": KEYS, "labelSelector": selectors},
    optional={
        "namespaceSelector": st.sampled_from([{}, {"matchLabels": {"team": "x"}}]),
        "namespaces": st.just(["other"]),
    },
)
preferred = st.fixed_dictionaries({"weight": st.sampled_from([1, 50, 100]), "podAffinityTerm": terms})
rules = st.fixed_dictionaries(
    {},
    optional={
        "requiredDuringSchedulingIgnoredDuringExecution": few(terms),
        "preferredDuringSchedulingIgnoredDuringExecution": few(preferred),
    },
)
node_terms = st.sampled_from(
    [
        {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z1", "z2"]}]},
        {"matchExpressions": [{"key": RACK, "operator": "NotIn", "values": ["a"]}]},
        {
            "matchExpressions": [
                {"key": ZONE, "operator": "Exists"},
                {"key": RACK, "operator": "In", "values": ["b"]},
            ]
        },
        {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
        {"matchExpressions": [{"key": "?", "operator": "In", "values": ["b"]}]},
    ]
)
node_rules = st.fixed_dictionaries(
    {},
    optional={
        "requiredDuringSchedulingIgnoredDuringExecution": st.lists(node_terms, min_size=1, max_size=2).map(
            lambda given: {"nodeSelectorTerms": given}
        ),
        "preferredDuringSchedulingIgnoredDuringExecution": few(
            st.fixed_dictionaries({"weight": st.sampled_from([1, 30]), "preference": node_terms})
        ),
    },
)
spreads = st.fixed_dictionaries(
    {
        "maxSkew": st.sampled_from([1, 1, 2]),
        "topologyKey": KEYS,
        "whenUnsatisfiable": st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
        "labelSelector": selectors,
    },
    optional={
        "minDomains": st.sampled_from([2, 4]),
        "nodeAffinityPolicy": st.sampled_from(["Honor", "Ignore"]),
        "nodeTaintsPolicy": st.sampled_from(["Honor", "Ignore"]),
        "matchLabelKeys": st.just(["app"]),
    },
)


@st.composite
def pods(draw: st.DrawFn, name: str, plain: bool = False) -> Pod:
    container: dict[str, Any] = {
        "name": "c",
        "image": draw(st.sampled_from(["small", "large", "other"])),
        "resources": {"requests": draw(requests)},
    }
    if draw(usually(False, st.just(True))):
        container["ports"] = [{"containerPort": 80, "hostPort": draw(st.sampled_from([80, 81]))}]
    spec: dict[str, Any] = {"containers": [container], "priority": draw(st.sampled_from([0, 0, 5, 10]))}
    if not plain:
        spec["tolerations"] = draw(usually([], few(tolerations)))
        spec["nodeSelector"] = draw(usually(None, st.sampled_from([{}, {ZONE: "z1"}])))
        spec["topologySpreadConstraints"] = draw(st.one_of(st.just([]), few(spreads, 3)))
        spec["affinity"] = draw(
            usually(
                {},
                st.fixed_dictionaries(
                    {}, optional={"nodeAffinity": node_rules, "podAffinity": rules, "podAntiAffinity": rules}
                ),
            )
        )
    namespace = draw(usually("default", st.just("other")))
    return Pod.parse(
        {"metadata": {"name": name, "namespace": namespace, "labels": {"app": draw(APPS)}}, "spec": spec}
    )


@dataclass(frozen=True)
class Picky:
    """A plugin of one's own: columns know nothing of it."""

    refuses: str = "1"
    name: str = "Picky"

    def filter(self, state: object, pod: Pod, node_info: NodeInfo) -> Status:
        if self.refuses in node_info.name:
            return Status(Code.UNSCHEDULABLE, (f"{len(node_info.pods)} pods are enough",), self.name)
        return SUCCESS

    def score(self, state: object, pod: Pod, node_info: NodeInfo) -> Score:
        return Score(len(node_info.name) * 7 % 100)


def in_other_order(framework: Framework) -> Framework:
    """The plugin that columns do not know comes first."""
    return replace(framework, plugins=(Picky("2"), *framework.plugins))


SHAPE = (UtilizationPoint(0, 0), UtilizationPoint(40, 7), UtilizationPoint(100, 2))
SCORED = (
    ResourceSpec("cpu", 3),
    ResourceSpec("memory", 1),
    ResourceSpec(GPU, 5),
    ResourceSpec("ephemeral-storage", 2),
)
FRAMEWORKS = (
    default_framework(100),
    default_framework(0),
    default_framework(50).with_plugin(Picky()),
    in_other_order(default_framework(30)),
    default_framework(100).with_plugin(NodeResourcesFit(Strategy.MOST_ALLOCATED, SCORED)),
    default_framework(100)
    .with_plugin(NodeResourcesFit(Strategy.REQUESTED_TO_CAPACITY_RATIO, SCORED, SHAPE))
    .with_plugin(NodeResourcesBalancedAllocation(SCORED)),
    default_framework(100)
    .with_plugin(NodeResourcesFit(ignored_resources=frozenset({GPU})))
    .with_plugin(InterPodAffinity(0, ignore_preferred_terms_of_existing_pods=True))
    .with_plugin(PodTopologySpread((), system_defaulted=False))
    .with_plugin(
        NodeAffinity.with_added_affinity(
            NodeAffinityRules((NodeSelectorTerm((NodeSelectorRequirement(ZONE, "In", ("z1", "z3")),)),))
        )
    ),
    replace(
        default_framework(100),
        order={"pre_filter": ("NodeAffinity", "NodeResourcesFit", "NodePorts"), "pre_score": ()},
    ),
    Framework(tuple(one for one in DEFAULT_PLUGINS if not hasattr(one, "score"))),
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.sampled_from(FRAMEWORKS), st.integers(2, 9), st.integers(0, 100))
def test_a_cluster_at_random_is_decided_the_same_over_columns(
    data: st.DataObject, framework: Framework, size: int, start: int
) -> None:
    world = World(SchedulerState(SchedulingQueue(framework), next_start_node_index=start))
    world.tell(Namespace("default", {"team": "y"}), None)
    world.tell(Namespace("other", {"team": "x"}), None)
    world.tell(Service("s", selector={"app": "c"}), None)
    for i in range(size):
        world.node(data.draw(nodes(f"n{i}")))
    for i in range(data.draw(st.integers(0, 6))):
        world.running(data.draw(pods(f"old{i}", plain=bool(i % 2))), f"n{i % size}")
    with both_ways():
        for i in range(data.draw(st.integers(1, 6))):
            world.pod(data.draw(pods(f"p{i}")))
            world.wait(1)
            what = data.draw(st.sampled_from(["", "", "node", "gone", "more"]))
            if what == "node":
                world.node(data.draw(nodes("n1")))
            elif what == "gone" and world.pods:
                world.finish(data.draw(st.sampled_from(sorted(world.pods))))
            elif what == "more":
                world.node(data.draw(nodes(f"m{i}")))


def related(name: str, app: str, strength: str, kind: str, key: str) -> Pod:
    """A pod that wants to be near those of its application, or far from them, or evenly spread with them."""
    selector = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
    if kind == "spread":
        action = "DoNotSchedule" if strength == "required" else "ScheduleAnyway"
        spec["topologySpreadConstraints"] = [{"maxSkew": 1, "whenUnsatisfiable": action} | selector]
    else:
        rule = selector if strength == "required" else {"weight": 7, "podAffinityTerm": selector}
        spec["affinity"] = {kind: {f"{strength}DuringSchedulingIgnoredDuringExecution": [rule]}}
    return Pod.parse({"metadata": {"name": name, "labels": {"app": app}}, "spec": spec})


relations = st.tuples(
    APPS,
    st.sampled_from(["required", "preferred"]),
    st.sampled_from(["podAffinity", "podAntiAffinity", "spread"]),
    KEYS,
)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(relations, st.integers(0, 9)), min_size=4, max_size=14))
def test_pods_that_look_at_one_another_come_and_go_the_same_over_columns(
    ops: list[tuple[tuple[str, str, str, str], int]],
) -> None:
    world = World(SchedulerState(SchedulingQueue(default_framework(100))))
    for i in range(5):
        labels = {ZONE: f"z{i % 2}"} | ({RACK: f"r{i % 3}"} if i else {})
        world.node(make_node(f"n{i}", labels=labels))
    with both_ways():
        for i, (relation, number) in enumerate(ops):
            world.pod(related(f"p{i}", *relation))
            world.wait(1)
            if number < 5 and len(world.pods) > 2:
                world.finish(sorted(world.pods)[number % len(world.pods)])
                world.wait(1)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.integers(0, 200),
    st.sampled_from([0, 5, 90]),
    st.sets(st.integers(0, 129), min_size=1, max_size=28),
    st.sampled_from([DEFAULT_PLUGINS, (*DEFAULT_PLUGINS, Picky())]),
    st.sampled_from([min, max]),
)
@example(0, 5, {129}, DEFAULT_PLUGINS, max)
def test_where_enough_nodes_fit_both_ways_look_at_the_same_ones(
    start: int, percentage: int, full: set[int], plugins: tuple[Any, ...], which: Callable[[set[int]], int]
) -> None:
    nominated = which(full)
    infos = [
        NodeInfo.of(make_node(f"n{i}", cpu="1" if i in full else "4", labels={ZONE: f"z{i % 3}"}))
        for i in range(130)
    ]
    rival = replace(make_pod("rival", cpu="3", priority=9), nominated_node_name="n7", uid="rival")
    framework = Framework(plugins, percentage_of_nodes_to_score=percentage)
    with both_ways():
        for pod in (
            make_pod("p", cpu="2"),
            replace(make_pod("p", cpu="2"), nominated_node_name=f"n{nominated}"),
            replace(make_pod("p", cpu="100m"), nominated_node_name=f"n{nominated}"),
        ):
            for nominations in ([], [rival]):
                schedule_one(framework, pod, Snapshot.of(Context(tuple(infos)), nominations), start)


class BothWaysMachine(SchedulerMachine):
    """The walk of the scheduler, with every decision made both ways."""

    def __init__(self) -> None:
        super().__init__()
        self.both = both_ways()
        self.both.__enter__()

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            self.both.__exit__(None, None, None)


BothWaysMachine.TestCase.settings = settings(
    max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestWalk = BothWaysMachine.TestCase


# All vectors


def filtered_both_ways(
    alone: Callable[[Any, dict[str, Any]], dict[str, Any]], plugin: Any, case_in: dict[str, Any]
) -> dict[str, Any]:
    """A case of a filter or a score, compared both ways in a profile of the plugin alone."""
    context = _plugins.context_of(case_in)
    way = BothWays(Framework((plugin,)), Pod.parse(case_in["pod"]), Snapshot.of(context))
    found, _ = way.find(0)
    if len(found.feasible) > 1 and hasattr(plugin, "score"):
        with suppress(ScoreError):  # compared as well
            way.prioritize(found)
    return alone(plugin, case_in)


def family(name: str) -> Any:
    absent = not (runner.HERE / f"{name}.json").is_file()
    return pytest.param(name, marks=pytest.mark.skipif(absent, reason="the recorded vectors are not here"))


@pytest.mark.parametrize("name", [family("schedule_one"), family("preemption")])
def test_vectors_of_cycles_agree_both_ways(name: str) -> None:
    before = BothWays.compared
    with both_ways():
        result = runner.run(runner.HERE / f"{name}.json", name)
    assert result.differences == []
    assert BothWays.compared - before >= result.total - 1  # one has no node at all


@pytest.mark.parametrize(
    "name",
    [
        family(name)
        for name in (
            "filters",
            "topology_spread_filter",
            "inter_pod_affinity_filter",
            "scores_other",
        )
    ],
)
def test_vectors_of_plugins_agree_both_ways(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = __import__(f"tests.vectors.families.{name}", fromlist=["answer"])
    for function in ("run_filter", "run_score"):
        if hasattr(module, function):
            monkeypatch.setattr(module, function, partial(filtered_both_ways, getattr(_plugins, function)))
    before = BothWays.compared
    result = runner.run(runner.HERE / f"{name}.json", name)
    assert result.differences == []
    assert BothWays.compared - before == result.total


@pytest.mark.parametrize("name", [family("score_resources")])
def test_vectors_of_resource_scores_agree_over_columns(name: str) -> None:
    cases = json.loads((runner.HERE / f"{name}.json").read_text("utf-8"))["cases"]
    for case in cases:
        plugin, pod = score_resources.plugin_of(case["in"]), Pod.parse(case["in"]["pod"])
        info = NodeInfo.of(Node.parse(case["in"]["node"]), map(Pod.parse, case["in"].get("pods", ())))
        state, _ = plugin.pre_score(pod, (info,), Context((info,)))
        scored = SCORES[type(plugin)](Table(("n",), (info,)), plugin, state, pod, np.arange(1))
        if scored is None:
            assert min(q.value() for q in info.node.allocatable.values()) < 0, (
                "only then the readable way is asked"
            )
        else:
            assert int(scored[0][0]) == case["out"]["score"], case["name"]


def test_a_decision_over_columns_is_written_and_read_as_any_other() -> None:
    infos = tuple(NodeInfo.of(Node.parse({"metadata": {"name": f"n{i}"}})) for i in range(20))
    decision = schedule_one(default_framework(100), Pod("p"), Snapshot.of(Context(infos)))
    assert decision.found is not None
    again = decode(encode(replace(decision.found.statuses.absent, why=())))
    assert again == replace(decision.found.statuses.absent, why=())
    assert decode(encode(decision.found.statuses)) == decision.found.statuses
    assert decode(encode(decision.found.checks)) == decision.found.checks
