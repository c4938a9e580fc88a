"""Numbers and durations as Go reads them."""

import pytest

from kubedev.api.gonumbers import NumberError, float_to_int64, parse_duration, parse_float32


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1_0", 10.0),
        ("0x1p4", 16.0),
        (".5e1", 5.0),
        ("16777217", 16777216.0),  # the first whole number that a float32 does not hold
        ("1e-60", 0.0),
        ("-Infinity", float("-inf")),
    ],
)
def test_floats_are_read_as_go_reads_them(text: str, number: float) -> None:
    assert parse_float32(text) == number


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1__0", "invalid syntax"),
        ("_1", "invalid syntax"),
        ("0x10", "invalid syntax"),
        ("+nan", "invalid syntax"),
        ("1e39", "value out of range"),
        ("1e99999999999999", "value out of range"),
    ],
)
def test_what_is_no_float_is_told_as_go_tells_it(text: str, problem: str) -> None:
    with pytest.raises(NumberError, match=f'^strconv.ParseFloat: parsing ".*": {problem}$'):
        parse_float32(text)


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1m30s", 90 * 10**9),
        (".5h", 1800 * 10**9),
        ("1.s", 10**9),
        ("-0", 0),
        ("1us1µs1μs", 3000),
        ("2562047h47m16.854775807s", 2**63 - 1),
    ],
)
def test_durations_are_read_as_go_reads_them(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        (".s", 'time: invalid duration ".s"'),
        ("3", 'time: missing unit in duration "3"'),
        ("3d", 'time: unknown unit "d" in duration "3d"'),
        ("3ß", 'time: unknown unit "\\xc3\\x9f" in duration "3\\xc3\\x9f"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
    ],
)
def test_what_is_no_duration_is_told_as_go_tells_it(text: str, problem: str) -> None:
    with pytest.raises(NumberError) as error:
        parse_duration(text)
    assert str(error.value) == problem


def test_what_does_not_fit_becomes_the_smallest_int64() -> None:
    assert [float_to_int64(n) for n in (float("nan"), 1e30, -1e30, -1.5)] == [-(2**63)] * 3 + [-1]
