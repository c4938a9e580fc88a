"""How long `import kubedev` takes, as a ratio to a Python that imports two modules of its own library."""

import subprocess
import sys
from time import perf_counter

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

GOAL = 2.0
ROUNDS = 10


def seconds(source: str) -> float:
    """The time a new Python needs to run `source`."""
    start = perf_counter()
    subprocess.run([sys.executable, "-c", source], check=True)
    return perf_counter() - start


@pytest.mark.benchmark(group="import")
def test_import_kubedev(benchmark: BenchmarkFixture) -> None:
    rounds = ROUNDS if benchmark.enabled else 1
    baseline = min(seconds("import dataclasses, json") for _ in range(rounds))
    ours = min(seconds("import kubedev") for _ in range(rounds))
    benchmark.extra_info.update(ratio=round(ours / baseline, 2), goal=GOAL)
    benchmark.pedantic(seconds, args=("import kubedev",), rounds=rounds)
    print(f"\nimport kubedev: {ours / baseline:.2f} times `import dataclasses, json` (goal: {GOAL})")
