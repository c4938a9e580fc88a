"""Lab 01: what a limit does to a container that wants more. The kernel's rule, and no code of Kubernetes.

A CPU limit is a quota of CPU time in each 100 ms: who has used it up waits for the next 100 ms. A memory limit
is a wall: whoever touches more is killed.
"""

from dataclasses import dataclass

from kubedev.api.quantity import Quantity
from kubedev.lab import texts_requests as _texts
from kubedev.views.catalogue import say
from kubedev.views.limits import PERIOD, LimitsRun, limits_picture
from kubedev.views.picture import Picture

__all__ = ["MIB", "Hunger", "against_limits", "draw_against_limits"]

assert _texts.TEXTS

MIB = 2**20


@dataclass(frozen=True, slots=True)
class Hunger:
    """What a container wants: CPU time in all, on so many threads, and each period more memory up to a peak."""

    work: int = 1200  # milliseconds of CPU time
    threads: int = 4
    step: int = 64  # MiB
    peak: int = 512  # MiB
    periods: int = 16


def against_limits(hunger: Hunger, cpu_limit: str, memory_limit: str) -> LimitsRun:
    """What two limits make of it; a limit is a quantity, or `none`."""
    most = hunger.threads * PERIOD
    quota = None if cpu_limit == "none" else Quantity.parse(cpu_limit).milli_value() * PERIOD // 1000
    wall = None if memory_limit == "none" else Quantity.parse(memory_limit).value() // MIB
    ran, wanted = _cpu(hunger, most if quota is None else min(quota, most))
    memory, killed = _memory(hunger, wall)
    return LimitsRun(
        ran=ran,
        wanted=wanted,
        quota=quota,
        done=sum(1 for each in wanted if each) * PERIOD,
        free=-(-hunger.work // most) * PERIOD,
        memory=memory,
        memory_limit=wall,
        killed=killed,
        cpu_words=say("limits.words.cpu", limit=cpu_limit, quota=quota, period=PERIOD),
        memory_words=memory_limit,
    )


def _cpu(hunger: Hunger, allowed: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Milliseconds that ran, and that were wanted, in each period until the work is done."""
    left, ran, wanted = hunger.work, [], []
    for _ in range(hunger.periods):
        wanted.append(min(left, hunger.threads * PERIOD))
        ran.append(min(left, allowed))
        left -= ran[-1]
    return tuple(ran), tuple(wanted)


def _memory(hunger: Hunger, wall: int | None) -> tuple[tuple[int, ...], int | None]:
    """MiB in use at the end of each period, and the period of the kill."""
    used = [min(hunger.step * (index + 1), hunger.peak) for index in range(hunger.periods)]
    killed = None if wall is None else next((i for i, amount in enumerate(used) if amount > wall), None)
    alive = hunger.periods if killed is None else killed + 1
    return tuple(amount if index < alive else 0 for index, amount in enumerate(used)), killed


def draw_against_limits(cpu_limit: str, memory_limit: str, threads: int = 4) -> Picture:
    """The same hunger against a CPU limit and a memory limit."""
    return limits_picture(against_limits(Hunger(threads=threads), cpu_limit, memory_limit))
