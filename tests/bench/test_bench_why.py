"""`kubedev why` over a dump of 5,000 nodes and 50,000 pods, as ratios to a fresh Python that reads the same JSON."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.bench.dump import write

GOAL = 0.5
MEMORY_GOAL = 2.0
MEBIBYTE = 1 << 20
BASELINE = "import json, sys; json.loads(open(sys.argv[1], 'rb').read())"


class Cost(NamedTuple):
    """What a process took: seconds of CPU, which others on the machine hardly change, and bytes at most."""

    seconds: float
    memory: int
    code: int


def cost(*arguments: str) -> Cost:
    """Run a fresh Python."""
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, process.returncode)


@pytest.mark.benchmark(group="why")
def test_a_large_dump_is_explained_in_half_the_time_of_reading_its_json(
    benchmark: BenchmarkFixture, tmp_path: Path
) -> None:
    """Goals: half of json.loads in a fresh process, and at most twice the file's size in memory."""
    path = str(tmp_path / "dump.json")
    write(path, *((5_000, 50_000) if benchmark.enabled else (50, 500)))
    ours = ("-m", "kubedev", "why", path, "pending/trainer")
    found = cost(*ours)
    assert found.code == 1
    benchmark.pedantic(cost, args=ours, rounds=1)
    baseline = cost("-c", BASELINE, path)
    assert baseline.code == 0
    if benchmark.enabled:
        size = os.path.getsize(path)
        ratio, memory = found.seconds / baseline.seconds, found.memory / size
        benchmark.extra_info.update(ratio=round(ratio, 2), goal=GOAL, memory=round(memory, 2))
        print(f"\nkubedev why over {size / MEBIBYTE:.0f} MiB: {ratio:.2f} times json.loads (goal: {GOAL})")
        print(f"memory: {memory:.2f} times the file (goal: {MEMORY_GOAL})")
        assert memory < MEMORY_GOAL
        assert ratio < 2 * GOAL
