"""Quantity: the corners that a reader should know; the vectors hold the rest."""

import pytest

from kubedev.api.quantity import MILLI, Format, Quantity, QuantityError


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1), ("1k", 1000), ("1Ki", 1024), ("1e3", 1000), ("1E", 10**18), ("1.5Gi", 3 * 2**29)],
)
def test_suffixes(text: str, number: int) -> None:
    assert Quantity.parse(text).value() == number


def test_value_and_milli_value_round_up() -> None:
    quantity = Quantity.parse("100100u")
    assert (quantity.value(), quantity.milli_value()) == (1, 101)


@pytest.mark.parametrize("text", ["", "abc", "1 Gi", "1.2.3", "1.5Gi.", "0x10", "١"])
def test_no_quantity(text: str) -> None:
    with pytest.raises(QuantityError, match="must match the regular expression"):
        Quantity.parse(text)


@pytest.mark.parametrize("text", ["1gi", "1KiB", "--1", "1e", "1K"])
def test_no_suffix(text: str) -> None:
    with pytest.raises(QuantityError):
        Quantity.parse(text)


def test_an_exponent_that_nobody_can_compute_with_is_refused_at_once() -> None:
    with pytest.raises(QuantityError, match="at most 10000 digits"):
        Quantity.parse("1e999999999")


def test_a_sum_is_printed_as_its_first_term_was() -> None:
    assert str(Quantity.parse("1Gi") + Quantity.parse("1024Mi")) == "2Gi"
    assert (Quantity.parse("0") + Quantity.parse("1Gi")).format is Format.BINARY_SI


def test_equal_numbers_are_equal_however_written() -> None:
    assert Quantity.parse("1") == Quantity.parse("1000m") == Quantity.of(1)
    assert len({Quantity.parse("1Gi"), Quantity.parse("1024Mi"), Quantity.parse("1073741824")}) == 1
    assert Quantity.of(1) != 1


def test_round_up_to_thousandths() -> None:
    assert str(Quantity.parse("1n").round_up(MILLI)) == "1m"
    assert str(Quantity.parse("1Gi").round_up(MILLI)) == "1Gi"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2, "2"),
        (0.5, "500m"),
        (1.0, "1"),
        (1e21, "1e+21"),
        (2**64, "18446744073709552k"),
        (1e-7, "100e-9"),
        ("500m", "500m"),
        (" 1 ", "1"),
        (None, "0"),
    ],
)
def test_numbers_texts_and_null_in_json(value: object, text: str) -> None:
    assert str(Quantity.from_json(value)) == text


@pytest.mark.parametrize("value", [True, [1], {"a": 1}, float("inf"), float("nan")])
def test_other_things_in_json(value: object) -> None:
    with pytest.raises(QuantityError):
        Quantity.from_json(value)


@pytest.mark.parametrize(
    "text",
    [
        "0e99999",
        "-0e99999",
        "+0e2147483647",
        "0.0e99999",
        f"0.{'0' * 20}e99999",
        ".0e5000000",
        "0" * 20_000,
        f"0.{'0' * 20_000}",
        f"0.{'0' * 20_000}Ki",
        "0e-2147483648",
    ],
)
def test_n09_zero_is_zero_however_it_is_written(text: str) -> None:
    quantity = Quantity.parse(text)
    assert (str(quantity), quantity.value(), quantity.milli_value(), quantity.sign()) == ("0", 0, 0, 0)
    assert quantity == Quantity.of(0) < Quantity.of(1)
    assert str(quantity + Quantity.of(3)) == str(Quantity.of(3) - quantity) == "3"
    assert hash(quantity) == hash(Quantity.of(0))


def test_n09_zeros_before_a_number_and_after_its_fraction_are_not_counted() -> None:
    zeros = "0" * 20_000
    assert Quantity.parse(f"{zeros}5").value() == 5
    assert str(Quantity.parse(f"1.{zeros}")) == "1"
    assert str(Quantity.parse(f"0.{zeros}1")) == "1n"
    assert Quantity.parse(f"2.5{zeros}Ki").value() == 2560
    for text in (f"5{zeros}", "1e10001", f"0.{'1' * 10_001}", f"{zeros}1{zeros}"):
        with pytest.raises(QuantityError, match="expected at most 10000 digits"):
            Quantity.parse(text)
