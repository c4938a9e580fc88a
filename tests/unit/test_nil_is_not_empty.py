"""What is empty and what is not there differ wherever Go looks at nil, and nowhere else."""

from typing import Any

import pytest

from kubedev.api.defaults import default_node, default_pod
from kubedev.api.fields import Fields
from kubedev.api.objects import Node, Pod
from kubedev.api.pod_groups import PodDisruptionBudget
from kubedev.api.selectors import REQUIRED
from kubedev.api.selectors import NodeAffinity as NodeAffinityRules
from kubedev.scheduler.context import Context
from kubedev.scheduler.plugins.node_affinity import NodeAffinity
from kubedev.scheduler.plugins.topology.pod_affinity_terms import parse_affinity_terms
from kubedev.scheduler.preemption.victims import covers
from kubedev.scheduler.status import Code
from tests.unit.cluster import a_node, a_pod

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TERM = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({}, Code.SKIP),
        ({"nodeSelector": None}, Code.SKIP),
        ({"nodeSelector": {}}, Code.SUCCESS),
        ({"nodeSelector": {"a": "b"}}, Code.SUCCESS),
        ({"affinity": {}}, Code.SKIP),
        ({"affinity": {"nodeAffinity": {}}}, Code.SKIP),
        ({"affinity": {"nodeAffinity": {REQUIRED: None}}}, Code.SKIP),
        ({"affinity": {"nodeAffinity": {REQUIRED: {}}}}, Code.SUCCESS),
        ({"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}}, Code.SUCCESS),
    ],
)
def test_n38_an_empty_node_selector_is_not_an_absent_one(spec: dict[str, Any], code: Code) -> None:
    nodes = [a_node("n1")]
    assert NodeAffinity().pre_filter(a_pod(**spec), nodes, Context(nodes))[1].code is code


@pytest.mark.parametrize(
    ("affinity", "added", "code"),
    [
        (None, [], Code.SKIP),
        ({}, [], Code.SKIP),
        ({PREFERRED: None}, [], Code.SKIP),
        ({PREFERRED: []}, [], Code.SUCCESS),
        ({PREFERRED: [{"weight": 1, "preference": TERM}]}, [], Code.SUCCESS),
        (None, [{"weight": 1, "preference": {}}], Code.SUCCESS),
    ],
)
def test_n38_an_empty_list_of_preferences_is_scored(affinity: Any, added: list[Any], code: Code) -> None:
    nodes = [a_node("n1")]
    plugin = NodeAffinity.with_added_affinity(NodeAffinityRules.read(Fields.of({PREFERRED: added})))
    pod = a_pod(affinity={"nodeAffinity": affinity})
    state, status = plugin.pre_score(pod, nodes, Context(nodes))
    assert status.code is code
    if not status.is_skip:
        assert plugin.score(state, pod, nodes[0]).value == 0


@pytest.mark.parametrize(("selector", "namespaces"), [(None, {"default"}), ({}, set())])
def test_n38_a_namespace_selector_that_is_empty_means_all_namespaces(
    selector: dict[str, Any] | None, namespaces: set[str]
) -> None:
    term = {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": selector}
    (read,) = parse_affinity_terms(a_pod(affinity={"podAffinity": {REQUIRED: [term]}})).required_affinity
    assert read.namespaces == namespaces
    assert read.matches(Pod("q", "elsewhere")) is (selector is not None)


@pytest.mark.parametrize(("selector", "matches"), [(None, False), ({}, True)])
def test_n38_a_label_selector_that_is_not_there_matches_nothing(selector: Any, matches: bool) -> None:
    term = {"topologyKey": "zone", "labelSelector": selector}
    (read,) = parse_affinity_terms(
        a_pod(affinity={"podAntiAffinity": {REQUIRED: [term]}})
    ).required_anti_affinity
    assert read.matches(a_pod("q")) is matches


@pytest.mark.parametrize("selector", [None, {}])
def test_n38_a_budget_without_or_with_an_empty_selector_covers_nothing(selector: Any) -> None:
    budget = PodDisruptionBudget.parse({"metadata": {"name": "b"}, "spec": {"selector": selector}})
    assert not covers(budget, a_pod("q", labels={"a": "b"}))


@pytest.mark.parametrize(
    ("status", "cpus"), [({}, "4"), ({"allocatable": None}, "4"), ({"allocatable": {}}, None)]
)
def test_n38_an_allocatable_list_that_is_empty_gives_nothing(
    status: dict[str, Any], cpus: str | None
) -> None:
    node = default_node(
        Node.parse({"metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "4"}, **status}})
    )
    assert (str(node.allocatable["cpu"]) if node.allocatable else None) == cpus


@pytest.mark.parametrize(("seconds", "read"), [(None, None), (0, 0)])
def test_n38_toleration_seconds_of_0_are_not_for_ever(seconds: int | None, read: int | None) -> None:
    pod = a_pod(tolerations=[{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}])
    assert pod.tolerations[0].toleration_seconds == read


@pytest.mark.parametrize("field", ["priority", "preemptionPolicy", "overhead", "topologySpreadConstraints"])
def test_n38_null_is_absent(field: str) -> None:
    assert default_pod(a_pod(**{field: None})) == default_pod(a_pod())
