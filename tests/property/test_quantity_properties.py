"""Quantities of any size and form: what must hold for all of them, against exact fractions."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from kubedev.api.quantity import BINARY_SUFFIXES, DECIMAL_SUFFIXES, Quantity

MAX_INT64 = 2**63 - 1
FACTORS = {
    **{suffix: Fraction(10) ** power for suffix, power in DECIMAL_SUFFIXES.items()},
    **{suffix: Fraction(2) ** power for suffix, power in BINARY_SUFFIXES.items()},
    **{f"e{power}": Fraction(10) ** power for power in range(-9, 19)},
}


@st.composite
def written(draw: st.DrawFn) -> tuple[str, Fraction]:
    """A text, and the number that it means."""
    sign = draw(st.sampled_from(("", "-", "+")))
    whole = draw(st.integers(0, 10**20))
    places = draw(st.integers(0, 6))
    fraction = f".{draw(st.integers(0, 10**places - 1)):0{places}d}" if places else ""
    suffix = draw(st.sampled_from(sorted(FACTORS)))
    text = f"{whole}{fraction}"
    return f"{sign}{text}{suffix}", Fraction(text) * FACTORS[suffix] * (-1 if sign == "-" else 1)


def exact(quantity: Quantity) -> Fraction:
    return Fraction(quantity.mantissa) * Fraction(10) ** quantity.exponent


def nano_rounded(number: Fraction) -> Fraction:
    """Away from zero to a whole number of nano-units."""
    units = -(-abs(number) * 10**9 // 1)
    return Fraction(units, 10**9) * (-1 if number < 0 else 1)


@settings(deadline=None)
@given(written())
def test_parsing_gives_the_number_that_is_written(case: tuple[str, Fraction]) -> None:
    text, number = case
    expected = nano_rounded(number)
    if text[-1] == "i":
        expected = max(min(expected, Fraction(MAX_INT64)), Fraction(-MAX_INT64))
    assert exact(Quantity.parse(text)) == expected


@settings(deadline=None)
@given(written())
def test_the_printed_form_is_read_back_as_the_same_number(case: tuple[str, Fraction]) -> None:
    quantity = Quantity.parse(case[0])
    if abs(exact(quantity)) < 10**21:  # beyond Exa there is no suffix, and Go drops the power of ten
        assert Quantity.parse(quantity.canonical()) == quantity
        assert Quantity.parse(str(quantity)) == quantity


@settings(deadline=None)
@given(written(), written())
def test_order_equality_and_hash_are_those_of_the_numbers(
    left: tuple[str, Fraction], right: tuple[str, Fraction]
) -> None:
    a, b = Quantity.parse(left[0]), Quantity.parse(right[0])
    assert (a < b, a == b, a > b) == (exact(a) < exact(b), exact(a) == exact(b), exact(a) > exact(b))
    assert (a <= b, a >= b) == (exact(a) <= exact(b), exact(a) >= exact(b))
    if a == b:
        assert hash(a) == hash(b)


@settings(deadline=None)
@given(written(), written())
def test_sums_and_differences_are_exact(left: tuple[str, Fraction], right: tuple[str, Fraction]) -> None:
    a, b = Quantity.parse(left[0]), Quantity.parse(right[0])
    assert exact(a + b) == exact(a) + exact(b)
    assert exact(a - b) == exact(a) - exact(b)
    assert (a + b).format == (a.format if a else b.format)


@settings(deadline=None)
@given(written())
def test_rounding_up_never_loses_anything(case: tuple[str, Fraction]) -> None:
    quantity = Quantity.parse(case[0])
    rounded = quantity.round_up(-3)
    assert abs(exact(rounded)) >= abs(exact(quantity))
    assert abs(exact(rounded)) - abs(exact(quantity)) < Fraction(1, 1000)
    assert exact(rounded) * 1000 % 1 == 0


@settings(deadline=None)
@given(written())
def test_whole_units_are_rounded_up_where_an_int64_holds_them(case: tuple[str, Fraction]) -> None:
    quantity = Quantity.parse(case[0])
    number = exact(quantity)
    if 0 <= number <= MAX_INT64:
        assert quantity.value() == quantity.rounded_up(0) == -(-number // 1)
    assert -(2**63) <= quantity.value() <= MAX_INT64
    assert -(2**63) <= quantity.milli_value() <= MAX_INT64
