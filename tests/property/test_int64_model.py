"""Numbers beyond 64 bits, against a model that does each of Go's steps in a machine integer of 64 bits."""

from ctypes import c_int64

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kubedev.api.quantity import Quantity
from kubedev.api.requests import Resource

POWERS = {
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
    "m": -3,
    "u": -6,
    "n": -9,
    "e1": 1,
    "e2": 2,
}
UNROLLED = {1: 10, 2: 100, 3: 1000, 6: 1_000_000, 9: 1_000_000_000}
"""Powers of ten for which Go multiplies at once and hands the product on, whether it fits or not."""


def machine(number: int) -> int:
    return c_int64(number).value


def scaled(mantissa: int, exponent: int, scale: int) -> int:
    """An int64 with a power of ten, in units of `10**scale`: one multiplication, or many by ten."""
    shift = exponent - scale
    if shift < 0:
        quotient, rest = divmod(abs(mantissa), 10**-shift)
        return (quotient + (rest > 0)) * (-1 if mantissa < 0 else 1)
    if shift in UNROLLED:
        return 0 if mantissa == -(2**63) else machine(mantissa * UNROLLED[shift])
    for _ in range(shift):
        product = machine(mantissa * 10)
        if mantissa not in (0, 1) and (mantissa == -(2**63) or int(abs(product) // 10) != abs(mantissa)):
            return 0
        mantissa = product
    return mantissa


@settings(deadline=None)
@given(
    st.integers(-(10**18) + 1, 10**18 - 1),
    st.integers(0, 9),
    st.sampled_from(sorted(POWERS)),
    st.sampled_from([0, -3, -6, -9, 3]),
)
@example(-65618819261690185, 0, "", -3)
@example(1, 0, "E", -3)
@example(999999999999999999, 0, "k", 0)
@example(999999999999999999, 0, "T", 0)
def test_n37_an_int64_wraps_or_is_zero(number: int, places: int, suffix: str, scale: int) -> None:
    digits = str(abs(number)).zfill(places + 1)
    text = f"{'-' if number < 0 else ''}{digits[: len(digits) - places]}.{digits[len(digits) - places :]}{suffix}"
    exponent = POWERS[suffix] - places
    significant = len(digits[: len(digits) - places].lstrip("0") or "0") + places
    if significant > 18 or exponent < -9:
        return  # a wide number: the other tests
    assert Quantity.parse(text).scaled_value(scale) == scaled(number, exponent, scale)


@pytest.mark.parametrize(
    ("text", "value", "milli"),
    [
        ("-65618819261690185", -65618819261690185, 8168157033148021464),
        ("9223372036854775807", 9223372036854775807, -1000),
        ("9223372036854776k", machine(9223372036854776000), machine(9223372036854776000000)),
        ("922337203685477580.7", machine(922337203685477581), machine(922337203685477580700)),
        ("10000000000000T", 0, 0),
        ("100G", 100 * 10**9, 10**14),
    ],
)
def test_n37_numbers_beyond_64_bits_when_turned_to_milli(text: str, value: int, milli: int) -> None:
    assert (Quantity.parse(text).value(), Quantity.parse(text).milli_value()) == (value, milli)


@settings(deadline=None)
@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
@example(-1, -(2**63))
@example(1, -(2**63))
@example(0, -(2**63))
def test_differences_are_exact_but_where_the_other_one_cannot_be_turned_around(left: int, right: int) -> None:
    difference = Quantity(left) - Quantity(right)
    turned = machine(-right)
    narrow = -(2**63) <= left + turned < 2**63
    expected = left + turned if narrow else left - right
    assert (difference.mantissa, difference.wide) == (expected, not narrow)


def test_the_lowest_int64_is_printed_in_full() -> None:
    """It has no positive counterpart, so Go finds no factors in it; written out as a large decimal it has them."""
    lowest = Quantity.parse("-1Ki") + Quantity.parse("-9e18") + Quantity.parse("-223372036854774784")
    assert (lowest.wide, str(lowest)) == (False, "-9223372036854775808")


@settings(deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5))
def test_sums_of_resources_wrap(numbers: list[int]) -> None:
    total = Resource()
    for number in numbers:
        total = total.plus(Resource(memory=number, scalar_resources={"a.b/c": number}))
    assert total.memory == total.scalar_resources["a.b/c"] == machine(sum(numbers))


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("-.484785E-7466", "-1e-9"),
        ("7e-99999", "1e-9"),
        ("-1e-2147483000", "-1e-9"),
        ("0e-2147483000", "0"),
        ("1e0000000000000000000000000000000000003", "1e0000000000000000000000000000000000003"),
        ("1e5001", "1e5001"),
        ("9" * 6000, "9" * 6000),
        ("1" + "0" * 9000, "1"),
    ],
    ids=lambda text: text[:12],
)
def test_n09_a_very_long_exponent_or_text(text: str, printed: str) -> None:
    read = Quantity.parse(text)
    assert str(read) == printed
    assert read.cmp(Quantity()) == read.sign()
    assert str(read - read) == "0"
    assert -(2**63) <= read.value() < 2**63


def test_n09_what_would_take_minutes_is_refused_as_a_difference_to_kubernetes() -> None:
    for text in ("1e999999999", "0.1e-2147483648", "1" * 10_001):
        with pytest.raises(ValueError, match=r"at most 10000 digits \(a limit of kubedev's"):
            Quantity.parse(text)
