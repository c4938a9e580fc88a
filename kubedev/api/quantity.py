"""Quantities: the numbers of Kubernetes (`100m`, `1.5Gi`, `2e3`), with Go's rounding, printing, wraps.

Go source: `k8s.io/apimachinery/pkg/api/resource/quantity.go` and its neighbours. Go keeps a quantity in one
of two ways, and the difference shows at the edges: as an int64 with a power of ten (most), or as a decimal of
any size (more than 18 digits, or a fraction with a binary suffix). `wide` says which one it is here.
"""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

__all__ = ["MILLI", "NANO", "Format", "Quantity", "QuantityError"]

NANO, MILLI = -9, -3
MAX_INT64 = 2**63 - 1
MAX_DIGITS = 18  # an int64 holds every number of so many decimal digits
MAX_LENGTH = 4000  # of text and of exponent: beyond it Go computes for minutes, and Python refuses to print

QUANTITY = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WRONG_SUFFIX = "unable to parse quantity's suffix"

DECIMAL_SUFFIXES = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
DECIMAL_NAMES = {exponent: suffix for suffix, exponent in DECIMAL_SUFFIXES.items()}
BINARY_NAMES = {exponent // 10: suffix for suffix, exponent in BINARY_SUFFIXES.items()}


class Format(StrEnum):
    """How a quantity is printed: it remembers the kind of suffix that it was written with."""

    DECIMAL_EXPONENT = "DecimalExponent"
    BINARY_SI = "BinarySI"
    DECIMAL_SI = "DecimalSI"


class QuantityError(ValueError):
    """A text that is no quantity; the message is Go's."""


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """A number, `mantissa * 10**exponent`, and the way to print it. Equal and ordered by the number alone.

    `text` is what it was written as, where Go prints that back unchanged.
    """

    mantissa: int = 0
    exponent: int = 0
    format: Format = Format.DECIMAL_SI
    wide: bool = False
    text: str | None = None

    @classmethod
    def of(cls, number: int) -> Self:
        """A whole number, printed with decimal suffixes (Go: `NewQuantity(number, DecimalSI)`)."""
        return cls(number)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a quantity, or raise QuantityError with Go's text.

        What is smaller than a nano-unit is rounded away from zero to one; with a binary suffix nothing is
        larger than 2^63-1. Go: `ParseQuantity`.
        """
        match = QUANTITY.fullmatch(text)
        if match is None or not text:
            raise QuantityError(WRONG_FORMAT)
        sign, whole, fraction, suffix = match[1], match[2] or "0", match[3] or "", match[4]
        exponent, format = interpret_suffix(suffix)
        if max(len(text), abs(exponent)) > MAX_LENGTH:
            raise QuantityError(
                f"quantity too long: expected at most {MAX_LENGTH} characters and an exponent between "
                f"-{MAX_LENGTH} and {MAX_LENGTH}, got {text[:40]!r}: write the number with a suffix"
            )
        digits, negative = whole + fraction, sign == "-"
        if is_narrow(digits, fraction, exponent, format):
            return cls._narrow(text, negative, digits, len(fraction), exponent, format)
        return cls._wide(negative, int(digits), len(fraction), exponent, format)

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read a quantity where it stands in JSON or YAML: text, a number, or null for zero."""
        if value is None:
            return cls()
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise QuantityError(WRONG_FORMAT)
        return cls.parse(str(value).strip())

    @classmethod
    def _narrow(
        cls, text: str, negative: bool, digits: str, places: int, exponent: int, format: Format
    ) -> Self:
        number = int(digits)
        scale = -places
        if format is Format.BINARY_SI:
            mantissa = number << exponent
            keeps_text = number % 8 != 0
        else:
            mantissa = number
            scale += exponent
            keeps_text = text == "0" or (
                scale % 3 == 0 and not digits.endswith("000") and not digits.startswith("0")
            )
        return cls(-mantissa if negative else mantissa, scale, format, False, text if keeps_text else None)

    @classmethod
    def _wide(cls, negative: bool, number: int, places: int, exponent: int, format: Format) -> Self:
        scale = -places
        if format is Format.BINARY_SI:
            number <<= exponent
        else:
            scale += exponent
        if number:
            number, scale = rescale(number, scale, NANO), NANO
        if format is Format.BINARY_SI and number > MAX_INT64 * power_of_ten(-scale):
            number, scale = MAX_INT64, 0
        if format is Format.BINARY_SI and 0 < number < power_of_ten(-scale):
            format = Format.DECIMAL_SI
        return cls(-number if negative else number, scale, format, wide=True)

    def value(self) -> int:
        """Whole units, rounded up, as an int64: what does not fit wraps, or is 0, as in Go (`Value`)."""
        return self.scaled_value(0)

    def milli_value(self) -> int:
        """Thousandths, rounded up, as an int64: what does not fit wraps, or is 0, as in Go (`MilliValue`)."""
        return self.scaled_value(MILLI)

    def scaled_value(self, scale: int) -> int:
        """In units of `10**scale`, rounded up, as an int64 (Go: `ScaledValue`)."""
        shift = self.exponent - scale
        if self.wide:
            return wide_scaled_value(self.mantissa, shift)
        if shift < 0:
            return self.rounded_up(scale)
        result = self.mantissa * power_of_ten(shift)
        return result if fits_int64(result) else 0

    def rounded_up(self, scale: int) -> int:
        """In units of `10**scale`, rounded away from zero, however large: plain arithmetic."""
        return rescale(self.mantissa, self.exponent, scale)

    def round_up(self, scale: int) -> Self:
        """Rounded away from zero to a multiple of `10**scale`; never to zero (Go: `RoundUp`)."""
        if not self.wide and self.exponent >= scale:
            return self
        return replace(self, mantissa=self.rounded_up(scale), exponent=scale, text=None)

    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.mantissa > 0) - (self.mantissa < 0)

    def __bool__(self) -> bool:
        return self.mantissa != 0

    def __str__(self) -> str:
        return self.canonical() if self.text is None else self.text

    def canonical(self) -> str:
        """The shortest form with the largest suffix that needs no fraction (Go: `CanonicalizeBytes`)."""
        if not self.mantissa:
            return "0"
        if self.format is Format.BINARY_SI and self._is_binary():
            number, times = remove_factors(self.rounded_up(0), 1024)
            return f"{number}{BINARY_NAMES.get(times, '')}"
        number, times = remove_factors(self.mantissa, 10)
        exponent = self.exponent + times
        number, exponent = number * power_of_ten(exponent % 3), exponent - exponent % 3
        if self.format is Format.DECIMAL_EXPONENT:
            return f"{number}e{exponent}" if exponent else str(number)
        return f"{number}{DECIMAL_NAMES.get(exponent, '')}"  # beyond E, Go drops the power of ten

    def _is_binary(self) -> bool:
        small = Quantity(-1024) < self < Quantity(1024)
        whole = self.exponent >= 0 or self.mantissa % power_of_ten(-self.exponent) == 0
        return whole and not small

    def as_dec(self) -> str:
        """The number in full, as Go's decimal prints it."""
        if self.exponent >= 0:
            return str(self.mantissa) + ("0" * self.exponent if self.mantissa else "")
        digits = str(abs(self.mantissa)).zfill(1 - self.exponent)
        return f"{'-' * (self.mantissa < 0)}{digits[: self.exponent]}.{digits[self.exponent :]}"

    def __add__(self, other: "Quantity") -> "Quantity":
        """The sum. It is printed as `self` was, unless that is zero. Go: `Add`."""
        return self._plus(other, other.mantissa)

    def __sub__(self, other: "Quantity") -> "Quantity":
        """The difference. It is printed as `self` was, unless that is zero. Go: `Sub`."""
        return self._plus(other, -other.mantissa if other.wide else wrap_int64(-other.mantissa))

    def _plus(self, other: "Quantity", mantissa: int) -> "Quantity":
        format = self.format if self.mantissa else other.format
        wide = self.wide or other.wide
        if not wide and not mantissa:
            return Quantity(self.mantissa, self.exponent, format)
        if not wide and not self.mantissa:
            return Quantity(mantissa, other.exponent, format)
        exponent = min(self.exponent, other.exponent)
        terms = (
            self.mantissa * power_of_ten(self.exponent - exponent),
            mantissa * power_of_ten(other.exponent - exponent),
        )
        total = terms[0] + terms[1]
        wide = wide or not all(map(fits_int64, (*terms, total)))
        return Quantity(total, exponent, format, wide)

    def cmp(self, other: "Quantity") -> int:
        """-1, 0 or 1: smaller, equal or larger (Go: `Cmp`)."""
        exponent = min(self.exponent, other.exponent)
        left = self.mantissa * power_of_ten(self.exponent - exponent)
        right = other.mantissa * power_of_ten(other.exponent - exponent)
        return (left > right) - (left < right)

    def __eq__(self, other: object) -> bool:
        return self.cmp(other) == 0 if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: "Quantity") -> bool:
        return self.cmp(other) < 0

    def __le__(self, other: "Quantity") -> bool:
        return self.cmp(other) <= 0

    def __gt__(self, other: "Quantity") -> bool:
        return self.cmp(other) > 0

    def __ge__(self, other: "Quantity") -> bool:
        return self.cmp(other) >= 0

    def __hash__(self) -> int:
        number, times = remove_factors(self.mantissa, 10)
        return hash((number, self.exponent + times if number else 0))


