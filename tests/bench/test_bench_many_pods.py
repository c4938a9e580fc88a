"""Pods from a Deployment to Running, in a lab in memory on 20 nodes: how time grows with their number.

The figure is the CPU time of a pod among many, as a ratio to that of a pod among few in the same run: 1 where time
grows as the number of pods does. The goal is 2,000 pods in 3 s.
"""

from time import process_time

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from kubedev.lab.session import Lab

FEW = 100


def seconds_a_pod(count: int) -> float:
    """The CPU seconds of one of so many pods."""
    manifest = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: {count}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: c, image: i, resources: {{requests: {{cpu: 10m}}}}}}]}}
"""
    with Lab("many pods", nodes=20, transport="memory") as lab:
        start = process_time()
        lab.apply(manifest)
        taken = process_time() - start
        assert {pod.phase for pod in lab.state.store.pods.values()} == {"Running"}
        assert len(lab.state.store.pods) == count
    return taken / count


@pytest.mark.parametrize("count", [400, pytest.param(2000, marks=pytest.mark.slow)])
def test_r12_time_grows_with_the_number_of_pods(benchmark: BenchmarkFixture, count: int) -> None:
    few = min(seconds_a_pod(FEW) for _ in range(2))
    many: list[float] = []
    benchmark.pedantic(lambda: many.append(seconds_a_pod(count)), rounds=1)  # type: ignore[no-untyped-call]
    ratio = min(many) / few
    benchmark.extra_info.update(ratio=round(ratio, 2), seconds=round(min(many) * count, 2))
    print(f"\n{count} pods: {min(many) * count:.1f} s, {ratio:.2f} times a pod among {FEW}")
    assert ratio < 3, "a pod among many costs far more than one among few"
