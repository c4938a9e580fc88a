"""Quantities: the numbers of Kubernetes (`100m`, `1.5Gi`, `2e3`), with Go's rounding, printing, wraps.

Go source: `k8s.io/apimachinery/pkg/api/resource/quantity.go` and its neighbours. Go keeps a quantity in one
of two ways, and the difference shows at the edges: as an int64 with a power of ten (most), or as a decimal of
any size (more than 18 digits, or a fraction with a binary suffix). `wide` says which one it is here.
"""

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Self

from kubedev.api.gotext import quote
from kubedev.api.int64 import (
    MAX_DIGITS,
    MAX_INT64,
    MIN_INT64,
    fits_int64,
    in_full,
    power_of_ten,
    remove_factors,
    rescale,
    wide_scaled_value,
    wrap,
    wrap_int64,
)

__all__ = ["MILLI", "NANO", "Format", "Quantity", "QuantityError"]

NANO, MILLI = -9, -3
MAX_LENGTH = 10_000
"""The digits of a text, and of a number written out. It is ours: Go works for minutes on what is beyond."""
CHECKED_SHIFTS = (1, 2, 3, 6, 9)
"""Multiplying by these powers of ten, Go hands on what is left in 64 bits; by all others 0 (`positiveScaleInt64`)."""

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
GO_SPACES = " \t\n\v\f\r\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
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
        digits, negative, places = whole + fraction, sign == "-", len(fraction)
        scale = scale_of(exponent, places, format)
        written = whole + fraction.rstrip("0")
        length = len(written.lstrip("0"))
        if length and length + max(scale, 0) > MAX_LENGTH:
            raise QuantityError(
                f"quantity too large: expected at most {MAX_LENGTH} digits (a limit of kubedev's, where Kubernetes "
                f"would compute for minutes), got {quote(text[:40])}: write the number with a suffix"
            )
        if not length:
            scale = min(scale, 0)  # 0 times whatever: nobody counts so many zeros
        if is_narrow(digits, places, scale, exponent, format):
            return cls._narrow(text, negative, digits, scale, exponent, format)
        number = int(Decimal(written.lstrip("0") or 0))
        return cls._wide(
            negative, number, scale + len(digits) - len(written) if number else scale, exponent, format
        )

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read a quantity where it stands in JSON or YAML: text, a number, or null for zero."""
        if value is None:
            return cls()
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise QuantityError(WRONG_FORMAT)
        return cls.parse(value.strip(GO_SPACES) if isinstance(value, str) else number_text(value))

    @classmethod
    def _narrow(
        cls, text: str, negative: bool, digits: str, scale: int, exponent: int, format: Format
    ) -> Self:
        number = int(digits)
        if format is Format.BINARY_SI:
            mantissa = number << exponent
            keeps_text = number % 8 != 0
        else:
            mantissa = number
            keeps_text = text == "0" or (
                scale % 3 == 0 and not digits.endswith("000") and not digits.startswith("0")
            )
        return cls(-mantissa if negative else mantissa, scale, format, False, text if keeps_text else None)

    @classmethod
    def _wide(cls, negative: bool, number: int, scale: int, exponent: int, format: Format) -> Self:
        if format is Format.BINARY_SI:
            number <<= exponent
        if number:
            number, scale = rescale(number, scale, NANO), NANO
        scale = max(scale, -MAX_LENGTH)  # only that of 0 can be smaller
        if format is Format.BINARY_SI and number > MAX_INT64 * power_of_ten(-scale):
            number, scale = MAX_INT64, 0
        if format is Format.BINARY_SI and 0 < number < power_of_ten(-scale):
            format = Format.DECIMAL_SI
        return cls(-number if negative else number, scale, format, wide=True)

    def value(self) -> int:
        """Whole units, rounded up, as an int64: what does not fit wraps or is 0, see `scaled_value` (Go: `Value`)."""
        return self.scaled_value(0)

    def as_int64(self) -> int | None:
        """The number, if Go keeps it as a whole int64, else None: 0.5Gi is one that it does not (`AsInt64`)."""
        if self.wide or self.exponent < 0:
            return None
        number = self.mantissa * power_of_ten(self.exponent)
        return number if fits_int64(number) else None

    def milli_value(self) -> int:
        """Thousandths, rounded up, as an int64: what does not fit wraps or is 0 as well (Go: `MilliValue`)."""
        return self.scaled_value(MILLI)

    def scaled_value(self, scale: int) -> int:
        """In units of `10**scale`, rounded up, as an int64 (Go: `ScaledValue`).

        What an int64 cannot hold: of a number that Go keeps as one, its lowest 64 bits where it is multiplied by
        10, 100, 1000, 10^6 or 10^9, and 0 otherwise; of a wide one, the lowest 64 bits of every step.
        """
        shift = self.exponent - scale
        if self.wide:
            return wide_scaled_value(self.mantissa, shift)
        if shift < 0:
            return self.rounded_up(scale)
        if shift > MAX_DIGITS or (shift and self.mantissa == MIN_INT64):
            return 0
        result = self.mantissa * power_of_ten(shift)
        return result if fits_int64(result) else wrap_int64(result) if shift in CHECKED_SHIFTS else 0

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
            number = self.rounded_up(0)
            turns = (
                self.wide or number != MIN_INT64
            )  # an int64 has no 2^63, so Go cannot turn this one around
            number, times = remove_factors(number, 1024) if turns else (number, 0)
            return f"{in_full(number)}{BINARY_NAMES.get(times, '')}"
        number, times = remove_factors(self.mantissa, 10)
        exponent = self.exponent + times
        text, exponent = in_full(number * power_of_ten(exponent % 3)), exponent - exponent % 3
        if self.format is Format.DECIMAL_EXPONENT:
            return f"{text}e{exponent}" if exponent else text
        return f"{text}{DECIMAL_NAMES.get(exponent, '')}"  # beyond E, Go drops the power of ten

    def _is_binary(self) -> bool:
        small = Quantity(-1024) < self < Quantity(1024)
        whole = self.exponent >= 0 or self.mantissa % power_of_ten(-self.exponent) == 0
        return whole and not small

    def as_dec(self) -> str:
        """The number in full, as Go's decimal prints it."""
        if self.exponent >= 0:
            return in_full(self.mantissa) + ("0" * self.exponent if self.mantissa else "")
        digits = in_full(abs(self.mantissa)).zfill(1 - self.exponent)
        return f"{'-' * (self.mantissa < 0)}{digits[: self.exponent]}.{digits[self.exponent :]}"

    def __add__(self, other: "Quantity") -> "Quantity":
        """The sum. It is printed as `self` was, unless that is zero. Go: `Add`."""
        return self._plus(other, other.mantissa, other.mantissa)

    def __sub__(self, other: "Quantity") -> "Quantity":
        """The difference. It is printed as `self` was, unless that is zero. Go: `Sub`."""
        return self._plus(other, wrap_int64(-other.mantissa), -other.mantissa)

    def _plus(self, other: "Quantity", narrow: int, mantissa: int) -> "Quantity":
        """The sum in 64 bits with `narrow` for the other one's mantissa, or with `mantissa` where they are too few."""
        format = self.format if self.mantissa else other.format
        exponent = min(self.exponent, other.exponent)
        if not (self.wide or other.wide):
            if not narrow:
                return Quantity(self.mantissa, self.exponent, format)
            if not self.mantissa:
                return Quantity(narrow, other.exponent, format)
            terms = self._in_units(exponent), narrow * power_of_ten(other.exponent - exponent)
            if all(map(fits_int64, (*terms, sum(terms)))):
                return Quantity(sum(terms), exponent, format)
        total = self._in_units(exponent) + mantissa * power_of_ten(other.exponent - exponent)
        return Quantity(total, exponent, format, wide=True)

    def _in_units(self, exponent: int) -> int:
        return self.mantissa * power_of_ten(self.exponent - exponent)

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
    written = re.fullmatch(r"[eE]([+-]?)0*([0-9]{0,19})", suffix)
    if written and suffix[-1].isdigit() and fits_int64(exponent := int(f"{written[1]}{written[2] or 0}")):
        return wrap(exponent, 32), Format.DECIMAL_EXPONENT
    raise QuantityError(WRONG_SUFFIX)


def scale_of(exponent: int, places: int, format: Format) -> int:
    """The power of ten of the last digit; int32 as in Go, so that what is below -2^31 is above 0."""
    return wrap((0 if format is Format.BINARY_SI else exponent) - places, 32)


def is_narrow(digits: str, places: int, scale: int, exponent: int, format: Format) -> bool:
    """Whether Go reads this as an int64 with a power of ten."""
    if format is Format.BINARY_SI:
        return not places and 15 - len(digits) - exponent * 3 // 10 - 1 >= 0
    return len(digits) <= MAX_DIGITS and scale >= NANO


def number_text(number: float) -> str:
    """A number as Go's encoding/json writes it. What is no int64 is a float64 there."""
    if isinstance(number, int) and fits_int64(number):
        return str(number)
    try:
        number = float(number)
    except OverflowError:
        raise QuantityError(WRONG_FORMAT) from None
    if number and not 1e-6 <= abs(number) < 1e21:
        return re.sub("e-0", "e-", repr(number).replace(".0e", "e"))
    return format(Decimal(repr(number)), "f").removesuffix(".0")
