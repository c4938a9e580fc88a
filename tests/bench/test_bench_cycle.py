"""Pods per second of the scheduling cycle: decide, assume, bind, confirm; 10 pods on each node before.

Three pods: a plain one, one with a GPU, and one with a soft zone spread and a preferred anti-affinity. All nodes are
scored, or the part that Kubernetes looks at by default. Figures are ratios to a bare loop that looks once at each
node, timed in the same run. Go's figures are single-threaded, on 5,000 nodes, where the bare loop takes about 1 ms. The
goal is 500 pods a second with every node looked at, and Go's best with default sampling. A pod is decided over columns;
the first one, for which they are made, is not counted.
"""

from dataclasses import replace
from functools import lru_cache
from time import process_time

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from kubedev.api.objects import Node, Pod
from kubedev.scheduler.cache.cache import Cache
from kubedev.scheduler.events import Bind, WatchEvent
from kubedev.scheduler.plugins.default_plugins import default_framework
from kubedev.scheduler.queue.queue import SchedulingQueue
from kubedev.scheduler.scheduler import SchedulerState, bind_finished, observe, schedule_next

PODS_PER_NODE = 10
GO_PODS_PER_SECOND = {
    ("plain", 100): 98,
    ("gpu", 100): 62,
    ("soft", 100): 16,
    ("plain", 0): 826,
    ("gpu", 0): 549,
    ("soft", 0): 21,
}
SIZES = [100, 1000, pytest.param(5000, marks=pytest.mark.slow)]


def a_node(number: int) -> Node:
    zone = f"z{number % 3}"
    name = f"node-{number}"
    return Node.parse(
        {
            "metadata": {
                "name": name,
                "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone},
            },
            "status": {
                "allocatable": {"cpu": "32", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"},
            },
        }
    )


def a_pod(kind: str, app: str = "app-1") -> Pod:
    requests = {"cpu": "500m", "memory": "1Gi"} | ({"nvidia.com/gpu": "1"} if kind == "gpu" else {})
    spec: dict[str, object] = {
        "containers": [{"name": "c", "image": "img", "resources": {"requests": requests}}]
    }
    if kind == "soft":
        selector = {"matchLabels": {"app": app}}
        zone = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "labelSelector": selector}
        host = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
        term = {"weight": 100, "podAffinityTerm": host}
        spec["topologySpreadConstraints"] = [zone | {"whenUnsatisfiable": "ScheduleAnyway"}]
        spec["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    return Pod.parse({"metadata": {"name": "p", "labels": {"app": app}}, "spec": spec})


@lru_cache(maxsize=1)
def a_cache(size: int) -> Cache:
    """Nodes with their pods; each of a node's pods belongs to another application."""
    templates = [a_pod("plain", f"app-{i}") for i in range(PODS_PER_NODE)]
    pods = (
        replace(pod, name=f"r-{n}-{i}", uid=f"r-{n}-{i}", node_name=f"node-{n}")
        for n in range(size)
        for i, pod in enumerate(templates)
    )
    return Cache.of([a_node(i) for i in range(size)], pods)


def bare_loop(cache: Cache) -> float:
    """The CPU seconds of one look at each node: the best of several."""
    infos = cache.snapshot()
    times = []
    for _ in range(10):
        start = process_time()
        _ = [info.allocatable.milli_cpu - info.requested.milli_cpu >= 500 for info in infos]
        times.append(process_time() - start)
    return min(times)


@pytest.mark.parametrize("percentage", [100, 0], ids=["full", "default"])
@pytest.mark.parametrize("kind", ["plain", "gpu", "soft"])
@pytest.mark.parametrize("size", SIZES)
def test_pods_per_second(benchmark: BenchmarkFixture, size: int, kind: str, percentage: int) -> None:
    cache = a_cache(size)
    state = SchedulerState(SchedulingQueue(default_framework(percentage)), cache)
    times, names = [], iter(range(1_000_000))

    def one_pod() -> None:
        nonlocal state
        pod = replace(a_pod(kind), name=(name := f"p-{next(names)}"), uid=name)
        start = process_time()
        state, _ = observe(state, WatchEvent("ADDED", pod), 0)
        state, decision, (bind,) = schedule_next(state, 0)
        assert decision is not None
        assert isinstance(bind, Bind)
        state, _ = observe(state, WatchEvent("MODIFIED", bind.pod, pod), 0)
        state, _ = bind_finished(state, pod, bind.node_name, "", 0)
        times.append(process_time() - start)

    benchmark.pedantic(one_pod, rounds=100, warmup_rounds=1)  # type: ignore[no-untyped-call]
    assert len(state.cache.pods) == size * PODS_PER_NODE + len(times)
    seconds = sorted(times)[len(times) // 2]
    ratio = seconds / bare_loop(cache)
    goal = GO_PODS_PER_SECOND[kind, percentage]
    benchmark.extra_info.update(ratio=round(ratio, 1), pods_per_second=round(1 / seconds, 1), go=goal)
    print(
        f"\n{size} nodes, {kind} pod, {'all nodes' if percentage else 'default sampling'}: {1 / seconds:.1f} pods/s, "
        f"{ratio:.0f} bare loops a pod (Go at 5,000 nodes: {goal} pods/s, {1000 / goal:.0f} bare loops)"
    )
