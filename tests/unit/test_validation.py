"""What the API server refuses, in its words."""

from collections.abc import Mapping
from typing import Any

import pytest

from kubedev.api.defaults import PriorityError, default_pod, resolve_priority
from kubedev.api.objects import Node, Pod
from kubedev.api.pod_groups import PriorityClass
from kubedev.api.validation import validate_node, validate_pod

GPU = "nvidia.com/gpu"
LIMIT = f"spec.containers[0].resources.limits[{GPU}]"


def problems(resources: Mapping[str, Any] | None = None, **spec: Any) -> list[str]:
    container = {"name": "a", "image": "i", "resources": resources}
    manifest = {"metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}
    return [str(problem) for problem in validate_pod(default_pod(Pod.parse(manifest)))]


@pytest.mark.parametrize(
    "number", [1, "1", "1.0", 1.0, "3000m", "1k", "1e3", "0", "1Ki", "9223372036854775807"]
)
def test_b48_whole_devices(number: Any) -> None:
    assert problems({"limits": {GPU: number}}) == []


@pytest.mark.parametrize("number", [0.5, "500m", "1500m"])
def test_b48_parts_of_a_device(number: Any) -> None:
    assert any(
        p.startswith(f"{LIMIT}: Invalid value") and p.endswith("must be an integer")
        for p in problems({"limits": {GPU: number}})
    )


def test_b48_fewer_devices_than_none() -> None:
    assert f'{LIMIT}: Invalid value: "-1": must be greater than or equal to 0' in problems(
        {"limits": {GPU: -1}}
    )


def test_b48_no_quantity_at_all() -> None:
    with pytest.raises(ValueError, match=r"resources\.limits\[nvidia\.com/gpu\]: Invalid value: \"abc\""):
        problems({"limits": {GPU: "abc"}})


def test_b49_requests_unlike_limits() -> None:
    expected = f'spec.containers[0].resources.requests: Invalid value: "1": must be equal to {GPU} limit of 8'
    assert problems({"requests": {GPU: 1}, "limits": {GPU: 8}}) == [expected]


def test_b49_request_without_limit() -> None:
    detail = "Limit must be set for non overcommitable resources"
    expected = f"spec.containers[0].resources.limits: Required value: {detail}"
    assert problems({"requests": {GPU: 8}}) == [expected]


def test_b49_limit_without_request() -> None:
    assert problems({"limits": {GPU: 8}}) == []


def test_b50_huge_pages_alone() -> None:
    expected = "spec.containers[0].resources: Forbidden: HugePages require cpu or memory"
    assert problems({"limits": {"hugepages-2Mi": "64Mi"}}) == [expected]


def test_b50_part_of_a_page() -> None:
    found = problems({"limits": {"hugepages-2Mi": "3Mi", "memory": "64Mi", "cpu": 1}})
    assert found
    assert all(
        p.endswith('Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi')
        for p in found
    )


@pytest.mark.parametrize("page", ["1Gi", "3Mi"])
def test_b50_whole_pages_of_any_size(page: str) -> None:
    amount = {"1Gi": "1Gi", "3Mi": "6Mi"}[page]
    assert problems({"limits": {f"hugepages-{page}": amount, "memory": "1Gi"}}) == []


def test_requests_above_limits_of_what_may_be_overcommitted() -> None:
    expected = 'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'
    assert problems({"requests": {"cpu": 2}, "limits": {"cpu": 1}}) == [expected]


@pytest.mark.parametrize("name", ["gpu", "requests.example.com/gpu", "a/b/c", "example.com/-x"])
def test_resource_names_that_no_container_may_ask_for(name: str) -> None:
    assert problems({"limits": {name: 1}})


def test_containers_without_names_and_twins() -> None:
    twins = [{"name": "a", "image": "i"}, {"name": "a", "image": "i"}, {"image": "i"}]
    found = problems(containers=twins, initContainers=[{"name": "a", "image": "i"}])
    assert found == [
        'spec.containers[1].name: Duplicate value: "a"',
        "spec.containers[2].name: Required value",
        'spec.initContainers[0].name: Duplicate value: "a"',
    ]


def test_no_containers() -> None:
    assert problems(containers=[]) == ["spec.containers: Required value"]


def test_operators_that_do_not_exist() -> None:
    term = {"matchExpressions": [{"key": "disk", "operator": "Near", "values": ["ssd"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    (found,) = problems(affinity={"nodeAffinity": required})
    assert found.endswith(
        'matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator'
    )
    (found,) = problems(tolerations=[{"key": "a", "operator": "Like"}])
    assert (
        found
        == 'spec.tolerations[0].operator: Unsupported value: "Like": supported values: "Equal", "Exists"'
    )


def test_spread_constraints() -> None:
    (skew, action) = problems(
        topologySpreadConstraints=[{"topologyKey": "zone", "whenUnsatisfiable": "Maybe"}]
    )
    assert skew == "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"
    assert action.endswith('Unsupported value: "Maybe": supported values: "DoNotSchedule", "ScheduleAnyway"')


def test_host_ports_taken_twice() -> None:
    port = {"containerPort": 80, "hostPort": 80}
    (found,) = problems(containers=[{"name": "a", "image": "i", "ports": [port, port]}])
    assert found == 'spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//80"'


def test_nodes_with_negative_and_broken_resources() -> None:
    status = {"allocatable": {"cpu": -1, GPU: 1.5}}
    node = Node.parse({"metadata": {"name": "n"}, "status": status, "spec": {"taints": [{"key": "a"}]}})
    assert [str(problem) for problem in validate_node(node)] == [
        "spec.taints[0].effect: Required value",
        'status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0',
        f'status.allocatable.{GPU}: Invalid value: "1500m": must be an integer',
    ]


HIGH, LOW = (
    PriorityClass("high", 1000, preemption_policy="Never"),
    PriorityClass("low", 10, global_default=True),
)


def test_the_priority_of_a_class_of_the_default_and_of_neither() -> None:
    named = resolve_priority(Pod("p", priority_class_name="high"), [HIGH, LOW])
    assert (named.priority, named.preemption_policy) == (1000, "Never")
    unnamed = resolve_priority(Pod("p"), [HIGH, LOW])
    assert (unnamed.priority, unnamed.priority_class_name) == (10, "low")
    assert resolve_priority(Pod("p"), [HIGH]).priority == 0
    assert resolve_priority(Pod("p", priority_class_name="system-node-critical"), []).priority == 2000001000


def test_the_smallest_of_several_default_priorities_counts() -> None:
    lower = PriorityClass("lower", -5, global_default=True)
    assert resolve_priority(Pod("p"), [LOW, lower]).priority == -5


def test_a_class_that_is_not_there_and_a_priority_of_ones_own() -> None:
    with pytest.raises(PriorityError, match="no PriorityClass with name none was found"):
        resolve_priority(Pod("p", priority_class_name="none"), [HIGH])
    with pytest.raises(PriorityError, match=r"priority \(7\) must not be provided .* computed 1000"):
        resolve_priority(Pod("p", priority_class_name="high", priority=7), [HIGH])
