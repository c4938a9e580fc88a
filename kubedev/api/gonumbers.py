"""Numbers and durations as Go reads them, with its error texts and its 32-bit rounding.

Go source: `strconv/atof.go: ParseFloat`, `time/format.go: ParseDuration`.
"""

import re
import struct
from fractions import Fraction

from kubedev.api.gotext import quote
from kubedev.api.int64 import MIN_INT64

__all__ = ["NumberError", "divide_float32", "float_to_int64", "parse_duration", "parse_float32"]

SECOND = 10**9
UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}

LARGEST_EXPONENT = 9999  # what follows its fifth digit, Go does not read

SPECIAL = re.compile(r"([+-]?)(?:inf|infinity)|nan", re.ASCII | re.IGNORECASE)
DECIMAL = re.compile(r"([+-]?)(?=[_.]*[0-9])([0-9_]*)(?:\.([0-9_]*))?(?:[eE]([+-]?[0-9][0-9_]*))?", re.ASCII)
HEX = re.compile(
    r"([+-]?)0[xX](?=[_.]*[0-9a-fA-F])([0-9a-fA-F_]*)(?:\.([0-9a-fA-F_]*))?[pP]([+-]?[0-9][0-9_]*)", re.ASCII
)
STRAY_UNDERSCORE = re.compile(r"(?<![0-9a-fA-FxX])_|_(?![0-9a-fA-F])")


class NumberError(ValueError):
    """A text that is no number, or no duration; the message is Go's."""


def parse_float32(text: str) -> float:
    """A number with the precision of a float32; NumberError with Go's text where it is none.

    Inf, NaN, hexadecimal numbers and underscores between digits are read as well. Go: `ParseFloat(text, 32)`.
    """
    if special := SPECIAL.fullmatch(text):
        return float("nan") if special[1] is None else float(f"{special[1]}inf")
    for pattern, base, factor in ((HEX, 16, 2), (DECIMAL, 10, 10)):
        match = pattern.fullmatch(text)
        if match is not None and not STRAY_UNDERSCORE.search(text):
            sign, whole, fraction, exponent = ((part or "").replace("_", "") for part in match.groups())
            digits = int(whole + fraction or "0", base)
            places = len(fraction) * (4 if base == 16 else 1)
            power = max(-LARGEST_EXPONENT, min(LARGEST_EXPONENT, int(exponent or 0))) - places
            number = round_to_float32(Fraction(digits) * Fraction(factor) ** power)
            if number is None:
                raise NumberError(f"strconv.ParseFloat: parsing {quote(text)}: value out of range")
            return -number if sign == "-" else number
    raise NumberError(f"strconv.ParseFloat: parsing {quote(text)}: invalid syntax")


def round_to_float32(number: Fraction) -> float | None:
    """The nearest float32 to a number that is not negative, ties to even; None beyond the largest one."""
    if not number:
        return 0.0
    exponent = number.numerator.bit_length() - number.denominator.bit_length()
    exponent -= number < Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - 23, -149)
    rounded = round(number / unit) * unit
    return None if rounded >= Fraction(2) ** 128 else float(rounded)


def divide_float32(number: float, by: int) -> float:
    """The quotient as a float32."""
    result: float = struct.unpack("f", struct.pack("f", number / by))[0]
    return result


def float_to_int64(number: float) -> int:
    """The whole part as an int64; what does not fit, and NaN, is the smallest one, as on amd64."""
    if number != number or not -(2.0**63) <= number < 2.0**63:
        return MIN_INT64
    return int(number)


def parse_duration(text: str) -> int:
    """A duration (`1m30s`, `.5h`, `0`) in nanoseconds; NumberError with Go's text where it is none."""
    invalid = NumberError(f"time: invalid duration {_quote(text)}")
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise invalid
    total = 0
    while rest:
        match = re.match(r"([0-9]*)(?:\.([0-9]*))?", rest, re.ASCII)
        whole, fraction = (match[1], match[2] or "") if match else ("", "")
        if not match or not whole + fraction or int(whole or 0) > 2**63:
            raise invalid
        unit_text = re.match(r"[^0-9.]*", rest[match.end() :], re.ASCII | re.DOTALL)
        unit = unit_text[0] if unit_text else ""
        rest = rest[match.end() + len(unit) :]
        if not unit:
            raise NumberError(f"time: missing unit in duration {_quote(text)}")
        if unit not in UNITS:
            raise NumberError(f"time: unknown unit {_quote(unit)} in duration {_quote(text)}")
        if int(whole or 0) > 2**63 // UNITS[unit]:
            raise invalid
        total += int(whole or 0) * UNITS[unit] + _part(fraction, UNITS[unit])
        if total > 2**63:
            raise invalid
    if text[0] == "-":
        return -total
    if total >= 2**63:
        raise invalid
    return total


def format_duration(nanoseconds: int) -> str:
    """A duration as Go prints it (`1m30s`, `1.5s`, `0s`). Go: `time.Duration.String`."""
    sign, rest = "-" if nanoseconds < 0 else "", abs(nanoseconds)
    if rest < 10**9:
        for unit, size in (("ms", 10**6), ("\u00b5s", 10**3), ("ns", 1)):
            if rest >= size:
                return f"{sign}{_decimal(rest, size)}{unit}"
        return "0s"
    minutes, seconds = divmod(rest, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if hours or minutes else ""]
    return f"{sign}{''.join(parts)}{_decimal(seconds, 10**9)}s"


def _decimal(number: int, unit: int) -> str:
    """A quotient in decimal, without zeros at its end."""
    whole, rest = divmod(number, unit)
    digits = f"{rest:0{len(str(unit)) - 1}}".rstrip("0") if rest else ""
    return f"{whole}.{digits}" if digits else str(whole)


def _part(fraction: str, unit: int) -> int:
    """A fraction of a unit in nanoseconds, in Go's floating point; digits beyond 63 bits are not read."""
    number, scale = 0, 1.0
    for digit in fraction:
        if number > (2**63 - 1) // 10 or number * 10 + int(digit) > 2**63:
            break
        number, scale = number * 10 + int(digit), scale * 10
    return int(float(number) * (float(unit) / scale))


def _quote(text: str) -> str:
    """In double quotes as the package time does it: bytes beyond ASCII are escaped one by one."""
    escaped = "".join(
        f"\\{chr(byte)}" if byte in b'"\\' else chr(byte) if 0x20 <= byte < 0x80 else f"\\x{byte:02x}"
        for byte in text.encode(errors="surrogateescape")
    )
    return f'"{escaped}"'
