"""What the kernel makes of a container's two limits when it wants more. The kernel's rule, and no code of Kubernetes.

A CPU limit is a quota of CPU time in each 100 ms: who has used it up waits for the next 100 ms. A memory limit
is a wall: whoever touches more is killed.
"""

import math
from dataclasses import dataclass

from kubedev.api.quantity import Quantity
from kubedev.kubelet.pressure.cgroups import QUOTA_PERIOD, milli_cpu_to_quota

__all__ = ["MIB", "PERIOD", "LimitsRun", "Wants", "against_limits"]

MIB = 2**20
PERIOD = QUOTA_PERIOD // 1000
"""The kernel's period in milliseconds: a CPU limit is so much time in each of them."""


@dataclass(frozen=True, slots=True)
class Wants:
    """What a container wants: CPU time in all, on so many threads, and each period more memory up to a peak.

    `periods` are told one by one, however long it goes on.
    """

    work: int = 1200  # milliseconds of CPU time
    threads: int = 4
    step: int = 64  # MiB
    peak: int = 512  # MiB
    periods: int = 16


@dataclass(frozen=True, slots=True)
class LimitsRun:
    """What happens, period by period, and what comes of it.

    `ran` and `wanted` are milliseconds of CPU time, `most` what all threads could have of it; `memory` is in MiB at
    the end of each period, `most_memory` what it wants in the end. They may stop before the end. `done` is when the
    work is done, `free` when it would be without a limit, in ms; `peak` is the most memory that is ever used, and
    `killed` the period of the kill.
    """

    ran: tuple[float, ...]
    wanted: tuple[float, ...]
    most: float
    quota: float | None
    done: int
    free: int
    memory: tuple[int, ...]
    most_memory: int
    memory_limit: int | None
    peak: int
    killed: int | None
    cpu_words: str = ""  # the limits as they are written
    memory_words: str = ""

    @property
    def cut(self) -> bool:
        """Whether something still happens after the last period that is told here."""
        last = len(self.ran)
        grows = self.killed is None and max(self.memory, default=0) < self.peak
        return self.done > last * PERIOD or grows or (self.killed or 0) >= last > 0


def against_limits(wants: Wants, cpu_limit: str, memory_limit: str) -> LimitsRun:
    """Return what two limits make of it; a limit is a quantity, or `none`. A limit of 0 is none, as for the kernel."""
    most = wants.threads * PERIOD
    quota = _quota(cpu_limit)
    wall = 0 if memory_limit == "none" else Quantity.parse(memory_limit).value() / MIB
    allowed = min(quota or most, most)
    killed = None if not wall or wall >= wants.peak else int(wall // wants.step)
    left = [wants.work - allowed * number for number in range(wants.periods)]
    return LimitsRun(
        ran=tuple(max(min(each, allowed), 0) for each in left),
        wanted=tuple(max(min(each, most), 0) for each in left),
        most=most,
        quota=quota,
        done=math.ceil(wants.work / allowed) * PERIOD,
        free=math.ceil(wants.work / most) * PERIOD,
        memory=tuple(_used(wants, number, killed) for number in range(wants.periods)),
        most_memory=wants.peak,
        memory_limit=int(wall) or None,
        peak=wants.peak if killed is None else _used(wants, killed, killed),
        killed=killed,
        cpu_words=cpu_limit,
        memory_words=memory_limit,
    )


def _quota(limit: str) -> float | None:
    """Milliseconds in each period, one at least."""
    milli = 0 if limit == "none" else Quantity.parse(limit).milli_value()
    return milli_cpu_to_quota(milli, QUOTA_PERIOD) / 1000 or None


def _used(wants: Wants, number: int, killed: int | None) -> int:
    """MiB in use at the end of a period; 0 after a kill."""
    alive = killed is None or number <= killed
    return min(wants.step * (number + 1), wants.peak) if alive else 0
