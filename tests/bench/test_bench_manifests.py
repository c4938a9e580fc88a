"""How reading manifests grows: ten times as many documents or containers take ten times as long, and not a hundred."""

import time

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from kubedev.api.manifests import load

POD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: p{}}}\nspec:\n  containers: [{}]\n"


def documents(count: int) -> str:
    return "---\n".join(POD.format(number, "{name: c, image: i}") for number in range(count))


def containers(count: int) -> str:
    return POD.format(0, ", ".join(f"{{name: c{number}, image: i}}" for number in range(count)))


@pytest.mark.parametrize("text", [documents, containers])
def test_r12_reading_grows_linearly(benchmark: BenchmarkFixture, text) -> None:  # type: ignore[no-untyped-def]
    """Goal: a ratio of about 10; the baseline is a tenth of it in the same run."""
    small, large = text(200), text(2000)

    def seconds(manifest: str) -> float:
        start = time.perf_counter()
        load(manifest)
        return time.perf_counter() - start

    load(small)
    baseline = min(seconds(small) for _ in range(5))
    benchmark.pedantic(load, args=(large,), rounds=3)
    if benchmark.stats is not None:
        benchmark.extra_info["ratio"] = benchmark.stats.stats.min / baseline
        assert benchmark.stats.stats.min / baseline < 30