def interpret_suffix(suffix: str) -> tuple[int, Format]:
    """The exponent that a suffix stands for, of 2 where the format is BinarySI, else of 10."""
    if suffix in DECIMAL_SUFFIXES:
        return DECIMAL_SUFFIXES[suffix], Format.DECIMAL_SI
    if suffix in BINARY_SUFFIXES:
        return BINARY_SUFFIXES[suffix], Format.BINARY_SI
    if re.fullmatch(r"[eE][+-]?[0-9]{1,4000}", suffix) and fits_int64(exponent := int(suffix[1:])):
        return wrap(exponent, 32), Format.DECIMAL_EXPONENT
    raise QuantityError(WRONG_SUFFIX)


def is_narrow(digits: str, fraction: str, exponent: int, format: Format) -> bool:
    """Whether Go reads this as an int64 with a power of ten."""
    if format is Format.BINARY_SI:
        return not fraction and 15 - len(digits) - exponent * 3 // 10 - 1 >= 0
    return len(digits) <= MAX_DIGITS and exponent - len(fraction) >= NANO


def power_of_ten(power: int) -> int:
    """10 to a power that is not negative."""
    result: int = 10**power
    return result


def rescale(number: int, exponent: int, scale: int) -> int:
    """`number * 10**exponent` in units of `10**scale`, rounded away from zero."""
    if exponent >= scale:
        return number * power_of_ten(exponent - scale)
    rounded = -(-abs(number) // power_of_ten(scale - exponent))
    return rounded if number >= 0 else -rounded


def remove_factors(number: int, factor: int) -> tuple[int, int]:
    """(n, times) with `number == n * factor**times` and the largest `times`; (0, 0) for 0."""
    times = 0
    while number and number % factor == 0:
        number //= factor
        times += 1
    return number, times


def wide_scaled_value(number: int, shift: int) -> int:
    """`number * 10**shift` as Go's scaledValue has it: every step wraps, negative fractions lose a unit."""
    if shift >= 0:
        power = power_of_ten(shift) if fits_int64(power_of_ten(shift)) else -(2**63)
        return wrap_int64(wrap_int64(number) * power)
    divisor = power_of_ten(-shift)
    if number < MAX_INT64 and -shift < 19:
        number = wrap_int64(number)
        quotient, rest = divmod(abs(number), divisor)
        return (quotient if number >= 0 else -quotient) + (rest != 0)
    quotient, rest = divmod(number, divisor)
    return wrap_int64(wrap_int64(quotient) + (rest != 0))


def fits_int64(number: int) -> bool:
    """Whether an int64 holds this number."""
    return -(2**63) <= number <= MAX_INT64


def wrap(number: int, bits: int) -> int:
    """What is left of a number in a signed integer of so many bits."""
    half = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


def wrap_int64(number: int) -> int:
    """What is left of a number in an int64."""
    return number if -(2**63) <= number <= MAX_INT64 else wrap(number, 64)
