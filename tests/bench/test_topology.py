"""How long hints and merges take, beside the obvious way measured in the same run.

Seconds are printed and never asserted: they say as much about the machine as about the code.
"""

from collections.abc import Callable
from itertools import islice
from time import process_time
from typing import Any

import pytest

from kubedev.api.messages import Device
from kubedev.kubelet.topology import wide
from kubedev.kubelet.topology.bitmask import iterate_bit_masks
from kubedev.kubelet.topology.hints import TopologyHint, count_at_once, count_mask_by_mask, device_hints
from kubedev.kubelet.topology.merge import (
    FilteredHints,
    NUMAInfo,
    filter_providers_hints,
    merge_at_once,
    permutation_count,
    permutations,
)

SAMPLE = 50_000


def every_hint(numa_nodes: int, providers: int) -> tuple[tuple[FilteredHints, ...], NUMAInfo]:
    """Providers that offer every mask of the machine, the one-node masks being preferred."""
    hints = tuple(TopologyHint(m, m.bit_count() == 1) for m in iterate_bit_masks(range(numa_nodes)))
    answers = [{f"example.com/r{i}": hints} for i in range(providers)]
    return filter_providers_hints(answers), NUMAInfo(tuple(range(numa_nodes)))


def seconds(work: Callable[[], object]) -> float:
    """The processor's time, which other processes disturb less."""
    start = process_time()
    work()
    return process_time() - start


def report(capsys: pytest.CaptureFixture[str], *lines: str) -> None:
    with capsys.disabled():
        print("", *lines, sep="\n  ")


def test_merge_of_four_providers_on_eight_nodes(benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    filtered, numa = every_hint(8, 4)
    merge = benchmark(merge_at_once, filtered, numa)
    took = min(seconds(lambda: merge_at_once(filtered, numa)) for _ in range(5))
    sample = seconds(lambda: sum(1 for _ in islice(permutations(filtered, numa), SAMPLE)))
    everything = sample / SAMPLE * permutation_count(filtered)
    assert merge.permutations == permutation_count(filtered) == 255**4
    ratio = benchmark.extra_info["of all permutations"] = took / everything
    report(
        capsys,
        f"4 providers of 255 hints on 8 NUMA nodes, at once: {took * 1e3:.2f} ms",
        f"all {merge.permutations:,} permutations: {everything:,.0f} s, "
        f"extrapolated from the first {SAMPLE:,} ({sample:.2f} s); Go takes about 14 minutes",
        f"at once takes {ratio:.1e} of that; goal: 1e-05",
    )
    assert ratio < 1e-5


def test_merge_of_six_resources_on_sixteen_nodes(benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    filtered, numa = every_hint(16, 6)
    merge = benchmark.pedantic(merge_at_once, (filtered, numa), rounds=5, warmup_rounds=1)
    took = seconds(lambda: merge_at_once(filtered, numa))
    small, small_numa = every_hint(8, 6)
    ratio = took / seconds(lambda: merge_at_once(small, small_numa))
    benchmark.extra_info["of 8 nodes"] = ratio
    assert merge.permutations == 65535**6
    report(
        capsys,
        f"6 resources of 65,535 hints on 16 NUMA nodes, at once: {took:.2f} s; goal: 0.50 s",
        f"that is {ratio:.0f} times as long as on 8 nodes, for {65535**6 / 255**6:.0e} times the permutations",
    )


@pytest.mark.parametrize("nodes", [34, 64])
def test_merge_of_four_providers_on_a_wide_machine(
    nodes: int, benchmark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four resources with devices on every node; hints and merge, beside 16 nodes, which can just be listed."""

    def answer(count: int) -> Any:
        for cached in (wide._first, wide._count, wide._reach):
            cached.cache_clear()
        devices = {f"d{i:03}": Device(f"d{i:03}", numa_nodes=(i % count,)) for i in range(4 * count)}
        hints = [
            {f"r{i}": device_hints(f"r{i}", request, devices, frozenset(devices), range(count)).hints}
            for i, request in enumerate((3, 6, 12, 24))
        ]
        return merge_at_once(filter_providers_hints(hints), NUMAInfo(tuple(range(count))))

    merge = benchmark.pedantic(answer, (nodes,), rounds=3, warmup_rounds=1)
    took, listed = seconds(lambda: answer(nodes)), seconds(lambda: answer(16))
    benchmark.extra_info["of 16 nodes"] = took / listed
    assert merge.hint == TopologyHint(0b111111, False), "24 devices at 4 a node"
    report(
        capsys,
        f"4 providers on {nodes} NUMA nodes, hints and merge: {took:.3f} s; goal: 1 s",
        f"{float(merge.permutations):.0e} permutations; on 16 nodes, listed: {listed:.3f} s",
        f"searching takes {took / listed:.3f} of that; goal: 1",
    )
    assert took / listed < 1


def test_hints_for_512_devices_on_eight_nodes(benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    devices = {f"d{i:03}": Device(f"d{i:03}", numa_nodes=(i % 8,)) for i in range(512)}
    available = frozenset(devices)

    def hints(count: Any) -> object:
        return device_hints("example.com/gpu", 4, devices, available, range(8), count=count)

    answer = benchmark(hints, count_at_once)
    took = min(seconds(lambda: hints(count_at_once)) for _ in range(5))
    by_mask = seconds(lambda: hints(count_mask_by_mask))
    assert answer == hints(count_mask_by_mask)
    benchmark.extra_info["of mask by mask"] = took / by_mask
    report(
        capsys,
        f"hints for 512 devices on 8 NUMA nodes, at once: {took * 1e3:.2f} ms; goal: 13.6 ms, what Go takes",
        f"mask by mask: {by_mask * 1e3:.1f} ms; at once takes {took / by_mask:.3f} of that",
    )
