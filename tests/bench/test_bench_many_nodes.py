"""Thousands of nodes: the search for victims, and many pods placed one after another, in time and memory.

Figures are ratios, to a bare loop over the nodes or to a smaller number of the same in the same run. Go's time of a
victim search was not measured: its shape is, by the number of pods a node has.
"""

from dataclasses import replace
from functools import partial
from time import process_time

import psutil
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from kubedev.api.objects import Pod
from kubedev.scheduler.cache.cache import Cache
from kubedev.scheduler.cycle import Decision, schedule_one
from kubedev.scheduler.events import Bind, WatchEvent
from kubedev.scheduler.plugins.default_plugins import default_framework
from kubedev.scheduler.preemption.preemption import Preemption
from kubedev.scheduler.queue.queue import SchedulingQueue
from kubedev.scheduler.scheduler import SchedulerState, bind_finished, observe, schedule_next
from kubedev.scheduler.scheduler_state import snapshot_of
from tests.bench.test_bench_cycle import a_node, a_pod, bare_loop


def a_cluster(size: int, pods_per_node: int) -> Cache:
    """Nodes with pods of half a CPU each."""
    template = a_pod("plain")
    pods = (
        replace(template, name=f"r-{n}-{i}", uid=f"r-{n}-{i}", node_name=f"node-{n}")
        for n in range(size)
        for i in range(pods_per_node)
    )
    return Cache.of([a_node(i) for i in range(size)], pods)


@pytest.mark.parametrize("pods_per_node", [5, 10, 20])
@pytest.mark.parametrize("size", [500, pytest.param(5000, marks=pytest.mark.slow)])
def test_the_search_for_victims(benchmark: BenchmarkFixture, size: int, pods_per_node: int) -> None:
    cache = a_cluster(size, pods_per_node)
    requests = {"cpu": "31", "memory": "1Gi"}
    container = {"name": "c", "image": "img", "resources": {"requests": requests}}
    big = Pod.parse({"metadata": {"name": "big"}, "spec": {"priority": 10, "containers": [container]}})
    framework = default_framework(100)
    snapshot = snapshot_of(SchedulerState(SchedulingQueue(framework), cache))
    decide = partial(schedule_one, framework, big, snapshot)
    decide()  # makes the columns
    times: list[float] = []

    def search() -> Decision:
        start = process_time()
        decision = decide()
        times.append(process_time() - start)
        return decision

    decision = benchmark.pedantic(search, rounds=3)  # type: ignore[no-untyped-call]
    assert isinstance(decision.post_filter.why, Preemption)
    trials = len(decision.post_filter.why.trials)
    assert trials == max(size // 10, 100)
    assert len(decision.post_filter.why.victims) == pods_per_node - 2
    ratio = min(times) / trials / (bare_loop(cache) / size)
    benchmark.extra_info.update(ratio=round(ratio), microseconds=round(min(times) / trials * 1e6))
    print(
        f"\n{size} nodes of {pods_per_node} pods: {trials} tried, {min(times) / trials * 1e6:.0f} microseconds each, "
        f"{ratio:.0f} bare looks at a node (Go: not measured)"
    )


def placed(size: int, count: int) -> tuple[float, float]:
    """The CPU seconds of placing so many waiting pods, and the MiB that the process grew by."""
    state = SchedulerState(SchedulingQueue(default_framework(100)), a_cluster(size, 0))
    template = a_pod("plain")
    pods = [replace(template, name=f"p-{i}", uid=f"p-{i}") for i in range(count)]
    before, start = psutil.Process().memory_info().rss, process_time()
    for pod in pods:
        state, _ = observe(state, WatchEvent("ADDED", pod), 0)
    for _ in pods:
        state, decision, (bind,) = schedule_next(state, 0)
        assert decision is not None
        assert isinstance(bind, Bind)
        bound = bind.pod
        state, _ = observe(state, WatchEvent("MODIFIED", bound, decision.pod), 0)
        state, _ = bind_finished(state, decision.pod, bind.node_name, "", 0)
    taken = process_time() - start
    assert len(state.cache.pods) == count
    assert not state.queue.active
    return taken, (psutil.Process().memory_info().rss - before) / 2**20


@pytest.mark.slow
def test_pods_placed_on_many_nodes(benchmark: BenchmarkFixture) -> None:
    pods = 10_000 if benchmark.enabled else 400  # the figure is for who asks for it
    many: list[tuple[float, float]] = []
    benchmark.pedantic(lambda: many.append(placed(5000, pods)), rounds=1)  # type: ignore[no-untyped-call]
    few, _ = placed(5000, pods // 4)  # afterwards: what it leaves free would not be counted again
    seconds, mib = many[0]
    ratio = (seconds / pods) / (few / (pods // 4))
    benchmark.extra_info.update(ratio=round(ratio, 2), seconds=round(seconds, 1), mib=round(mib))
    print(
        f"\n{pods:,} pods on 5,000 nodes: {seconds:.1f} s, {mib:.0f} MiB more, "
        f"{ratio:.2f} times a pod among {pods // 4:,}"
    )
