"""How many permutations a merge has, and how long it takes: Kubernetes' way and at once, for lab 06."""

from collections.abc import Iterable
from time import perf_counter

from kubedev.kubelet.topology.bitmask import iterate_bit_masks
from kubedev.kubelet.topology.hints import TopologyHint
from kubedev.kubelet.topology.merge import FilteredHints, NUMAInfo, filter_providers_hints, merge_at_once
from kubedev.kubelet.topology.topology import RESTRICTED, TopologyManager, decide
from kubedev.lab.machine import POLICIES
from kubedev.views.charts import MergeTime, explosion_figure
from kubedev.views.merge import merge_picture
from kubedev.views.picture import Picture

__all__ = ["GO_MEASURED", "draw_explosion", "every_hint", "explosion_figure", "measure"]

GO_MEASURED = (
    MergeTime(4, 2, 36e-6),
    MergeTime(4, 3, 0.7e-3),
    MergeTime(8, 3, 3.1),
    MergeTime(8, 4, 14 * 60),
)
"""What the Go code of v1.32 took on one core; the last one is extrapolated from a part of the permutations."""

_NAMES = ("cpu", "example.com/gpu", "example.com/nic", "example.com/fpga", "memory", "hugepages-2Mi")
_ROUNDS = 3


def every_hint(nodes: int, resources: int) -> tuple[tuple[FilteredHints, ...], NUMAInfo]:
    """Resources that could be served on every mask of a machine; the masks of one node are preferred."""
    answers, numa = _answers(nodes, resources)
    return filter_providers_hints(answers), numa


def _answers(nodes: int, resources: int) -> tuple[list[dict[str, tuple[TopologyHint, ...]]], NUMAInfo]:
    hints = tuple(TopologyHint(mask, mask.bit_count() == 1) for mask in iterate_bit_masks(range(nodes)))
    return [{name: hints} for name in _NAMES[:resources]], NUMAInfo(tuple(range(nodes)))


def measure(sizes: Iterable[tuple[int, int]]) -> tuple[MergeTime, ...]:
    """How long the merge at once takes, here and now, for (NUMA nodes, resources): the best of three rounds."""
    return tuple(MergeTime(nodes, resources, _seconds(nodes, resources)) for nodes, resources in sizes)


def _seconds(nodes: int, resources: int) -> float:
    filtered, numa = every_hint(nodes, resources)
    rounds = []
    for _ in range(_ROUNDS):
        start = perf_counter()
        merge_at_once(filtered, numa)
        rounds.append(perf_counter() - start)
    return min(rounds)


def draw_explosion(nodes: int, resources: int) -> Picture:
    """The merge on such a machine: the count first."""
    answers, numa = _answers(nodes, resources)
    decisions = [decide(TopologyManager.new(policy, "container", numa), answers) for policy in POLICIES]
    chosen = next(decision for decision in decisions if decision.policy == RESTRICTED)
    return merge_picture(chosen, decisions)
