"""Whole numbers as Go has them: 64 bits, of which only the lowest are left where there are more, and large decimals.

Go source: `k8s.io/apimachinery/pkg/api/resource/math.go, scale_int.go`.
"""

from decimal import Decimal

__all__ = [
    "MAX_DIGITS",
    "MAX_INT64",
    "MIN_INT64",
    "fits_int64",
    "in_full",
    "power_of_ten",
    "quotient_and_rest",
    "remove_factors",
    "rescale",
    "wide_scaled_value",
    "wrap",
    "wrap_int64",
]

MIN_INT64, MAX_INT64 = -(2**63), 2**63 - 1
MAX_DIGITS = 18
"""An int64 holds every number of so many decimal digits."""


def fits_int64(number: int) -> bool:
    """Whether an int64 holds this number."""
    return MIN_INT64 <= number <= MAX_INT64


def wrap(number: int, bits: int) -> int:
    """What is left of a number in a signed integer of so many bits."""
    half = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


def wrap_int64(number: int) -> int:
    """What is left of a number in an int64."""
    return number if fits_int64(number) else wrap(number, 64)


def power_of_ten(power: int) -> int:
    """10 to a power that is not negative."""
    result: int = 10**power
    return result


def rescale(number: int, exponent: int, scale: int) -> int:
    """`number * 10**exponent` in units of `10**scale`, rounded away from zero."""
    if exponent >= scale:
        return number * power_of_ten(exponent - scale)
    rounded = quotient_and_rest(abs(number), scale - exponent)
    return (rounded[0] + (rounded[1] != 0)) * (1 if number >= 0 else -1)


def quotient_and_rest(number: int, power: int) -> tuple[int, int]:
    """Division by a power of ten, the quotient rounded down; quick however large the power is."""
    if power > number.bit_length():
        return (0, number) if number >= 0 else (-1, 1)
    return divmod(number, power_of_ten(power))


def remove_factors(number: int, factor: int) -> tuple[int, int]:
    """(n, times) with `number == n * factor**times` and the largest `times`; (0, 0) for 0."""
    if not number or number % factor:
        return number, 0
    number, times = remove_factors(
        number, factor * factor
    )  # the even part first: few steps, however many zeros
    return (number // factor, 2 * times + 1) if number % factor == 0 else (number, 2 * times)


def wide_scaled_value(number: int, shift: int) -> int:
    """`number * 10**shift` as Go's scaledValue has it: every step wraps, negative fractions lose a unit."""
    if shift >= 0:
        power = power_of_ten(shift) if shift <= MAX_DIGITS else MIN_INT64
        return wrap_int64(wrap_int64(number) * power)
    if number < MAX_INT64 and -shift < 19:
        number = wrap_int64(number)
        quotient, rest = quotient_and_rest(abs(number), -shift)
        return (quotient if number >= 0 else -quotient) + (rest != 0)
    quotient, rest = quotient_and_rest(number, -shift)
    return wrap_int64(wrap_int64(quotient) + (rest != 0))


def in_full(number: int) -> str:
    """All digits of a number, where `str` has a limit."""
    return str(number) if fits_int64(number) else format(Decimal(number), "f")
