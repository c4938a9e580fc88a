"""Scores: the numbers behind them, and which node wins."""

import pytest

from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.image_locality import normalized_image_name
from kubedev.scheduler.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from kubedev.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kubedev.scheduler.plugins.resource_scores import (
    CPU_AND_MEMORY,
    ResourceScore,
    ResourceSpec,
    Strategy,
    UtilizationPoint,
)
from kubedev.scheduler.scores import default_normalize, quotient, round_half_away
from tests.unit.cluster import a_node, a_pod, filter_all, score_all

GPU = "nvidia.com/gpu"
WITH_GPU = (*CPU_AND_MEMORY, ResourceSpec(GPU, 5))
FULLER_IS_BETTER = (UtilizationPoint(0, 0), UtilizationPoint(100, 10))


def place(plugin: NodeResourcesFit, sizes: list[int]) -> list[str]:
    """Where pods with these numbers of GPUs go on nodes with 4, 4 and 2; an empty name is Pending."""
    nodes: dict[str, NodeInfo] = {
        name: a_node(name, allocatable={GPU: str(gpus)}) for name, gpus in (("a", 4), ("b", 4), ("c", 2))
    }
    placed = []
    for i, size in enumerate(sizes):
        pod = a_pod(f"p{i}", requests={GPU: str(size)})
        answers = zip(nodes.values(), filter_all(plugin, pod, *nodes.values()), strict=True)
        fitting = [node for node, status in answers if status.is_success]
        scores = score_all(plugin, pod, *fitting) if fitting else {}
        best = max(scores, key=lambda name: scores[name], default="")  # the first of equal ones
        if best:
            nodes[best] = nodes[best].add_pod(pod)
        placed.append(best)
    return placed


def test_b58_spreading_fragments_gpus() -> None:
    """The default scores see no GPUs: the nodes are equal, and the job of 2 may break a node of 4."""
    assert score_all(NodeResourcesFit(), a_pod(requests={GPU: "2"}), *EMPTY) == {"a": 99, "b": 99, "c": 99}
    assert place(NodeResourcesFit(), [2, 4, 4]) == ["a", "b", ""]


@pytest.mark.parametrize(
    "plugin",
    [
        NodeResourcesFit(Strategy.MOST_ALLOCATED, WITH_GPU),
        NodeResourcesFit(Strategy.REQUESTED_TO_CAPACITY_RATIO, WITH_GPU, FULLER_IS_BETTER),
    ],
    ids=lambda plugin: plugin.strategy.value,
)
def test_b58_packing_by_gpus_lets_all_fit(plugin: NodeResourcesFit) -> None:
    assert place(plugin, [2, 4, 4])[0] == "c"
    assert sorted(place(plugin, [2, 4, 4])) == ["a", "b", "c"]


def test_b58_a_pod_without_gpus_skips_them_in_its_score() -> None:
    plugin = NodeResourcesFit(Strategy.MOST_ALLOCATED, WITH_GPU)
    state, _ = plugin.pre_score(a_pod(requests={"cpu": "16"}), EMPTY, Context(EMPTY))
    score = plugin.score(state, a_pod(requests={"cpu": "16"}), EMPTY[0])
    assert [part.name for part in score.why] == ["cpu", "memory"]
    assert score.why[0] == ResourceScore("cpu", requested=16000, allocatable=32000, score=50, weight=1)


EMPTY = (
    a_node("a", allocatable={GPU: "4"}),
    a_node("b", allocatable={GPU: "4"}),
    a_node("c", allocatable={GPU: "2"}),
)


def test_balanced_allocation_prefers_equal_fractions() -> None:
    pod = a_pod(requests={"cpu": "16", "memory": "32Gi"})
    lopsided = a_node("lopsided", a_pod("q", requests={"cpu": "16", "memory": "0"}))
    assert score_all(NodeResourcesBalancedAllocation(), pod, a_node("even"), lopsided) == {
        "even": 100,
        "lopsided": 75,
    }


@pytest.mark.parametrize(
    ("shape", "complaint"),
    [
        ((), "at least one point"),
        ((UtilizationPoint(50, 1), UtilizationPoint(50, 2)), "increasing order"),
        ((UtilizationPoint(0, 11),), "score of 0 to 10"),
        ((UtilizationPoint(101, 1),), "utilization of 0 to 100"),
    ],
)
def test_a_shape_that_is_no_function_is_refused(shape: tuple[UtilizationPoint, ...], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        NodeResourcesFit(Strategy.REQUESTED_TO_CAPACITY_RATIO, shape=shape)


@pytest.mark.parametrize("weight", [0, -1, 101])
def test_weights_out_of_range_are_refused(weight: int) -> None:
    with pytest.raises(ValueError, match=f"weight of 1 to 100 for cpu, got {weight}"):
        NodeResourcesFit(resources=(ResourceSpec("cpu", weight),))
    with pytest.raises(ValueError, match="at least one resource"):
        NodeResourcesBalancedAllocation(())


def test_normalizing() -> None:
    assert default_normalize({"a": 1, "b": 3}) == {"a": 33, "b": 100}
    assert default_normalize({"a": 1, "b": 3}, reverse=True) == {"a": 67, "b": 0}
    assert default_normalize({"a": 0}, reverse=True) == {"a": 100}
    assert default_normalize({}) == {}


def test_numbers_round_as_in_go() -> None:
    assert [round_half_away(n) for n in (0.5, 1.5, 2.5, -0.5, 0.49999999999999994)] == [1, 2, 3, -1, 0]
    assert [quotient(7, 2), quotient(-7, 2), quotient(7, -2)] == [3, -3, -3]


@pytest.mark.parametrize(
    ("name", "normalized"),
    [
        ("a", "a:latest"),
        ("a:1", "a:1"),
        ("host:5000/a", "host:5000/a:latest"),
        ("host:5000/a:1", "host:5000/a:1"),
    ],
)
def test_images_get_a_tag(name: str, normalized: str) -> None:
    assert normalized_image_name(name) == normalized
