"""A long run with a flapping plugin, a churn of pods and kubelets that restart: does anything grow?

    python -m tests.bench.soak            # half a minute
    python -m tests.bench.soak --minutes 20

Prints a line each half minute: what was done, the steps of the history, resident memory, threads, open descriptors.
Memory first fills the history (`kubedev.cluster.history.ROOM`), then for about as long again the messages that its
states hold, some 20 MB. From then on it is to be flat, but for a saw of some 10 MB: messages are dropped 20,000 at a
time (`kubedev.cluster.journal.KEPT`).
"""

import argparse
import gc
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from kubedev.cluster import history
from kubedev.lab.session import Lab

GPU = "example.com/gpu"
NODE = "gpu-node-1"
POD = f"""
apiVersion: v1
kind: Pod
metadata: {{name: NAME}}
spec: {{containers: [{{name: main, image: i, resources: {{limits: {{{GPU}: 1}}}}}}]}}
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """What is measured at a moment; memory in megabytes."""

    seconds: float
    rounds: int
    steps: int
    memory: float
    threads: int
    descriptors: int

    def __str__(self) -> str:
        return (
            f"{self.seconds:6.0f} s {self.rounds:6d} rounds {self.steps:7d} steps {self.memory:7.1f} MB "
            f"{self.threads:3d} threads {self.descriptors:3d} descriptors"
        )


def resident() -> float:
    """The resident memory of this process in megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def a_round(lab: Lab, number: int, random: Random) -> None:
    """A device flaps, a pod comes and goes; now and then the plugin dies, or a kubelet restarts."""
    device = f"d{random.randrange(4)}"
    for healthy in (False, True):
        lab.set_health(device, healthy, GPU, NODE)
    lab.apply(POD.replace("NAME", "web"))
    lab.delete("web", force=random.random() < 0.3)
    if number % 5 == 0:
        lab.kill_plugin(GPU, NODE)
        lab.plugin(GPU, 4, node=NODE)
    if number % 7 == 0:
        lab.restart_kubelet(NODE, reboot=number % 3 == 0)
        if number % 3 == 0:
            lab.plugin(GPU, 4, node=NODE)
    if number % 11 == 0:
        lab.advance(61)


def soak(seconds: float, every: float, transport: str = "grpc", room: int | None = None) -> Iterator[Figures]:
    """Go round for so many seconds, and measure every so often, at the end as well."""
    if room is not None:
        history.ROOM = room
    random = Random(1)
    with Lab("soak", nodes=2, transport="grpc" if transport == "grpc" else "memory", plugins="thread") as lab:
        lab.plugin(GPU, 4, node=NODE)
        begun = measured = time.monotonic()
        rounds = 0
        while time.monotonic() - begun < seconds:
            rounds += 1
            a_round(lab, rounds, random)
            if time.monotonic() - measured >= every:
                measured = time.monotonic()
                yield _figures(begun, rounds, lab)
        yield _figures(begun, rounds, lab)


def _figures(begun: float, rounds: int, lab: Lab) -> Figures:
    gc.collect()
    descriptors = len(os.listdir("/proc/self/fd"))
    passed = time.monotonic() - begun
    return Figures(passed, rounds, len(lab.history), resident(), threading.active_count(), descriptors)


def main() -> None:
    """Soak as long as asked, and print what is measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=0.5)
    parser.add_argument("--transport", choices=("grpc", "memory"), default="grpc")
    parser.add_argument("--room", type=int, help="how much the history holds; less fills it sooner")
    options = parser.parse_args()
    for figures in soak(
        options.minutes * 60, min(30.0, options.minutes * 20), options.transport, options.room
    ):
        print(figures, flush=True)


if __name__ == "__main__":
    main()
