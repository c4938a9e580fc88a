"""Sets of CPUs as Linux writes them: `0-3,8` is the CPUs 0, 1, 2, 3 and 8.

A set of CPUs is a plain frozenset of ints. Source: `k8s.io/utils/cpuset/cpuset.go`.
"""

import re
from itertools import groupby

from kubedev.api.gotext import quote

__all__ = ["CPUSet", "CPUSetError", "format_cpus", "parse_cpus"]

CPUSet = frozenset[int]

MOST = 1 << 20
"""CPUs in one range. Kubernetes has no such limit: it runs out of memory."""


class CPUSetError(ValueError):
    """A text that is no set of CPUs; the text of the error is Go's."""


def parse_cpus(text: str) -> CPUSet:
    """Read a list of CPUs and ranges of CPUs; the empty text is the empty set."""
    cpus: set[int] = set()
    for part in text.split(",") if text else ():
        first, dash, last = part.partition("-")
        start = _number(first)
        end = _number(last) if dash else start
        if start > end:
            raise CPUSetError(f"invalid range {quote(part)} ({start} > {end})")
        if end - start >= MOST:
            raise CPUSetError(f"invalid range {quote(part)}: expected at most {MOST} CPUs")
        cpus.update(range(start, end + 1))
    return frozenset(cpus)


def _number(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise CPUSetError(f"strconv.Atoi: parsing {quote(text)}: invalid syntax")
    sign, digits = text.startswith("-"), text.lstrip("+-").lstrip("0")
    if len(digits) > 19 or not -(1 << 63) <= (number := int(digits or "0") * (-1 if sign else 1)) < 1 << 63:
        raise CPUSetError(f"strconv.Atoi: parsing {quote(text)}: value out of range")
    return number


def format_cpus(cpus: CPUSet) -> str:
    """The shortest list: neighbours become ranges."""
    ordered = sorted(cpus)
    # Within a run of neighbours, a CPU and its place in the list grow alike.
    runs = [[cpu for _, cpu in run] for _, run in groupby(enumerate(ordered), lambda pair: pair[1] - pair[0])]
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
