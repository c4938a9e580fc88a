"""One look of the eviction manager at a node with 500 pods, as a multiple of sorting 500 tuples in the same run."""

from random import Random

from pytest_benchmark.fixture import BenchmarkFixture

from kubedev.api.objects import Container, Pod
from kubedev.api.quantity import Quantity
from kubedev.kubelet.pressure.eviction import EvictionConfig, Outcome, new_eviction_manager, synchronize
from kubedev.kubelet.pressure.settings import parse_threshold_config
from kubedev.kubelet.pressure.usage import ContainerStats, MemoryStats, PodStats, Summary
from tests.bench.test_bench_fits import best

PODS, MI = 500, 1 << 20


def test_a_look_at_500_pods(benchmark: BenchmarkFixture) -> None:
    random = Random(12)
    pods, stats, keys = [], [], []
    for number in range(PODS):
        request, used = random.randrange(1, 900), random.randrange(1, 900)
        requests = {"memory": Quantity.parse(f"{request}Mi")}
        name = f"p{number}"
        pod = Pod(name, uid=name, containers=(Container("c", requests=requests),), priority=number % 3)
        pods.append(pod)
        stats.append(PodStats(name, used * MI, containers=(ContainerStats("c", used * MI),)))
        keys.append((1, int(used <= request), number % 3, request - used))
    config = EvictionConfig(parse_threshold_config([], {"memory.available": "1Gi"}, {}, {}, {}))
    summary = Summary(10.0, MemoryStats(5, 1 << 36), pods=tuple(stats))
    state = new_eviction_manager(config)

    def look() -> Outcome:
        return synchronize(config, state, summary, pods, 10.0, lambda _: None).outcome

    assert benchmark(look) is Outcome.EVICTED
    benchmark.extra_info["ratio"] = round(best(look) / best(lambda: sorted(keys)), 1)
