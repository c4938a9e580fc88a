"""Go's arithmetic on whole columns: as `scores` has it for single numbers."""

import numpy as np

from kubedev.scheduler.columns.table import Floats, Ints

__all__ = ["quotients", "rounded"]


def quotients(dividends: Ints, divisors: Ints | int) -> Ints:
    """Integer division towards zero; no divisor is 0."""
    whole: Ints = np.floor_divide(dividends, divisors)
    if dividends.size and (dividends.min() < 0 or np.min(divisors) < 0):
        uneven = np.not_equal(whole * divisors, dividends)
        below = uneven & np.not_equal(np.less(dividends, 0), np.less(divisors, 0))
        whole = np.where(below, whole + 1, whole)
    return whole


def rounded(numbers: Floats) -> Ints:
    """Whole numbers, a half going away from zero."""
    sizes = np.abs(numbers)
    whole = np.floor(sizes)
    away = whole + (sizes - whole >= 0.5)
    whole_numbers: Ints = np.copysign(away, numbers).astype(np.int64)
    return whole_numbers
