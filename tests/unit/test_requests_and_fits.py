"""What pods request, NodeInfo, and Fits: the reported problems of the scheduler's arithmetic."""

from typing import Any

import pytest

from kubedev.api.defaults import default_node, default_pod
from kubedev.api.objects import Container, Node, Pod
from kubedev.api.quantity import Quantity
from kubedev.api.requests import Role, calculate_resource, compute_pod_resource_request, pod_arithmetic
from kubedev.scheduler.node_info import NodeInfo, PodInfo
from kubedev.scheduler.plugins.fits import InsufficientResource, fits

GPU = "example.com/gpu"


def quantities(values: dict[str, Any]) -> dict[str, Quantity]:
    return {name: Quantity.from_json(value) for name, value in values.items()}


def container(name: str = "app", restart_policy: str | None = None, **requests: Any) -> Container:
    named = {GPU if key == "gpu" else key: value for key, value in requests.items()}
    return Container(name, "image", requests=quantities(named), restart_policy=restart_policy)


def pod(*containers: Container, name: str = "p", **fields: Any) -> Pod:
    return Pod(name, uid=f"uid-{name}", containers=containers, **fields)


def node(name: str = "n", **allocatable: Any) -> Node:
    named = {GPU if key == "gpu" else key: value for key, value in {"pods": 110, **allocatable}.items()}
    return Node(name, allocatable=quantities(named))


def lacks(wanted: Pod, info: NodeInfo, **options: Any) -> list[str]:
    return [short.reason for short in fits(compute_pod_resource_request(wanted), info, **options)]


def test_b52_three_causes_of_one_message() -> None:
    wanted = pod(container(gpu=1), name="wanted")
    none, zero, one = node("a"), node("b", gpu=0), node("c", gpu=1)
    busy = NodeInfo.of(one, [pod(container(gpu=1), name="other")])
    found = [
        fits(compute_pod_resource_request(wanted), info)
        for info in (NodeInfo.of(none), NodeInfo.of(zero), busy)
    ]
    assert [[short.reason for short in shorts] for shorts in found] == [[f"Insufficient {GPU}"]] * 3
    assert [(shorts[0].capacity, shorts[0].used) for shorts in found] == [(0, 0), (0, 0), (1, 1)]
    assert lacks(pod(container(gpu=0)), NodeInfo.of(none)) == []


@pytest.mark.parametrize("requests", [{"memory": "50E"}, {"cpu": "10E"}])
def test_b60_what_wraps_fits_as_in_kubernetes_and_with_the_switch_never(requests: dict[str, str]) -> None:
    info = NodeInfo.of(node(cpu=4, memory="8G"))
    wanted = pod(container(**requests))
    assert fits(compute_pod_resource_request(wanted), info) == ()
    (short,) = fits(compute_pod_resource_request(wanted, {"128684"}), info)
    assert short.reason == f"Insufficient {next(iter(requests))}"
    assert short.requested > 2**63


def test_b60_cpu_with_a_binary_suffix_is_a_number_of_cores() -> None:
    (short,) = fits(compute_pod_resource_request(pod(container(cpu="10Mi"))), NodeInfo.of(node(cpu=4)))
    assert short.requested == 10 * 2**20 * 1000


def test_b60_all_devices_that_an_int64_counts() -> None:
    everything = container("a", gpu=2**63 - 1)
    assert lacks(pod(everything), NodeInfo.of(node(gpu=8))) == [f"Insufficient {GPU}"]
    twice = pod(everything, container("b", gpu=2**63 - 1))
    assert compute_pod_resource_request(twice).scalar_resources[GPU] == 0
    (short,) = fits(compute_pod_resource_request(twice, {"128684"}), NodeInfo.of(node(gpu=8)))
    assert short.requested == 2**64 - 2


def test_b61_an_init_containers_request_is_held_for_the_pods_life() -> None:
    first = pod(container(cpu=1, gpu=1), name="first", init_containers=(container("init", cpu=8, gpu=4),))
    info = NodeInfo.of(node(cpu=10, gpu=4), [first])
    second = pod(container(cpu=4), name="second")
    assert fits(compute_pod_resource_request(second), info) == (
        InsufficientResource("cpu", "Insufficient cpu", requested=4000, used=8000, capacity=10000),
    )


