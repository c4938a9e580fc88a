"""The program that every container of a lab runs, in place of the manifest's own command (never executed).

It prints what it sees and stays until it is told to end. Standard library only, and no import of kubedev: it
is started as a script, with exactly the environment that the kubelet made for the container.
"""

import os
import select
import signal
import sys
from collections.abc import Iterator, Mapping

__all__ = ["lines"]

OWN = ("LC_CTYPE",)  # set by Python itself


def lines(pod: str, container: str, envs: Mapping[str, str], stays: bool) -> Iterator[str]:
    """What the program prints: who it is, its whole environment, and what it does next."""
    yield f"container {container} of pod {pod}"
    yield from (f"{name}={value}" for name, value in envs.items() if name not in OWN)
    yield "running until the pod is deleted" if stays else "done"


def main(pod: str, container: str, stays: str) -> None:
    """Print, then wait for SIGTERM or for the end of standard input (the parent is gone)."""
    # A signal that comes just before a blocking read would not be noticed: it wakes `select` through a pipe instead.
    awake, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    for line in lines(pod, container, os.environ, stays == "stays"):
        print(line, flush=True)
    if stays == "stays":
        select.select([sys.stdin, awake], [], [])


if __name__ == "__main__":
    main(*sys.argv[1:])
