"""Lab 01: what a limit does to a container that wants more. The kernel's rule, and no code of Kubernetes.

A CPU limit is a quota of CPU time in each 100 ms: who has used it up waits for the next 100 ms. A memory limit
is a wall: whoever touches more is killed.
"""

import math
from dataclasses import dataclass

from kubedev.api.quantity import Quantity
from kubedev.views.catalogue import say
from kubedev.views.limits import PERIOD, LimitsRun, limits_picture
from kubedev.views.picture import Picture

__all__ = ["MIB", "Hunger", "against_limits", "draw_against_limits"]

MIB = 2**20


@dataclass(frozen=True, slots=True)
class Hunger:
    """What a container wants: CPU time in all, on so many threads, and each period more memory up to a peak.

    `periods` are drawn, however long it goes on.
    """

    work: int = 1200  # milliseconds of CPU time
    threads: int = 4
    step: int = 64  # MiB
    peak: int = 512  # MiB
    periods: int = 16


def against_limits(hunger: Hunger, cpu_limit: str, memory_limit: str) -> LimitsRun:
    """What two limits make of it; a limit is a quantity, or `none`. A limit of 0 is none, as for the kernel."""
    most = hunger.threads * PERIOD
    quota = _quota(cpu_limit)
    wall = 0 if memory_limit == "none" else Quantity.parse(memory_limit).value() / MIB
    allowed = min(quota or most, most)
    killed = None if not wall or wall >= hunger.peak else int(wall // hunger.step)
    left = [hunger.work - allowed * number for number in range(hunger.periods)]
    words = say("limits.words.cpu", limit=cpu_limit, quota=f"{quota or 0:g}", period=PERIOD)
    return LimitsRun(
        ran=tuple(max(min(each, allowed), 0) for each in left),
        wanted=tuple(max(min(each, most), 0) for each in left),
        quota=quota,
        done=_periods(hunger.work, allowed) * PERIOD,
        free=_periods(hunger.work, most) * PERIOD,
        memory=tuple(_used(hunger, number, killed) for number in range(hunger.periods)),
        memory_limit=int(wall) or None,
        peak=hunger.peak if killed is None else _used(hunger, killed, killed),
        killed=killed,
        cpu_words=words,
        memory_words=memory_limit,
    )


def _quota(limit: str) -> float | None:
    """Milliseconds in each period, one at least (Go: `pkg/kubelet/cm/helpers_linux.go: MilliCPUToQuota`)."""
    milli = 0 if limit == "none" else Quantity.parse(limit).milli_value()
    return max(milli * PERIOD / 1000, 1) if milli > 0 else None


def _periods(work: int, allowed: float) -> int:
    """How many periods the work takes; one that is not used to its end counts too."""
    return math.ceil(work / allowed)


def _used(hunger: Hunger, number: int, killed: int | None) -> int:
    """MiB in use at the end of a period; 0 after a kill."""
    alive = killed is None or number <= killed
    return min(hunger.step * (number + 1), hunger.peak) if alive else 0


def draw_against_limits(cpu_limit: str, memory_limit: str, threads: int = 4) -> Picture:
    """The same hunger against a CPU limit and a memory limit."""
    return limits_picture(against_limits(Hunger(threads=threads), cpu_limit, memory_limit))