def test_b62_overhead_is_added_to_the_requests() -> None:
    overhead = quantities({"cpu": "250m", "memory": "120Mi"})
    wanted = pod(
        container("a", cpu="500m", memory="100Mi"),
        container("b", cpu="1500m", memory="100Mi"),
        overhead=overhead,
    )
    request = compute_pod_resource_request(wanted)
    assert (request.milli_cpu, request.memory) == (2250, 320 * 2**20)
    assert lacks(wanted, NodeInfo.of(node(cpu=2, memory="1Gi"))) == ["Insufficient cpu"]
    assert lacks(wanted, NodeInfo.of(node(cpu="2250m", memory="1Gi"))) == []


def test_the_arithmetic_of_a_pod_tells_each_containers_part() -> None:
    sidecar = container("proxy", "Always", cpu=1)
    wanted = pod(
        container(cpu=2), init_containers=(container("first", cpu=4), sidecar, container("last", cpu=4))
    )
    arithmetic = pod_arithmetic(wanted)
    needs = [(step.container, step.role, step.needed["cpu"].value()) for step in arithmetic.steps]
    assert needs == [
        ("app", Role.CONTAINER, 2),
        ("first", Role.INIT, 4),
        ("proxy", Role.SIDECAR, 1),
        ("last", Role.INIT, 5),
    ]
    assert arithmetic.running["cpu"].value() == 3
    assert arithmetic.starting["cpu"].value() == arithmetic.total["cpu"].value() == 5


def test_limits_become_requests_one_resource_at_a_time_and_whole_thousandths() -> None:
    given = Container("a", "i", quantities({"cpu": "1n"}), quantities({"cpu": 2, GPU: 1}))
    (container_,) = default_pod(pod(given)).containers
    assert {name: str(value) for name, value in container_.requests.items()} == {"cpu": "1m", GPU: "1"}
    assert calculate_resource(pod(given))[0].scalar_resources == {}


def test_a_node_without_allocatable_gives_all_of_its_capacity() -> None:
    capacity = {"capacity": {"cpu": "4"}}
    bare = Node.parse({"metadata": {"name": "n"}, "status": capacity})
    empty = Node.parse({"metadata": {"name": "n"}, "status": {**capacity, "allocatable": {}}})
    assert default_node(bare).allocatable == {"cpu": Quantity.of(4)}
    assert default_node(empty).allocatable == {}


def test_the_arithmetic_of_a_shortage_is_a_sentence() -> None:
    short = InsufficientResource("cpu", "Insufficient cpu", 4000, 8000, 10000)
    assert short.free == 2000
    assert short.arithmetic == "cpu: requested 4000m > free 2000m (capacity 10000m - used 8000m)"


def test_ignored_by_name_and_by_group_but_only_extended_resources() -> None:
    info = NodeInfo.of(node())
    wanted = pod(container(gpu=1, **{"hugepages-2Mi": "2Mi"}))
    assert lacks(wanted, info) == [f"Insufficient {GPU}", "Insufficient hugepages-2Mi"]
    ignored = ["hugepages-2Mi", GPU]
    assert lacks(wanted, info, ignored_resources=ignored) == ["Insufficient hugepages-2Mi"]
    assert lacks(wanted, info, ignored_groups=["example.com"]) == ["Insufficient hugepages-2Mi"]


def test_pods_come_and_go_and_nothing_is_left_behind() -> None:
    empty = NodeInfo.of(node(cpu=4, gpu=2))
    pods = [pod(container(cpu=1, gpu=1), name=name) for name in "abc"]
    full = empty
    for each in pods:
        full = full.add_pod(PodInfo.of(each))
    assert (full.requested.milli_cpu, full.requested.scalar_resources, len(full.pods)) == (3000, {GPU: 3}, 3)
    less = full.remove_pod(pods[0])
    assert [info.pod.name for info in less.pods] == ["c", "b"]  # the last one takes the free place, as in Go
    nothing = less.remove_pod(pods[1]).remove_pod(pods[2])
    assert (nothing.pods, nothing.requested.milli_cpu) == ((), 0)
    assert nothing.non_zero_requested == empty.non_zero_requested
    assert full.pods[0].pod is pods[0]  # the older values are as they were
    assert nothing.generation > full.generation > empty.generation


def test_a_pod_that_is_not_there_cannot_go() -> None:
    with pytest.raises(KeyError, match="no corresponding pod p in pods of node n"):
        NodeInfo.of(node()).remove_pod(pod())


def test_an_overcommitted_node_takes_pods_that_ask_for_nothing_of_it() -> None:
    info = NodeInfo.of(node(cpu=1), [pod(container(cpu=2), name="big")])
    assert lacks(pod(container(memory=0), name="small"), info) == []
    assert lacks(pod(container(cpu="1m"), name="tiny"), info) == ["Insufficient cpu"]
