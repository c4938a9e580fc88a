"""Filters: nonsense is answered as Kubernetes answers it, and refusals carry what they came from."""

from typing import Any

import pytest

from kubedev.api.fields import Fields
from kubedev.api.selectors import NodeAffinity as NodeAffinityRules
from kubedev.api.selectors import Taint
from kubedev.scheduler.context import Context
from kubedev.scheduler.plugins.node_affinity import NodeAffinity
from kubedev.scheduler.plugins.node_ports import NodePorts
from kubedev.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kubedev.scheduler.plugins.taint_toleration import TaintToleration
from kubedev.scheduler.plugins.topology.inter_pod_affinity import InterPodAffinity
from kubedev.scheduler.plugins.topology.pod_topology_spread import PodTopologySpread
from kubedev.scheduler.plugins.topology.spread_counts import Skew
from kubedev.scheduler.selectors.labels import SelectorError
from kubedev.scheduler.status import SUCCESS, Code
from tests.unit.cluster import a_node, a_pod, filter_all

GPU = "nvidia.com/gpu"


def required(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = [{"matchExpressions": [expression]} for expression in expressions]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}


def test_b52_same_message_three_causes() -> None:
    """No plugin on the node, a plugin with 0 devices, all devices used; and a taint before the devices."""
    pod = a_pod(requests={GPU: "1"})
    nodes = [
        a_node("a"),
        a_node("b", allocatable={GPU: "0"}),
        a_node("c", a_pod("q", requests={GPU: "1"}), allocatable={GPU: "1"}),
        a_node("d", allocatable={GPU: "1"}, taints=[{"key": GPU, "effect": "NoSchedule"}]),
    ]
    refused = filter_all(NodeResourcesFit(), pod, *nodes[:3])
    assert {status.reasons for status in refused} == {(f"Insufficient {GPU}",)}
    assert [(why.used, why.capacity) for status in refused for why in status.why] == [(0, 0), (0, 0), (1, 1)]
    tainted = filter_all(TaintToleration(), pod, nodes[3])[0]
    assert tainted.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert tainted.reasons == (f"node(s) had untolerated taint {{{GPU}: }}",)
    assert tainted.why == (Taint(GPU, "", "NoSchedule"),)
    modest = a_pod(requests={GPU: "0"}, tolerations=[{"key": GPU, "operator": "Exists"}])
    for plugin in (NodeResourcesFit(), TaintToleration()):
        assert filter_all(plugin, modest, *nodes) == [SUCCESS] * 4


@pytest.mark.parametrize("operator", ["", "in", "Bogus"])
def test_a_toleration_with_an_unknown_operator_tolerates_nothing(operator: str) -> None:
    node = a_node("n", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])
    pod = a_pod(tolerations=[{"key": "k", "operator": operator, "value": "v"}])
    assert filter_all(TaintToleration(), pod, node)[0].is_success is (operator == "")  # empty means Equal


@pytest.mark.parametrize(
    "expression",
    [
        {"key": "zone", "operator": "Bogus", "values": ["z1"]},
        {"key": "zone", "operator": "In", "values": []},
        {"key": "zone", "operator": "Exists", "values": ["z1"]},
        {"key": "-", "operator": "Exists"},
        {"key": "num", "operator": "Gt", "values": ["-1"]},
        {"key": "num", "operator": "Lt", "values": ["1e9"]},
    ],
)
def test_a_required_term_of_nonsense_matches_no_node(expression: dict[str, Any]) -> None:
    node = a_node("n", labels={"zone": "z1", "num": "5"})
    only = a_pod(affinity={"nodeAffinity": required(expression)})
    assert filter_all(NodeAffinity(), only, node)[0].reasons == (
        "node(s) didn't match Pod's node affinity/selector",
    )
    good = {"key": "zone", "operator": "In", "values": ["z1"]}
    either = a_pod(affinity={"nodeAffinity": required(expression, good)})
    assert filter_all(NodeAffinity(), either, node) == [SUCCESS]


def test_added_affinity_of_nonsense_is_refused_at_once() -> None:
    added = required({"key": "zone", "operator": "Bogus"})
    with pytest.raises(
        SelectorError, match=r"nodeSelectorTerms\[0\].matchExpressions\[0\].operator: Unsupported"
    ):
        NodeAffinity.with_added_affinity(NodeAffinityRules.read(Fields.of(added)))


def test_two_faulty_lists_of_pod_affinity_are_both_told() -> None:
    bogus = {"matchExpressions": [{"key": "a", "operator": "Bogus"}]}
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z", "labelSelector": bogus}]}
    pod = a_pod(affinity={"podAffinity": terms, "podAntiAffinity": terms})
    _, status, _ = InterPodAffinity().pre_filter(pod, (), Context())
    assert status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    fault = '"Bogus" is not a valid label selector operator'
    assert (
        status.message == f"parsing pod: [requiredAffinityTerms: {fault}, requiredAntiAffinityTerms: {fault}]"
    )


def test_nonsense_of_a_running_pod_repels_nobody() -> None:
    bogus = {"matchExpressions": [{"key": "a", "operator": "Bogus"}]}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": bogus}
    running = a_pod(
        "q", affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    )
    assert filter_all(InterPodAffinity(), a_pod(), a_node("n", running))[0].code is Code.SKIP


def test_a_spread_constraint_of_nonsense_is_an_error() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"a": "not a value"}},
    }
    _, status, _ = PodTopologySpread().pre_filter(
        a_pod(topologySpreadConstraints=[constraint]), (), Context()
    )
    assert status.code is Code.ERROR
    assert status.message.startswith(
        "get constraints from pod: obtaining pod's hard topology spread constraints: values[0][a]: Invalid value"
    )


def test_too_much_skew_carries_its_arithmetic() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    pod = a_pod(labels={"app": "web"}, topologySpreadConstraints=[constraint])
    full = a_node("full", *(a_pod(f"q{i}", {"app": "web"}) for i in range(3)), labels={"zone": "z1"})
    other = a_node("other", a_pod("q3", {"app": "web"}), labels={"zone": "z2"})
    refused, taken = filter_all(PodTopologySpread(), pod, full, other)
    assert refused.why == (Skew("zone", "z1", match_num=3, self_match_num=1, min_match_num=1, max_skew=1),)
    assert refused.why[0].skew == 3
    assert taken == SUCCESS


def test_a_taken_port_is_named() -> None:
    running = a_pod("q", ports=[{"containerPort": 1, "hostPort": 8080, "hostIP": "10.0.0.1"}])
    wanted = a_pod(ports=[{"hostPort": 80}, {"hostPort": 8080}, {"containerPort": 9}])
    status = filter_all(NodePorts(), wanted, a_node("n", running))[0]
    assert status.why == (("0.0.0.0", "TCP", 8080),)
