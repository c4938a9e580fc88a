"""A plugin that sends lists without pause: what the kubelet's tool, and a lab, need of memory for it.

A minute of it with KUBEDEV_FLOOD_SECONDS=60; a few seconds by default. The figure is the memory at the end as a
multiple of the memory after the first quarter: flat is 1.
"""

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from kubedev.wire.sockets import private_directory
from tests.bench.test_bench_wire import tell
from tests.contract.flood import Flood

SECONDS = float(os.environ.get("KUBEDEV_FLOOD_SECONDS", "6"))
LAB = """
import sys
from kubedev.lab import Lab
lab = Lab("flood")
print(next(iter(lab.directories.values())), flush=True)
sys.stdin.readline()
lab.close()
"""


@pytest.mark.parametrize("what", ["kubelet", "lab"])
def test_memory_under_a_flood(benchmark: BenchmarkFixture, what: str) -> None:
    directory = Path(private_directory())
    command = ["-m", "kubedev", "kubelet", "--dir", str(directory)] if what == "kubelet" else ["-c", LAB]
    process = subprocess.Popen(
        [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdin
    first = process.stdout.readline()
    drain = threading.Thread(target=process.stdout.read, daemon=True)
    drain.start()
    flood = Flood(directory if what == "kubelet" else Path(first.strip()))
    memory: list[int] = []

    def run() -> None:
        for _ in range(4):
            time.sleep(SECONDS / 4)
            memory.append(psutil.Process(process.pid).memory_info().rss)

    benchmark.pedantic(run, rounds=1)  # type: ignore[no-untyped-call]
    ended = time.monotonic()
    process.stdin.write("quit\n")
    process.stdin.close()
    assert process.wait(20) == 0
    took = time.monotonic() - ended
    drain.join()
    flood.server.stop()
    shutil.rmtree(directory, ignore_errors=True)
    tell(
        benchmark,
        f"{what}: memory after {SECONDS:g} s of flood, in that of its first quarter",
        memory[-1] / memory[0],
    )
    print(f"{flood.sent / SECONDS:.0f} lists a second; {memory[-1] >> 20} MiB; {took:.1f} s to end")
