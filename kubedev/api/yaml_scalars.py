"""What a scalar of YAML means to kubectl: text, number, true or false, or null.

kubectl reads YAML 1.1 but for what it thinks a bad idea (numbers of base 60), and turns it into JSON: a date is a
text there, and there are no infinite numbers. Go source: `sigs.k8s.io/yaml/goyaml.v2/resolve.go: resolve`,
`sigs.k8s.io/yaml/yaml.go: convertToJSONableObject`.
"""

import base64
import math
import re
import struct
from datetime import datetime

from kubedev.api.int64 import fits_int64

__all__ = ["Scalar", "ScalarError", "key_text", "plain_scalar", "resolved", "tagged_scalar"]

Scalar = str | int | float | bool | None

WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
NUMBER = re.compile(r"[-+]?(?:(0[xX][0-9a-fA-F]+)|0[oO]?([0-7]+)|(0[bB][01]+)|(0|[1-9][0-9]*))", re.ASCII)
LATE_BINARY = re.compile(r"0b[-+]?[01]+", re.ASCII)  # a sign behind the 0b: nobody writes it, Go takes it
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
DAY, HOUR = r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})", r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?"
TIMESTAMPS = [
    re.compile(pattern, re.ASCII)
    for pattern in (DAY, f"{DAY} {HOUR}", f"{DAY}[Tt]{HOUR}(?:Z|[-+][0-9]{{2}}:[0-9]{{2}})")
]
PREFIX = "tag:yaml.org,2002:"
TAGS = {str: "!!str", bool: "!!bool", int: "!!int", float: "!!float", type(None): "!!null"}


class ScalarError(ValueError):
    """A scalar that its tag does not fit, or that JSON cannot have."""


def plain_scalar(text: str) -> Scalar:
    """The value of a scalar without quotes and tag."""
    return json_value(resolved(text))


def tagged_scalar(tag: str, text: str) -> Scalar:
    """The value of a scalar with a tag; a tag that YAML 1.1 does not know makes it a text."""
    short = f"!!{tag.removeprefix(PREFIX)}" if tag.startswith(PREFIX) else tag
    if short == "!!binary":
        return from_base64(text)
    if short == "!!timestamp" and is_timestamp(text):
        return text
    if short not in ("!!int", "!!float", "!!bool", "!!null", "!!timestamp"):
        return text
    value = resolved(text)
    found = "!!timestamp" if is_timestamp(text) else TAGS[type(value)]
    if found != short and (short, found) != ("!!float", "!!int"):
        raise ScalarError(f"cannot decode {found} `{text[:60]}` as a {short}")
    return json_value(value)


def key_text(value: Scalar) -> str:
    """A key as JSON has it: all keys are texts there."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and fits_int64(value):
        return str(value)
    if isinstance(value, float):
        return float_text(value)
    shown = "null" if value is None else "a number beyond 64 bits"
    raise ScalarError(f"unsupported map key: expected a text as key, got {shown}: put it in quotes")


def resolved(text: str) -> Scalar:
    """The value of a scalar before it becomes JSON; an int may be up to 2^64-1."""
    if text in WORDS:
        return WORDS[text]
    first = text[0]
    if first == ".":
        return finite(text) if FLOAT.fullmatch(text) else text
    if first not in "+-0123456789":
        return text
    plain = text.replace("_", "")
    if (number := whole(plain)) is not None:
        return number
    if FLOAT.fullmatch(plain) and not isinstance(value := finite(plain), str):
        return value
    if LATE_BINARY.fullmatch(plain) and fits_int64(late := int(plain[2:], 2)):
        return late
    return text


def whole(plain: str) -> int | None:
    """A whole number in base 10, 2, 8 (a leading 0 or 0o) or 16, if 64 bits hold it."""
    match = NUMBER.fullmatch(plain)
    if match is None or len(plain) > 70:
        return None
    digits = match[1] or match[3]
    base = 8 if match[2] else 0 if digits else 10
    number = int(match[2] or digits or match[4], base) * (-1 if plain[0] == "-" else 1)
    unsigned = plain[0] not in "+-" and number < 2**64
    return number if fits_int64(number) or unsigned else None


def finite(text: str) -> float | str:
    """The number, or the text again where it is larger than any number."""
    number = float(text)
    return text if math.isinf(number) else number


def json_value(value: Scalar) -> Scalar:
    """As the API server gets it in JSON: an int of 64 bits, else a float, which must be finite."""
    if isinstance(value, float):
        if not math.isfinite(value):
            shown = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
            raise ScalarError(f"json: unsupported value: {shown}: expected a number, or a text in quotes")
        return int(value) if value.is_integer() and fits_int64(int(value)) else value
    return float(value) if type(value) is int and not fits_int64(value) else value


def float_text(value: float) -> str:
    """A float as a key: the fewest digits that give the same one in 32 bits (Go: `FormatFloat(value, 'g', -1, 32)`)."""
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    try:
        single = struct.pack("f", value)
    except OverflowError:
        return ".inf" if value > 0 else "-.inf"
    digits = next(n for n in range(10) if struct.pack("f", float(f"{value:.{n}e}")) == single)
    exponent = int(f"{value:.{digits}e}".partition("e")[2])
    if exponent < -4 or exponent >= 6:
        return f"{value:.{digits}e}"
    return f"{float(f'{value:.{digits}e}'):.{max(digits - exponent, 0)}f}"


def from_base64(text: str) -> str:
    """What `!!binary` holds; JSON has it as a text, with U+FFFD for what is none."""
    try:
        return base64.b64decode(re.sub(r"[\r\n]", "", text), validate=True).decode("utf-8", "replace")
    except ValueError:
        raise ScalarError("!!binary value contains invalid base64 data") from None


def is_timestamp(text: str) -> bool:
    """Whether this is a date, or a date and a time."""
    match = next(filter(None, (pattern.fullmatch(text) for pattern in TIMESTAMPS)), None)
    if match is None:
        return False
    try:
        datetime(*map(int, match.groups()))  # type: ignore[arg-type]
    except ValueError:
        return False
    return True
